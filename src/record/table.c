/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of samples, as two arrays each: keys, and numbers. */

#include "record/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void record_table_init(struct record_table *table, enum record_table_kind kind)
{
	*table = (struct record_table){ .columns = record_table_forms[kind].columns };
}

void record_table_clear(struct record_table *table)
{
	table->nr = 0;
	table->time_ns = 0;
}

void record_table_free(struct record_table *table)
{
	free(table->keys);
	free(table->values);
	*table = (struct record_table){ .columns = table->columns };
}

static struct err *reserve(struct record_table *table, size_t nr)
{
	size_t more = MAX(2 * table->room, (size_t)16), room = MAX(nr, more);
	uint64_t *keys, *values;

	if (nr <= table->room)
		return NULL;
	if (nr > RECORD_ROWS_MOST)
		return err_create(ERR_RANGE, "a sample has more than %u rows", RECORD_ROWS_MOST);
	keys = realloc(table->keys, room * sizeof(*keys));
	if (!keys)
		return err_nomem;
	table->keys = keys;
	values = realloc(table->values, room * table->columns * sizeof(*values));
	if (!values)
		return err_nomem;
	table->values = values;
	table->room = room;
	return NULL;
}

static uint64_t *row_at(const struct record_table *table, size_t i)
{
	return table->values + i * table->columns;
}

struct err *record_table_add(struct record_table *table, uint64_t key, const uint64_t *values)
{
	struct err *err = reserve(table, table->nr + 1);

	if (err)
		return err;
	table->keys[table->nr] = key;
	memcpy(row_at(table, table->nr++), values, table->columns * sizeof(*values));
	return NULL;
}

static bool is_zero(const struct record_table *table, size_t i)
{
	for (unsigned column = 0; column < table->columns; column++)
		if (row_at(table, i)[column])
			return false;
	return true;
}

struct order {
	uint64_t key;
	size_t at;
};

COMPARE_BY(by_key, struct order, x, COMPARE_KEYS(x->key, x->at))

static bool in_order(const struct record_table *table, bool changes)
{
	for (size_t i = 0; i < table->nr; i++)
		if ((!changes && is_zero(table, i)) || (i && table->keys[i] <= table->keys[i - 1]))
			return false;
	return true;
}

struct err *record_table_sort(struct record_table *table, bool changes)
{
	struct record_table sorted = { .columns = table->columns, .time_ns = table->time_ns };
	AUTO_FREE struct order *order = NULL;
	struct err *err = NULL;

	if (in_order(table, changes))
		return NULL;
	order = malloc(table->nr * sizeof(*order));
	if (!order)
		return err_nomem;
	for (size_t i = 0; i < table->nr; i++)
		order[i] = (struct order){ table->keys[i], i };
	qsort(order, table->nr, sizeof(*order), by_key);
	for (size_t i = 0; !err && i < table->nr; i++)
		if ((!i || order[i].key != order[i - 1].key) &&
		    (changes || !is_zero(table, order[i].at)))
			err = record_table_add(&sorted, order[i].key, row_at(table, order[i].at));
	if (err) {
		record_table_free(&sorted);
		return err;
	}
	record_table_free(table);
	*table = sorted;
	return NULL;
}

struct err *record_table_copy(const struct record_table *from, struct record_table *to)
{
	struct err *err = reserve(to, from->nr);

	if (err)
		return err;
	if (from->nr) {
		memcpy(to->keys, from->keys, from->nr * sizeof(*from->keys));
		memcpy(to->values, from->values, from->nr * from->columns * sizeof(*from->values));
	}
	to->nr = from->nr;
	to->time_ns = from->time_ns;
	return NULL;
}

/* Without rows that are new or gone nothing has to move. */
static bool replace(struct record_table *table, const struct record_table *changed)
{
	size_t at = 0;

	for (size_t i = 0; i < changed->nr; i++, at++) {
		while (at < table->nr && table->keys[at] < changed->keys[i])
			at++;
		if (is_zero(changed, i) || at == table->nr || table->keys[at] != changed->keys[i])
			return false;
	}
	at = 0;
	for (size_t i = 0; i < changed->nr; i++, at++) {
		while (table->keys[at] < changed->keys[i])
			at++;
		memcpy(row_at(table, at), row_at(changed, i),
		       table->columns * sizeof(*table->values));
	}
	return true;
}

struct err *record_table_merge(struct record_table *table, const struct record_table *changed)
{
	struct record_table all = { .columns = table->columns, .time_ns = table->time_ns };
	struct err *err = NULL;
	size_t i = 0, j = 0;

	if (replace(table, changed))
		return NULL;
	while (!err && (i < table->nr || j < changed->nr)) {
		bool old = j == changed->nr || (i < table->nr && table->keys[i] < changed->keys[j]);

		if (old) {
			err = record_table_add(&all, table->keys[i], row_at(table, i));
			i++;
			continue;
		}
		if (!is_zero(changed, j))
			err = record_table_add(&all, changed->keys[j], row_at(changed, j));
		i += i < table->nr && table->keys[i] == changed->keys[j];
		j++;
	}
	if (err) {
		record_table_free(&all);
		return err;
	}
	record_table_free(table);
	*table = all;
	return NULL;
}

struct err *record_table_changes(const struct record_table *before, const struct record_table *now,
				 struct record_table *ret)
{
	static const uint64_t zeros[RECORD_COLUMNS_MOST];
	struct err *err = NULL;
	size_t i = 0, j = 0;

	ret->nr = 0;
	ret->time_ns = now->time_ns;
	while (!err && (i < before->nr || j < now->nr)) {
		if (j == now->nr || (i < before->nr && before->keys[i] < now->keys[j])) {
			err = record_table_add(ret, before->keys[i++], zeros);
			continue;
		}
		if (i == before->nr || now->keys[j] < before->keys[i])
			err = record_table_add(ret, now->keys[j], row_at(now, j));
		else if (memcmp(row_at(before, i++), row_at(now, j), now->columns * sizeof(*zeros)))
			err = record_table_add(ret, now->keys[j], row_at(now, j));
		j++;
	}
	return err;
}

const uint64_t *record_table_row(const struct record_table *table, uint64_t key)
{
	size_t nr = table->nr, at = LOWER_BOUND(i, (size_t)0, nr, table->keys[i] < key);

	return at < nr && table->keys[at] == key ? row_at(table, at) : NULL;
}
