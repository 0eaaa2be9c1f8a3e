/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An ELF file, opened once, read through libelf. The file is untrusted: every offset is checked,
 * nothing in it can make mdbg crash, loop or allocate without bound; what is wrong is an ERR_FORMAT
 * that names it.
 *
 * No process is known here. Addresses are the file's own (p_vaddr); a caller adds the load bias.
 * Not thread-safe by itself: one elf_file, one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define BUILD_ID_MAX	64	/* bytes */

struct elf_file;

struct elf_segment {
	uint64_t vaddr, memsz, offset, filesz;
	bool exec, write;
};

struct elf_symbol {
	const char *name;	/* lives as long as the elf_file */
	uint64_t value;		/* file's address */
	uint64_t size;
	bool func;		/* STT_FUNC or STT_GNU_IFUNC */
	bool ifunc;
	bool global;		/* global or weak */
	bool dynamic;		/* from .dynsym */
};

/* fd is taken over on success. Refuses what is not ELF. name is for messages. */
struct err *elf_file_open(int fd, const char *name, struct elf_file **ret) MUST_CHECK;
/* A file of bytes in memory (the vDSO, tests, fuzz), which are copied. */
struct err *elf_file_from_bytes(const void *bytes, size_t len, const char *name,
				struct elf_file **ret) MUST_CHECK;
void elf_file_close(struct elf_file *file);	/* NULL is fine */

/*
 * The part of the file that was left out because it is over a limit (base/limits.h), or could not
 * be read: "FILE: WHY"; "" if nothing was. Known only of what was asked for so far.
 */
const char *elf_file_doubt(const struct elf_file *file);

const char *elf_file_name(const struct elf_file *file);
uint16_t elf_file_machine(const struct elf_file *file);
uint64_t elf_file_entry(const struct elf_file *file);
/* NT_GNU_BUILD_ID; *len_ret is 0 where there is none. */
const uint8_t *elf_file_build_id(const struct elf_file *file, size_t *len_ret);

/* Is there a section of this name that has bytes in the file? */
bool elf_file_has_section(const struct elf_file *file, const char *name);
/* Is there a note of this owner ("GNU", "Go") in a segment? */
bool elf_file_has_note(struct elf_file *file, const char *owner);

/* The PT_LOAD segments, in file order. */
const struct elf_segment *elf_file_segments(const struct elf_file *file, size_t *nr_ret);

/* Bytes of thread-local data that each thread has of it (PT_TLS); 0: none. */
uint64_t elf_file_tls_size(const struct elf_file *file);

/*
 * The defined symbols, those of .dynsym and then those of .symtab, so that a name may come twice:
 *
 *	struct elf_symbols at;
 *
 *	err = elf_symbols_begin(file, &at);
 *	while (!err && elf_symbols_next(&at, &symbol))
 *		...
 *
 * ERR_UNSUPPORTED: the file is not linked, and a symbol's value is no address there.
 */
struct elf_symbols {
	const struct elf_file *file;
	size_t next;		/* in the table */
	bool second;		/* the table is .symtab */
};

struct err *elf_symbols_begin(const struct elf_file *file, struct elf_symbols *ret) MUST_CHECK;
bool elf_symbols_next(struct elf_symbols *at, struct elf_symbol *ret);
/*
 * A defined symbol by its exact name (any version), functions or data; .dynsym first. ERR_NOTFOUND.
 */
struct err *elf_file_symbol(struct elf_file *file, const char *name,
			    struct elf_symbol *ret) MUST_CHECK;
/*
 * The extent of the function at value: its symbol's size, else (size 0, stripped) the FDE's of the
 * CFI, else up to the next symbol; ERR_NOTFOUND if nothing says.
 */
struct err *elf_file_function_extent(struct elf_file *file, uint64_t value,
				     uint64_t *size_ret) MUST_CHECK;
/*
 * Copy len bytes of the file's image at address vaddr (bytes past filesz are zero). ERR_RANGE
 * outside all segments.
 */
struct err *elf_file_read(struct elf_file *file, uint64_t vaddr, void *buf, size_t len) MUST_CHECK;
