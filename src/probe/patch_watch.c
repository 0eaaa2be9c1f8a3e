/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds patches that are not in the text any more (theory in patch_watch.h). */

#include "probe/patch_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/trace.h"
#include "os/pagemap.h"
#include "os/procmem.h"
#include "probe/probe.h"
#include "probe/agent_state.h"
#include "probe/free_facts.h"
#include "tracee/module.h"
#include "tracee/patch.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define AT_ONCE		64u
#define INTERVALS_MAX	1024u
#define LIBCS_MAX	16u

struct look {
	struct probes *probes;
	struct procmem_piece piece[AT_ONCE];
	struct probe *probe[AT_ONCE];
	uint8_t bytes[AT_ONCE][JOURNAL_BYTES];
	unsigned nr;
	bool refreshed;			/* the module map was read */
	bool changed;			/* modules have gone */
	const struct module *libc[LIBCS_MAX];	/* C libraries whose patches were lost */
	unsigned nr_libcs;
	bool overwritten, restored;
};

static void overwritten(struct look *look, struct probe *probe)
{
	struct probes *probes = look->probes;
	char text[320];

	if (!probe->overwritten) {
		probe->overwritten = look->overwritten = true;
		probes->lost_records |= probe_of_allocator(probe);
		return;
	}
	/*
	 * The user is warned at the second look: at the first one the module may just be unloaded.
	 */
	if (probe->told)
		return;
	probe->told = true;
	snprintf(text, sizeof(text),
		 "another tool has written over the patch of %.80s in %.80s: it "
		 "is left as it is, and %s may go unrecorded",
		 probe->fn ? probe->fn->name : "the loader's hook", path_base(probe->module->path),
		 probe->fn ? "calls" : "what new modules call");
	if (probes->warn)
		probes->warn(probes->ctx, text);
}

/* Anything may be mapped at the address of the patch now. */
static bool is_of_module(struct look *look, const struct probe *probe)
{
	if (!look->refreshed && target_refresh(look->probes->target, NULL))
		return false;
	look->refreshed = true;
	look->changed |= probe->module->died != UINT32_MAX;
	return probe->module->died == UINT32_MAX;
}

static void note_libc(struct look *look, const struct module *libc)
{
	for (unsigned i = 0; i < look->nr_libcs; i++)
		if (look->libc[i] == libc)
			return;
	if (look->nr_libcs < LIBCS_MAX)
		look->libc[look->nr_libcs++] = libc;
	else
		look->probes->lost_records = true;
}

/*
 * Is this module, or another one of the same file, still where it was before the modules were read
 * again?
 */
static bool is_there(const struct modules *modules, const struct module *libc)
{
	vec_each_value(module, &modules->live) {
		if (module->bias == libc->bias && module->inode == libc->inode &&
		    module->dev_major == libc->dev_major && module->dev_minor == libc->dev_minor)
			return true;
	}
	return false;
}

static void judge_libcs(struct look *look)
{
	struct target *target = look->probes->target;

	if (look->nr_libcs && target_refresh(target, NULL))
		look->probes->lost_records = true;
	for (unsigned i = 0; i < look->nr_libcs; i++)
		look->probes->lost_records |= is_there(&target->modules, look->libc[i]);
}

static void judge(struct look *look, struct probe *probe)
{
	struct probes *probes = look->probes;

	if (!pagemap_is_copied(probes->target->mem.tid, probe->patch)) {
		look->changed = probe->module->replaced = true;
		if (probe_of_allocator(probe) && free_facts_is_libc(probe->module))
			note_libc(look, probe->module);
	} else if (!(probe->overwritten && probe->told) && is_of_module(look, probe)) {
		overwritten(look, probe);
	}
}

/*
 * Are the bytes of the patch in place? `now` has room for the present bytes; its first `got` bytes
 * are read already.
 */
static bool is_in_place(const struct probes *probes, const struct probe *probe,
			uint8_t now[JOURNAL_BYTES], size_t got)
{
	if (got < probe->put_len &&
	    memory_read(&probes->target->mem.memory, probe->patch, now, probe->put_len))
		return false;
	return !memcmp(now, probe->put, probe->put_len);
}

/* False: the target's memory is gone. */
static bool look_at(struct look *look)
{
	if (procmem_read_pieces(&look->probes->target->mem, look->piece, look->nr))
		return false;
	for (unsigned i = 0; i < look->nr; i++) {
		struct probe *probe = look->probe[i];

		/*
		 * Bytes are missing if process_vm_readv is not allowed, or if an unreadable piece
		 * in front has ended the call.
		 */
		if (!is_in_place(look->probes, probe, look->bytes[i], look->piece[i].got)) {
			judge(look, probe);
		} else if (probe->overwritten) {
			probe->overwritten = false;
			look->restored = true;
		}
	}
	look->nr = 0;
	return true;
}

