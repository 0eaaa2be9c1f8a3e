/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions and data of one ELF file by its symbol tables, searched by address and by name.
 * Addresses are those in the file.
 *
 * An address gets the name of a symbol that covers it, never of one that merely precedes it. If
 * several cover it, the one that starts last wins; if these start together, the name that people
 * know wins: see `preferred` in symtab.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "elf/elf_view.h"
#include "symbol/string_pool.h"
#include "symbol/spans.h"

enum symtab_kind { SYMTAB_LABEL, SYMTAB_DATA, SYMTAB_FUNCTION };	/* worst first */

struct symtab_entry {
	uint64_t start, end;
	/* points into the file, not terminated: "memcpy" of "memcpy@@GLIBC_2.14" */
	const char *name;
	uint32_t len;
	uint8_t kind;
	bool sized;		/* the symbol has a size; else it extends to the next symbol */
	bool global;
	bool old;		/* new programs are not linked with this version */
};

struct symtab_name {
	const char *text;	/* terminated */
	uint32_t entry;
};

struct symtab {
	/* by address; of several names the preferred one is last */
	VEC(struct symtab_entry) entries;
	/* STT_TLS, by offset in a thread's data of the file */
	VEC(struct symtab_entry) tls;
	struct spans sized, unsized;		/* of entries */
	VEC(struct symtab_name) by_name;	/* sorted; made at first use */
	bool named;
};

/* A file with symbols; it has none if its view has no elf. */
struct symtab_file {
	struct elf_view *view;
	uint64_t bias;		/* added to its addresses to get those of the main file */
};

/* Does the file have a .symtab? */
bool symtab_has_own(const struct elf_view *view);
/*
 * Read .dynsym of the first file, which is the main one, and .symtab of the first that has one.
 * Names stay in the files. ERR_RANGE: a limit of base/limits.h.
 */
struct err *symtab_read(struct symtab *symtab, const struct symtab_file *files,
			size_t nr) MUST_CHECK;
void symtab_free(struct symtab *symtab);
const struct symtab_entry *symtab_at(const struct symtab *symtab, uint64_t addr);
/* Returns the thread-local variable at this offset, or NULL if no symbol covers it. */
const struct symtab_entry *symtab_tls_at(const struct symtab *symtab, uint64_t offset);
/*
 * Find by linkage name, demangled name, or demangled name without parameters. Functions and current
 * versions come first. NULL: none, or no memory. Names that had to be made are kept in names.
 */
const struct symtab_entry *symtab_find(struct symtab *symtab, struct names *names,
				       const char *name);
/*
 * Returns the next name of a function that starts with prefix, in order, or NULL. *at is the
 * position, at first 0.
 */
const char *symtab_complete(struct symtab *symtab, struct names *names, const char *prefix,
			    size_t *at);
