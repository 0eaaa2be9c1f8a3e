/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `memory system` and `memory watch` as text: nothing that is not known is printed as 0. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "growth/memory_verdict.h"
#include "report/machine_text.h"
#include "report/memory_watch_text.h"
#include "text_out.h"

#define SECOND	1000000000ull

static char *print(const struct machine_view *view, bool units)
{
	struct str text = STR_INIT;
	struct out out;

	CU_ASSERT_PTR_NULL_FATAL(out_init_text(&out, &text));
	out.units = units;
	CU_ASSERT_PTR_NULL(machine_text_print(view, &out));
	CU_ASSERT_PTR_NULL(out_finish(&out));
	return text.at;
}

/* Is there this line? Blanks between its words are one here. */
static void check_line(const char *text, const char *line)
{
	AUTO_STR struct str squeezed = STR_INIT;
	char wanted[512];

	CU_ASSERT_PTR_NULL_FATAL(str_add(&squeezed, "\n"));
	for (const char *at = text; *at; at++)
		if (*at != ' ' || (at > text && at[-1] != ' ' && at[-1] != '\n'))
			CU_ASSERT_PTR_NULL_FATAL(str_add_bytes(&squeezed, at, 1));
	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	CU_ASSERT_PTR_NOT_NULL(strstr(squeezed.at, wanted));
	if (!strstr(squeezed.at, wanted))
		fprintf(stderr, "no line: %s\n%s\n", line, text);
}

static void unknown(struct machine_look *look)
{
	*look = (struct machine_look){ .groups = { .vec = VEC_INIT } };
	memset(&look->machine, 0xff, sizeof(look->machine));
}

TEST("what is not known")
{
	struct machine_look look;
	const struct machine_view view = { .now = &look, .most = 5 };
	char *text;

	unknown(&look);
	text = print(&view, false);
	check_line(text, "There is no earlier answer to compare with.");
	for (const struct machine_figure *figure = machine_figures; figure->key; figure++) {
		char line[256];

		snprintf(line, sizeof(line), "%s - - %s",
			 figure->label + strspn(figure->label, " "), figure->source);
		if (*figure->label)
			check_line(text, line);
	}
	check_line(text, "Control groups: there is no process whose groups to show.");
	CU_ASSERT_PTR_NULL(strstr(text, "Processes"));
	CU_ASSERT_PTR_NULL(strstr(text, "1844674407370955161"));
	free(text);
}

static void add_process(struct machine_look *look, pid_t pid, uint64_t resident, const char *name)
{
	struct machine_holder process = { .pid = pid, .bytes = resident };

	snprintf(process.name.bytes, sizeof(process.name.bytes), "%s", name);
	look->processes.known = true;
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&look->processes.vec, process));
}

static void add_group(struct machine_look *look, const char *path, uint64_t limit, uint64_t use)
{
	struct memory_group group;

	memset(&group, 0xff, sizeof(group));
	group.path = strdup(path);
	group.folder = NULL;
	group.limit = limit;
	group.use = use;
	group.anonymous = use / 2;
	group.pressure.some_10 = use == 2000 ? KERNEL_UNKNOWN : 1205;
	group.pressure.full_10 = 7;
	look->groups.version = 2;
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&look->groups.vec, group));
}

static void make_looks(struct machine_look *before, struct machine_look *now)
{
	unknown(before);
	unknown(now);
	before->time_ns = 10 * SECOND;
	now->time_ns = 12 * SECOND;
	before->machine.slab = 5000;
	now->machine.slab = 4000;
	before->machine.faults = 100;
	now->machine.faults = 125;
	before->machine.oom_kills = 1;
	now->machine.oom_kills = 3;
	now->machine.pressure.some_10 = 1205;
	now->machine.pressure.some_60 = 7;
	now->pid = 77;
	add_process(before, 5, 1000, "steady");
	add_process(now, 5, 1000, "steady");
	add_process(now, 6, 3 << 20, "odd\nname\033[2J");
	add_group(before, "/a\033b", 10000, 2000);
	add_group(before, "/", KERNEL_NO_LIMIT, 2000);
	add_group(now, "/a\033b", 10000, 4000);
	add_group(now, "/", KERNEL_NO_LIMIT, 4000);
}

static void add_kill(struct machine_look *look, pid_t pid, uint64_t time_ns, const char *group)
{
	struct oom_kill kill = { .pid = pid, .time_ns = time_ns, .anonymous = 4096 };

	snprintf(kill.name.bytes, sizeof(kill.name.bytes), "victim");
	snprintf(kill.group, sizeof(kill.group), "%s", group);
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&look->kills.vec, kill));
}

