/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions, inlined calls and lines of one file by its DWARF. Data is read when it is needed, and
 * then kept: the addresses of all units at once; the functions of a unit, and the inlined calls of
 * a function, when the first address in them is asked for.
 *
 * .debug_aranges is not used, since clang does not write it. Without its .dwo file, a unit has
 * lines but no functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/err.h"

#define SOURCE_FRAMES	64	/* in deeper nesting the middle frames are lost */

struct debug_search;
struct elf_view;
struct source;

struct source_frame {
	const char *name;	/* linkage name, else plain name, else NULL; kept in the file */
	uint64_t start;		/* start of the function; 0: unknown. Only for the real function */
	const char *file;	/* kept in the file; NULL: unknown */
	int line;		/* 0: unknown */
};

/*
 * dwarf is not owned. bias is added to the addresses of DWARF to get those that are passed to
 * source_at. view is the one that dwarf was begun with; search gets the warnings about parts that
 * are left out. Both must outlive the source.
 */
struct err *source_create(Dwarf *dwarf, uint64_t bias, const struct elf_view *view,
			  const struct debug_search *search, struct source **ret) MUST_CHECK;
void source_destroy(struct source *source);	/* NULL is allowed */
/*
 * Get the frames at addr, the innermost inlined function first, the real function last. frames must
 * have room for SOURCE_FRAMES. Returns their number, at least 1: the real function, which may have
 * neither name nor line.
 */
size_t source_at(struct source *source, uint64_t addr, struct source_frame *frames);
/* Get the DIE of the real function at addr, which lives as long as dwarf. False: none is known. */
bool source_function(struct source *source, uint64_t addr, Dwarf_Die *ret);
