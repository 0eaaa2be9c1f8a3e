/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An ELF file, opened once, read through libelf. The file is untrusted: every offset is checked,
 * and nothing in it can make mdbg crash, loop or allocate without bound; anything wrong is an
 * ERR_FORMAT that names the file.
 *
 * No process is known here. Addresses are the file's own (p_vaddr); a caller adds the load bias. An
 * elf_file is not thread-safe: only one thread at a time may use it.
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
	uint64_t value;		/* address in the file */
	uint64_t size;
	bool func;		/* STT_FUNC or STT_GNU_IFUNC */
	bool ifunc;
	bool global;		/* global or weak */
	bool dynamic;		/* from .dynsym */
};

/* On success fd belongs to the elf_file. Anything but ELF is refused. name is for messages. */
struct err *elf_file_open(int fd, const char *name, struct elf_file **ret) MUST_CHECK;
/* Open a file that is in memory (the vDSO, tests, fuzz). The bytes are copied. */
struct err *elf_file_from_bytes(const void *bytes, size_t len, const char *name,
				struct elf_file **ret) MUST_CHECK;
void elf_file_close(struct elf_file *file);	/* NULL is allowed */

/*
 * Returns which part of the file was left out because it is over a limit (base/limits.h), or could
 * not be read: "FILE: WHY"; "" if none was. It knows only about parts that were asked for so far.
 */
const char *elf_file_doubt(const struct elf_file *file);

const char *elf_file_name(const struct elf_file *file);
/* Returns its descriptor, which stays the elf_file's; -1: it was made from bytes. */
int elf_file_fd(const struct elf_file *file);
uint16_t elf_file_machine(const struct elf_file *file);
uint64_t elf_file_entry(const struct elf_file *file);
/* Returns the NT_GNU_BUILD_ID; *len_ret is 0 if there is none. */
const uint8_t *elf_file_build_id(const struct elf_file *file, size_t *len_ret);

/* Does a section of this name have bytes in the file? */
bool elf_file_has_section(const struct elf_file *file, const char *name);
/* Does a segment have a note of this owner ("GNU", "Go")? */
bool elf_file_has_note(struct elf_file *file, const char *owner);

/* Returns the PT_LOAD segments, in file order. */
const struct elf_segment *elf_file_segments(const struct elf_file *file, size_t *nr_ret);

/* Returns the bytes of thread-local data that each thread has for this file (PT_TLS); 0: none. */
uint64_t elf_file_tls_size(const struct elf_file *file);

/*
 * Go through the defined symbols, those of .dynsym and then those of .symtab, so that a name may
 * come twice:
 *
 *	struct elf_symbols at;
 *
 *	err = elf_symbols_begin(file, &at);
 *	while (!err && elf_symbols_next(&at, &symbol))
 *		...
 *
 * ERR_UNSUPPORTED: the file is not linked, so that a symbol's value is no address.
 */
struct elf_symbols {
	const struct elf_file *file;
	size_t next;		/* in the table */
	bool second;		/* the table is .symtab */
};

struct err *elf_symbols_begin(const struct elf_file *file, struct elf_symbols *ret) MUST_CHECK;
bool elf_symbols_next(struct elf_symbols *at, struct elf_symbol *ret);
/*
 * Find a defined symbol by its exact name (any version), function or data; .dynsym is searched
 * first. ERR_NOTFOUND.
 */
struct err *elf_symbol_named(struct elf_file *file, const char *name,
			     struct elf_symbol *ret) MUST_CHECK;
/*
 * Get the name of the symbol whose address the loader stores in the word at value (an address in
 * the file), by the relocations of the section headers. ERR_NOTFOUND: it stores none there.
 */
struct err *elf_symbol_relocation(struct elf_file *file, uint64_t value,
				  const char **name_ret) MUST_CHECK;
/*
 * Get the extent of the function at value: its symbol's size, else (size 0, stripped) that of its
 * FDE in the CFI, else the distance to the next symbol. ERR_NOTFOUND if none of them is known.
 */
struct err *elf_symbol_function_extent(struct elf_file *file, uint64_t value,
				       uint64_t *size_ret) MUST_CHECK;
/*
 * Copy len bytes of the file's image at address vaddr (bytes past filesz are zero). ERR_RANGE: not
 * all of them are in segments; buf has those up to the first one that is not.
 */
struct err *elf_file_read(struct elf_file *file, uint64_t vaddr, void *buf, size_t len) MUST_CHECK;
