/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for addresses: function, offset, file, line, inlined frames, module; by libdw, with
 * separate debug files by build-id and .gnu_debuglink, .gnu_debugdata, demangling (C++, Rust),
 * short forms of C++ names, /tmp/perf-PID.map for JIT code.
 *
 * A `symbols` holds modules with the time (generation of the module map) in which they were mapped.
 * An address is resolved as of a generation, so that a stack that was recorded before a dlclose
 * keeps its names. Files stay open, so that names remain after the target, or the file, is gone.
 * The debug information of a module is opened when the first of its addresses is resolved.
 *
 * All strings live as long as the `symbols`. Results are cached: a PC is resolved once. Only the
 * main thread may use it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct image;
struct symbols;
struct v8_name;

struct symbol_module {
	const char *path;	/* as the target sees it; its last component is shown */
	/* open for reading, dup'ed by symbols_add; -1: none (bytes is used) */
	int fd;
	const void *bytes;	/* image, if fd is -1 (the vDSO); copied; may be NULL */
	size_t bytes_len;
	/* In hex, of a module without fd and bytes, whose file is not here; NULL: not known. */
	const char *build_id;
	uint64_t start, end;	/* from the first to the last of its mappings */
	uint64_t bias;		/* process address - file address */
	uint32_t born;		/* first generation in which it is mapped */
	/* first generation in which it is not mapped any more; UINT32_MAX: it is still mapped */
	uint32_t died;
};

/* The form in which names are shown. */
enum symbol_names {
	SYMBOL_NAMES_SHORT,	/* without the parts that symbol/fold.h leaves out */
	SYMBOL_NAMES_FULL,
};

struct symbol_frame {
	uint64_t pc;
	const char *function;	/* demangled, in full; NULL: unknown */
	const char *brief;	/* the short form; equals function if nothing is left out */
	/* lengths of function and brief without parameters */
	uint32_t function_bare, brief_bare;
	/* as in the symbol table; NULL if it equals function or is not known */
	const char *linkage;
	/*
	 * Of the real function, if it has no name: its start, "[libfoo.so+0x1230]" (address in the
	 * file), by which nameless functions are told apart; where no CFI tells the start, pc. NULL:
	 * it has a name, or belongs to no module.
	 */
	const char *place;
	/* pc - start of the real function; 0 if the start is not known */
	uint64_t offset;
	const char *module;	/* last component of the path; NULL: none */
	const char *path;	/* whole path; NULL: none */
	const char *file;	/* source file as the debug information names it, or NULL */
	int line;		/* 0: unknown */
	bool inlined;		/* it was inlined into the function of the next frame */
};

/*
 * target_pid is for /tmp/perf-PID.map and for debug files in the target's root (of a container); 0:
 * none. That root is kept open, so that both are found after the target is gone.
 */
struct err *symbols_create(int target_pid, struct symbols **ret) MUST_CHECK;
/*
 * warn is called once for each thing that is missing from the answers: a file that is over a limit
 * (base/limits.h) or was cut short while it was read, or debug information that cannot be trusted.
 */
void symbols_set_warn(struct symbols *symbols, void (*warn)(void *ctx, const char *text),
		      void *ctx);
void symbols_destroy(struct symbols *symbols);	/* NULL is allowed */

struct err *symbols_add(struct symbols *symbols, const struct symbol_module *module) MUST_CHECK;
/*
 * The module map was not observed before this generation: stacks of earlier generations get no
 * names from modules that came later.
 */
void symbols_floor(struct symbols *symbols, uint32_t generation);
/*
 * The modules that were added with this start and born are mapped no longer since generation died.
 */
void symbols_end(struct symbols *symbols, uint64_t start, uint32_t born, uint32_t died);
/*
 * Begin a new answer: names of JIT code are as of the first look in it. Without this call they stay
 * as in the last answer.
 */
void symbols_begin(struct symbols *symbols);
/*
 * Set the directories with separate debug files, separated by colons, like gdb's
 * debug-file-directory; default /usr/lib/debug.
 */
struct err *symbols_set_debug_path(struct symbols *symbols, const char *path) MUST_CHECK;
/*
 * Files that are added from now on are opened and read by `files`, once for all that share them. It
 * must outlive symbols. Nothing is shared between processes of different roots, since their debug
 * files are different ones.
 */
void symbols_share(struct symbols *symbols, struct symbols *files);

/*
 * Set the function that gets debug files that are not found here (debug_file.h); NULL: none. The
 * functions below that name addresses call it. Debug files that were not found are looked for
 * again.
 */
void symbol_file_set_fetch(struct symbols *symbols,
			   int (*fetch)(void *ctx, const char *build_id, const char *module_path),
			   void *ctx);
/*
 * Set the function that names code of no file which no /tmp/perf-PID.map names, by the memory of the
 * process (v8_code.h); NULL: none.
 */
void symbols_set_v8(struct symbols *symbols,
		    bool (*name)(void *ctx, uint64_t pc, struct v8_name *ret), void *ctx);
/* Is there a /tmp/perf-PID.map, as far as a look in it was needed? */
bool symbols_has_perf_map(const struct symbols *symbols);
/* Look again for debug files that were not found. Earlier frames and texts become invalid. */
void symbols_retry(struct symbols *symbols);
/* Returns the number of files that lack debug information although a line in them was asked for. */
size_t symbol_file_lacking_lines(const struct symbols *symbols);

/* A module at an address. */
struct symbol_place {
	const char *path;	/* as the target sees it */
	uint64_t start, end, bias;	/* as in struct symbol_module */
	uint32_t number;	/* of the module: equal numbers, same module; as long as the symbols */
	struct image *image;	/* for symbol_file_build_id, as is ... */
	const char *build_id;	/* ... that of a module without a file, or NULL */
};

