/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints what the machine's memory is used for, what it lacks, and what failed. */

#include "report/machine_text.h"

#include <stdio.h>

#include "report/machine_groups_text.h"
#include "report/number_cell.h"
#include "report/out.h"
#include "report/text_table.h"

#define MEMINFO		"/proc/meminfo "
#define VMSTAT		"/proc/vmstat "
#define PRESSURE	"/proc/pressure/memory "
#define ROW(part, key, label, source, member) \
	{ part, key, label, source, offsetof(struct machine, member) }
#define BYTES(key, label, source, member)	ROW(MACHINE_BYTES, key, label, source, member)
#define RATE(key, label, source, member)	ROW(MACHINE_RATE, key, label, source, member)

const struct machine_figure machine_figures[] = {
	BYTES("total", "total", MEMINFO "MemTotal", total),
	BYTES("free", "free", MEMINFO "MemFree", free),
	BYTES("available", "available", MEMINFO "MemAvailable", available),
	BYTES("anonymous", "anonymous, of processes", MEMINFO "AnonPages", anonymous),
	BYTES("locked", "locked", MEMINFO "Mlocked", locked),
	BYTES("cached", "cache", MEMINFO "Cached", cached),
	BYTES("shared", "  of it shared memory", MEMINFO "Shmem", shared),
	BYTES("buffers", "buffers", MEMINFO "Buffers", buffers),
	BYTES("dirty", "dirty", MEMINFO "Dirty", dirty),
	BYTES("slab", "slab", MEMINFO "Slab", slab),
	BYTES("slabreclaimable", "  reclaimable", MEMINFO "SReclaimable", slab_reclaimable),
	BYTES("slabunreclaimable", "  not reclaimable", MEMINFO "SUnreclaim", slab_unreclaimable),
	BYTES("sockets", "socket buffers", "/proc/net/sockstat mem", sockets),
	BYTES("pagetables", "page tables", MEMINFO "PageTables", page_tables),
	BYTES("stacks", "kernel stacks", MEMINFO "KernelStack", kernel_stacks),
	BYTES("percpu", "per processor", MEMINFO "Percpu", per_cpu),
	BYTES("vmalloc", "vmalloc", MEMINFO "VmallocUsed", vmalloc),
	BYTES("hugepages", "huge pages, set aside", MEMINFO "Hugetlb", huge_pages),
	BYTES("rest", "in no other figure", "MemTotal less the others", rest),
	BYTES("committed", "committed", MEMINFO "Committed_AS", committed),
	BYTES("commitlimit", "commit limit", MEMINFO "CommitLimit", commit_limit),
	BYTES("swaptotal", "swap", MEMINFO "SwapTotal", swap_total),
	BYTES("swapfree", "swap free", MEMINFO "SwapFree", swap_free),
	RATE("scanned", "pages scanned", VMSTAT "pgscan_*", scanned),
	RATE("reclaimed", "pages reclaimed", VMSTAT "pgsteal_*", reclaimed),
	RATE("stalls", "allocation stalls", VMSTAT "allocstall_*", stalls),
	RATE("compactions", "compaction stalls", VMSTAT "compact_stall", compaction_stalls),
	RATE("refaults", "pages read again", VMSTAT "workingset_refault_*", refaults),
	RATE("swapin", "pages swapped in", VMSTAT "pswpin", swapped_in),
	RATE("swapout", "pages swapped out", VMSTAT "pswpout", swapped_out),
	RATE("pagein", "KB read from disks", VMSTAT "pgpgin", paged_in),
	RATE("pageout", "KB written to disks", VMSTAT "pgpgout", paged_out),
	RATE("faults", "page faults", VMSTAT "pgfault", faults),
	RATE("majorfaults", "major page faults", VMSTAT "pgmajfault", major_faults),
	ROW(MACHINE_PRESSURE, "some10", "pressure, some wait", PRESSURE "some", some_10),
	ROW(MACHINE_PRESSURE, "some60", "", "", some_60),
	ROW(MACHINE_PRESSURE, "full10", "pressure, all wait", PRESSURE "full", full_10),
	ROW(MACHINE_PRESSURE, "full60", "", "", full_60),
	ROW(MACHINE_ERRORS, "oomkills", "OOM kills", VMSTAT "oom_kill", oom_kills),
	ROW(MACHINE_ERRORS, "corrupted", "bytes with hardware errors", MEMINFO "HardwareCorrupted",
	    corrupted),
	{ .key = NULL },
};

uint64_t machine_text_figure(const struct machine *machine, const struct machine_figure *figure)
{
	return *(const uint64_t *)((const char *)machine + figure->offset);
}

static uint64_t figure_before(const struct machine_view *view, const struct machine_figure *figure)
{
	return view->before ? machine_text_figure(&view->before->machine, figure) : KERNEL_UNKNOWN;
}

static void rate_cell(struct table *table, const struct machine_view *view, uint64_t before,
		      uint64_t now)
{
	double rate;

	if (view->before &&
	    machine_look_rate(before, now, view->now->time_ns - view->before->time_ns, &rate))
		text_table_cell(table, "%.1f", rate);
	else
		text_table_cell(table, "-");
}

