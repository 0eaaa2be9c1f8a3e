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
	RATE("scannedkswapd", "  by kswapd", VMSTAT "pgscan_kswapd*", scanned_kswapd),
	RATE("scanneddirect", "  by allocations", VMSTAT "pgscan_direct*", scanned_direct),
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
	ROW(MACHINE_PRESSURE, "some10", "pressure, some wait", PRESSURE "some", pressure.some_10),
	ROW(MACHINE_PRESSURE, "some60", "", "", pressure.some_60),
	ROW(MACHINE_PRESSURE, "full10", "pressure, all wait", PRESSURE "full", pressure.full_10),
	ROW(MACHINE_PRESSURE, "full60", "", "", pressure.full_60),
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
		number_cell_percent(table, now);
		number_cell_percent(table, machine_text_figure(&view->now->machine, figure + 1));
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

/* A list of processes, or of slab caches. */
struct holders_text {
	const char *const *titles;
	unsigned columns;
	void (*row)(struct table *table, const struct machine_rank *rank, const struct out *out);
	const char *grown, *steady;	/* its second list, and what is said where that is empty */
};

static void process_row(struct table *table, const struct machine_rank *rank, const struct out *out)
{
	text_table_cell(table, "%d", rank->holder->pid);
	number_cell_bytes(table, out, rank->holder->bytes);
	number_cell_signed(table, out, rank->known, rank->change);
	text_table_outside(table, outside_of(&rank->holder->name));
}

static void kin_row(struct table *table, const struct machine_rank *rank, const struct out *out)
{
	text_table_cell(table, "%d", rank->holder->pid);
	number_cell_bytes(table, out, rank->holder->bytes);
	number_cell_bytes(table, out, rank->holder->private);
	number_cell_bytes(table, out, rank->holder->pss);
	number_cell_signed(table, out, rank->known, rank->change);
	text_table_outside(table, outside_of(&rank->holder->name));
}

static void cache_row(struct table *table, const struct machine_rank *rank, const struct out *out)
{
	number_cell_bytes(table, out, rank->holder->bytes);
	number_cell_signed(table, out, rank->known, rank->change);
	number_cell_count(table, rank->holder->objects);
	text_table_outside(table, outside_of(&rank->holder->name));
}

static const char *const process_titles[] = { ">PID", ">RESIDENT", ">CHANGE", "NAME" };
static const char *const kin_titles[] = {
	">PID", ">RESIDENT", ">PRIVATE", ">PSS", ">CHANGE", "NAME",
};
static const char *const cache_titles[] = { ">BYTES", ">CHANGE", ">OBJECTS", "CACHE" };

static const struct holders_text processes_text = {
	process_titles, ARRAY_SIZE(process_titles), process_row,
	"Processes that have grown most:\n", "No process has grown.\n\n",
};
static const struct holders_text kin_text = {
	kin_titles, ARRAY_SIZE(kin_titles), kin_row,
	"Of them, those that have grown most:\n", "None of them has grown.\n\n",
};
static const struct holders_text caches_text = {
	cache_titles, ARRAY_SIZE(cache_titles), cache_row,
	"Slab caches that have grown most:\n", "No slab cache has grown.\n\n",
};

static struct err *print_ranks(const struct holders_text *text, const struct machine_ranks *ranks,
			       struct out *out)
{
	struct table table;
	struct err *err;

	text_table_init(&table, text->columns, text->titles);
	vec_each(rank, &ranks->vec)
		text->row(&table, rank, out);
	err = text_table_print(&table, out);
	out_text(out, "\n");
	return err;
}

/* What was not there before has no change, but has grown by all that it holds. */
static struct err *print_grown(const struct holders_text *text, const struct machine_view *view,
			       const struct machine_holders *before,
			       const struct machine_holders *now, struct out *out)
{
	struct machine_ranks ranks;
	struct err *err = machine_look_grown(before, now, view->most, &ranks);

	if (err)
		return err;
	vec_each(rank, &ranks.vec)
		rank->known = true;
	if (ranks.vec.nr) {
		out_text(out, text->grown);
		err = print_ranks(text, &ranks, out);
	} else if (before && before->known) {
		out_text(out, text->steady);
	}
	vec_free(&ranks.vec);
	return err;
}

