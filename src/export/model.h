/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The model is what every export is made of: the sites of an answer with their stacks. Each address
 * is resolved once. A format (export_formats.h) reads a model and writes a file (export_file.h); it
 * does not ask the session for anything.
 *
 * Sites are by stack. They come in three parts, one behind the other:
 *
 *	recorded	These are the sites of `malloc sites`, in the order that was asked for.
 *	early		This is one site at most. It stands for the blocks that a walk of the heaps has
 *			found and of which the log has no record. Its only frame is `(allocated before
 *			attach)`, or `(not recorded)` if that is not certain. If the log samples, there is
 *			no such site, because the figures of the recorded sites stand for these blocks.
 *	freed		These stacks have had blocks and hold none now, the largest of all time first. A
 *			format must ask for them: pprof needs them for alloc_space, and callgrind for its
 *			totals.
 *
 * The names come from the target. They may be of any length and may contain anything: newlines,
 * quotes, bytes that are no UTF-8. Each format has a function that makes them legal in it (text.h).
 *
 * A model copies what the session does not keep. So it stays whole while the target runs on. It must
 * not be used after the next attach, which destroys the symbols.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "export/flame.h"
#include "heap/early.h"
#include "heap/site.h"

struct filter;
struct filter_env;
struct list;
struct log;
struct session;

/* A function at an address: the real one, or one that was inlined into it. */
struct model_frame {
	/*
	 * as `set names` says; without a name the function's start, "[libfoo.so+0x1230]", or in code
	 * of no file the address, "0x…"; never empty
	 */
	const char *name;
	const char *full;	/* in full; NULL: not known */
	const char *linkage;	/* as in the symbol table; NULL: not known, or the same as full */
	const char *file;	/* as the debug information has it; NULL: not known */
	int line;		/* 0: not known */
	uint64_t into;		/* the address less that of the function; 0 if inlined, or not known */
	bool inlined;		/* into the next frame */
	bool skipped;		/* sites look through it (`set skip`) */
	bool nameless;		/* name is its place */
};

#define MODEL_NO_MODULE	UINT32_MAX

/* An address of a stack. */
struct model_location {
	uint64_t pc;		/* as in the stack; 0: there is no address ("(no stack)", early) */
	uint64_t code;		/* an address in the instruction: pc; for a return address pc - 1 */
	uint64_t offset;	/* the address of pc in the module's file; 0 without a module */
	uint32_t generation;	/* of the module map */
	uint32_t module;	/* index in modules; MODEL_NO_MODULE: none */
	uint32_t first, nr;	/* its frames in `frames`, innermost first; there is at least one */
	bool entry;		/* the entry of the allocator's function that was probed */
};

struct model_module {
	const char *path;	/* as the target sees it */
	char *build_id;		/* in hex; "": none */
	uint64_t start, end;	/* of all its mappings */
	uint64_t bias;		/* process address - file address */
};

enum model_part { MODEL_RECORDED, MODEL_EARLY, MODEL_FREED };

struct model_site {
	struct site figures;	/* the early site has only bytes and count */
	enum model_part part;
	uint32_t first, nr;	/* its locations in `path`, innermost first; there is at least one */
	const char *end;	/* why the stack ends early; NULL: it is whole */
	uint64_t from_bytes;	/* of the first one, if the model is of changes */
};

/* A sample of the history: the process at a time. A figure that is not known is 0. */
struct model_sample {
	uint64_t time_ns;	/* since the epoch */
	uint64_t bytes, count, rss;
	uint64_t older;		/* bytes freed so far of blocks from before the attach */
	uint64_t unsized;	/* and blocks whose size is not known; UINT64_MAX: nor how many */
	bool gap;		/* recording was off between the previous sample and this one */
};

struct model_mark {
	const char *name;
	uint64_t time_ns, bytes, count;
};

struct model {
	VEC(struct model_frame) frames;
	VEC(struct model_location) locations;
	VEC(struct model_module) modules;
	VEC(uint32_t) path;		/* the locations of the stacks, one stack behind the other */
	VEC(struct model_site) sites;
	size_t held;			/* the number of sites before the part `freed` */

	uint64_t bytes, count;		/* the sums of recorded and early sites in this model */
	/* the sums of the last line of `malloc sites`, which include sites beyond the limit */
	uint64_t all_bytes, all_count;
	uint64_t early_bytes, early_count;	/* the early site's part of bytes and count */

