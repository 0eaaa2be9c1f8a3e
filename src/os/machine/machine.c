/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the machine's memory. */

#include "os/machine/machine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define KEY(member, name)	{ name, offsetof(struct machine, member), false }
#define KEYS(member, name)	{ name, offsetof(struct machine, member), true }
#define FIGURES			(sizeof(struct machine) / sizeof(uint64_t))

static const struct kernel_key meminfo[] = {
	KEY(total, "MemTotal"),
	KEY(free, "MemFree"),
	KEY(available, "MemAvailable"),
	KEY(cached, "Cached"),
	KEY(buffers, "Buffers"),
	KEY(swap_cached, "SwapCached"),
	KEY(dirty, "Dirty"),
	KEY(writeback, "Writeback"),
	KEY(mapped, "Mapped"),
	KEY(shared, "Shmem"),
	KEY(anonymous, "AnonPages"),
	KEY(locked, "Mlocked"),
	KEY(slab, "Slab"),
	KEY(slab_reclaimable, "SReclaimable"),
	KEY(slab_unreclaimable, "SUnreclaim"),
	KEY(page_tables, "PageTables"),
	KEY(second_page_tables, "SecPageTables"),
	KEY(kernel_stacks, "KernelStack"),
	KEY(per_cpu, "Percpu"),
	KEY(vmalloc, "VmallocUsed"),
	KEY(huge_pages, "Hugetlb"),
	KEY(corrupted, "HardwareCorrupted"),
	KEY(swap_total, "SwapTotal"),
	KEY(swap_free, "SwapFree"),
	KEY(commit_limit, "CommitLimit"),
	KEY(committed, "Committed_AS"),
};

/*
 * The kernel counts scanned and reclaimed pages twice: by who did it, which is summed here, and by
 * what they were (pgscan_anon, pgscan_file). pgscan_direct_throttle is no page.
 */
#define DIRECT(member)							\
	KEY(member, "pgscan_direct"), KEY(member, "pgscan_direct_dma"),	\
	KEY(member, "pgscan_direct_dma32"), KEY(member, "pgscan_direct_normal"),	\
	KEY(member, "pgscan_direct_high"), KEY(member, "pgscan_direct_movable")

static const struct kernel_key vmstat[] = {
	KEYS(scanned, "pgscan_kswapd"),
	DIRECT(scanned),
	KEY(scanned, "pgscan_khugepaged"),
	KEY(scanned, "pgscan_proactive"),
	KEYS(scanned_kswapd, "pgscan_kswapd"),
	DIRECT(scanned_direct),
	KEYS(reclaimed, "pgsteal_kswapd"),
	KEYS(reclaimed, "pgsteal_direct"),
	KEY(reclaimed, "pgsteal_khugepaged"),
	KEY(reclaimed, "pgsteal_proactive"),
	KEY(swapped_in, "pswpin"),
	KEY(swapped_out, "pswpout"),
	KEY(paged_in, "pgpgin"),
	KEY(paged_out, "pgpgout"),
	KEY(faults, "pgfault"),
	KEY(major_faults, "pgmajfault"),
	KEYS(stalls, "allocstall"),
	KEY(compaction_stalls, "compact_stall"),
	KEYS(refaults, "workingset_refault"),
	KEY(migrated, "pgmigrate_success"),
	KEY(oom_kills, "oom_kill"),
};

void machine_parse_meminfo(const char *text, struct machine *machine)
{
	kernel_text_table(text, meminfo, ARRAY_SIZE(meminfo), machine);
}

void machine_parse_vmstat(const char *text, struct machine *machine)
{
	kernel_text_table(text, vmstat, ARRAY_SIZE(vmstat), machine);
}

/* Add the number that follows a word of a line: "TCP: inuse 2 orphan 0 tw 0 alloc 3 mem 15". */
static void add_after(const char *line, size_t len, const char *word, uint64_t *sum)
{
	size_t word_len = strlen(word);
	char number[32];
	uint64_t value;

	for (const char *at = line; at + word_len < line + len; at++) {
		if (memcmp(at, word, word_len))
			continue;
		at += word_len;
		snprintf(number, sizeof(number), "%.*s",
			 (int)MIN(strcspn(at, " \n"), (size_t)(line + len - at)), at);
		value = kernel_text_number(number);
		*sum = *sum == KERNEL_UNKNOWN ? value : kernel_text_sum(*sum, value);
		return;
	}
}

static bool begins(const char *line, const char *word)
{
	return !strncmp(line, word, strlen(word));
}

void machine_parse_sockets(const char *text, struct machine *machine)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (begins(text, "TCP:") || begins(text, "UDP:"))
			add_after(text, len, " mem ", &machine->socket_pages);
		if (begins(text, "FRAG:") || begins(text, "FRAG6:"))
			add_after(text, len, " memory ", &machine->fragment_bytes);
		text += len + (text[len] == '\n');
	}
}

void machine_parse_pressure(const char *text, struct machine *machine)
{
	pressure_parse(text, &machine->pressure);
}

static void take_file(const char *proc, const char *name,
		      void (*parse)(const char *text, struct machine *machine),
		      struct machine *machine)
{
	AUTO_FREE char *text = NULL;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	if (!kernel_text(path, &text))
		parse(text, machine);
}

static uint64_t sockets(const struct machine *machine)
{
	uint64_t pages = machine->socket_pages, page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!kernel_is_number(pages) || pages > UINT64_MAX / 2 / page)
		return KERNEL_UNKNOWN;
	return kernel_is_number(machine->fragment_bytes) ?
		kernel_text_sum(pages * page, machine->fragment_bytes) : pages * page;
}

/*
 * vmalloc is none of the parts: stacks of the kernel and some of its other figures are in it, too.
 * Nor are sockets, since a buffer is partly in slab. The figures are not of one moment, so their
 * sum may be more than the total.
 */
static uint64_t rest(const struct machine *machine)
{
	const uint64_t parts[] = {
		machine->free, machine->cached, machine->buffers, machine->swap_cached,
		machine->anonymous, machine->slab, machine->page_tables,
		machine->second_page_tables, machine->kernel_stacks, machine->per_cpu,
		machine->huge_pages,
	};
	uint64_t sum = 0;

	if (!kernel_is_number(machine->total) || !kernel_is_number(machine->free) ||
	    !kernel_is_number(machine->anonymous) || !kernel_is_number(machine->slab))
		return KERNEL_UNKNOWN;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (kernel_is_number(parts[i]))
			sum = kernel_text_sum(sum, parts[i]);
	return machine->total > sum ? machine->total - sum : 0;
}

void machine_sum(struct machine *machine)
{
	machine->sockets = sockets(machine);
	machine->rest = rest(machine);
}

void machine_read(const char *proc, struct machine *ret)
{
	kernel_text_unknown(ret, FIGURES);
	take_file(proc, "meminfo", machine_parse_meminfo, ret);
	take_file(proc, "vmstat", machine_parse_vmstat, ret);
	take_file(proc, "net/sockstat", machine_parse_sockets, ret);
	take_file(proc, "net/sockstat6", machine_parse_sockets, ret);
	take_file(proc, "pressure/memory", machine_parse_pressure, ret);
	machine_sum(ret);
}
