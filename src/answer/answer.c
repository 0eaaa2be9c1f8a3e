/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of an answer: one after the other, and in an order (answer.h). */

#include "answer/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/text_set.h"
#include "heap/filter.h"

/* The rows of answer_add. */
struct kept {
	const struct relation *of;
	struct text_set texts;
	char *rows;
	size_t nr, room;
};

static void free_nested(const struct relation *of, char *row)
{
	for (size_t i = 0; i < of->nr; i++)
		if (of->columns[i].kind == COLUMN_ROWS)
			answer_free((struct answer *)(void *)(row + of->columns[i].at));
}

static void kept_free(void *ctx)
{
	struct kept *kept = ctx;

	for (size_t i = 0; i < kept->nr; i++)
		free_nested(kept->of, kept->rows + i * kept->of->size);
	text_set_free(&kept->texts);
	free(kept->rows);
	free(kept);
}

static struct err *make_room(struct answer *answer)
{
	struct kept *kept = answer->ctx;
	size_t room;
	char *rows;

	if (!kept) {
		kept = answer->ctx = calloc(1, sizeof(*kept));
		if (!kept)
			return err_nomem;
		kept->of = answer->of;
		answer->free = kept_free;
	}
	if (answer->nr < kept->room)
		return NULL;
	room = kept->room ? kept->room * 2 : 16;
	rows = realloc(kept->rows, room * answer->of->size);
	if (!rows)
		return err_nomem;
	answer->at = kept->rows = rows;
	kept->room = room;
	return NULL;
}

static struct err *copy_texts(struct answer *answer, char *row)
{
	struct kept *kept = answer->ctx;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < answer->of->nr; i++) {
		const struct column *column = &answer->of->columns[i];
		const char **text = (const char **)(void *)(row + column->at);

		if (column->kind == COLUMN_TEXT && *text)
			err = text_set_keep(&kept->texts, *text, text);
	}
	return err;
}

struct err *answer_add(struct answer *answer, void *row)
{
	struct err *err = make_room(answer);
	struct kept *kept = answer->ctx;
	char *at;

	if (err) {
		free_nested(answer->of, (char *)row);
		return err;
	}
	at = kept->rows + kept->nr++ * answer->of->size;
	memcpy(at, row, answer->of->size);
	answer->nr = kept->nr;
	return copy_texts(answer, at);
}

struct err *answer_next(struct answer *rows, const void **ret)
{
	if (rows->next)
		return rows->next(rows->ctx, ret);
	*ret = NULL;
	if (rows->done == rows->nr)
		return NULL;
	*ret = rows->each ? rows->each[rows->done] :
			    (const char *)rows->at + rows->of->size * rows->done;
	rows->done++;
	return NULL;
}

void answer_free(struct answer *rows)
{
	if (rows->free)
		rows->free(rows->ctx);
	free(rows->notes);
	*rows = (struct answer){ .nr = 0 };
}

/* Text, stacks and lists have no order that says anything. */
static bool is_sortable(const struct column *column)
{
	return column->kind != COLUMN_ROWS && column->kind != COLUMN_STACK &&
	       column->kind != COLUMN_TEXT &&
	       !(column->flags & (COLUMN_NOT_IN_TCL | COLUMN_SAME));
}

static struct err *no_key(const struct relation *relation, const char *word)
{
	AUTO_STR struct str keys = STR_INIT;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < relation->nr; i++)
		if (is_sortable(&relation->columns[i]))
			err = str_addf(&keys, "%s%s", keys.len ? ", " : "",
				       relation->columns[i].key);
	if (err)
		return err;
	return err_hint(word ? err_create(ERR_USAGE, "'%s' is nothing to sort by", word) :
			       err_create(ERR_USAGE, "what to sort by is missing"),
			"sort %s", str_text(&keys));
}

static struct err *parse_sort(const struct relation *relation, int nr, const char *const *words,
			      int *at, struct answer_order *ret)
{
	const char *key = *at < nr ? words[*at] : NULL;

	ret->by = key ? relation_find(relation, key) : NULL;
	if (!ret->by || !is_sortable(ret->by))
		return no_key(relation, key);
	++*at;
	ret->up = *at < nr && !strcmp(words[*at], "up");
	*at += ret->up;
	return NULL;
}

struct err *answer_order_parse(const struct relation *relation, int nr, const char *const *words,
			     int *at, struct answer_order *ret)
{
	bool limited = false;
	struct err *err = NULL;

	*ret = (struct answer_order){ .limit = UINT64_MAX };
	while (!err && *at < nr) {
		const char *word = words[*at];
		bool sort = !strcmp(word, "sort");

		if (!sort && strcmp(word, "limit"))
			break;
		if (sort ? ret->by != NULL : limited)
			return err_create(ERR_USAGE, "%s is there twice", word);
		++*at;
		if (sort)
			err = parse_sort(relation, nr, words, at, ret);
		else if (*at == nr)
			err = err_create(ERR_USAGE, "a number goes after limit");
		else
			err = parse_number(words[(*at)++], &ret->limit);
		limited |= !sort;
	}
	return err;
}

/* Unknown values are last in both orders. */
static int compare(const struct answer_order *order, const void *va, const void *vb)
{
	struct column_value a = column_get(order->by, va), b = column_get(order->by, vb);
	int cmp;

	if (!a.known || !b.known)
		return (int)b.known - (int)a.known;
	if (order->by->kind == COLUMN_REAL)
		cmp = (a.real > b.real) - (a.real < b.real);
	else if (order->by->kind == COLUMN_CHANGE)
		cmp = ((int64_t)a.number > (int64_t)b.number) -
		      ((int64_t)a.number < (int64_t)b.number);
	else
		cmp = (a.number > b.number) - (a.number < b.number);
	return order->up ? cmp : -cmp;
}

struct sorting {
	const struct answer_order *order;
	const char *at;
	size_t size;
};

/* Compare two rows, which are given by their numbers. */
static int by_order(const void *va, const void *vb, void *ctx)
{
	size_t a = *(const size_t *)va, b = *(const size_t *)vb;
	const struct sorting *is = ctx;
	int cmp = compare(is->order, is->at + a * is->size, is->at + b * is->size);

	return cmp ? cmp : (a > b) - (a < b);
}

static struct err *sort(const struct sorting *is, char *at, size_t nr)
{
	AUTO_FREE size_t *numbers = malloc(nr * sizeof(*numbers));
	AUTO_FREE char *sorted = malloc(nr * is->size);

	if (!numbers || !sorted)
		return err_nomem;
	for (size_t i = 0; i < nr; i++)
		numbers[i] = i;
	qsort_r(numbers, nr, sizeof(*numbers), by_order, (void *)is);
	for (size_t i = 0; i < nr; i++)
		memcpy(sorted + i * is->size, at + numbers[i] * is->size, is->size);
	memcpy(at, sorted, nr * is->size);
	return NULL;
}

struct err *answer_sort(const struct answer_order *order, void *at, size_t nr, size_t size,
		      size_t *left_ret)
{
	const struct sorting is = { order, at, size };

	*left_ret = order->limit < nr ? (size_t)order->limit : nr;
	return order->by && nr ? sort(&is, at, nr) : NULL;
}