	uint64_t now_ns;		/* the time of the answer, since the epoch */
	uint64_t since_ns;		/* when recording began, since the epoch */
	uint64_t growth_ns;		/* the time that growth is over; 0: growth is not known */
	/* The log records one in so many bytes, and the figures are scaled; 0: it records all. */
	uint64_t sample;
	pid_t pid;
	char *command;			/* the target's command line; "": not known */
	char *options;			/* the words of the command behind the file's name */
	enum flame_of of;		/* what a flame graph shows */
	bool all_time;			/* the sites are sorted by what they have had in all */
	const char *unit;		/* what `count` counts: "blocks", or another of `growth` */
	const char *allocator;		/* "glibc 2.36 (ptmalloc)" */
	uint32_t program;		/* index of the program's module, or MODEL_NO_MODULE */

	/* Those of the history, oldest first, and marks of this log; both may be empty. */
	VEC(struct model_sample) samples;
	VEC(struct model_mark) marks;

	/* The blocks, if the format asks for them, else NULL. The list can be read once. */
	struct list *blocks;
	const struct log *log;		/* has the times and threads of the blocks */
	const pid_t *pids;		/* has their processes */
	uint32_t early_frame;		/* index of the frame of blocks that are in no record */
	bool limited;			/* there may be more sites: blocks of others are left out */
	/* There is a filter or a limit, so that the history is of more than these sites. */
	bool filtered;
	/* Of an earlier moment: of the figures only bytes, count and growth are known. */
	bool past;
	bool pinned;			/* bytes are free ones that blocks keep (heap/pins.h) */
	/*
	 * It is of changes (changes.h): the figures of sites, and all sums, are those of a second
	 * moment less those of a first, as signed numbers, and growth_ns is between the two.
	 */
	bool changes;

	VEC(char *) texts;		/* strings that nobody else owns */
};

enum model_freed {
	MODEL_NO_FREED,
	/*
	 * The stacks that the filter keeps by function and module. There are none if it asks for
	 * anything that only blocks have.
	 */
	MODEL_KEPT_FREED,
	/*
	 * All stacks of the log. Then the model has the stack of every block, also of one that is
	 * recorded at this moment and not counted yet.
	 */
	MODEL_ALL_FREED,
};

/* All that is given stays the caller's. The model uses `blocks`; the rest is used to build it. */
struct model_source {
	struct session *session;
	const struct sites *sites;	/* by stack */
	uint64_t now_ns;		/* the time of sites */
	uint64_t limit;			/* of all parts together */
	const struct early *early;	/* a count of 0: there is no early site */
	const struct filter *filter;	/* what sites were filtered by */
	const struct filter_env *env;
	const char *options;
	const char *unit;		/* NULL: blocks of malloc */
	bool pinned;
	enum model_freed freed;
	enum flame_of of;
	bool all_time;
	/*
	 * The moment since which growth is counted: stacks that hold nothing now have shrunk by
	 * what they held then. NULL: not known.
	 */
	const struct moment *since;
	struct list *blocks;		/* may be NULL */
};

/* After an error *ret is empty. ERR_RANGE: the log has more addresses than a program can have. */
struct err *model_build(const struct model_source *source, struct model *ret) MUST_CHECK;
void model_free(struct model *model);

/* A function in a stack. */
struct model_step {
	const struct model_location *location;
	const struct model_frame *frame;
};

struct model_stack {
	VEC(struct model_step) vec;
};

/*
 * Replace *ret by the functions of a site's stack, inlined ones too, innermost first. The caller
 * frees its vector after the last call.
 */
struct err *model_stack_get(const struct model *model, const struct model_site *site,
			    struct model_stack *ret) MUST_CHECK;
/*
 * Returns the step that a site is named after, by the rules of
 * answer/own_frame.h. If the stack has nothing but the entry, it is the entry.
 */
const struct model_step *model_stack_own(const struct model *model,
					 const struct model_stack *stack);
/*
 * The number of that step: what is before it, the allocator and its wrappers, valgrind's formats
 * leave out, so that what a function has itself is the program's.
 */
size_t model_stack_first(const struct model *model, const struct model_stack *stack);
