/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An ELF file for libelf and libdw, of which mdbg has a copy of its own, part by part.
 *
 * Neither library may be given the file itself. Mapped, it kills its reader with SIGBUS when
 * somebody cuts it short, and what was checked a moment ago may be something else when it is used:
 * libelf keeps no copy of a header that it has checked. Read as a whole, it may be longer than
 * memory. So an area of address space as long as the file is set aside, zeros that take no memory,
 * and libelf is told that this is the file (elf_memory). What is needed of it is then taken: read
 * into the area at its own offset, each page once, so that it stays as it was when it was checked.
 * What was not taken reads as zeros. Nothing beyond LIMIT_READ bytes is taken of a file.
 *
 * Debug information may be longer than memory. Of a file that nobody but root and mdbg's own user
 * can write to, large parts are mapped into the area instead of being read. Such a file does not
 * change by malice, but it may be cut short by accident: guard.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gelf.h>

#include "base/err.h"
#include "elf/guard.h"

/* A string table, cut behind its last NUL so that any offset below len is a string. */
struct elf_strings {
	const char *at;
	size_t len;
};

struct elf_symtab {
	Elf_Data *data;		/* NULL: there is none */
	size_t nr;
	struct elf_strings names;
};

struct elf_view {
	Elf *elf;
	const char *name;	/* for messages; the caller's */
	int fd;			/* the caller's; -1: over bytes */
	uint8_t *bytes;		/* the area, or a copy of all */
	size_t len;
	uint8_t *taken;		/* a bit for each page of it; NULL: all is there */
	uint64_t read;		/* bytes that were read in */
	struct elf_strings names;	/* of sections */
	bool owned;		/* nobody else can write to the file */
	bool cancellable;	/* a long read ends with ERR_CANCELLED at Ctrl-C */
	struct guard guard;
};

/*
 * Take and check the headers: sections with their names, program headers. fd and name stay the
 * caller's and must outlive the view. ERR_FORMAT: not a regular file, not ELF; ERR_RANGE: a limit.
 */
struct err *elf_view_open(int fd, const char *name, struct elf_view *ret) MUST_CHECK;
/* A view of bytes, which are copied. */
struct err *elf_view_copy(const void *bytes, size_t len, const char *name,
			  struct elf_view *ret) MUST_CHECK;
void elf_view_close(struct elf_view *view);	/* one of zeros is fine */

/*
 * Have bytes [offset, offset + size) of the file there; those behind its end are not missed.
 * ERR_RANGE: LIMIT_READ; ERR_FORMAT: the file was cut short meanwhile.
 */
struct err *elf_view_take(struct elf_view *view, uint64_t offset, uint64_t size) MUST_CHECK;
/* Take them, or map them if nobody else can write to the file. */
struct err *elf_view_map(struct elf_view *view, uint64_t offset, uint64_t size) MUST_CHECK;
/* Take a string table; an empty one where the file has no such bytes. */
struct err *elf_view_strings(struct elf_view *view, uint64_t offset, uint64_t len,
			     struct elf_strings *ret) MUST_CHECK;
/* Take the notes, in which the build-id is. */
struct err *elf_view_take_notes(struct elf_view *view) MUST_CHECK;
/* The first section of a type. A compressed one is passed over. */
Elf_Scn *elf_view_section_of_type(const struct elf_view *view, uint32_t type, GElf_Shdr *shdr_ret);
/*
 * Take SHT_SYMTAB or SHT_DYNSYM with its names; an empty one where the file has none that can be
 * used.
 */
struct err *elf_view_symbols(struct elf_view *view, uint32_t type,
			     struct elf_symtab *ret) MUST_CHECK;
/* The name of a section, or "". */
const char *elf_view_section_name(const struct elf_view *view, const GElf_Shdr *shdr);
/* The first section of this name, if it has bytes in the file; NULL: there is none. */
Elf_Scn *elf_view_section(const struct elf_view *view, const char *name, GElf_Shdr *shdr_ret);