/* The code of a probe could not be read. If it can be now, its module has gone and come back. */
static void look_at_unread(struct look *look, struct probe *probe)
{
	uint8_t first;

	if (memory_read(&look->probes->target->mem.bring, probe->address, &first, sizeof(first)))
		return;
	probe->unread = false;
	look->changed = probe->module->replaced = true;
}

/* Begin where the last look has ended, and go to the last probe at most. */
static bool look_at_some(struct look *look, unsigned most)
{
	struct probes *probes = look->probes;

	for (; probes->look_next < probes->all.nr && most; probes->look_next++) {
		struct probe *probe = probes->all.at[probes->look_next];

		if (probe->module->died != UINT32_MAX)
			continue;
		if (probe->unread)
			look_at_unread(look, probe);
		if (probe->state != PROBE_ACTIVE)
			continue;
		look->probe[look->nr] = probe;
		look->piece[look->nr] = (struct procmem_piece){
			.addr = probe->patch,
			.buf = look->bytes[look->nr],
			.len = probe->put_len,
		};
		if (++look->nr == AT_ONCE && !look_at(look))
			return false;
		most--;
	}
	return !look->nr || look_at(look);
}

void patch_watch_forget(struct probes *probes)
{
	vec_each_value(probe, &probes->all) {
		uint8_t now[JOURNAL_BYTES];

		if (probe->module->died == UINT32_MAX || probe->state == PROBE_REFUSED ||
		    (probe->state == PROBE_ACTIVE && is_in_place(probes, probe, now, 0)))
			continue;
		if (probe->engine == PROBE_BREAKPOINT)
			map_remove(&probes->traps,
				   probe->patch + probes->target->arch->trap_pc_bias);
		if (probe->state == PROBE_ACTIVE)
			journal_writer_undone(&probes->target->region->writer,
					      probe->text_entry);
		/* A thread may be in the slot: see probe_slot.h. */
		probe->overwritten = false;
		choose_refuse(probe, "its module is not mapped any more", "");
	}
}

/* If there are too many intervals, merge the first two. */
static void note_interval(struct probes *probes, uint64_t to)
{
	struct lost_interval new = { probes->looked, to };

	if (probes->lost.nr >= INTERVALS_MAX) {
		probes->lost.at[1].from = probes->lost.at[0].from;
		vec_remove(&probes->lost, 0);
	}
	if (vec_push(&probes->lost, new))
		trace_line("no memory to note what may have gone unseen");
}

static void begin_round(struct probes *probes)
{
	probes->look_next = 0;
	probes->round = log_now();
}

bool patch_watch_look(struct probes *probes, unsigned most)
{
	struct look look = { .probes = probes };

	if (!probes->armed)
		return false;
	if (most == PATCH_WATCH_ALL || probes->look_next >= probes->all.nr)
		begin_round(probes);
	if (!look_at_some(&look, most))
		return false;
	judge_libcs(&look);
	if (look.changed || look.overwritten || look.restored) {
		note_interval(probes, log_now());
		begin_round(probes);
	} else if (probes->look_next >= probes->all.nr) {
		probes->looked = probes->round;
	}
	if (look.overwritten) {
		log_note_gap(probes->log);
		agent_state_doubt_facts(probes);
	}
	if (look.overwritten || look.restored)
		probes->facts_changed = probes->unsettled = true;
	return look.changed;
}

/* Is a part of the patch in the text, and only that? */
static bool is_broken(const struct probes *probes, const struct probe *probe)
{
	uint8_t now[JOURNAL_BYTES];
	uint32_t kept;

	if (probe->state != PROBE_ACTIVE || !probe->overwritten ||
	    is_in_place(probes, probe, now, 0))
		return false;
	return memcmp(now, probe_original(probe), probe->put_len) &&
	       undo_is_ours(now, probe_original(probe), probe->put, probe->put_len, &kept);
}

void patch_watch_take_broken(struct probes *probes)
{
	vec_each_value(probe, &probes->all) {
		struct err *err;

		if (!is_broken(probes, probe))
			continue;
		err = patch_text_undo(probes->target, probe->text_entry);
		if (err) {
			trace_line("take out what is broken: %s", err->msg);
			continue;
		}
		probe->overwritten = false;
		choose_refuse(probe,
			      "another tool has put its trap into the patch, which was taken out",
			      PROBE_OTHER_TOOL);
	}
}

bool patch_watch_may_have_missed(const struct probes *probes, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < probes->lost.nr; i++)
		if (probes->lost.at[i].from <= to && from <= probes->lost.at[i].to)
			return true;
	return false;
}

bool patch_watch_takes_records(struct probes *probes)
{
	bool takes = probes->lost_records;

	probes->lost_records = false;
	return takes;
}
