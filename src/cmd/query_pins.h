/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `malloc pins` is asked, and its answer, for the command, for scripts and for exports. */
#pragma once

#include "answer/heap_use.h"
#include "answer/pin_rows.h"
#include "cmd/query/query.h"
#include "heap/early.h"

struct call;

struct query_pins {
	struct query query;
	struct heap_use use;
	struct filter_env env;
	struct pins_source source;
	struct pins pins;
};

/* The words for enum pin_by; NULL ends them. */
extern const char *const query_pins_by[];

/*
 * Parse by, FILTER, sort and limit, and charge the free memory. The caller frees *ret, also after an
 * error.
 */
struct err *query_pins(const struct call *call, struct query_pins *ret) MUST_CHECK;
void query_pins_free(struct query_pins *pins);
/*
 * The same as sites for an export: by stack, with free bytes as bytes and pages as count. What is kept
 * by blocks without a record is in early. The caller frees *query, also after an error.
 */
struct err *query_pins_sites(const struct call *call, struct query *query,
			     struct early *early_ret) MUST_CHECK;
