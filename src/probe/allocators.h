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
struct heap_pulse;
struct heap_ranges;
struct heap_source;
struct heap_walk;
struct module;
struct modules;

enum alloc_role {
	ALLOC_NEW,		/* returns a new block of size (times count) bytes, or NULL */
	/*
	 * resizes ptr to size (times count) bytes; if it returns NULL, ptr is unchanged unless size
	 * is 0
	 */
	ALLOC_RESIZE,
	ALLOC_FREE,		/* ptr is freed */
	/* stores a new block's address at ptr and returns 0 (posix_memalign) */
	ALLOC_NEW_BY_REF,
	ALLOC_GROWTH,		/* no allocator's: growth_functions.h */
};

#define ALLOC_NO_ARG	(-1)

struct alloc_function {
	const char *symbol;	/* in the symbol table */
	const char *name;	/* shown in a traceback */
	enum alloc_role role;
	int8_t size, count, ptr;	/* argument numbers from 0, or ALLOC_NO_ARG */
	/*
	 * Set if the function throws instead of returning NULL: the symbol of its nothrow form in
	 * the same module, which mdbg calls in its place. nr_args arguments are passed on, and the
	 * nothrow_t comes after them.
	 */
	const char *nothrow;
	uint8_t nr_args;
	/* calls malloc in the standard C++ libraries, and is not probed there */
	bool cxx;
	bool user;		/* named by the user (user_functions.h) */
	uint32_t bytes;		/* of the user's: the size of each block; 0: an argument is it */
	/* of ALLOC_GROWTH: its kind, and enum growth_call; of ALLOC_FREE: enum user_call */
	uint8_t growth, call;
};

#define ALLOCATOR_FILES		2u
#define ALLOCATOR_VERSION	16u

struct allocator {
	const char *name;
	const char *algorithm;		/* printed behind the version; NULL: the version does not tell it */
	const char *files[ALLOCATOR_FILES];	/* beginnings of its libraries' names */
	/* names of its malloc in programs that contain it beside the C library's */
	const char *built_in[ALLOCATOR_FILES];
	/*
	 * Finds the version in a module's file; "" if the module belongs to another allocator. If a
	 * version is found, the module is this allocator's, whatever its file is called. NULL: only
	 * the name of the file decides.
	 */
	void (*version)(const struct module *module, char *ret, size_t room);
	bool frees_own;			/* only its own functions free its blocks */
	/*
	 * A thread in any code of its library (files) is inside the allocator, as its functions go
	 * on by jumps to others. No thread stays there.
	 */
	bool all_inside;
	/*
	 * Blocks of so many bytes and more begin LOG_SPACING bytes apart, or more, because its size
	 * classes are so; 0: not known.
	 */
	uint8_t spaced_from;
	const struct alloc_function *functions;
	size_t nr_functions;
	/*
	 * Bytes of its constants, by which a program is known that has it linked in, under any
	 * prefix and without symbols. NULL: there are none, or its heaps cannot be walked.
	 */
	const char *sign;
	/* heap/heap_walk.h; NULL: its heaps cannot be walked */
	struct err *(*walk)(const struct heap_source *source, struct heap_walk *ret);
	struct err *(*pulse)(const struct heap_source *source, struct heap_pulse *ret);
	struct err *(*ranges)(const struct heap_source *source, struct heap_ranges *ret);
	const char *arena;		/* symbol of its main arena */
	bool headed;			/* the word before a block is its size, as glibc lays it */
	/*
	 * A function of its module that gives free pages back when it is called with 0. It does so
	 * by brk, sbrk and madvise of the same module. NULL: there is none.
	 */
	const char *trim;
	/*
	 * A function of its library that gives free pages back, for session/trim/purge.h:
	 * purge(purge_arg), or purge(purge_name, NULL, NULL, NULL, 0) if it has a name. NULL: there
	 * is none.
	 */
	const char *purge, *purge_name;
	uint64_t purge_arg;
};

extern const struct allocator allocator_glibc, allocator_cxx, allocator_jemalloc,
	allocator_mimalloc, allocator_tcmalloc, allocator_musl;

/*
 * A malloc that is not recognised is taken for this allocator's; a walk shows whether that is
 * right.
 */
extern const struct allocator *const allocator_guess;

#define ALLOCATOR_CONSTANTS	32u	/* segments that are looked at */

/*
 * A copy of the module's segment of this number, from its file, with 16 zeros behind it; NULL: it is
 * none of constants, or too large. To be freed.
 */
char *allocator_constants(const struct module *module, size_t segment, size_t *len_ret);
/* Find the allocator whose malloc has this name in programs that contain it; NULL: none has. */
const struct allocator *allocator_built_in(const char *symbol);
/* Find an allocator by the last component of a module's path; NULL: not known. */
const struct allocator *allocator_by_file(const char *name);
/* Is pc in code of this module, and is that a library of which all code is its allocator's? */
bool allocator_is_inside(const struct module *module, uint64_t pc);
/*
 * The allocator of a module that has an ELF file, or NULL. text is what to print for it in both
 * cases.
 */
const struct allocator *allocator_of(const struct module *module, char *text, size_t room);
/*
 * Blocks of the module's functions that have more bytes certainly begin LOG_SPACING bytes apart. It
 * is LOG_SPACING where the module is the program itself, which may have an allocator of its own
 * beside a C library.
 */
uint32_t allocator_near_size(const struct module *module);
/*
 * Does this function of the module begin with a read of the word before its block, which has the
 * block's size?
 */
bool allocator_is_headed(struct module *module, const struct alloc_function *fn);
/* Does the module define malloc, for the program? */
bool allocator_defined(const struct module *module);
#define WALKABLE_MAX	16u	/* HEAP_LIBCS_MAX of heap/heap_walk.h */

struct walkable {
	/*
	 * The modules with an allocator whose heaps can be walked: an allocator's modules lie side
	 * by side, in the order in which they came. glibc has several where dlmopen, LD_AUDIT or a
	 * static program has loaded another C library; above WALKABLE_MAX they are left out.
	 */
	struct walkable_module {
		const struct allocator *allocator;
		struct module *module;
	} at[WALKABLE_MAX];
	unsigned nr;
};

/*
 * A static program seldom shows which malloc it contains: then the result is allocator_guess. Tracer
 * thread.
 */
void allocators_to_walk(const struct modules *modules, struct walkable *ret);
bool allocators_walkable_has(const struct walkable *walkable, const struct module *module);

/*
 * The entry for a symbol, or NULL. If two symbols have one address, the entry that comes first
 * gives the name.
 */
const struct alloc_function *alloc_function_find(const char *symbol);
/* Its place in the table; the entry with the smaller one is preferred. */
size_t alloc_function_rank(const struct alloc_function *fn);
/* How many arguments, from the first on, are read or passed on. */
unsigned alloc_function_arguments(const struct alloc_function *fn);
/* Is this module (by the last component of its path) a C++ library, whose operators call malloc? */
bool alloc_module_is_cxx_library(const char *name);
/* A module whose allocator is not the program's (the dynamic loader's own). */
bool alloc_module_is_private(const char *name);