/*
 * Find the module that has this address in that generation, as symbols_resolve does. Returns false
 * if there is none.
 */
bool symbol_file_place(struct symbols *symbols, uint64_t address, uint32_t generation,
		       struct symbol_place *ret);
/* Add the build-id of the module in hex; nothing, if it has none. */
struct err *symbol_file_build_id(const struct symbol_place *place, struct str *ret) MUST_CHECK;

enum symbol_debug { SYMBOL_DEBUG_NONE, SYMBOL_DEBUG_OWN, SYMBOL_DEBUG_SEPARATE };

struct symbol_file {
	const char *path;
	const char *build_id;	/* in hex; "": none */
	enum symbol_debug debug;
	/* package to install, if dpkg knows it; "": not known, or not needed */
	const char *package;
};

/*
 * Call fn for each file that is still mapped, in order of adding. Nothing is fetched. The strings
 * are valid until fn returns; an error of fn ends the loop.
 */
struct err *symbol_file_each(struct symbols *symbols,
			     struct err *(*fn)(void *ctx, const struct symbol_file *file),
			     void *ctx) MUST_CHECK;

/* The debug information of a file that is mapped. */
struct symbol_dwarf {
	struct Dwarf *dwarf;	/* it lives as long as the symbols */
	uint64_t bias;		/* address in the process - address in the debug information */
	uint64_t module;	/* where the module begins */
	const char *path;	/* of the module */
};

/*
 * Get the debug information of the next module that is still mapped and has any, in order of adding.
 * *at is the position, at first 0. Each is opened when it is reached. False: there is no other.
 */
bool symbol_file_dwarf(struct symbols *symbols, size_t *at, struct symbol_dwarf *ret);

/*
 * Get the frames at pc as of generation (if no module was there, in one that came later, since the
 * map is read afterwards): the innermost inlined function first, the real function last; always at
 * least one. With return_address, the instruction before pc is looked up (pc and offset still refer
 * to pc), if it can be a call. If not, pc is no return address: a signal has interrupted there, or
 * it was laid on the stack by hand (the restorer of a signal frame, the first function of a
 * coroutine). The instruction before it may then be another function's, and pc is looked up itself.
 * It never fails: unknown members are NULL. The frames belong to symbols.
 */
const struct symbol_frame *symbols_resolve(struct symbols *symbols, uint64_t pc,
					   uint32_t generation, bool return_address,
					   size_t *nr_ret);
/*
 * Returns "load_history+0x19 (history.c:42)", "malloc+0x3 [libc.so.6]" without a line,
 * "[libfoo.so+0x1234]" (address in the file) without a function, or "0x000055d0bfe01149" if nothing
 * is known. It is about the real function, whatever is inlined at pc. "+0x0" is left out. symbols
 * owns the text and keeps it as long as the frames.
 */
const char *symbols_text(struct symbols *symbols, uint64_t pc, uint32_t generation,
			 bool return_address, enum symbol_names names);
/* Returns the function's name in that form; NULL: unknown. */
static inline const char *symbol_frame_name(const struct symbol_frame *frame,
					    enum symbol_names names)
{
	return names == SYMBOL_NAMES_FULL ? frame->function : frame->brief;
}

struct symbol_data {
	const char *module;	/* last component of the path; NULL: none */
	/* of the symbol that covers the address, as in struct symbol_tls; NULL: none does */
	const char *name, *brief;
	uint64_t start, end;	/* what it covers; without a symbol only the word at the address */
	uint64_t offset;	/* of the address in the module, as in [MODULE+OFFSET] */
};

/*
 * Find the symbol at an address of a module's data. In contrast to symbols_resolve nothing is kept
 * of it, so that a million words can be asked for. The strings belong to symbols.
 */
struct symbol_data symbol_data_at(struct symbols *symbols, uint64_t address, uint32_t generation);

struct symbol_tls {
	const char *module;	/* last component of the path; NULL: none */
	/* name of the variable, demangled; NULL: no symbol covers the offset */
	const char *name, *brief;
	/* from the start of the variable, else from that of the module's data */
	uint64_t offset;
};

static inline const char *symbol_tls_name(const struct symbol_tls *tls, enum symbol_names names)
{
	return names == SYMBOL_NAMES_FULL ? tls->name : tls->brief;
}

/*
 * Find the variable at this offset of a thread's data that belongs to the module which had address
 * in that generation. The strings belong to symbols.
 */
struct symbol_tls symbol_data_tls(struct symbols *symbols, uint64_t address, uint32_t generation,
				  uint64_t offset);
/*
 * Find the address of a function or data symbol, by name, in a module that is still mapped:
 * "malloc", "std::terminate()", without parameters "std::terminate". "libc.so.6`malloc" restricts
 * the search to a module ("libc" does, too). Functions come before data, then the order of adding
 * counts. ERR_NOTFOUND.
 */
struct err *symbols_find(struct symbols *symbols, const char *name, uint64_t *addr_ret,
			 uint64_t *size_ret) MUST_CHECK;
/* Is the address in a function, by the symbols of that generation? */
bool symbol_data_is_function(struct symbols *symbols, uint64_t address, uint32_t generation);
/*
 * Call fn for the function names that start with prefix, sorted, each once, for completion; fn
 * returns true to stop.
 */
void symbol_complete(struct symbols *symbols, const char *prefix,
		     bool (*fn)(const char *name, void *ctx), void *ctx);
