/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `memory service`. */

#include "answer/service_rows.h"

#include <stdlib.h>

#include "base/cleanup.h"

#define IS(kind, member)	COLUMN(kind, struct service_row, member)

static const struct column service_columns[] = {
	{ "pid", ">PID", NULL, IS(NUMBER, pid), .flags = COLUMN_BRIEF },
	{ "resident", ">RESIDENT", "in memory; shared pages count in each process",
	  IS(BYTES, resident), .flags = COLUMN_BRIEF },
	{ "pss", ">PSS", "with its part of what it shares", IS(BYTES, pss),
	  .flags = COLUMN_BRIEF | COLUMN_MAX_UNKNOWN },
	{ "private", ">PRIVATE", "its own alone (USS)", IS(BYTES, private),
	  .flags = COLUMN_BRIEF | COLUMN_MAX_UNKNOWN },
	{ "swap", ">SWAP", NULL, IS(BYTES, swap), .flags = COLUMN_BRIEF | COLUMN_MAX_UNKNOWN },
	{ "growth", ">GROWTH", "of what is compared, since the last look", IS(CHANGE, growth),
	  COLUMN_WITH(struct service_row, stayed), .flags = COLUMN_BRIEF },
	{ "name", "NAME", NULL, IS(TEXT, name), .flags = COLUMN_BRIEF },
	{ "bysize", NULL, "how far it is above the others by its size: 5 is an outlier",
	  IS(REAL, bysize) },
	{ "bygrowth", NULL, "the same by its growth", IS(REAL, bygrowth) },
	{ "outlier", "OUTLIER", "it is one by growth or size", IS(TEXT, outlier),
	  .flags = COLUMN_BRIEF | COLUMN_EMPTY },
};

const struct relation service_relation = RELATION("service", service_columns, struct service_row);

static int compare(const void *left, const void *right)
{
	const struct service_member *a = *(const struct service_member *const *)left;
	const struct service_member *b = *(const struct service_member *const *)right;

	if ((a->by_growth > OUTLIER_TIMES) != (b->by_growth > OUTLIER_TIMES))
		return a->by_growth > OUTLIER_TIMES ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

struct err *service_rows(const struct service *service, struct answer *ret)
{
	size_t nr = service->vec.nr;
	AUTO_FREE const struct service_member **order = calloc(nr + 1, sizeof(const void *));
	struct err *err = NULL;

	*ret = (struct answer)ANSWER_KEPT(&service_relation);
	if (!order)
		return err_nomem;
	for (size_t i = 0; i < nr; i++)
		order[i] = &service->vec.at[i];
	qsort(order, nr, sizeof(const void *), compare);
	for (size_t i = 0; !err && i < nr; i++) {
		const struct service_member *is = order[i];

		err = answer_add(ret, &(struct service_row){
			.pid = is->pid, .name = is->name.bytes, .resident = is->resident,
			.pss = is->pss, .private = is->private, .swap = is->swap,
			.growth = is->growth, .stayed = is->stayed, .bysize = is->by_size,
			.bygrowth = is->by_growth,
			.outlier = is->by_growth > OUTLIER_TIMES ? "growth" :
				   is->by_size > OUTLIER_TIMES ? "size" : "" });
	}
	return err;
}
