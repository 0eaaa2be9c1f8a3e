/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints a reading of `memory watch`. */

#include "report/memory_watch_text.h"

#include <time.h>

#include "growth/machine_look.h"
#include "os/procfs.h"
#include "report/memory_text.h"
#include "report/number_cell.h"
#include "report/out.h"
#include "report/text_table.h"

/* A figure of a line of the machine. */
struct word {
	const char *name;
	size_t offset;
	uint64_t unit;		/* of a counter: bytes for each, or 1 */
};

#define WORD(name, member)		{ name, offsetof(struct machine, member), 0 }
#define COUNT(name, member, unit)	{ name, offsetof(struct machine, member), unit }

static const struct word mem[] = {
	WORD("tot", total), WORD("free", free), WORD("avail", available), WORD("cache", cached),
	WORD("dirty", dirty), WORD("buff", buffers), WORD("slab", slab),
	WORD("slrec", slab_reclaimable), WORD("shmem", shared), WORD("pgtab", page_tables),
};

static const struct word swp[] = {
	WORD("tot", swap_total), WORD("free", swap_free), WORD("swcac", swap_cached),
	WORD("vmcom", committed), WORD("vmlim", commit_limit),
};

static const struct word pag[] = {
	COUNT("scan", scanned, 1), COUNT("steal", reclaimed, 1), COUNT("stall", stalls, 1),
	COUNT("compact", compaction_stalls, 1), COUNT("migrate", migrated, 1),
	COUNT("pgin", paged_in, 1024), COUNT("pgout", paged_out, 1024),
	COUNT("swin", swapped_in, 1), COUNT("swout", swapped_out, 1),
	COUNT("oomkill", oom_kills, 1),
};

static uint64_t figure_of(const struct memory_reading *reading, const struct word *word)
{
	return reading ? *(const uint64_t *)((const char *)&reading->machine + word->offset) :
		KERNEL_UNKNOWN;
}

static void print_words(const char *line, const struct word *words, size_t nr,
			const struct memory_reading *before, const struct memory_reading *now,
			struct out *out)
{
	out_text(out, line);
	for (size_t i = 0; i < nr; i++) {
		uint64_t value = figure_of(now, &words[i]);
		int64_t change;

		out_f(out, "  %s ", words[i].name);
		if (!words[i].unit && kernel_is_number(value))
			out_text(out, number_text_size(out, value).at);
		else if (words[i].unit &&
			 machine_look_change(figure_of(before, &words[i]), value, &change) &&
			 change >= 0)
			out_f(out, "%s", words[i].unit == 1 ?
			      number_text_size(&(struct out){ .units = false },
					       (uint64_t)change).at :
			      number_text_size(out, (uint64_t)change * words[i].unit).at);
		else
			out_text(out, "-");
	}
	out_text(out, "\n");
}

/* Parts of the time in which tasks waited for memory. */
static void print_pressure(const struct pressure *pressure, struct out *out)
{
	const struct { const char *name; uint64_t hundredths; } parts[] = {
		{ "some10", pressure->some_10 }, { "some60", pressure->some_60 },
		{ "full10", pressure->full_10 }, { "full60", pressure->full_60 },
	};

	out_text(out, "PSI");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (kernel_is_number(parts[i].hundredths))
			out_f(out, "  %s %.2f%%", parts[i].name,
			      (double)parts[i].hundredths / 100);
		else
			out_f(out, "  %s -", parts[i].name);
	}
	out_text(out, "\n");
}

/* Events since the reading before. */
static void events_cell(struct table *table, uint64_t before, uint64_t now)
{
	int64_t change;

	if (machine_look_change(before, now, &change) && change >= 0)
		text_table_cell(table, "%" PRId64, change);
	else
		text_table_cell(table, "-");
}

/* The part of the machine's memory. */
static void share_cell(struct table *table, const struct memory_reading *now)
{
	uint64_t total = now->machine.total;

	if (kernel_is_number(total) && total && kernel_is_number(now->rsize))
		text_table_cell(table, "%.0f%%", 100.0 * (double)now->rsize / (double)total);
	else
		text_table_cell(table, "-");
}

static struct err *print_process(const struct memory_reading *before,
				 const struct memory_reading *now, struct out *out)
{
	static const char *const titles[] = {
		">PID", ">MINFLT", ">MAJFLT", ">VSIZE", ">RSIZE", "?>PSIZE", ">VGROW", ">RGROW",
		">SWAPSZ", ">MEM", "CMD",
	};
	const struct memory_reading none = {
		.min_faults = KERNEL_UNKNOWN, .maj_faults = KERNEL_UNKNOWN,
		.vsize = KERNEL_UNKNOWN, .rsize = KERNEL_UNKNOWN,
	};
	struct table table;

	if (!before)
		before = &none;
	text_table_init(&table, ARRAY_SIZE(titles), titles);
	text_table_cell(&table, "%d", now->pid);
	events_cell(&table, before->min_faults, now->min_faults);
	events_cell(&table, before->maj_faults, now->maj_faults);
	number_cell_bytes(&table, out, now->vsize);
	number_cell_bytes(&table, out, now->rsize);
	number_cell_bytes(&table, out, now->psize);
	number_cell_change(&table, out, before->vsize, now->vsize);
	number_cell_change(&table, out, before->rsize, now->rsize);
	number_cell_bytes(&table, out, now->swap);
	share_cell(&table, now);
	text_table_outside(&table, outside_of(&now->name));
	return text_table_print(&table, out);
}

struct err *memory_watch_text_print(const struct memory_reading *before,
				    const struct memory_reading *now,
				    const struct memory_verdict *verdict, struct out *out)
{
	struct err *err;
	char time[32];

	number_text_time(time, sizeof(time), procfs_clock(CLOCK_REALTIME) -
			 (procfs_clock(CLOCK_MONOTONIC) - now->time_ns));
	out_f(out, "%s", time);
	if (before) {
		number_text_duration(time, sizeof(time), now->time_ns - before->time_ns);
		out_f(out, "  over %s", time);
	}
	out_text(out, "\n");
	err = print_process(before, now, out);
	if (err)
		return err;
	print_words("MEM", mem, ARRAY_SIZE(mem), NULL, now, out);
	print_words("SWP", swp, ARRAY_SIZE(swp), NULL, now, out);
	print_words("PAG", pag, ARRAY_SIZE(pag), before, now, out);
	print_pressure(&now->machine.pressure, out);
	if (verdict)
		memory_text_print_verdict(verdict, out);
	out_text(out, "\n");
	return NULL;
}
