/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What has changed between two looks at the machine. */

#include "growth/machine_look.h"

#include "unit.h"

#define SECOND	1000000000ull

TEST("changes and rates")
{
	int64_t change = 7;
	double rate = 7;

	CU_ASSERT_TRUE(machine_look_change(5, 3, &change) && change == -2);
	CU_ASSERT_TRUE(machine_look_change(0, 1ull << 40, &change) && change == 1ll << 40);
	CU_ASSERT_FALSE(machine_look_change(KERNEL_UNKNOWN, 3, &change));
	CU_ASSERT_FALSE(machine_look_change(3, KERNEL_UNKNOWN, &change));
	CU_ASSERT_FALSE(machine_look_change(KERNEL_NO_LIMIT, 3, &change));
	CU_ASSERT_FALSE(machine_look_change(0, UINT64_MAX - 2, &change));
	CU_ASSERT_TRUE(machine_look_rate(10, 20, 2 * SECOND, &rate) && rate == 5);
	CU_ASSERT_TRUE(machine_look_rate(10, 10, SECOND, &rate) && rate == 0);
	CU_ASSERT_FALSE(machine_look_rate(10, 20, 0, &rate));
	CU_ASSERT_FALSE(machine_look_rate(20, 10, SECOND, &rate));
	CU_ASSERT_FALSE(machine_look_rate(KERNEL_UNKNOWN, 10, SECOND, &rate));
}

static void add(struct machine_look *look, pid_t pid, uint64_t start, uint64_t resident)
{
	struct machine_holder process = { .pid = pid, .start_time = start, .bytes = resident };

	look->processes.known = true;
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&look->processes.vec, process));
}

TEST("processes")
{
	struct machine_look before = { .time_ns = 0 }, now = { .time_ns = SECOND };
	struct machine_ranks ranks;

	add(&before, 1, 10, 1000);
	add(&before, 2, 10, 500);
	add(&before, 3, 10, 100);
	add(&now, 1, 10, 900);
	add(&now, 2, 10, 700);
	add(&now, 3, 99, 150);		/* another process of the same id */
	add(&now, 4, 50, 700);
	CU_ASSERT_PTR_NULL_FATAL(machine_look_largest(&before.processes, &now.processes, 3, &ranks));
	CU_ASSERT_EQUAL_FATAL(ranks.vec.nr, 3);
	CU_ASSERT_EQUAL(ranks.vec.at[0].holder->pid, 1);
	CU_ASSERT_TRUE(ranks.vec.at[0].known && ranks.vec.at[0].change == -100);
	CU_ASSERT_EQUAL(ranks.vec.at[1].holder->pid, 2);
	CU_ASSERT_EQUAL(ranks.vec.at[2].holder->pid, 4);
	CU_ASSERT_FALSE(ranks.vec.at[2].known);
	vec_free(&ranks.vec);
	CU_ASSERT_PTR_NULL_FATAL(machine_look_grown(&before.processes, &now.processes, 9, &ranks));
	CU_ASSERT_EQUAL_FATAL(ranks.vec.nr, 3);
	CU_ASSERT_EQUAL(ranks.vec.at[0].holder->pid, 4);
	CU_ASSERT_EQUAL(ranks.vec.at[0].change, 700);
	CU_ASSERT_EQUAL(ranks.vec.at[1].holder->pid, 2);
	CU_ASSERT_EQUAL(ranks.vec.at[1].change, 200);
	CU_ASSERT_EQUAL(ranks.vec.at[2].holder->pid, 3);
	CU_ASSERT_EQUAL(ranks.vec.at[2].change, 150);
	vec_free(&ranks.vec);
	CU_ASSERT_PTR_NULL_FATAL(machine_look_largest(NULL, &now.processes, 1, &ranks));
	CU_ASSERT_EQUAL(ranks.vec.nr, 1);
	CU_ASSERT_FALSE(ranks.vec.at[0].known);
	vec_free(&ranks.vec);
	before.processes.known = false;
	CU_ASSERT_PTR_NULL_FATAL(machine_look_grown(&before.processes, &now.processes, 9, &ranks));
	CU_ASSERT_EQUAL(ranks.vec.nr, 0);
	machine_look_free(&before);
	machine_look_free(&now);
}

static void add_group(struct machine_look *look, const char *path, uint64_t limit, uint64_t use)
{
	struct memory_group group;

	memset(&group, 0xff, sizeof(group));
	group.path = strdup(path);
	group.folder = NULL;
	group.limit = limit;
	group.use = use;
	look->groups.version = 1;
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&look->groups.vec, group));
}

TEST("forecast")
{
	struct machine_look before = { .time_ns = SECOND }, now = { .time_ns = 3 * SECOND };
	struct machine_forecast forecast;

	add_group(&before, "/a", 1000, 100);
	add_group(&before, "/", 1000, 900);
	add_group(&before, "/open", KERNEL_NO_LIMIT, 600);
	add_group(&now, "/a", 1000, 300);
	add_group(&now, "/", 1000, 800);
	add_group(&now, "/new", 1000, 800);
	add_group(&now, "/open", KERNEL_NO_LIMIT, 800);
	machine_look_forecast(&before, &now, &now.groups.vec.at[0], &forecast);
	CU_ASSERT_TRUE(forecast.known && forecast.fills);
	CU_ASSERT_EQUAL(forecast.rate, 100);
	CU_ASSERT_EQUAL(forecast.seconds, 7);
	machine_look_forecast(&before, &now, &now.groups.vec.at[1], &forecast);
	CU_ASSERT_TRUE(forecast.known && !forecast.fills && forecast.rate == -50);
	machine_look_forecast(&before, &now, &now.groups.vec.at[2], &forecast);
	CU_ASSERT_FALSE(forecast.known);
	/* It grows, and has no limit to reach. */
	machine_look_forecast(&before, &now, &now.groups.vec.at[3], &forecast);
	CU_ASSERT_TRUE(forecast.known && !forecast.fills && forecast.rate == 100);
	machine_look_forecast(NULL, &now, &now.groups.vec.at[0], &forecast);
	CU_ASSERT_FALSE(forecast.known);
	now.time_ns = before.time_ns;
	machine_look_forecast(&before, &now, &now.groups.vec.at[0], &forecast);
	CU_ASSERT_FALSE(forecast.known);
	machine_look_free(&before);
	machine_look_free(&now);
}

TEST("this machine")
{
	struct machine_look look;

	CU_ASSERT_PTR_NULL_FATAL(machine_look_read(getpid(), true, &look));
	CU_ASSERT_TRUE(kernel_is_number(look.machine.total));
	CU_ASSERT_TRUE(look.processes.known && look.processes.vec.nr);
	CU_ASSERT_TRUE(look.groups.vec.nr || *look.groups.why);
	machine_look_free(&look);
	/* A process that is gone: the machine's figures are there. */
	CU_ASSERT_PTR_NULL_FATAL(machine_look_read(0x7ffffffe, false, &look));
	CU_ASSERT_TRUE(kernel_is_number(look.machine.total));
	CU_ASSERT_TRUE(!look.processes.known && !look.processes.vec.nr);
	CU_ASSERT_TRUE(!look.groups.vec.nr && *look.groups.why);
	machine_look_free(&look);
	CU_ASSERT_PTR_NULL_FATAL(machine_look_read(0, false, &look));
	CU_ASSERT_TRUE(!look.groups.vec.nr && !*look.groups.why);
	machine_look_free(&look);
}
