/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A model of what has changed from a first moment to a second one, for the formats that can write
 * numbers less than 0 (model->changes). Each stack that has changed is a site, in the order of the
 * difference; of the others there are none.
 */
#pragma once

#include "answer/difference.h"
#include "base/err.h"

struct compare;
struct model;
struct session;

/*
 * Of two moments of the session's log. allocated: what the stacks were given in all between the two,
 * in which case those that hold as much as before come last; NULL: it is not known.
 */
struct changes_source {
	struct session *session;
	const struct difference *held, *allocated;
	uint64_t from_ns, to_ns;	/* since the epoch */
	const char *options;
};

/* After an error *ret is empty; this holds for both. */
struct err *changes_of_moments(const struct changes_source *source, struct model *ret) MUST_CHECK;
/*
 * Of two models that were compared. *ret has their texts, so both must live as long. All frames of
 * both are in it.
 */
struct err *changes_of_models(const struct compare *compare, const char *options,
			      struct model *ret) MUST_CHECK;