TEST("caches, kills, a family")
{
	struct machine_look before, now;
	struct machine_view view = { .before = &before, .now = &now, .most = 1 };
	struct machine_holder cache = { .bytes = 8192, .objects = 7, .name = { "dentry" } };
	char *text;

	make_looks(&before, &now);
	before.caches.known = now.caches.known = true;
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&before.caches.vec, cache));
	cache.bytes = 12288;
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&now.caches.vec, cache));
	now.real_ns = 1000 * SECOND;
	add_kill(&now, 8, SECOND, "");
	add_kill(&now, 9, 11 * SECOND, "/a\nb");
	text = print(&view, false);
	check_line(text, "Slab caches that hold most (/proc/slabinfo):");
	check_line(text, "12288 +4096 7 dentry");
	check_line(text, "1970-01-01 00:16:39 9 4096 0 0 victim /a\\nb");
	CU_ASSERT_PTR_NULL(strstr(text, " 8 4096"));
	free(text);
	view.family = FAMILY_CHILDREN;
	now.processes.vec.at[0].stranger = true;
	now.processes.vec.at[1].private = 4096;
	now.processes.vec.at[1].pss = KERNEL_UNKNOWN;
	now.kills.vec.nr = 0;
	snprintf(now.kills.why, sizeof(now.kills.why), "not permitted");
	text = print(&view, false);
	check_line(text, "Process and children of 77, 1 processes: 3145728 bytes resident, 4096 "
		   "private, - together (PSS). Those that hold most:");
	check_line(text, "6 3145728 4096 - - odd\\nname\\x1b[2J");
	check_line(text, "Who was killed for lack of memory is not known (not permitted).");
	CU_ASSERT_PTR_NULL(strstr(text, "steady"));
	free(text);
	machine_look_free(&before);
	machine_look_free(&now);
}

TEST("changes")
{
	struct machine_look before, now;
	struct machine_view view = { .before = &before, .now = &now, .asked = true, .most = 5 };
	char *text;

	make_looks(&before, &now);
	text = print(&view, false);
	check_line(text, "Changes and rates are since it was last asked, 2.0 s ago.");
	check_line(text, "slab 4000 -1000 /proc/meminfo Slab");
	check_line(text, "page faults 12.5 125 /proc/vmstat pgfault");
	check_line(text, "OOM kills 3 +2 /proc/vmstat oom_kill");
	check_line(text, "pressure, some wait 12.05 % 0.07 % /proc/pressure/memory some");
	check_line(text, "Processes that hold most, of 2 that can be seen (/proc/PID/stat):");
	check_line(text, "6 3145728 - odd\\nname\\x1b[2J");
	check_line(text, "6 3145728 +3145728 odd\\nname\\x1b[2J");
	check_line(text, "5 1000 0 steady");
	check_line(text, "Control groups above process 77 (version 2):");
	check_line(text, "/a\\x1bb 10000 - 4000 6000 - - - - 12.05 % 0.07 %");
	check_line(text, "/ no limit - 4000 no limit - - - - 12.05 % 0.07 %");
	check_line(text, "The nearest limit is that of /a\\x1bb: 6000 bytes are left of 10000 "
		   "(memory.max).");
	check_line(text, "It is reached in 6.0 s at the present rate of +1000 bytes a second.");
	check_line(text, "Against it count: anonymous 2000, files and shared memory -, of it "
		   "shared memory -, inactive files -, kernel -, of it slab -, page tables -, "
		   "kernel stacks -, sockets - (memory.stat).");
	free(text);
	/* The same with units, and without growth, and without a rate. */
	now.groups.vec.at[0].use = 1500;
	text = print(&view, true);
	check_line(text, "6 3.0M - odd\\nname\\x1b[2J");
	check_line(text, "It is not reached at the present rate: its use does not grow.");
	free(text);
	view.before = NULL;
	view.most = 0;
	text = print(&view, false);
	check_line(text, "There is no rate yet: when it is reached cannot be said.");
	CU_ASSERT_PTR_NULL(strstr(text, "Processes"));
	free(text);
	machine_look_free(&before);
	machine_look_free(&now);
}

TEST("no groups")
{
	struct machine_look look;
	const struct machine_view view = { .now = &look };
	char *text;

	unknown(&look);
	look.pid = 77;
	strcpy(look.groups.why, "not\nhere");
	text = print(&view, false);
	check_line(text, "Control groups of process 77: not\\nhere.");
	free(text);
}

static char *print_reading(const struct memory_reading *before, const struct memory_reading *now,
			   const struct memory_verdict *verdict)
{
	struct str text = STR_INIT;
	struct out out;

	CU_ASSERT_PTR_NULL_FATAL(out_init_text(&out, &text));
	CU_ASSERT_PTR_NULL(memory_watch_text_print(before, now, verdict, &out));
	CU_ASSERT_PTR_NULL(out_finish(&out));
	return text.at;
}

TEST("readings")
{
	const struct memory_verdict verdict = { .text = "all is well", .ask = "memory" };
	struct memory_reading before, now;
	char *text;

	memset(&now, 0xff, sizeof(now));
	now.pid = 5;
	strcpy(now.name.bytes, "a\nb");
	text = print_reading(NULL, &now, NULL);
	check_line(text, "5 - - - - - - - - - a\\nb");
	check_line(text, "SWP tot - free - swcac - vmcom - vmlim -");
	CU_ASSERT_PTR_NULL(strstr(text, "Verdict"));
	free(text);
	now.time_ns = 10 * SECOND;
	now.min_faults = 100;
	now.vsize = 8192;
	now.rsize = 4096;
	now.swap = 0;
	now.machine.total = 16384;
	now.machine.scanned = 10;
	now.machine.paged_in = 3;
	before = now;
	now.time_ns += SECOND;
	now.min_faults = 107;
	now.vsize = 4096;
	now.rsize = 8192;
	now.machine.scanned = 14;
	now.machine.paged_in = 5;
	text = print_reading(&before, &now, &verdict);
	check_line(text, "5 7 - 4096 8192 - -4096 +4096 0 50% a\\nb");
	check_line(text, "PAG scan 4 steal - stall - compact - migrate - pgin 2048 pgout - swin - "
		   "swout - oomkill -");
	check_line(text, "Verdict: all is well. Ask `memory`.");
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "  over 1.0 s\n"));
	free(text);
}
