/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FILTER, `sort` and `limit` as words. */

#include <stdio.h>
#include <string.h>

#include "heap/filter.h"

#define RELATIONS	"== != < <= > >="

static const struct {
	const char *name;
	enum filter_attr attr;
	bool synonym;
} attrs[] = {
	{ "address", FILTER_ADDRESS, false }, { "addr", FILTER_ADDRESS, true },
	{ "size", FILTER_SIZE, false },
	{ "heap", FILTER_HEAP, false },
	{ "pid", FILTER_PID, false },
	{ "thread", FILTER_THREAD, false }, { "tid", FILTER_THREAD, true },
	{ "pthread", FILTER_THREAD, true },
	{ "time", FILTER_TIME, false }, { "clocktime", FILTER_TIME, true },
	{ "age", FILTER_AGE, false },
	{ "seq", FILTER_SEQ, false }, { "sequence", FILTER_SEQ, true },
	{ "function", FILTER_FUNCTION, false },
	{ "module", FILTER_MODULE, false },
	{ "type", FILTER_TYPE, false },
};

/* The longer ones first. */
static const struct {
	const char *text;
	enum filter_relop relop;
} relops[] = {
	{ "==", FILTER_EQ }, { "!=", FILTER_NE }, { "<=", FILTER_LE }, { ">=", FILTER_GE },
	{ "=", FILTER_EQ }, { "<", FILTER_LT }, { ">", FILTER_GT },
};

/* The position of the parser: a word, and how much of it was read. */
struct cursor {
	const char *const *argv;
	int argc, at;
	size_t offset;
};

/* The rest of this word, or the next one; NULL at the end. */
static const char *rest(struct cursor *cursor)
{
	if (cursor->at < cursor->argc && !cursor->argv[cursor->at][cursor->offset] &&
	    cursor->offset) {
		cursor->at++;
		cursor->offset = 0;
	}
	return cursor->at < cursor->argc ? cursor->argv[cursor->at] + cursor->offset : NULL;
}

static void next(struct cursor *cursor)
{
	cursor->at++;
	cursor->offset = 0;
}

static bool word_is(struct cursor *cursor, const char *word)
{
	const char *text = rest(cursor);

	return text && !strcmp(text, word);
}

/* Length of the letters that text begins with. */
static size_t letters(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
}

static bool attr_find(const char *text, size_t len, enum filter_attr *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
		if (strlen(attrs[i].name) == len && !memcmp(attrs[i].name, text, len)) {
			*ret = attrs[i].attr;
			return true;
		}
	}
	return false;
}

bool filter_parse_is_attr(const char *word)
{
	enum filter_attr attr;

	return attr_find(word, strlen(word), &attr);
}

const char *filter_parse_attr_name(enum filter_attr attr)
{
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++)
		if (attrs[i].attr == attr)
			return attrs[i].name;
	return "?";
}

/* Append "address, size, ...": the attributes that are allowed here. */
static void attr_list(uint32_t allowed, char *buf, size_t room)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(attrs) && len < room; i++)
		if (!attrs[i].synonym && allowed & 1u << attrs[i].attr)
			len += (size_t)snprintf(buf + len, room - len, "%s%s", len ? ", " : "",
						attrs[i].name);
}

static struct err *not_an_attr(const char *text, size_t len, uint32_t allowed)
{
	char list[256];

	attr_list(allowed, list, sizeof(list));
	return err_create(ERR_USAGE, "'%.*s' is not an attribute: %s", (int)len, text, list);
}

/* Parse an attribute; the rest of its word is left to be read. */
static struct err *parse_attr(struct cursor *cursor, uint32_t allowed, enum filter_attr *ret)
{
	const char *text = rest(cursor);
	size_t len = letters(text);

	if (!attr_find(text, len, ret) || !(allowed & 1u << *ret))
		return not_an_attr(text, len ? len : strlen(text), allowed);
	cursor->offset += len;
	return NULL;
}

static struct err *parse_relop(struct cursor *cursor, enum filter_attr attr, enum filter_relop *ret)
{
	const char *text = rest(cursor);

	if (!text)
		return err_create(ERR_USAGE, "%s: a relation must follow: " RELATIONS,
				  filter_parse_attr_name(attr));
	for (size_t i = 0; i < ARRAY_SIZE(relops); i++) {
		size_t len = strlen(relops[i].text);

		if (strncmp(text, relops[i].text, len) || (text[len] && strchr("=<>!", text[len])))
			continue;
		cursor->offset += len;
		*ret = relops[i].relop;
		return NULL;
	}
	return err_create(ERR_USAGE, "%s: '%s' is not a relation: " RELATIONS,
			  filter_parse_attr_name(attr), text);
}

static struct err *parse_heap(const char *text, struct filter_cond *cond)
{
	bool user = !strcmp(text, "user");

	if (*text >= '0' && *text <= '9')
		return parse_number(text, &cond->number);
	if (!user && strcmp(text, "mmap"))
		return err_create(ERR_USAGE, "'%s' is not a heap: a number, mmap or user", text);
	cond->number = user ? LOG_HEAP_USER : LOG_HEAP_MMAP;
	if (cond->relop != FILTER_EQ && cond->relop != FILTER_NE)
		return err_create(ERR_USAGE, "%s can be compared with == and != only", text);
	return NULL;
}

static struct err *parse_glob(const char *text, struct filter_cond *cond)
{
	if (cond->relop != FILTER_EQ && cond->relop != FILTER_NE)
		return err_create(ERR_USAGE, "names can be compared with == and != only");
	cond->glob = strdup(text);
	return cond->glob ? NULL : err_nomem;
}

