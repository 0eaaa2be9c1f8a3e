/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns of every kind, what is known of them, the order of rows, and rows that are kept. */

#include "answer/answer.h"

#include "unit.h"

struct inner {
	uint32_t number;
	const char *text;
};

static const struct column inner_columns[] = {
	{ "number", NULL, NULL, COLUMN(NUMBER, struct inner, number) },
	{ "text", NULL, NULL, COLUMN(TEXT, struct inner, text) },
};

static const struct relation inner_relation = RELATION("inner", inner_columns, struct inner);

struct row {
	uint64_t number, most, nothing, time;
	int64_t change;
	double real;
	const char *text, *no_text;
	uint16_t heap;
	uint8_t byte;
	bool yes, no;
	struct answer rows;
};

#define IS(key, kind, member)	{ key, NULL, NULL, COLUMN(kind, struct row, member) }

static const struct column columns[] = {
	IS("number", NUMBER, number),
	IS("change", CHANGE, change),
	IS("real", REAL, real),
	IS("time", TIME, time),
	IS("text", TEXT, text),
	IS("no", NUMBER, no),
	IS("yes", NUMBER, yes),
	IS("byte", NUMBER, byte),
	IS("heap", HEAP, heap),
	IS("notext", TEXT, no_text),
	{ "max", NULL, NULL, COLUMN(BYTES, struct row, most), .flags = COLUMN_MAX_UNKNOWN },
	{ "zero", NULL, NULL, COLUMN(BYTES, struct row, nothing), .flags = COLUMN_0_UNKNOWN },
	{ "with", NULL, NULL, COLUMN(NUMBER, struct row, number), COLUMN_WITH(struct row, yes) },
	{ "without", NULL, NULL, COLUMN(NUMBER, struct row, number), COLUMN_WITH(struct row, no) },
	{ "rows", NULL, NULL, COLUMN(ROWS, struct row, rows), .rows = &inner_relation },
	{ "hidden", NULL, NULL, COLUMN(NUMBER, struct row, byte), .flags = COLUMN_NOT_IN_TCL },
};

static const struct relation relation = RELATION("rows", columns, struct row);

static const struct row some = {
	.number = 1ull << 40, .most = UINT64_MAX, .nothing = 0, .time = 1500000000, .change = -7,
	.real = 2.5, .text = "text", .heap = 0x8001, .byte = 200, .yes = true,
};

static struct column_value get(const char *key)
{
	return column_get(relation_find(&relation, key), &some);
}

TEST("gives values of every width")
{
	CU_ASSERT_EQUAL(get("number").number, 1ull << 40);
	CU_ASSERT_EQUAL((int64_t)get("change").number, -7);
	CU_ASSERT_EQUAL(get("real").real, 2.5);
	CU_ASSERT_EQUAL(get("time").real, 1.5);
	CU_ASSERT_STRING_EQUAL(get("text").text, "text");
	CU_ASSERT_STRING_EQUAL(get("notext").text, "");
	CU_ASSERT_EQUAL(get("byte").number, 200);
	CU_ASSERT_EQUAL(get("heap").number, 0x8001);
	CU_ASSERT(get("yes").number == 1 && get("no").number == 0);
	CU_ASSERT_PTR_EQUAL(get("rows").rows, &some.rows);
	CU_ASSERT_PTR_NULL(relation_find(&relation, "Number"));
}

TEST("knows what is not known")
{
	CU_ASSERT(get("number").known && get("no").known && get("notext").known);
	CU_ASSERT(!get("max").known && !get("zero").known);
	CU_ASSERT(get("with").known && !get("without").known);
}

static struct err *parse(const char *line, struct answer_order *ret)
{
	static char copy[128];
	const char *words[8];
	int nr = 0, at = 0;
	struct err *err;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		words[nr++] = word;
	err = answer_order_parse(&relation, nr, words, &at, ret);
	return !err && at < nr ? err_create(ERR_NOTFOUND, "%s", words[at]) : err;
}

