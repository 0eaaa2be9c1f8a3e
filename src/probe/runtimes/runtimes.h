/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runtimes of languages that have a heap of their own, without malloc: how each is recognised,
 * which part of its memory mdbg does not see, and which tool shows that part. Each has a file
 * (runtime_NAME.c) and a line in the table of runtimes.c. The texts are only printed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct modules;

#define RUNTIME_FACTS	2u
#define RUNTIMES_MAX	12u

/* A module belongs to the runtime if any of these holds. A list that is not full ends with NULL. */
struct runtime {
	const char *name;
	const char *files[RUNTIME_FACTS];	/* how the names of its libraries begin */
	const char *sections[RUNTIME_FACTS];
	const char *note;			/* the owner of an ELF note */
	const char *symbols[RUNTIME_FACTS];	/* that the module defines */
	const char *heap;	/* what mdbg does not see: "Go's heap, which ..." */
	const char *help;	/* what shows it: "`jmap` ..." */
	/* What gives the names of code that it compiles to mdbg (symbol/perf_map.h); NULL: nothing. */
	const char *jit;
	bool jit_anew;		/* and, done again, those of code that it has compiled since */
};

extern const struct runtime runtime_dotnet, runtime_erlang, runtime_ghc, runtime_go, runtime_jvm,
	runtime_lua, runtime_ocaml, runtime_php, runtime_python, runtime_ruby, runtime_v8,
	runtime_zig;

/* Each once, in the order of the table. */
struct runtimes {
	const struct runtime *at[RUNTIMES_MAX];
	size_t nr;
};

/*
 * Find the runtimes of the mapped modules. This looks at all symbols, so do it once for each
 * generation of the modules.
 */
void runtimes_find(const struct modules *modules, struct runtimes *ret);
