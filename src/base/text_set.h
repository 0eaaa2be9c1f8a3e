/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers the distinct ones among many texts: 0, 1, 2 ... in the order in which they come up. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct text_set {
	VEC(const char *) vec;		/* by number */
	VEC(char *) copies;
	uint32_t *slots;		/* number + 1, by hash; nr_slots is a power of two */
	size_t nr_slots;
};

#define TEXT_SET_INIT	{ .vec = VEC_INIT }

/* The text is kept as it is: it has to live as long as the set. */
struct err *text_set_number(struct text_set *set, const char *text, uint32_t *ret) MUST_CHECK;
/* The same of a text that does not live so long. */
struct err *text_set_copy(struct text_set *set, const char *text, uint32_t *ret) MUST_CHECK;
/* The same; *ret is the text in the set, until text_set_free. */
struct err *text_set_keep(struct text_set *set, const char *text, const char **ret) MUST_CHECK;
bool text_set_has(const struct text_set *set, const char *text);
void text_set_free(struct text_set *set);
