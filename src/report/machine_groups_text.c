/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the control groups above a process, and when the nearest limit is reached. */

#include "report/machine_groups_text.h"

#include "report/number_cell.h"
#include "report/out.h"
#include "report/text_table.h"

#define MANY_SECONDS	1e9	/* more than thirty years: never */

#define PART(key, label, member)	{ key, label, offsetof(struct memory_group, member) }

const struct group_figure group_figures[] = {
	PART("anonymous", "anonymous", anonymous),
	PART("file", "files and shared memory", file),
	PART("shared", "of it shared memory", shared),
	PART("inactive", "inactive files", inactive_file),
	PART("kernel", "kernel", kernel),
	PART("slab", "of it slab", slab),
	PART("pagetables", "page tables", page_tables),
	PART("stacks", "kernel stacks", kernel_stacks),
	PART("sockets", "sockets", sockets),
	{ .key = NULL },
};

uint64_t machine_groups_text_figure(const struct memory_group *group,
				    const struct group_figure *figure)
{
	return *(const uint64_t *)((const char *)group + figure->offset);
}

static struct err *print_table(const struct memory_groups *groups, struct out *out)
{
	static const char *const titles[] = {
		"GROUP", ">LIMIT", "?>HIGH", ">USE", ">LEFT", "?>SWAP LIMIT", "?>SWAP USE",
		">AT LIMIT", ">OOM KILLS", "?>SOME 10 S", "?>FULL 10 S",
	};
	struct table table;

	text_table_init(&table, ARRAY_SIZE(titles), titles);
	vec_each(group, &groups->vec) {
		text_table_outside(&table, (struct outside){ group->path });
		number_cell_bytes(&table, out, group->limit);
		number_cell_bytes(&table, out, group->high);
		number_cell_bytes(&table, out, group->use);
		number_cell_bytes(&table, out, memory_group_left(group));
		number_cell_bytes(&table, out, group->swap_limit);
		number_cell_bytes(&table, out, group->swap_use);
		number_cell_count(&table, group->at_limit);
		number_cell_count(&table, group->oom_kills);
		number_cell_percent(&table, group->pressure.some_10);
		number_cell_percent(&table, group->pressure.full_10);
	}
	return text_table_print(&table, out);
}

static void print_forecast(const struct machine_view *view, const struct memory_group *group,
			   struct out *out)
{
	struct machine_forecast forecast;
	char time[32];

	machine_look_forecast(view->before, view->now, group, &forecast);
	if (!forecast.known) {
		out_text(out, "There is no rate yet: when it is reached cannot be said.\n");
		return;
	}
	if (!forecast.fills || forecast.seconds > MANY_SECONDS) {
		out_text(out, "It is not reached at the present rate: its use does not grow.\n");
		return;
	}
	number_text_duration(time, sizeof(time), (uint64_t)(forecast.seconds * 1e9));
	out_f(out, "It is reached in %s at the present rate of +%s bytes a second.\n", time,
	      number_text_size(out, (uint64_t)forecast.rate).at);
}

static void print_parts(const struct memory_group *group, struct out *out)
{
	const char *before = "";

	out_text(out, "Against it count: ");
	for (const struct group_figure *figure = group_figures; figure->key; figure++) {
		uint64_t value = machine_groups_text_figure(group, figure);

		if (kernel_is_number(value))
			out_f(out, "%s%s %s", before, figure->label,
			      number_text_size(out, value).at);
		else
			out_f(out, "%s%s -", before, figure->label);
		before = ", ";
	}
	out_text(out, " (memory.stat).\n");
}

static const char *limit_file(const struct memory_groups *groups, const struct memory_group *group)
{
	if (groups->version == 1)
		return "memory.limit_in_bytes";
	return group->limit <= group->high ? "memory.max" : "memory.high";
}

static void print_nearest(const struct machine_view *view, struct out *out)
{
	const struct memory_groups *groups = &view->now->groups;
	const struct memory_group *group = memory_groups_nearest(groups);

	if (!group) {
		out_text(out, "No group above has a limit of memory.\n");
		return;
	}
	out_text(out, "The nearest limit is that of ");
	out_outside(out, (struct outside){ group->path });
	out_f(out, ": %s bytes are left of %s (%s).\n",
	      number_text_size(out, memory_group_left(group)).at,
	      number_text_size(out, memory_group_limit(group)).at, limit_file(groups, group));
	print_forecast(view, group, out);
	print_parts(group, out);
}

struct err *machine_groups_text_print(const struct machine_view *view, struct out *out)
{
	const struct memory_groups *groups = &view->now->groups;
	struct err *err = NULL;

	if (!view->now->pid) {
		out_text(out, "Control groups: there is no process whose groups to show.\n");
		return NULL;
	}
	if (groups->vec.nr) {
		out_f(out, "Control groups above process %d (version %u):\n", view->now->pid,
		      groups->version);
		err = print_table(groups, out);
		if (!err)
			print_nearest(view, out);
	}
	if (!err && *groups->why) {
		out_f(out, "Control groups of process %d: ", view->now->pid);
		out_outside(out, (struct outside){ groups->why });
		out_text(out, ".\n");
	}
	return err;
}
