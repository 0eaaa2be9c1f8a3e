/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The children of a process, summed up by program. */

#include "answer/recorder_children.h"
#include "unit.h"

#define PARENT		100
#define RUNS		1000000u
#define PROGRAMS	3u

static void add(struct recorder_children *children, const char *name, struct task_exit exit)
{
	snprintf(exit.name, sizeof(exit.name), "%s", name);
	recorder_children_add(children, &exit);
}

TEST("a million runs are as many rows as there are programs")
{
	struct recorder_children children = { .fd = -1, .parent = PARENT };
	char name[32];

	for (unsigned i = 0; i < RUNS; i++) {
		snprintf(name, sizeof(name), "program-%u", i % PROGRAMS);
		add(&children, name, (struct task_exit){
			.parent = PARENT, .last = true, .failed = i % 10 == 0, .most = i, .cpu_ns = 2,
			.faults = 3 });
	}
	CU_ASSERT_EQUAL_FATAL(children.vec.nr, PROGRAMS);
	CU_ASSERT(children.changed && !children.lost);
	for (unsigned i = 0; i < PROGRAMS; i++) {
		const uint64_t *value = children.vec.at[i].value;
		uint64_t runs = RUNS / PROGRAMS + (i < RUNS % PROGRAMS);

		CU_ASSERT_EQUAL(value[RECORD_CHILD_RUNS], runs);
		CU_ASSERT_EQUAL(value[RECORD_CHILD_MOST], (RUNS - 1 - i) / PROGRAMS * PROGRAMS + i);
		CU_ASSERT_EQUAL(value[RECORD_CHILD_SUM], runs * (runs - 1) / 2 * PROGRAMS + runs * i);
		CU_ASSERT_EQUAL(value[RECORD_CHILD_CPU], 2 * runs);
		CU_ASSERT_EQUAL(value[RECORD_CHILD_FAULTS], 3 * runs);
	}
	CU_ASSERT_EQUAL(children.vec.at[0].value[RECORD_CHILD_FAILED], 33334);
	recorder_children_end(&children);
}

TEST("names without end are one row, and other processes none")
{
	struct recorder_children children = { .fd = -1, .parent = PARENT };
	char name[32];

	add(&children, "stranger", (struct task_exit){ .parent = PARENT + 1, .last = true });
	CU_ASSERT_EQUAL(children.vec.nr, 0);
	for (unsigned i = 0; i < 10 * RECORD_CHILDREN_MOST; i++) {
		snprintf(name, sizeof(name), "%u", i);
		add(&children, name, (struct task_exit){ .parent = PARENT, .last = true });
	}
	CU_ASSERT_EQUAL_FATAL(children.vec.nr, RECORD_CHILDREN_MOST + 1);
	CU_ASSERT_STRING_EQUAL(children.vec.at[RECORD_CHILDREN_MOST].name, RECORD_CHILDREN_OTHERS);
	CU_ASSERT_EQUAL(children.vec.at[RECORD_CHILDREN_MOST].value[RECORD_CHILD_RUNS],
			9 * RECORD_CHILDREN_MOST);
	recorder_children_end(&children);
}

TEST("a process with several threads is one run, with the time of all")
{
	struct recorder_children children = { .fd = -1, .parent = PARENT };

	add(&children, "threads", (struct task_exit){ .parent = PARENT, .most = 50, .cpu_ns = 5 });
	add(&children, "threads", (struct task_exit){ .parent = PARENT, .last = true, .most = 50, .cpu_ns = 7 });
	CU_ASSERT_EQUAL_FATAL(children.vec.nr, 1);
	CU_ASSERT_EQUAL(children.vec.at[0].value[RECORD_CHILD_RUNS], 1);
	CU_ASSERT_EQUAL(children.vec.at[0].value[RECORD_CHILD_SUM], 50);
	CU_ASSERT_EQUAL(children.vec.at[0].value[RECORD_CHILD_CPU], 12);
	recorder_children_end(&children);
}
