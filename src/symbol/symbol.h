/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for addresses: function, offset, file, line, inlined frames, module; by libdw, with
 * separate debug files by build-id and .gnu_debuglink, .gnu_debugdata, demangling (C++, Rust),
 * short forms of C++ names, /tmp/perf-PID.map for JIT code.
 *
 * A `symbols` holds modules with the time (generation of the module map) in which they were mapped:
 * an address is resolved as of a generation, so that a stack that was recorded before a dlclose
 * keeps its names. Files stay open, so that names remain after the target, or the file, is gone.
 * Debug information is opened at the first address asked of a module, not before.
 *
 * All strings live as long as the `symbols`. Results are kept: a PC is resolved once. Main thread
 * only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct symbols;

struct symbol_module {
	const char *path;	/* as the target sees it; shown by its last component */
	int fd;			/* open for reading, dup'ed by symbols_add; -1: none (then bytes) */
	const void *bytes;	/* image, if fd is -1 (the vDSO); copied; may be NULL */
	size_t bytes_len;
	uint64_t start, end;	/* all of its mappings */
	uint64_t bias;		/* process address - file address */
	uint32_t born;		/* generation from which on it is mapped */
	uint32_t died;		/* generation from which on it is not; UINT32_MAX: it is */
};

/* How names are shown. */
enum symbol_names {
	SYMBOL_NAMES_SHORT,	/* without what symbol/fold.h leaves out */
	SYMBOL_NAMES_FULL,
};

struct symbol_frame {
	uint64_t pc;
	const char *function;	/* demangled, in full; NULL: unknown */
	const char *brief;	/* the same, short: function itself, if nothing is left out */
	uint32_t function_bare, brief_bare;	/* their lengths without parameters */
	const char *linkage;	/* as in the symbol table; NULL if it is the same or not known */
	uint64_t offset;	/* pc - start of the real function */
	const char *module;	/* last component of the path; NULL: none */
	const char *path;	/* whole path; NULL: none */
	const char *file;	/* source file as the debug information names it, or NULL */
	int line;		/* 0: unknown */
	bool inlined;		/* this function was inlined into the next frame */
};

/*
 * target_pid is for /tmp/perf-PID.map and for debug files in the target's root (a container's); 0:
 * none. That root is kept open, so that both are found after the target is gone.
 */
struct err *symbols_create(int target_pid, struct symbols **ret) MUST_CHECK;
/*
 * warn is told, once each, what is left out of the answers: a file that is over a limit
 * (base/limits.h), one that was cut short while it was read, debug information that cannot be
 * trusted.
 */
void symbols_set_warn(struct symbols *symbols, void (*warn)(void *ctx, const char *text),
		      void *ctx);
void symbols_destroy(struct symbols *symbols);	/* NULL is fine */

struct err *symbols_add(struct symbols *symbols, const struct symbol_module *module) MUST_CHECK;
/*
 * Stacks of earlier generations were recorded while nobody looked at the module map: what came
 * later gives them no names.
 */
void symbols_floor(struct symbols *symbols, uint32_t generation);
/* The modules that were added with this start and born end at generation died. */
void symbols_end(struct symbols *symbols, uint64_t start, uint32_t born, uint32_t died);
/*
 * A new answer begins: names of JIT code are as of the first look in it. Without this they stay as
 * of the last answer.
 */
void symbols_begin(struct symbols *symbols);
/*
 * Directories with separate debug files, colon-separated, as gdb's debug-file-directory; default
 * /usr/lib/debug.
 */
struct err *symbols_set_debug_path(struct symbols *symbols, const char *path) MUST_CHECK;

/*
 * fetch is asked for debug files that are found nowhere (debug_file.h); NULL: nobody is. It is
 * called by the functions below that name addresses. Files that had none are looked for again.
 */
void symbols_set_fetch(struct symbols *symbols,
		       int (*fetch)(void *ctx, const char *build_id, const char *module_path),
		       void *ctx);
/* Have debug files that were not found looked for again. Frames and texts of before are gone. */
void symbols_retry(struct symbols *symbols);
/* How many files were asked for a line and have no debug information. */
size_t symbols_lacking_lines(const struct symbols *symbols);

enum symbol_debug { SYMBOL_DEBUG_NONE, SYMBOL_DEBUG_OWN, SYMBOL_DEBUG_SEPARATE };

struct symbol_file {
	const char *path;
	const char *build_id;	/* in hex; "": none */
	enum symbol_debug debug;
	const char *package;	/* to install, where dpkg knows; "": not known, or not needed */
};

/*
 * Each file that is mapped still, in order of adding. No fetch. The strings are valid until fn
 * returns; its error ends it.
 */
struct err *symbols_each_file(struct symbols *symbols,
			      struct err *(*fn)(void *ctx, const struct symbol_file *file),
			      void *ctx) MUST_CHECK;

/*
 * The frames at pc as of generation (in a module that came later, if there was none: the map is
 * read after the fact): innermost inlined function first, the real function last; at least one,
 * always. With return_address, the instruction before pc is looked up (pc and offset are still of
 * pc). Never fails: what is unknown is NULL. The frames belong to symbols.
 */
const struct symbol_frame *symbols_resolve(struct symbols *symbols, uint64_t pc,
					   uint32_t generation, bool return_address,
					   size_t *nr_ret);
/*
 * "load_history+0x19 (history.c:42)", "malloc+0x3 [libc.so.6]" without line, "[libfoo.so+0x1234]"
 * (file's address) without function, "0x000055d0bfe01149" where nothing is known; of the real
 * function, whatever is inlined at pc. No "+0x0". Owned by symbols and kept like the frames.
 */
const char *symbols_text(struct symbols *symbols, uint64_t pc, uint32_t generation,
			 bool return_address, enum symbol_names names);
/* The function's name in that form; NULL: unknown. */
static inline const char *symbol_frame_name(const struct symbol_frame *frame,
					    enum symbol_names names)
{
	return names == SYMBOL_NAMES_FULL ? frame->function : frame->brief;
}

struct symbol_tls {
	const char *module;	/* last component of the path; NULL: none */
	const char *name, *brief;	/* of the variable, demangled; NULL: no symbol covers the offset */
	uint64_t offset;	/* from the variable, or else from the start of the module's data */
};

static inline const char *symbol_tls_name(const struct symbol_tls *tls, enum symbol_names names)
{
	return names == SYMBOL_NAMES_FULL ? tls->name : tls->brief;
}

/*
 * The variable at this offset of a thread's data of the module that had address in that generation.
 * The strings belong to symbols.
 */
struct symbol_tls symbols_tls(struct symbols *symbols, uint64_t address, uint32_t generation,
			      uint64_t offset);
/*
 * Address of a function or data symbol of a module that is mapped still, by name: "malloc",
 * "std::terminate()", without parameters "std::terminate". "libc.so.6`malloc" restricts the module
 * ("libc" does, too). Functions before data, then in order of adding. ERR_NOTFOUND.
 */
struct err *symbols_find(struct symbols *symbols, const char *name, uint64_t *addr_ret,
			 uint64_t *size_ret) MUST_CHECK;
/*
 * Function names that start with prefix, sorted, each once, for completion; fn returns true to end.
 */
void symbols_complete(struct symbols *symbols, const char *prefix,
		      bool (*fn)(const char *name, void *ctx), void *ctx);
/* A C++ or Rust name made readable (malloc'ed), or NULL if it is not mangled. */
char *symbol_demangle(const char *name);
