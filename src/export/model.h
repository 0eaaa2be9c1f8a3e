/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every export is made of: the sites of an answer with their stacks, each address resolved
 * once. A format (formats.h) reads a model and writes a file (file.h); it asks the session for
 * nothing.
 *
 * Sites are by stack, and come in three parts, one behind the other:
 *
 *	recorded	those of `malloc sites`, in the order that was asked for
 *	early		one site at most, whose only frame is `(allocated before attach)`, or `(not
 *			recorded)` where that is not certain: what a walk of the heaps has found and the
 *			log has not. There is none where the log samples, since the figures of the
 *			recorded sites stand for such blocks, too.
 *	freed		stacks that hold nothing now and have had blocks, the largest of all time first;
 *			only for formats that ask for them, as pprof's alloc_space and callgrind's totals
 *
 * Names are those of the target, and may be anything, of any length: newlines, quotes, bytes that
 * are no UTF-8. Each format has a function that makes them legal in it (text.h).
 *
 * A model has copies of what is not the session's for ever: it stays whole when the target goes on,
 * but not after the session's symbols are gone (the next attach).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "heap/early.h"
#include "heap/site.h"

struct filter;
struct filter_env;
struct list;
struct log;
struct session;

/* A function at an address: the real one, or one that was inlined there. */
struct model_frame {
	/* As `set names` says; "[libfoo.so+0x1234]" or "0x…" where there is none. Not empty. */
	const char *name;
	const char *full;	/* in full; NULL: not known */
	const char *linkage;	/* as in the symbol table; NULL: not known, or the same as full */
	const char *file;	/* as the debug information has it; NULL: not known */
	int line;		/* 0: not known */
	bool inlined;		/* into the next frame */
	bool skipped;		/* sites look through it (`set skip`) */
};

#define MODEL_NO_MODULE	UINT32_MAX

/* An address of a stack. */
struct model_location {
	uint64_t pc;		/* as in the stack; 0: it stands for no address ((no stack), early) */
	uint64_t code;		/* in the instruction: pc, or one less for a return address */
	uint64_t offset;	/* of pc, as its file counts addresses; 0 without a module */
	uint32_t generation;	/* of the module map */
	uint32_t module;	/* in modules; MODEL_NO_MODULE: none */
	uint32_t first, nr;	/* in frames, innermost first; at least one */
	bool entry;		/* the allocator's function that was probed */
};

struct model_module {
	const char *path;	/* as the target sees it */
	char *build_id;		/* in hex; "": none */
	uint64_t start, end;	/* of all its mappings */
	uint64_t bias;		/* process address - file address */
};

enum model_part { MODEL_RECORDED, MODEL_EARLY, MODEL_FREED };

struct model_site {
	struct site figures;	/* of the early site bytes and count alone */
	enum model_part part;
	uint32_t first, nr;	/* in path: its locations, innermost first; at least one */
	const char *end;	/* why the stack ends there; NULL: it is whole */
};

/* The process at a time (history). What is not known is 0. */
struct model_sample {
	uint64_t time_ns;	/* since the epoch */
	uint64_t bytes, count, rss;
	bool gap;		/* nothing was recorded between the sample before and this one */
};

struct model_mark {
	const char *name;
	uint64_t time_ns, bytes, count;
};

struct model {
	VEC(struct model_frame) frames;
	VEC(struct model_location) locations;
	VEC(struct model_module) modules;
	VEC(uint32_t) path;		/* locations of the stacks, one stack behind the other */
	VEC(struct model_site) sites;
	size_t held;			/* the first so many sites hold something: they are not `freed` */

	uint64_t bytes, count;		/* of all that are held here */
	uint64_t all_bytes, all_count;	/* as the last line of `malloc sites` has them: without the limit */
	uint64_t early_bytes, early_count;	/* of the early site; it is part of bytes and count */

	uint64_t now_ns, since_ns;	/* since the epoch: the moment of the answer, recording since */
	uint64_t growth_ns;		/* how long growth is over; 0: growth is not known */
	uint64_t sample;		/* the log records one in so many bytes, and figures are scaled; 0 */
	pid_t pid;
	char *command;			/* of the target, with blanks between its words; "" not known */
	char *options;			/* the words that were asked with */
	const char *allocator;		/* "glibc 2.36 (ptmalloc)" */
	uint32_t program;		/* the module that is the target's program; MODEL_NO_MODULE */

	VEC(struct model_sample) samples;	/* oldest first; may be empty */
	VEC(struct model_mark) marks;

	/* The blocks, for a format that asks for them, else NULL; read once (heap/block_list.h). */
	struct list *blocks;
	uint32_t early_frame;		/* of blocks in no record, also where there is no early site */
	const struct log *log;		/* and what their times and threads are looked up in */
	const pid_t *pids;
	bool limited;			/* sites were left out: only blocks of those here belong to it */
	bool filtered;			/* a filter or a limit: the history is of more than the sites */

	VEC(char *) texts;		/* what frames, modules and marks have no other owner for */
};

enum model_freed {
	MODEL_NO_FREED,
	/*
	 * Stacks that the filter keeps: by function and module. Where it asks for something that
	 * only blocks have, there are none.
	 */
	MODEL_KEPT_FREED,
	MODEL_ALL_FREED,	/* all stacks, so that every block's is in the model */
};

/* What a model is made of; all of it stays the caller's, and blocks as long as the model is. */
struct model_source {
	struct session *session;
	const struct sites *sites;	/* by stack */
	uint64_t now_ns;		/* of sites */
	uint64_t limit;			/* of sites; the other parts fill it up */
	const struct early *early;
	const struct filter *filter;	/* of the sites */
	const struct filter_env *env;
	const char *options;
	enum model_freed freed;
	struct list *blocks;		/* for the model; NULL: none */
};

/* After an error *ret is empty. ERR_CANCELLED; ERR_NOMEM. */
struct err *model_build(const struct model_source *source, struct model *ret) MUST_CHECK;
void model_free(struct model *model);

/*
 * The frames of a site, one for each function, inlined ones too, innermost first. The vector is
 * used again by the next call, and is the caller's to free.
 */
struct model_step {
	const struct model_location *location;
	const struct model_frame *frame;
};

struct model_stack {
	VEC(struct model_step) vec;
};

struct err *model_stack_get(const struct model *model, const struct model_site *site,
			    struct model_stack *ret) MUST_CHECK;
/*
 * How many of these steps are the allocator's function itself: valgrind's formats begin with its
 * caller. 0 if there is no caller.
 */
size_t model_stack_entry(const struct model_stack *stack);
/*
 * The step that a site is named after, as stack_names_own has it (report/traceback.h); the first
 * one of a stack that has nothing but the entry.
 */
const struct model_step *model_stack_own(const struct model_stack *stack);
