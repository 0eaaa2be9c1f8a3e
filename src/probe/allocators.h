/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions of allocators that mdbg knows by name: what each does and where its arguments are.
 * The one place to change for another allocator (docs/add-allocator.md).
 */
#ifndef PROBE_ALLOCATORS_H
#define PROBE_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	bool user;		/* named by the user (user.h): none of this table */
};

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

#endif
