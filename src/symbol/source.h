/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions, inlined calls and lines of one file by its DWARF. What is read is kept, as far as it
 * was asked for: which unit has which addresses at once; the functions of a unit, and the inlined
 * calls of a function, at the first address in them.
 *
 * .debug_aranges is not used: clang does not write it. A missing .dwo file leaves lines without
 * functions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/err.h"

#define SOURCE_FRAMES	64	/* deeper nesting loses frames in the middle */

struct debug_search;
struct elf_view;
struct source;

struct source_frame {
	const char *name;	/* linkage name, else plain name, else NULL; in the file */
	uint64_t start;		/* of the function; 0: unknown. Of the real function only */
	const char *file;	/* in the file; NULL: unknown */
	int line;		/* 0: unknown */
};

/*
 * dwarf is not owned. bias is what is added to DWARF's addresses to make those that source_at is
 * asked. view is what dwarf was begun with; search is told what is left out. Both must outlive the
 * source.
 */
struct err *source_create(Dwarf *dwarf, uint64_t bias, const struct elf_view *view,
			  const struct debug_search *search, struct source **ret) MUST_CHECK;
void source_destroy(struct source *source);	/* NULL is fine */
/*
 * The frames at addr, innermost inlined function first, the real function last, to room for
 * SOURCE_FRAMES. Returns their number, at least 1: the real function, which may have neither name
 * nor line.
 */
size_t source_at(struct source *source, uint64_t addr, struct source_frame *frames);
