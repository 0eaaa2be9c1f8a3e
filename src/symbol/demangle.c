/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Demangling of C++ and Rust names, by libiberty. Names come from untrusted files, and what a name
 * of a few letters can cost has no bound in the name itself:
 *
 *	text		Each substitution may double it, so that a short one stands for gigabytes. Both
 *			lengths are limited.
 *	recursion	Of Rust names libiberty's own limit is on; without it `_RB_`, which refers to itself,
 *			has no end. Its limit for C++ is one of length (1,024 letters), which names of
 *			templates exceed, so that it is off for those: the parser recurses on its input
 *			alone, which is limited here, and the printer has a limit that is always on.
 *	one step	The printer has an array on its stack of 16 bytes for each pair of a template and a
 *			reference to a parameter, each of which it may count twice. Such a step may lead
 *			beyond any guard, so it is computed before, from the letters that begin them: I and J,
 *			R and O. Letters of identifiers are counted, too.
 *	time		symbol/contained.h ends what takes longer than some tenths of a second, or crashes.
 *
 * A name for which that is not enough is not demangled. Names that need little stack, which are
 * nearly all, are demangled on the caller's, since a thread for each takes longer than they do.
 */

#include <ctype.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>
#undef ARRAY_SIZE	/* base/compiler.h has its own */

#include "symbol/contained.h"
#include "symbol/string_pool.h"

#define MANGLED_MAX	4096
#define READABLE_MAX	65536

/* What the caller's stack must bear, beside the printer's 1,024 levels (600 KB). */
#define OWN_MANGLED	512
#define OWN_STEP	(256u << 10)
/* libiberty's limit for C++ */
#define LIMITED_MANGLED	1024
#define LARGE_STACK	((size_t)64 << 20)
#define LARGE_STEP	(32u << 20)

struct sink {
	const char *name;
	int options;
	enum mangling mangling;
	char *text;		/* READABLE_MAX bytes: nothing is allocated in the call */
	size_t len;
	bool full, has_memory;
	jmp_buf give_up;
};

static bool is_ascii(const char *text, size_t len)
{
	while (len && !(*text & 0x80))
		text++, len--;
	return !len;
}

static void add(const char *text, size_t len, void *ctx)
{
	struct sink *sink = ctx;
	bool ascii = is_ascii(text, len);

	sink->has_memory |= !ascii;
	sink->full |= len > READABLE_MAX - sink->len;
	if (!sink->full && len) {
		memcpy(sink->text + sink->len, text, len);
		sink->len += len;
	}
	/*
	 * The demangler has no way to stop it, but it needs no clean-up, as it works on its stack.
	 * Only for an identifier that is not ASCII it has memory; such are the only pieces that it
	 * hands over which are not, and another piece comes before the next one.
	 */
	if (sink->full && ascii)
		longjmp(sink->give_up, 1);
}

static void demangle(void *arg)
{
	struct sink *sink = arg;

	if (setjmp(sink->give_up))
		return;
	/* Rust's old scheme is also valid C++, so Rust comes first. */
	if (rust_demangle_callback(sink->name, sink->options, add, sink)) {
		sink->mangling = MANGLED_RUST;
		return;
	}
	sink->len = 0;
	if (cplus_demangle_v3_callback(sink->name, sink->options, add, sink))
		sink->mangling = MANGLED_CXX;
}

bool demangle_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/*
 * Rust names may have loops of any length, of lifetimes that are not printed (FGzzzz_), and
 * identifiers for which memory is allocated (u1...). Who jumps out of a loop in a name that has both
 * might jump out of malloc. The letters of both come by chance, too, in hashes and in words, so that
 * letters alone do not tell. So the letters of all loops are replaced by such of short ones, which
 * changes no other part of what is done: the name that comes of it has an end, and shows whether an
 * identifier takes memory. Returns whether there may be a long loop; *overlap: such letters lie in
 * the digits of others, so that only one of both was replaced.
 */
static bool shorten_loops(char *name, bool *overlap)
{
	bool any = false;

	for (char *at = name; *at; at++) {
		size_t digits = 0;

		if ((at[0] != 'F' && at[0] != 'D') || at[1] != 'G')
			continue;
		for (; isalnum((unsigned char)at[2 + digits]); digits++)
			*overlap |= (at[1 + digits] == 'F' || at[1 + digits] == 'D') &&
				    at[2 + digits] == 'G' && digits;
		if (digits < 2 || at[2 + digits] != '_')
			continue;
		memset(at + 2, '0', digits);
		any = true;
	}
	return any;
}

/* May the name have no end, so that it is jumped out of, and take memory meanwhile? */
static bool is_endless_with_memory(const char *name)
{
	char text[READABLE_MAX], copy[MANGLED_MAX + 1];
	struct sink sink = { .name = copy, .options = DMGL_ANSI, .text = text };
	bool overlap = false;

	if (name[1] != 'R')
		return false;
	strcpy(copy, name);
	if (!shorten_loops(copy, &overlap))
		return false;
	if (!overlap)
		demangle(&sink);
	return overlap || sink.full || sink.has_memory;
}

/* The most bytes by which the printer of C++ names moves its stack pointer at once. */
static uint64_t printer_step(const char *name)
{
	uint64_t templates = 0, references = 0;

	for (; *name; name++) {
		templates += *name == 'I' || *name == 'J';
		references += *name == 'R' || *name == 'O';
	}
	return 2 * templates * 2 * references * 16;
}

static enum contained_end demangle_contained(struct sink *sink)
{
	size_t len = strnlen(sink->name, MANGLED_MAX + 1);
	uint64_t step;

	if (len > MANGLED_MAX || is_endless_with_memory(sink->name))
		return CONTAINED_DONE;
	step = printer_step(sink->name);
	if (sink->name[1] == 'Z' && len > LIMITED_MANGLED)
		sink->options |= DMGL_NO_RECURSE_LIMIT;	/* of Rust, the old scheme does not recurse */
	if (sink->name[1] == 'R' || (len <= OWN_MANGLED && step <= OWN_STEP))
		return contained_call(demangle, sink, 0);
	return step <= LARGE_STEP ? contained_call(demangle, sink, LARGE_STACK) : CONTAINED_DONE;
}

static enum mangling readable(const char *name, int options, char **ret)
{
	struct sink sink = { .name = name, .options = options, .mangling = NOT_MANGLED };
	enum contained_end end;

	*ret = NULL;
	if (!demangle_is_mangled(name))
		return NOT_MANGLED;
	sink.text = malloc(READABLE_MAX);
	if (!sink.text)
		return NOT_MANGLED;
	end = demangle_contained(&sink);
	if (end == CONTAINED_DONE && sink.mangling && sink.len)
		*ret = strndup(sink.text, sink.len);
	free(sink.text);
	if (*ret)
		return sink.mangling;
	return end == CONTAINED_CRASHED || end == CONTAINED_ENDLESS ? MANGLED_LOST : NOT_MANGLED;
}

enum mangling demangle_whole(const char *name, char **ret)
{
	/*
	 * The return type is left out, as in the frames of gdb; only template functions have one.
	 */
	return readable(name, DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP, ret);
}

enum mangling demangle_bare(const char *name, char **ret)
{
	return readable(name, DMGL_ANSI, ret);
}
