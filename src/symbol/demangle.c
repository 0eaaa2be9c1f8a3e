/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Demangling of C++ and Rust names, by libiberty. Names come from untrusted files, and a short one
 * can stand for gigabytes of text (each substitution may double it). So both lengths are limited; a
 * name over the limits is not demangled.
 */

#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>
#undef ARRAY_SIZE	/* base/compiler.h has its own */

#include "base/str.h"
#include "symbol/string_pool.h"

/* The parser recurses on its input; with this length it needs only a few hundred KiB of stack. */
#define MANGLED_MAX	4096
#define READABLE_MAX	65536

struct sink {
	struct str text;
	jmp_buf give_up;
};

static void add(const char *text, size_t len, void *ctx)
{
	struct sink *sink = ctx;

	/*
	 * The demangler has no way to stop it, but it needs no clean-up, as it works on its stack.
	 */
	if (sink->text.len + len > READABLE_MAX || str_add_bytes(&sink->text, text, len))
		longjmp(sink->give_up, 1);
}

/* This is a separate function, since locals that change between setjmp and longjmp are lost. */
static enum mangling demangle(const char *name, int options, struct sink *sink)
{
	if (setjmp(sink->give_up))
		return NOT_MANGLED;
	/* Rust's old scheme is also valid C++, so Rust comes first. */
	if (rust_demangle_callback(name, options, add, sink))
		return MANGLED_RUST;
	str_clear(&sink->text);
	return cplus_demangle_v3_callback(name, options, add, sink) ? MANGLED_CXX : NOT_MANGLED;
}

bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

static enum mangling readable(const char *name, int options, char **ret)
{
	struct sink sink = { .text = STR_INIT };
	enum mangling mangling = NOT_MANGLED;

	*ret = NULL;
	if (is_mangled(name) && strnlen(name, MANGLED_MAX + 1) <= MANGLED_MAX)
		mangling = demangle(name, options | DMGL_NO_RECURSE_LIMIT, &sink);
	if (!mangling || !sink.text.len) {
		str_free(&sink.text);
		return NOT_MANGLED;
	}
	*ret = sink.text.at;
	return mangling;
}

enum mangling demangle_whole(const char *name, char **ret)
{
	/*
	 * The return type is left out, as in the frames of gdb; only template functions have one.
	 */
	return readable(name, DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP, ret);
}

char *demangle_bare(const char *name)
{
	char *text;

	readable(name, DMGL_ANSI, &text);
	return text;
}