static void percent_cell(struct table *table, uint64_t hundredths)
{
	if (kernel_is_number(hundredths))
		text_table_cell(table, "%" PRIu64 ".%02u %%", hundredths / 100,
				(unsigned)(hundredths % 100));
	else
		text_table_cell(table, "-");
}

static void add_row(struct table *table, const struct machine_view *view,
		    const struct machine_figure *figure, const struct out *out)
{
	uint64_t now = machine_text_figure(&view->now->machine, figure);
	uint64_t before = figure_before(view, figure);

	text_table_cell(table, "%s", figure->label);
	switch (figure->part) {
	case MACHINE_BYTES:
		number_cell_bytes(table, out, now);
		number_cell_change(table, out, before, now);
		break;
	case MACHINE_RATE:
		rate_cell(table, view, before, now);
		number_cell_count(table, now);
		break;
	case MACHINE_PRESSURE:
		percent_cell(table, now);
		percent_cell(table, machine_text_figure(&view->now->machine, figure + 1));
		break;
	default:
		number_cell_count(table, now);
		number_cell_change(table, NULL, before, now);
	}
	text_table_cell(table, "%s", figure->source);
}

/* Print the figures of one part; of pressure, two of them are a row. */
static struct err *print_part(const struct machine_view *view, enum machine_part part,
			      struct out *out)
{
	static const char *const titles[][4] = {
		[MACHINE_BYTES] = { "UTILISATION", ">BYTES", ">CHANGE", "SOURCE" },
		[MACHINE_RATE] = { "SATURATION", ">PER SECOND", ">SINCE BOOT", "SOURCE" },
		[MACHINE_PRESSURE] = { "SATURATION", ">OF 10 S", ">OF 60 S", "SOURCE" },
		[MACHINE_ERRORS] = { "ERRORS", ">SINCE BOOT", ">CHANGE", "SOURCE" },
	};
	struct table table;
	struct err *err;

	text_table_init(&table, ARRAY_SIZE(titles[part]), titles[part]);
	for (const struct machine_figure *figure = machine_figures; figure->key; figure++)
		if (figure->part == part && *figure->label)
			add_row(&table, view, figure, out);
	err = text_table_print(&table, out);
	out_text(out, "\n");
	return err;
}

static struct err *print_ranks(const char *title, const struct machine_ranks *ranks,
			       struct out *out)
{
	static const char *const titles[] = { ">PID", ">RESIDENT", ">CHANGE", "NAME" };
	struct table table;
	struct err *err;

	out_text(out, title);
	text_table_init(&table, ARRAY_SIZE(titles), titles);
	vec_each(rank, &ranks->vec) {
		text_table_cell(&table, "%d", rank->process->pid);
		number_cell_bytes(&table, out, rank->process->resident);
		number_cell_signed(&table, out, rank->known, rank->change);
		text_table_outside(&table, outside_of(&rank->process->name));
	}
	err = text_table_print(&table, out);
	out_text(out, "\n");
	return err;
}

/* A process that was not there before has no change, but has grown by all that it holds. */
static struct err *print_grown(const struct machine_view *view, struct out *out)
{
	struct machine_ranks ranks;
	struct err *err = machine_look_grown(view->before, view->now, view->most, &ranks);

	if (err)
		return err;
	vec_each(rank, &ranks.vec)
		rank->known = true;
	if (ranks.vec.nr)
		err = print_ranks("Processes that have grown most:\n", &ranks, out);
	else if (view->before && view->before->has_processes)
		out_text(out, "No process has grown.\n\n");
	vec_free(&ranks.vec);
	return err;
}

static struct err *print_processes(const struct machine_view *view, struct out *out)
{
	struct machine_ranks ranks;
	char title[128];
	struct err *err;

	if (!view->most || !view->now->has_processes)
		return NULL;
	err = machine_look_largest(view->before, view->now, view->most, &ranks);
	if (err)
		return err;
	snprintf(title, sizeof(title), "Processes that hold most, of %zu that can be seen "
		 "(/proc/PID/stat):\n", view->now->processes.vec.nr);
	err = print_ranks(title, &ranks, out);
	vec_free(&ranks.vec);
	return err ? err : print_grown(view, out);
}

static void print_interval(const struct machine_view *view, struct out *out)
{
	char time[32];

	if (!view->before) {
		out_text(out, "There is no earlier answer to compare with.\n\n");
		return;
	}
	number_text_duration(time, sizeof(time), view->now->time_ns - view->before->time_ns);
	out_f(out, view->asked ? "Changes and rates are since it was last asked, %s ago.\n\n" :
	      "Changes and rates are over %s.\n\n", time);
}

struct err *machine_text_print(const struct machine_view *view, struct out *out)
{
	struct err *err = NULL;

	print_interval(view, out);
	for (unsigned part = 0; !err && part < MACHINE_PARTS; part++)
		err = print_part(view, part, out);
	if (!err)
		err = print_processes(view, out);
	return err ? err : machine_groups_text_print(view, out);
}
