/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marks: moments with names (theory in mark.h). */

#include "heap/reach/mark.h"

#include <stdio.h>

#include "base/str.h"

#define SHOWN	8u	/* names in a hint */

static const struct mark *find(const struct marks *marks, const char *name)
{
	vec_each(mark, &marks->vec)
		if (!strcmp(mark->name, name))
			return mark;
	return NULL;
}

static bool is_name(const char *name)
{
	if (!*name || *name == '-' || !strcmp(name, "now") || !strcmp(name, "peak"))
		return false;
	/* Bytes above 127 are letters of UTF-8. */
	for (; *name; name++)
		if ((unsigned char)*name <= ' ' || *name == 127 || *name == '/')
			return false;
	return true;
}

size_t marks_count(const struct marks *marks)
{
	size_t nr = 0;

	vec_each(mark, &marks->vec)
		nr += !mark->stale;
	return nr;
}

struct err *marks_check(const struct marks *marks, const char *name)
{
	const struct mark *mark = find(marks, name);
	size_t nr = marks_count(marks);

	if (strlen(name) > MARK_NAME_MAX)
		return err_hint(err_create(ERR_USAGE, "the name of the mark is too long"),
				"at most %u bytes", MARK_NAME_MAX);
	if (!is_name(name))
		return err_hint(err_create(ERR_USAGE, "'%s' is no name of a mark", name),
				"a name has no blank and no slash, and does not begin with a "
				"minus; `now` and `peak` are other moments");
	if (mark && !mark->stale)
		return err_hint(err_create(ERR_STATE, "there is a mark '%s' already", name),
				"choose another name; without a name mdbg makes one");
	if (nr < MARKS_MAX && marks->bytes < MARKS_BYTES)
		return NULL;
	return err_hint(err_create(ERR_STATE, "there are %zu marks, and no room for more", nr),
			"`malloc reset` forgets them");
}

void marks_make_name(const struct marks *marks, char ret[MARK_NAME_MAX + 1])
{
	size_t number = 1;

	do
		snprintf(ret, MARK_NAME_MAX + 1, "m%zu", number++);
	while (find(marks, ret));
}

static void free_moments(struct mark *mark)
{
	moment_free_packed(&mark->moment);
	moment_free_packed(&mark->totals);
}

static void remove_mark(struct marks *marks, size_t i)
{
	struct mark *mark = &marks->vec.at[i];

	marks->bytes -= mark->moment.len + mark->totals.len;
	free_moments(mark);
	vec_remove(&marks->vec, i);
}

struct err *marks_add(struct marks *marks, const char *name, const struct moment *moment,
		      const struct moment *totals, const struct mark **ret)
{
	struct sample_share total = moment_total(moment);
	const struct mark *stale = find(marks, name);
	struct mark mark = { .time_ns = moment->time_ns, .bytes = total.bytes,
			     .count = total.blocks };
	struct err *err = vec_reserve(&marks->vec, 1);

	if (!err)
		err = moment_pack(moment, &mark.moment);
	if (!err)
		err = moment_pack(totals, &mark.totals);
	if (err) {
		free_moments(&mark);
		return err;
	}
	if (stale)
		remove_mark(marks, (size_t)(stale - marks->vec.at));
	snprintf(mark.name, sizeof(mark.name), "%s", name);
	marks->vec.at[marks->vec.nr++] = mark;
	marks->bytes += mark.moment.len + mark.totals.len;
	*ret = &marks->vec.at[marks->vec.nr - 1];
	return NULL;
}

/* Add a hint: "marks: b, a; `now`, `peak` and -10m are moments, too". The latest comes first. */
static struct err *hint_names(const struct marks *marks, struct err *err)
{
	AUTO_STR struct str names = STR_INIT;
	struct err *failed = NULL;
	size_t nr = 0;

	for (size_t i = marks->vec.nr; i-- > 0 && !failed;)
		if (!marks->vec.at[i].stale && nr++ < SHOWN)
			failed = str_addf(&names, "%s%s", names.len ? ", " : "",
					  marks->vec.at[i].name);
	if (failed)
		return failed;
	if (!nr)
		return err_hint(err, "`malloc mark NAME` sets a mark; `now`, `peak` and -10m are "
				     "moments, too");
	return err_hint(err, "marks: %.300s%s; `now`, `peak` and -10m are moments, too",
			str_text(&names), nr > SHOWN ? " ..." : "");
}

struct err *marks_find(const struct marks *marks, const char *name, const struct mark **ret)
{
	const struct mark *mark = find(marks, name);

	if (!mark)
		return hint_names(marks, err_create(ERR_NOTFOUND, "there is no mark '%s'", name));
	if (mark->stale)
		return err_hint(err_create(ERR_STATE, "the mark '%s' is from before `malloc reset`",
					   name), "`malloc mark %s` sets it anew", name);
	*ret = mark;
	return NULL;
}

struct err *marks_remove(struct marks *marks, const char *name)
{
	const struct mark *mark;
	struct err *err = marks_find(marks, name, &mark);

	if (!err)
		remove_mark(marks, (size_t)(mark - marks->vec.at));
	return err;
}

void marks_reset(struct marks *marks)
{
	vec_each(mark, &marks->vec) {
		free_moments(mark);
		mark->stale = true;
	}
	marks->bytes = 0;
	while (marks->vec.nr > MARKS_MAX)
		remove_mark(marks, 0);
}

void marks_free(struct marks *marks)
{
	vec_each(mark, &marks->vec)
		free_moments(mark);
	vec_free(&marks->vec);
	marks->bytes = 0;
}
