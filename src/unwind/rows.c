/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search in a module's rows. Freestanding: compiled into the agent as well. */

#include "unwind/rows.h"

#include <stddef.h>

const struct row *rows_find(const struct rows *rows, uint32_t pc)
{
	const struct row *row = rows->row;
	uint32_t low = 0, nr = rows->nr;

	if (!rows->nr)
		return NULL;
	if (rows->index) {
		uint32_t block = pc >> rows->index_shift;

		if (block >= rows->nr_index)
			return &row[nr - 1];
		low = rows->index[block];
		nr = (block + 1 < rows->nr_index ? rows->index[block + 1] + 1 : nr) - low;
	}
	/*
	 * The row is one of the nr from low on. The code is written so that it compiles to a
	 * conditional move, because a branch would be mispredicted half of the time.
	 */
	while (nr > 1) {
		uint32_t half = nr / 2;

		low = row[low + half].pc <= pc ? low + half : low;
		nr -= half;
	}
	return row[low].pc <= pc ? &row[low] : NULL;
}
