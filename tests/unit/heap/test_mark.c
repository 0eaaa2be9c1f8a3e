/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marks: their names, what they keep, and what is left of them after a reset. */

#include "fixture.h"
#include "heap/reach/mark.h"

static void set(struct marks *marks, const char *name, uint64_t bytes)
{
	struct moment_sum sum = { 7, bytes, 2 };
	struct moment moment = { .time_ns = EPOCH, .vec = { &sum, 1, 1 } };
	const struct mark *mark;

	CU_ASSERT_PTR_NULL_FATAL(marks_check(marks, name));
	CU_ASSERT_PTR_NULL_FATAL(marks_add(marks, name, &moment, &moment, &mark));
	CU_ASSERT_STRING_EQUAL(mark->name, name);
	CU_ASSERT(mark->bytes == bytes && mark->count == 2 && mark->time_ns == EPOCH);
}

static uint64_t bytes_of(const struct marks *marks, const char *name)
{
	const struct mark *mark;
	struct moment moment;
	uint64_t bytes;

	CU_ASSERT_PTR_NULL_FATAL(marks_find(marks, name, &mark));
	CU_ASSERT_PTR_NULL_FATAL(moment_unpack(&mark->moment, mark->time_ns, &moment));
	CU_ASSERT(moment.vec.nr == 1 && moment.vec.at[0].stack == 7);
	bytes = moment.vec.at[0].bytes;
	moment_free(&moment);
	return bytes;
}

static bool refused(struct err *err, enum err_code code, const char *msg, const char *hint)
{
	return err && err->code == code && strstr(err->msg, msg) && strstr(err->hint, hint);
}

TEST("names")
{
	static const char *const bad[] = { "", "now", "peak", "-10m", "-", "a b", "a\tb", "a/b", "/",
					   "a\nb", "a\x7f", "a\x1b[1m" };
	static const char *const good[] = { "a", "m1", "0", "Peak", "before-the-load", "größe",
					    "a.b:c_d" };
	struct marks marks = MARKS_INIT;
	char name[80], made[MARK_NAME_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CU_ASSERT_TRUE(refused(marks_check(&marks, bad[i]), ERR_USAGE, "is no name", "minus"));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		set(&marks, good[i], 1);
	memset(name, 'x', sizeof(name));
	name[MARK_NAME_MAX] = '\0';
	set(&marks, name, 1);
	name[MARK_NAME_MAX] = 'x';
	name[MARK_NAME_MAX + 1] = '\0';
	CU_ASSERT_TRUE(refused(marks_check(&marks, name), ERR_USAGE, "too long", "64"));
	marks_make_name(&marks, made);
	CU_ASSERT_STRING_EQUAL(made, "m2");
	CU_ASSERT_TRUE(refused(marks_check(&marks, "a"), ERR_STATE, "already", "another"));
	marks_free(&marks);
}

TEST("find")
{
	struct marks marks = MARKS_INIT;
	const struct mark *mark;

	CU_ASSERT_TRUE(refused(marks_find(&marks, "a", &mark), ERR_NOTFOUND, "no mark 'a'",
			       "malloc mark NAME"));
	set(&marks, "a", 100);
	set(&marks, "b", 1ull << 40);
	CU_ASSERT_EQUAL(bytes_of(&marks, "a"), 100);
	CU_ASSERT_EQUAL(bytes_of(&marks, "b"), 1ull << 40);
	CU_ASSERT_TRUE(refused(marks_find(&marks, "c", &mark), ERR_NOTFOUND, "no mark 'c'",
			       "marks: b, a;"));
	marks_free(&marks);
}

/* After a reset a name is known, but nothing of it; and it may be given anew. */
TEST("reset")
{
	struct marks marks = MARKS_INIT;
	const struct mark *mark;
	char made[MARK_NAME_MAX + 1];

	set(&marks, "m1", 1);
	set(&marks, "b", 2);
	marks_reset(&marks);
	CU_ASSERT_EQUAL(marks.bytes, 0);
	CU_ASSERT_TRUE(refused(marks_find(&marks, "b", &mark), ERR_STATE, "from before `malloc reset`",
			       "malloc mark b"));
	CU_ASSERT_TRUE(refused(marks_find(&marks, "c", &mark), ERR_NOTFOUND, "no mark",
			       "malloc mark NAME"));
	marks_make_name(&marks, made);
	CU_ASSERT_STRING_EQUAL(made, "m2");
	set(&marks, "b", 3);
	CU_ASSERT_EQUAL(bytes_of(&marks, "b"), 3);
	CU_ASSERT_EQUAL(marks.vec.nr, 2);
	marks_free(&marks);
}

TEST("removed")
{
	struct marks marks = MARKS_INIT;
	const struct mark *mark;

	set(&marks, "a", 100);
	set(&marks, "b", 200);
	CU_ASSERT_PTR_NULL(marks_remove(&marks, "a"));
	CU_ASSERT_TRUE(refused(marks_remove(&marks, "a"), ERR_NOTFOUND, "no mark 'a'", "marks: b;"));
	CU_ASSERT_EQUAL(bytes_of(&marks, "b"), 200);
	CU_ASSERT_PTR_NULL(marks_find(&marks, "b", &mark));
	CU_ASSERT_EQUAL(marks.bytes, mark->moment.len + mark->totals.len);
	CU_ASSERT_PTR_NULL(marks_remove(&marks, "b"));
	CU_ASSERT_EQUAL(marks.bytes, 0);
	marks_free(&marks);
}

/* There is an end to marks, and to the names of before resets. */
TEST("most")
{
	struct marks marks = MARKS_INIT;
	char name[MARK_NAME_MAX + 1];

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < MARKS_MAX; i++) {
			/* Names that mdbg makes are looked for from m1 on each time. */
			snprintf(name, sizeof(name), "round-%u-%u", round, i);
			set(&marks, name, i);
		}
		CU_ASSERT_TRUE(refused(marks_check(&marks, "x"), ERR_STATE, "1024 marks", "reset"));
		marks_reset(&marks);
		CU_ASSERT_EQUAL(marks.vec.nr, MARKS_MAX);
	}
	marks_free(&marks);
}