/* A date that is a whole word may be followed by the time of day in the next word. */
static struct err *parse_clock(struct cursor *cursor, const char *text, struct filter_cond *cond)
{
	char both[64];
	int hour, minute, used = 0;

	if (cursor->at + 1 < cursor->argc && strlen(text) == 10 && text[4] == '-' &&
	    sscanf(cursor->argv[cursor->at + 1], "%2d:%2d%n", &hour, &minute, &used) == 2 &&
	    snprintf(both, sizeof(both), "%s %s", text, cursor->argv[cursor->at + 1]) <
		    (int)sizeof(both)) {
		next(cursor);
		return parse_time(both, &cond->number);
	}
	return parse_time(text, &cond->number);
}

static struct err *parse_value(struct cursor *cursor, struct filter_cond *cond)
{
	const char *text = rest(cursor);

	if (!text || !*text)
		return err_create(ERR_USAGE, "a value must follow");
	switch (cond->attr) {
	case FILTER_SIZE:
		return parse_size(text, &cond->number);
	case FILTER_HEAP:
		return parse_heap(text, cond);
	case FILTER_TIME:
		return parse_clock(cursor, text, cond);
	case FILTER_AGE:
		return parse_duration(text, &cond->number);
	case FILTER_FUNCTION:
	case FILTER_MODULE:
	case FILTER_TYPE:
		return parse_glob(text, cond);
	default:
		return parse_number(text, &cond->number);
	}
}

static struct err *parse_cond(struct cursor *cursor, uint32_t allowed, struct filter *filter)
{
	struct filter_cond cond = { 0 };
	struct err *err = parse_attr(cursor, allowed, &cond.attr);

	if (!err)
		err = parse_relop(cursor, cond.attr, &cond.relop);
	if (err)
		return err;
	err = parse_value(cursor, &cond);
	if (err)
		return err_wrap(err, "%s", filter_parse_attr_name(cond.attr));
	next(cursor);
	err = vec_push(&filter->conds, cond);
	if (err)
		free(cond.glob);
	return err;
}

/*
 * Does a condition begin here? The word must begin with an attribute's name; if strict, an unknown
 * name counts, too, when a relation follows it.
 */
static bool at_cond(struct cursor *cursor, bool strict)
{
	const char *text = rest(cursor), *after;
	enum filter_attr attr;
	size_t len;

	if (!text)
		return false;
	len = letters(text);
	if (attr_find(text, len, &attr))
		return !text[len] || strchr("=<>!", text[len]);
	after = text[len] ? text + len : cursor->at + 1 < cursor->argc
		? cursor->argv[cursor->at + 1] : "";
	return strict && len && *after && strchr("=<>!", *after);
}

static struct err *parse_conds(struct cursor *cursor, uint32_t allowed, bool strict,
			       struct filter *filter)
{
	struct err *err;

	if (!at_cond(cursor, strict))
		return NULL;
	for (;;) {
		err = parse_cond(cursor, allowed, filter);
		if (err || !word_is(cursor, "and"))
			return err;
		next(cursor);
		if (!rest(cursor))
			return err_create(ERR_USAGE, "a condition must follow `and`");
	}
}

static struct err *parse_sort(struct cursor *cursor, uint32_t allowed, struct filter_order *order)
{
	const char *text;

	if (!word_is(cursor, "sort"))
		return NULL;
	next(cursor);
	allowed &= ~(1u << FILTER_FUNCTION | 1u << FILTER_MODULE | 1u << FILTER_TYPE);
	text = rest(cursor);
	if (!text)
		return err_create(ERR_USAGE, "an attribute must follow `sort`");
	if (!attr_find(text, strlen(text), &order->attr) || !(allowed & 1u << order->attr))
		return err_wrap(not_an_attr(text, strlen(text), allowed), "sort");
	next(cursor);
	order->sorted = true;
	order->dir = word_is(cursor, "up") ? SORT_UP : SORT_DOWN;
	if (word_is(cursor, "up") || word_is(cursor, "down"))
		next(cursor);
	return NULL;
}

static struct err *parse_limit(struct cursor *cursor, struct filter_order *order)
{
	const char *text;
	struct err *err;

	if (!word_is(cursor, "limit"))
		return NULL;
	next(cursor);
	text = rest(cursor);
	if (!text)
		return err_create(ERR_USAGE, "a number must follow `limit`");
	err = parse_number(text, &order->limit);
	if (err)
		return err_wrap(err, "limit");
	next(cursor);
	return NULL;
}

static struct err *parse_all(struct cursor *cursor, uint32_t allowed, bool strict,
			     struct filter *filter, struct filter_order *order)
{
	struct err *err = parse_conds(cursor, allowed, strict, filter);

	if (err)
		return err_hint(err, "FILTER is ATTR RELOP VALUE ?and ATTR RELOP VALUE?...");
	if (order)
		err = parse_sort(cursor, allowed, order);
	if (!err && order)
		err = parse_limit(cursor, order);
	if (!err && strict && rest(cursor))
		err = err_create(ERR_USAGE, "'%s' is not expected here", rest(cursor));
	return err;
}

struct err *filter_parse(int argc, const char *const *argv, uint32_t allowed, struct filter *ret,
			 struct filter_order *order_ret, int *used_ret)
{
	struct filter_order order = { .limit = UINT64_MAX };
	struct filter filter = { VEC_INIT };
	struct cursor cursor = { argv, argc, 0, 0 };
	struct err *err = parse_all(&cursor, allowed, !used_ret, &filter,
				    order_ret ? &order : NULL);

	if (err) {
		filter_free(&filter);
		return err;
	}
	*ret = filter;
	if (order_ret)
		*order_ret = order;
	if (used_ret)
		*used_ret = cursor.at;
	return NULL;
}
