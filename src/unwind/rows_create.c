/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The index of rows: blocks of code just large enough that there are about as many of them as rows.
 */

#include "unwind/rows_compile.h"

#include <stdlib.h>
#include <string.h>

static void index_fill(const struct row *row, uint32_t nr, uint32_t *index, uint32_t nr_index,
		       uint32_t shift)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < nr_index; i++) {
		while (at + 1 < nr && row[at + 1].pc <= (uint64_t)i << shift)
			at++;
		index[i] = at;
	}
}

struct err *rows_create(const struct row *row, uint32_t nr, struct rows *ret)
{
	uint32_t last = row[nr - 1].pc, shift = 0, nr_index;
	struct row *copy;
	uint32_t *index;

	while (last >> shift >= nr)
		shift++;
	nr_index = (last >> shift) + 1;
	copy = malloc(nr * sizeof(*row) + nr_index * sizeof(*index));
	if (!copy)
		return err_nomem;
	memcpy(copy, row, nr * sizeof(*row));
	index = (uint32_t *)(copy + nr);
	index_fill(copy, nr, index, nr_index, shift);
	*ret = (struct rows){
		.row = copy,
		.nr = nr,
		.nr_index = nr_index,
		.index_shift = shift,
		.index = index,
	};
	return NULL;
}

bool rows_valid(const struct row *row, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (row[i].cfa >= ROW_CFA_KINDS || row[i].fp >= ROW_FP_KINDS)
			return false;
		if (i && row[i].pc <= row[i - 1].pc)
			return false;
	}
	return nr > 0;
}

void rows_free(struct rows *rows)
{
	free((struct row *)rows->row);
	*rows = (struct rows){ .row = NULL };
}