/* Print who holds most, below a title, and who has grown most. */
static struct err *print_holders(const struct holders_text *text, const char *title,
				 const struct machine_view *view,
				 const struct machine_holders *before,
				 const struct machine_holders *now, struct out *out)
{
	struct machine_ranks ranks;
	struct err *err = machine_look_largest(before, now, view->most, &ranks);

	if (err)
		return err;
	out_text(out, title);
	err = print_ranks(text, &ranks, out);
	vec_free(&ranks.vec);
	return err ? err : print_grown(text, view, before, now, out);
}

/* The title of the list of processes, and of a family what its members hold together. */
static void processes_title(const struct machine_view *view, const struct out *out, char *text,
			    size_t room)
{
	uint64_t nr = 0, pss = 0, private = 0, bytes = 0;

	vec_each(process, &view->now->processes.vec) {
		if (process->stranger)
			continue;
		nr++;
		bytes += process->bytes;
		private = kernel_text_sum(private, process->private);
		pss = kernel_text_sum(pss, process->pss);
	}
	if (view->family == FAMILY_ALL)
		snprintf(text, room, "Processes that hold most, of %" PRIu64 " that can be seen "
			 "(/proc/PID/stat):\n", nr);
	else
		snprintf(text, room, "%s %d, %" PRIu64 " processes: %s bytes resident, %s private, "
			 "%s together (PSS). Those that hold most:\n",
			 view->family == FAMILY_GROUP ? "The group of" : "Process and children of",
			 view->now->pid, nr, number_text_size(out, bytes).at,
			 kernel_is_number(private) ? number_text_size(out, private).at : "-",
			 kernel_is_number(pss) ? number_text_size(out, pss).at : "-");
}

static struct err *print_lists(const struct machine_view *view, struct out *out)
{
	const struct machine_look *before = view->before, *now = view->now;
	struct err *err = NULL;
	char title[256];

	processes_title(view, out, title, sizeof(title));
	if (view->most && now->processes.known)
		err = print_holders(view->family == FAMILY_ALL ? &processes_text : &kin_text, title,
				    view, before ? &before->processes : NULL, &now->processes, out);
	if (!err && view->most && now->caches.known)
		err = print_holders(&caches_text, "Slab caches that hold most (/proc/slabinfo):\n",
				    view, before ? &before->caches : NULL, &now->caches, out);
	return err;
}

/* The last ones, the newest at the end. */
static struct err *print_kills(const struct machine_view *view, struct out *out)
{
	static const char *const titles[] = {
		"KILLED", ">PID", ">ANONYMOUS", ">FILES", ">SHARED", "NAME", "GROUP",
	};
	const struct oom_kills *kills = &view->now->kills;
	size_t from = kills->vec.nr - MIN(kills->vec.nr, view->most);
	struct table table;
	struct err *err;
	char time[32];

	if (*kills->why && view->most)
		out_f(out, "Who was killed for lack of memory is not known (%s).\n\n", kills->why);
	if (from == kills->vec.nr)
		return NULL;
	out_text(out, "Killed for lack of memory (the kernel's messages):\n");
	text_table_init(&table, ARRAY_SIZE(titles), titles);
	for (size_t i = from; i < kills->vec.nr; i++) {
		const struct oom_kill *kill = &kills->vec.at[i];

		number_text_time(time, sizeof(time), machine_look_kill_time(view->now, kill));
		text_table_cell(&table, "%s", time);
		text_table_cell(&table, "%d", kill->pid);
		number_cell_bytes(&table, out, kill->anonymous);
		number_cell_bytes(&table, out, kill->file);
		number_cell_bytes(&table, out, kill->shared);
		text_table_outside(&table, outside_of(&kill->name));
		text_table_outside(&table, (struct outside){ *kill->group ? kill->group : "-" });
	}
	err = text_table_print(&table, out);
	out_text(out, "\n");
	return err;
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
		err = print_kills(view, out);
	if (!err)
		err = print_lists(view, out);
	return err ? err : machine_groups_text_print(view, out);
}
