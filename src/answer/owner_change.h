/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What owners keep more, or less, than when it was asked before. Owners of two moments are the same if
 * they have the same name: a variable, a function's frames in a thread, a type, a module; sites are by
 * the number of their stack. An owner that was not there had nothing; what has gone is not listed.
 */
#pragma once

#include "base/text_set.h"
#include "base/vec.h"

struct owner_change {
	bool known;		/* it has been asked */
	uint64_t taken;		/* tracer_now */
	struct text_set names;
	VEC(uint64_t) bytes;	/* by name */
};

#define OWNER_CHANGE_INIT	{ .names = TEXT_SET_INIT }

void owner_change_free(struct owner_change *change);
/* Note that an owner keeps so many bytes. ERR_NOMEM. */
struct err *owner_change_add(struct owner_change *change, const char *name,
			     uint64_t bytes) MUST_CHECK;
/* How much more it keeps now. A name that is not there gets a place in before. ERR_NOMEM. */
struct err *owner_change_since(struct owner_change *before, const char *name, uint64_t bytes,
			       int64_t *ret) MUST_CHECK;
