/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the memory of a process. */

#include "report/memory_text.h"

#include <stdio.h>

#include "report/out.h"
#include "report/text_table.h"

static void cell(struct table *table, const struct out *out, uint64_t bytes)
{
	if (bytes == MEMORY_UNKNOWN)
		text_table_cell(table, "-");
	else
		text_table_cell(table, "%s", number_text_size(out, bytes).at);
}

static void change_cell(struct table *table, const struct out *out, bool known, int64_t change)
{
	if (!known)
		text_table_cell(table, "-");
	else
		text_table_cell(table, "%s%s", change > 0 ? "+" : change < 0 ? "-" : "",
				number_text_size(out, change < 0 ?
						 -(uint64_t)change : (uint64_t)change).at);
}

static void count_cell(struct table *table, uint64_t count)
{
	if (count == MEMORY_UNKNOWN)
		text_table_cell(table, "-");
	else
		text_table_cell(table, "%" PRIu64, count);
}

static void growth_cell(struct table *table, const struct out *out, const struct memory_sum *sum,
			const struct memory_sum *last, enum memory_figure figure)
{
	uint64_t was = last ? last->at[figure] : MEMORY_UNKNOWN, is = sum->at[figure];

	change_cell(table, out, was != MEMORY_UNKNOWN && is != MEMORY_UNKNOWN,
		    (int64_t)(is - was));
}

static void add_row(struct table *table, const struct out *out, const struct memory_sum *sum,
		    const struct memory_sum *last)
{
	cell(table, out, sum->at[MEMORY_VSIZE]);
	cell(table, out, sum->at[MEMORY_RSIZE]);
	growth_cell(table, out, sum, last, MEMORY_VSIZE);
	growth_cell(table, out, sum, last, MEMORY_RSIZE);
	cell(table, out, sum->at[MEMORY_PSS]);
	cell(table, out, sum->at[MEMORY_SWAP]);
	cell(table, out, sum->at[MEMORY_LOCKED]);
}

struct err *memory_text_print(const struct memory_use *use, const struct memory_look *last,
			      struct out *out)
{
	static const char *const titles[] = {
		"KIND", ">VSIZE", ">RSIZE", ">VGROW", ">RGROW", "?>PSS", "?>SWAP", "?>LOCKED",
		"?>MINFLT", ">MAJFLT",
	};
	struct table table;

	text_table_init(&table, ARRAY_SIZE(titles), titles);
	text_table_cell(&table, "all");
	add_row(&table, out, &use->look.all, last ? &last->all : NULL);
	count_cell(&table, use->min_faults);
	count_cell(&table, use->maj_faults);
	for (unsigned kind = 0; kind < MEMORY_KINDS; kind++) {
		text_table_cell(&table, "%s", memory_kind_names[kind]);
		add_row(&table, out, &use->look.kind[kind], last ? &last->kind[kind] : NULL);
		text_table_cell(&table, "-");
		text_table_cell(&table, "-");
	}
	return text_table_print(&table, out);
}

struct memory_thread_text memory_text_thread(const struct memory_map *map)
{
	struct memory_thread_text text = { "-" };

	if (map->thread == MEMORY_ENDED)
		snprintf(text.at, sizeof(text.at), "ended");
	else if (map->thread)
		snprintf(text.at, sizeof(text.at), "%d", map->thread);
	return text;
}

struct err *memory_text_print_maps(const struct memory_use *use,
				   const struct memory_changes *changes, struct out *out)
{
	static const char *const titles[] = {
		"START-END", ">SIZE", ">RESIDENT", "?>DIRTY", "?>SWAPPED", "?>LOCKED", "?>HUGE",
		">CHANGE", "KIND", "?THREAD", "PATH",
	};
	static const enum memory_figure figures[] = {
		MEMORY_VSIZE, MEMORY_RSIZE, MEMORY_DIRTY, MEMORY_SWAP, MEMORY_LOCKED, MEMORY_HUGE,
	};
	struct table table;

	text_table_init(&table, ARRAY_SIZE(titles), titles);
	for (size_t i = 0; i < use->vec.nr; i++) {
		const struct memory_map *map = &use->vec.at[i];
		bool known = changes->known && map->sum.at[MEMORY_RSIZE] != MEMORY_UNKNOWN;

		text_table_cell(&table, PRI_ADDRESS "-" PRI_ADDRESS, map->map->start,
				map->map->end);
		for (size_t j = 0; j < ARRAY_SIZE(figures); j++)
			cell(&table, out, map->sum.at[figures[j]]);
		change_cell(&table, out, known, changes->vec.at[i]);
		text_table_cell(&table, "%s", memory_kind_names[map->kind]);
		text_table_cell(&table, "%s", memory_text_thread(map).at);
		text_table_cell(&table, "%s%s", map->map->path, map->map->deleted ?
				" (deleted)" : "");
	}
	return text_table_print(&table, out);
}

void memory_text_print_verdict(const struct memory_verdict *verdict, struct out *out)
{
	char time[32];

	number_text_duration(time, sizeof(time), verdict->ns);
	out_f(out, "Verdict: %s", verdict->text);
	if (verdict->ns)
		out_f(out, " (compared over %s)", time);
	out_text(out, ".");
	if (*verdict->ask)
		out_f(out, " Ask `%s`.", verdict->ask);
	out_text(out, "\n");
}
