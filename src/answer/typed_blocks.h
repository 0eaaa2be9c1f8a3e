/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The type of each block, by name: for `malloc types`, for columns and filters of other lists, and
 * for who adds blocks up by type.
 *
 * It is of one moment (session/pool/session_contents.h), which is not that of another list. So a
 * block of that list is looked up by all that is known of it: one that was freed meanwhile, and its
 * address given out again, is not taken for the old one.
 *
 *	err = typed_blocks_take(&names, &typed);
 *	name = typed_blocks_name(&typed, typed_blocks_of(&typed, &block).number);
 *	typed_blocks_free(&typed);
 */
#pragma once

#include "answer/like_sites.h"
#include "base/text_set.h"
#include "session/pool/session_contents.h"

struct stack_names;
struct type_plan;

/* How a type is known, in the order in which it is asked for. */
enum known_how {
	KNOWN_VTABLE, KNOWN_PYTHON, KNOWN_FRAME, KNOWN_DEBUG, KNOWN_SPREAD, KNOWN_FORM, KNOWN_LIKE,
	KNOWN_UNKNOWN, KNOWN_HOWS,
};

#define TYPED_UNKNOWN	0u		/* the number of "?" */
#define TYPED_MOST	(1u << 20)	/* types */

struct known_type {
	uint32_t number : 24;
	uint32_t how : 8;		/* enum known_how */
};

_Static_assert(sizeof(struct known_type) == 4, "there are millions");

struct typed_blocks {
	struct session_contents found;	/* its types.of is gone */
	VEC(struct known_type) of;	/* by the index of the block in found.blocks.held */
	struct text_set texts;		/* types in full, by number */
	/* Of each type that only its blocks' likeness says ("as by f"), by its number; zeros of others. */
	VEC(struct like_site) likes;
	/* For typed_blocks_match: by number, whether it matches `glob`; 0 not asked, 1 no, 2 yes. */
	const char *glob;
	VEC(uint8_t) matches;
	bool taken;
};

/*
 * Main thread: look at the target. The caller calls typed_blocks_free, also after an error; it may
 * be called on zeros. ERR_STATE, ERR_CANCELLED, ERR_GONE; ERR_RANGE: too many types.
 */
struct err *typed_blocks_take(struct stack_names *names, struct typed_blocks *ret) MUST_CHECK;

/* The same in the look of somebody else (session/pool/session_contents.h), who has the blocks. */
struct typed_look {
	struct session_contents_look in;
	struct session_contents_ask ask;
	const struct type_plan *plan;
	struct like_sites sites;
};

struct err *typed_blocks_begin(struct stack_names *names, struct typed_look *look,
			       struct typed_blocks *ret) MUST_CHECK;
/* It has looked: name what was found. */
struct err *typed_blocks_end(struct stack_names *names, struct typed_look *look,
			     struct typed_blocks *ret) MUST_CHECK;
/* It may be called on zeros. */
void typed_blocks_rest(struct typed_look *look);
void typed_blocks_free(struct typed_blocks *typed);
/* The type of a block of any list; TYPED_UNKNOWN also if the block was not there. */
struct known_type typed_blocks_of(const struct typed_blocks *typed, const struct block *block);
/* The name of that number: "?" for TYPED_UNKNOWN. It lives as long as typed. */
static inline const char *typed_blocks_name(const struct typed_blocks *typed, uint32_t number)
{
	return typed->texts.vec.at[number];
}
/* For struct filter_env: types is the struct typed_blocks. One thread at a time. */
bool typed_blocks_match(void *types, const struct block *block, const char *glob);
/* "vtable", "python", "frame", "debug", "spread", "form", "like"; "". */
const char *typed_blocks_how(enum known_how how);