TEST("parses an order")
{
	struct answer_order order;

	CU_ASSERT_PTR_NULL(parse("", &order));
	CU_ASSERT(!order.by && order.limit == UINT64_MAX);
	CU_ASSERT_PTR_NULL(parse("limit 3 sort change up", &order));
	CU_ASSERT(order.limit == 3 && order.up);
	CU_ASSERT_STRING_EQUAL(order.by->key, "change");
	CU_ASSERT_PTR_NULL(parse("sort time limit 0", &order));
	CU_ASSERT(!order.limit && !order.up);
	/* What is behind is the caller's. */
	CU_ASSERT_EQUAL(parse("sort time down", &order)->code, ERR_NOTFOUND);
	CU_ASSERT_EQUAL(parse("other", &order)->code, ERR_NOTFOUND);
}

TEST("refuses an order")
{
	static const char *const wrong[] = {
		"sort", "sort text", "sort rows", "sort hidden", "sort nothing", "limit", "limit x",
		"limit 1 limit 2", "sort number sort number",
	};
	struct answer_order order;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		CU_ASSERT_EQUAL(parse(wrong[i], &order)->code, ERR_USAGE);
	CU_ASSERT_PTR_NOT_NULL(strstr(parse("sort x", &order)->hint, "sort number, change, real,"));
	CU_ASSERT_PTR_NULL(strstr(parse("sort x", &order)->hint, "hidden"));
}

/* Equals stay as they were, in both directions, and what is not known is last. */
TEST("sorts")
{
	static const struct {
		const char *order, *want;
	} orders[] = {
		{ "sort change", "bdace" }, { "sort change up", "eacbd" }, { "sort with", "abcde" },
		{ "sort zero", "caebd" }, { "sort zero up", "eacbd" }, { "sort real up limit 2", "de" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		struct row rows[] = {
			{ .byte = 'a', .nothing = 5, .change = -1, .real = 3, .yes = true },
			{ .byte = 'b', .change = 1, .real = 2, .yes = true },
			{ .byte = 'c', .nothing = 7, .change = -1, .real = 2.5, .yes = true },
			{ .byte = 'd', .change = 1, .real = -1, .yes = true },
			{ .byte = 'e', .nothing = 1, .change = -2, .real = 0, .yes = true },
		};
		struct answer_order order;
		char got[8] = "";
		size_t left;

		CU_ASSERT_PTR_NULL_FATAL(parse(orders[i].order, &order));
		CU_ASSERT_PTR_NULL_FATAL(answer_sort(&order, rows, 5, sizeof(*rows), &left));
		for (size_t j = 0; j < left; j++)
			got[j] = (char)rows[j].byte;
		CU_ASSERT_STRING_EQUAL(got, orders[i].want);
	}
}

/* The copies have texts and rows of their own. */
TEST("keeps rows")
{
	struct answer answer = ANSWER_KEPT(&relation);
	char text[16];
	const void *at;
	unsigned nr = 0;

	for (unsigned i = 0; i < 100; i++) {
		struct row row = { .number = i, .text = text, .rows = ANSWER_KEPT(&inner_relation) };

		snprintf(text, sizeof(text), "row %u", i);
		for (unsigned j = 0; j < i % 3; j++)
			CU_ASSERT_PTR_NULL(answer_add(&row.rows, &(struct inner){ j, text }));
		CU_ASSERT_PTR_NULL_FATAL(answer_add(&answer, &row));
	}
	CU_ASSERT_EQUAL(answer.nr, 100);
	for (; !answer_next(&answer, &at) && at; nr++) {
		const struct row *row = at;
		const struct inner *inner;

		snprintf(text, sizeof(text), "row %u", nr);
		CU_ASSERT(row->number == nr && row->rows.nr == nr % 3);
		CU_ASSERT_STRING_EQUAL(row->text, text);
		inner = row->rows.at;
		if (row->rows.nr)
			CU_ASSERT_STRING_EQUAL(inner[row->rows.nr - 1].text, text);
	}
	CU_ASSERT_EQUAL(nr, 100);
	answer_free(&answer);
	answer_free(&answer);
}
