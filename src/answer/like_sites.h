/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions that stacks are named after, by number: sites whose blocks others may be like
 * (heap/block_like.h).
 */
#pragma once

#include "base/text_set.h"

struct stack_names;

struct like_sites {
	struct text_set names;
	VEC(uint32_t) of_stack;		/* number of the name + 1 */
};

/* *ret is empty. The caller calls like_sites_free, also after an error. */
struct err *like_sites_take(struct stack_names *names, struct like_sites *ret) MUST_CHECK;
void like_sites_free(struct like_sites *sites);
