/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An ELF file for libelf and libdw, which get mdbg's own copy of it, part by part.
 *
 * Neither library may be given the file itself. If the file is mapped, somebody who cuts it short
 * kills its reader with SIGBUS, and contents that were checked a moment ago may differ when they
 * are used: libelf keeps no copy of a header that it has checked. If it is read as a whole, it may
 * be longer than memory. So mdbg reserves an area of address space as long as the file, of zeros
 * that take no memory, and tells libelf that this is the file (elf_memory). The parts that are
 * needed are then taken: read into the area at their own offsets, each page once, so that it stays
 * as it was when it was checked. Parts that were not taken read as zeros. At most LIMIT_READ bytes
 * of a file are taken.
 *
 * Debug information may be longer than memory. If only root and mdbg's own user can write to a
 * file, its large parts are mapped into the area instead of being read. Such a file does not change
 * by malice, but it may be cut short by accident: guard.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gelf.h>

#include "base/err.h"
#include "base/vec.h"
#include "elf/guard.h"

/* A string table. It is cut behind its last NUL, so that any offset below len is a string. */
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
	const char *name;	/* for messages; it belongs to the caller */
	int fd;			/* it belongs to the caller; -1: the view is over bytes */
	uint8_t *bytes;		/* the area, or a copy of all bytes */
	size_t len;
	uint8_t *taken;		/* one bit for each page of the area; NULL: all bytes are there */
	uint64_t read;		/* bytes of the file that were read */
	struct elf_strings names;	/* names of sections */
	bool owned;		/* nobody else can write to the file */
	bool cancellable;	/* a long read ends with ERR_CANCELLED at Ctrl-C */
	VEC(void *) unpacked;	/* sections, by elf_view_unpack */
	struct guard guard;
};

/*
 * Take and check the headers: sections with their names, program headers. fd and name belong to the
 * caller and must outlive the view. ERR_FORMAT: not a regular file, not ELF; ERR_RANGE: a limit.
 */
struct err *elf_view_open(int fd, const char *name, struct elf_view *ret) MUST_CHECK;
/* Make a view of bytes, which are copied. */
struct err *elf_view_copy(const void *bytes, size_t len, const char *name,
			  struct elf_view *ret) MUST_CHECK;
void elf_view_close(struct elf_view *view);	/* a view of zeros is allowed */

/*
 * Make sure that bytes [offset, offset + size) of the file are in the area; bytes behind the end of
 * the file are ignored. ERR_RANGE: LIMIT_READ; ERR_FORMAT: the file was cut short meanwhile.
 */
struct err *elf_view_take(struct elf_view *view, uint64_t offset, uint64_t size) MUST_CHECK;
/* Like elf_view_take, but map the bytes if nobody else can write to the file. */
struct err *elf_view_map(struct elf_view *view, uint64_t offset, uint64_t size) MUST_CHECK;
/*
 * Unpack a section that zstd has packed, whose bytes were taken: from then on the section is a plain
 * one for libelf (elf_rawdata) and libdw. libelf of elfutils before 0.189 knows zlib alone, and so do
 * later ones that were built without zstd. A section that is packed otherwise, or not at all, stays
 * as it is. ERR_RANGE: it has more than LIMIT_UNPACKED bytes; ERR_FORMAT: it cannot be unpacked.
 */
struct err *elf_view_unpack(struct elf_view *view, Elf_Scn *scn) MUST_CHECK;
/* Take a string table; it is empty if the file has no such bytes. */
struct err *elf_view_strings(struct elf_view *view, uint64_t offset, uint64_t len,
			     struct elf_strings *ret) MUST_CHECK;
/* Take the notes, which include the build-id. */
struct err *elf_view_take_notes(struct elf_view *view) MUST_CHECK;
/* Returns the first section of a type. Compressed ones are skipped. */
Elf_Scn *elf_view_section_of_type(const struct elf_view *view, uint32_t type, GElf_Shdr *shdr_ret);
/*
 * Take SHT_SYMTAB or SHT_DYNSYM with its names; the table is empty if the file has none that can be
 * used.
 */
struct err *elf_view_symbols(struct elf_view *view, uint32_t type,
			     struct elf_symtab *ret) MUST_CHECK;
/* Returns the name of a section, or "". */
const char *elf_view_section_name(const struct elf_view *view, const GElf_Shdr *shdr);
/* Returns the first section of this name, if it has bytes in the file; NULL: there is none. */
Elf_Scn *elf_view_section(const struct elf_view *view, const char *name, GElf_Shdr *shdr_ret);
