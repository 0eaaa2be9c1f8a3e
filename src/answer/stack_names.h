/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks by the names in them: for filters, for the keys of sites, and for what a site is called.
 */
#pragma once

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "heap/filter.h"
#include "heap/site.h"
#include "symbol/symbol.h"

struct session;

/*
 * The text for a block without a stack. It is from before the attach; if unrecorded, it may also
 * have been allocated later without being recorded.
 */
const char *no_stack_text(bool unrecorded);
/* The name of a function; without one its place, "[libfoo.so+0x1230]", or "?? (code of no file)". */
const char *stack_names_function(const struct symbol_frame *frame, enum symbol_names names);
/* The name with its line or file, "push (vector.h:12)", "push [libfoo.so]", or what stands for it. */
struct err *function_text(struct str *str, const struct symbol_frame *frame,
			  enum symbol_names names) MUST_CHECK;
/* Is this a function that sites pass over (`set skip`)? */
bool frame_is_skipped(struct session *session, const struct symbol_frame *frame);

/* The stacks that match a glob. */
struct stack_match {
	const char *glob;
	enum filter_attr attr;
	VEC(uint8_t) known;		/* by stack id: 0 not asked yet, 1 no, 2 yes */
};

struct stack_name {
	const char *full, *brief;
	int line;		/* in the file that they name; 0: they name a function or a module */
};

struct stack_names {
	struct session *session;
	struct symbols *symbols;	/* NULL: not asked for yet */
	VEC(struct stack_match) matches;
	VEC(struct stack_name) names;	/* key of a site - 1 → name; the strings are the symbols' */
	struct map keys;		/* address of a name in full → its key */
	struct map files;		/* address of a file's name → its number */
	struct map lines;		/* number of the file << 32 | line → its key */
	struct map wrappers;		/* address of a name in full, or place → is it a wrapper's? 1 no, 2 yes */
};

void stack_names_init(struct stack_names *names, struct session *session);
void stack_names_free(struct stack_names *names);
/* This is for struct filter_env and struct site_spec; ctx is the struct stack_names. */
bool stack_names_match(void *ctx, uint32_t stack, enum filter_attr attr, const char *glob);
/*
 * The first condition of the filter on a name (== GLOB) that no stack of the log fulfils; NULL:
 * there is none.
 */
const struct filter_cond *stack_names_nobody(struct stack_names *names, const struct filter *filter);
/* The frame that a site is named after (own_frame.h). */
struct stack_own {
	struct symbol_frame frame;
	struct symbol_frame caller;	/* the first named one behind it; pc 0: none is needed, or known */
	size_t number;		/* of frame in the stack, inlined functions and the entry counted */
	uint32_t at;		/* number of its PC */
};

/* False: the stack has nothing but the entry. */
bool stack_names_own(struct stack_names *names, uint32_t stack, struct stack_own *ret);
/*
 * Call fn for that frame and all that are further out, one after the other, until it fails. Of a
 * stack with nothing but the entry it is not called.
 */
struct err *stack_names_each(struct stack_names *names, uint32_t stack,
			     struct err *(*fn)(void *ctx, const struct symbol_frame *frame),
			     void *ctx) MUST_CHECK;
/*
 * The key of that frame's function, line or module, by which stacks are added up. 0: it is not
 * known. If a frame's line is not known, the key by line is that of its function.
 */
uint64_t stack_names_key(void *ctx, uint32_t stack, enum site_by by);
/* The name of a key: a function, a module, or the file of a line; "(unknown)" for 0. */
const char *stack_names_name(const struct stack_names *names, uint64_t key);
/* The line in that file; 0: the key is no line's. */
int stack_names_line(const struct stack_names *names, uint64_t key);
/*
 * Add the function whose blocks these are, "load_history (history.c:42)": the frame of
 * stack_names_own. One without a name has its caller behind it: "[postgres+0x5c77f0], called by
 * CreateCachedPlan [postgres]". If there is none, nothing is added.
 */
struct err *stack_names_headline(struct stack_names *names, uint32_t stack,
				 struct str *ret) MUST_CHECK;
/* Add that caller alone, behind the words `before`; nothing, if that frame has a name. */
struct err *stack_names_caller(struct stack_names *names, uint32_t stack, const char *before,
			       struct str *ret) MUST_CHECK;
