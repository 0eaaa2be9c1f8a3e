/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of a row (column.h). */

#include "answer/column.h"

#include <string.h>

/* There are millions of rows: no call of memcpy for each value. */
static uint64_t integer(const void *row, size_t at, size_t size)
{
	const char *is = (const char *)row + at;

	switch (size) {
	case 1:
		return *(const uint8_t *)is;
	case 2:
		return *(const uint16_t *)(const void *)is;
	case 4:
		return *(const uint32_t *)(const void *)is;
	default:
		return *(const uint64_t *)(const void *)is;
	}
}

static bool is_known(const struct column *column, const void *row, uint64_t number)
{
	if (column->with_size && !integer(row, column->with, column->with_size))
		return false;
	if (column->flags & COLUMN_0_UNKNOWN && !number)
		return false;
	return !(column->flags & COLUMN_MAX_UNKNOWN) || number != UINT64_MAX;
}

bool column_is_real(const struct column *column)
{
	return column->kind == COLUMN_REAL || column->kind == COLUMN_AGE ||
	       column->kind == COLUMN_TIME;
}

const char *column_kind_help(const struct column *column)
{
	static const char *const words[] = {
		[COLUMN_BYTES] = "bytes", [COLUMN_CHANGE] = "signed", [COLUMN_AGE] = "seconds",
		[COLUMN_TIME] = "seconds since the epoch", [COLUMN_STACK] = "for mdbg::frames",
		[COLUMN_ROWS] = "a list of dicts",
	};
	const char *word = column->kind < ARRAY_SIZE(words) ? words[column->kind] : NULL;

	return word ? word : "";
}

struct column_value column_get(const struct column *column, const void *row)
{
	const char *is = (const char *)row + column->at;
	struct column_value value = { .text = "" };

	if (column->kind == COLUMN_ROWS) {
		value.rows = (const void *)is;
		value.known = is_known(column, row, 1);
		return value;
	}
	value.number = integer(row, column->at, column->size);
	value.known = is_known(column, row, value.number);
	if (column->kind == COLUMN_TEXT && value.number)
		value.text = *(const char *const *)(const void *)is;
	else if (column->kind == COLUMN_REAL)
		value.real = *(const double *)(const void *)is;
	else if (column->kind == COLUMN_AGE || column->kind == COLUMN_TIME)
		value.real = (double)value.number / 1e9;
	return value;
}

const struct column *relation_find(const struct relation *relation, const char *key)
{
	for (size_t i = 0; i < relation->nr; i++)
		if (!strcmp(relation->columns[i].key, key))
			return &relation->columns[i];
	return NULL;
}
