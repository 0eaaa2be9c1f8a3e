/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions and data of one ELF file by its symbol tables, searched by address and by name.
 * Addresses are the file's.
 *
 * An address has the name of a symbol that covers it, never of one that merely precedes it. Where
 * several do, the one that starts last wins; where they start together, the one that people know:
 * see `preferred` in symtab.c.
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
	const char *name;	/* in the file, not terminated: "memcpy" of "memcpy@@GLIBC_2.14" */
	uint32_t len;
	uint8_t kind;
	bool sized;		/* the symbol says its size; else it goes up to the next one */
	bool global;
	bool old;		/* a version that new programs are not linked with */
};

struct symtab_name {
	const char *text;	/* terminated */
	uint32_t entry;
};

struct symtab {
	VEC(struct symtab_entry) entries;	/* by address, the preferred last */
	VEC(struct symtab_entry) tls;		/* STT_TLS, by offset in a thread's data of the file */
	struct spans sized, unsized;		/* of entries */
	VEC(struct symtab_name) by_name;	/* sorted; made when it is first asked for */
	bool named;
};

/* A file with symbols; one whose view has no elf has none. */
struct symtab_file {
	struct elf_view *view;
	uint64_t bias;		/* what is added to its addresses to have the main file's */
};

/* Does the file have a .symtab? */
bool symtab_has_own(const struct elf_view *view);
/*
 * Read .dynsym of the first file, the main one, and .symtab of the first that has one. Names stay
 * in the files. ERR_RANGE: a limit of base/limits.h.
 */
struct err *symtab_read(struct symtab *symtab, const struct symtab_file *files,
			size_t nr) MUST_CHECK;
void symtab_free(struct symtab *symtab);
const struct symtab_entry *symtab_at(const struct symtab *symtab, uint64_t addr);
/* The thread-local variable at this offset, or NULL: no symbol covers it. */
const struct symtab_entry *symtab_tls_at(const struct symtab *symtab, uint64_t offset);
/*
 * By linkage name, demangled name, or demangled name without parameters. Functions and current
 * versions first. NULL: none, or no memory. Names that had to be made are kept in names.
 */
const struct symtab_entry *symtab_find(struct symtab *symtab, struct names *names,
				       const char *name);
/*
 * The next name of a function that starts with prefix, in order, or NULL. *at is where it goes on:
 * 0 at first.
 */
const char *symtab_complete(struct symtab *symtab, struct names *names, const char *prefix,
			    size_t *at);
