/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `export` and `report` share: the model of a query's sites. */
#pragma once

#include "export/model.h"

struct call;
struct query;

/*
 * Of query_sites(call, query), with a walk of the heaps where blocks that are in no record belong
 * to it. blocks: the model has all blocks. ret is zeros, and to be freed whatever comes back.
 */
struct err *export_model(const struct call *call, bool blocks, enum model_freed freed,
			 struct query *query, struct model *ret) MUST_CHECK;
