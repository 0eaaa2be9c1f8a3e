/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loss records: marked blocks, added up by kind and by where they were allocated. */
#pragma once

#include "heap/reach/reach.h"
#include "heap/suppression.h"

#define LEAK_OFFSETS	4u

struct leak {
	enum leak_kind kind;
	uint32_t stack;		/* LOG_STACK_NONE: none was taken, or its blocks are in no record */
	bool preattach, unrecorded;	/* its blocks are (struct block) */
	uint32_t suppression;		/* that its blocks are suppressed by, or SUPPRESS_NONE */
	uint64_t blocks, bytes;
	/* For a definite one: the blocks lost with it, all of them LEAK_INDIRECT. */
	uint64_t indirect_blocks, indirect_bytes;
	/* The part of its blocks that is likely to be in use (enum likely), and why. */
	uint64_t likely_blocks, likely_bytes;
	uint32_t likely_kinds;			/* bits 1 << enum likely */
	/* of LIKELY_OFFSET and LIKELY_FORM, the first that are met */
	uint32_t offset[LEAK_OFFSETS];
	uint32_t nr_offsets;
	enum form form;				/* of all these; or FORM_NONE */
	/* The part of its blocks that only a word of a stack or register holds (reach_holder). */
	uint64_t stack_blocks, stack_bytes;
	uint32_t first;		/* the first of its blocks, by address */
	const char *type;	/* of that (leak_spec.type_of) */
	bool types_differ;	/* others have another one */
	/*
	 * Of lost ones: blocks through which a ring is lost that they are in, and those that are
	 * lost through such a ring.
	 */
	uint64_t ring_blocks;
};

struct leak_sum {
	uint64_t blocks, bytes;
};

struct leaks {
	/*
	 * By kind, the largest first; of the possibly lost ones that with the most bytes that are
	 * not likely to be in use. Ties by stack.
	 */
	VEC(struct leak) vec;
	size_t unlisted;			/* how many a limit has left out of vec */
	/* Sums of all blocks, listed or not: by kind, and of those suppressed. */
	struct leak_sum sum[LEAK_KINDS], suppressed;
	VEC(struct leak_sum) by_suppression;	/* the parts of `suppressed` */
	/* The part of sum[LEAK_POSSIBLE] that is likely to be in use, for each reason. */
	struct leak_sum likely[LIKELY_KINDS];
	/* The part of the sums that only words of stacks and registers hold, and these words. */
	struct leak_sum on_stack;
	VEC(struct leak_sum) by_holder;
	struct leak_sum listed;
	uint32_t kinds;				/* of the spec */
};

/* In leak_spec.kinds: suppressed blocks of any kind. */
#define LEAK_SUPPRESSED	(1u << LEAK_KINDS)

struct leak_spec {
	/* of sampling: blocks stand for others (block_share); 0 */
	uint64_t mean;
	/* to list: bits 1 << enum leak_kind, LEAK_SUPPRESSED */
	uint32_t kinds;
	/*
	 * The number (of nr_suppressions) of the suppression that applies to a lost block, or
	 * SUPPRESS_NONE. Blocks that are lost only through it are suppressed with it. NULL: there
	 * are none.
	 */
	uint32_t (*suppression_of)(void *ctx, const struct block *block);
	void *suppress_ctx;
	size_t nr_suppressions;
	/* The type of a block, the same text for all of one type; NULL: none is known. */
	const char *(*type_of)(void *types, const struct block *block);
	void *types;
	/* List this block? NULL: all. */
	bool (*keep)(void *ctx, const struct block *block);
	void *ctx;
};

/* Build them from marked blocks; mark is the result for this list. */
struct err *leaks_build(const struct packed_list *list, const struct reach_result *mark,
			const struct leak_spec *spec, struct leaks *ret) MUST_CHECK;
/*
 * The stale blocks: recorded blocks that are reachable or possibly lost, and older than age
 * nanoseconds at now_ns. The number of live blocks of each stack is taken from the list, which
 * gives the number of freed ones.
 */
struct err *leaks_stale(struct packed_list *list, const struct log *log, uint64_t now_ns,
			uint64_t age,
			struct blocks *ret) MUST_CHECK;
void leaks_free(struct leaks *leaks);

/*
 * What the kinds come to, without suppressed blocks: those that are lost, directly or through
 * others; those that are in use by evidence, as they are reachable or likely; and the others, which
 * are possibly lost. They add up to the four sums.
 */
struct leak_verdict {
	struct leak_sum lost, in_use, unknown;
};

struct leak_verdict leaks_verdict(const struct leaks *leaks);

/* "definitely lost", "still reachable", ... */
const char *leak_kind_name(enum leak_kind kind);
/* "definite", "indirect", ...: one word. */
const char *leak_kind_word(enum leak_kind kind);
