/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The allocators that mdbg knows: how each is recognised, its functions, and what can be done with
 * its heaps. Each has a file (allocator_NAME.c) and a line in the table of allocators.c
 * (docs/add-allocator.md).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct heap_source;
struct heap_walk;
struct module;
struct modules;

enum alloc_role {
	ALLOC_NEW,		/* returns a new block of size (times count) bytes, or NULL */
	/*
	 * ptr becomes a block of size (times count) bytes; NULL: ptr is as before, unless size is 0
	 */
	ALLOC_RESIZE,
	ALLOC_FREE,		/* ptr is freed */
	/* returns 0 and stores a new block's address at ptr (posix_memalign) */
	ALLOC_NEW_BY_REF,
};

#define ALLOC_NO_ARG	(-1)

struct alloc_function {
	const char *symbol;	/* in the symbol table */
	const char *name;	/* shown in a traceback */
	enum alloc_role role;
	int8_t size, count, ptr;	/* argument numbers from 0, or ALLOC_NO_ARG */
	/*
	 * Throws instead of returning NULL: this symbol of the same module is called in its place,
	 * and nr_args arguments are passed on (the nothrow_t comes after them).
	 */
	const char *nothrow;
	uint8_t nr_args;
	/* calls malloc itself in the standard C++ libraries: not probed there */
	bool cxx;
	bool user;		/* named by the user (user_functions.h): none of this table */
};

#define ALLOCATOR_FILES		2u
#define ALLOCATOR_VERSION	16u

struct allocator {
	const char *name;
	const char *algorithm;		/* printed behind the version */
	const char *files[ALLOCATOR_FILES];	/* how the names of its libraries begin */
	/*
	 * "" if module is another allocator's. A module in which the version is found is this
	 * allocator's, whatever the name of its file. NULL: the name tells.
	 */
	void (*version)(const struct module *module, char *ret, size_t room);
	bool frees_own;			/* what its functions give out, they alone take back */
	const struct alloc_function *functions;
	size_t nr_functions;
	/* heap/heap_walk.h; NULL: its heaps cannot be walked */
	struct err *(*walk)(const struct heap_source *source, struct heap_walk *ret);
	struct err *(*pulse)(const struct heap_source *source, uint64_t *ret);
	const char *arena;		/* symbol of its main arena */
	/*
	 * A function of its module that gives free pages back when it is called with 0, by brk,
	 * sbrk and madvise of the same module. NULL: there is none.
	 */
	const char *trim;
};

extern const struct allocator allocator_glibc, allocator_cxx, allocator_jemalloc, allocator_mimalloc,
	allocator_tcmalloc, allocator_musl;

/* A malloc that is not recognised is taken for this one: a walk finds out. */
extern const struct allocator *const allocator_guess;

/* By the last component of a module's path; NULL: not known. */
const struct allocator *allocator_by_file(const char *name);
/*
 * The allocator of a module that has an ELF file, or NULL; text is printed for it in either case.
 */
const struct allocator *allocator_of(const struct module *module, char *text, size_t room);
/* Does it define malloc, for the program? */
bool allocator_defined(const struct module *module);
/*
 * The allocator whose heaps can be walked, and its module; or NULL. A static program seldom says
 * whose malloc it has in it: allocator_guess, then.
 */
const struct allocator *allocator_to_walk(const struct modules *modules, struct module **ret);

/*
 * The entry for a symbol, or NULL. Of two symbols at one address the entry that comes first gives
 * the name.
 */
const struct alloc_function *alloc_function_find(const char *symbol);
/* Its place in the table: smaller is preferred. */
size_t alloc_function_rank(const struct alloc_function *fn);
/*
 * Does this module (by the last component of its path) hold the C++ library, whose operators call
 * malloc?
 */
bool alloc_module_is_cxx_library(const char *name);
/* A module whose allocator is not the program's (the dynamic loader's own). */
bool alloc_module_is_private(const char *name);
