/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `growth` knows of its kinds, for exports and for completion. */
#pragma once

#include "base/err.h"

struct call;
struct query;

/* The words for the kinds, in the order of enum growth_kind; NULL at the end. */
extern const char *const growth_words[];

/*
 * Parse `KIND ?FILTER? ?limit N? ?since MOMENT?`, which call->argv begins with, and fill in
 * query->sites and query->limit. *unit_ret is what their count counts. ERR_STATE: the kind is not
 * recorded.
 */
struct err *growth_sites(struct call *call, struct query *query, const char **unit_ret) MUST_CHECK;
