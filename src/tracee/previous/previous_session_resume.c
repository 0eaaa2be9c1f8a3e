/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes over what an earlier mdbg left in a target (theory in previous_session.h). */

#include "base/cleanup.h"
#include "tracee/previous/previous_journal.h"
#include "tracee/previous/previous_session.h"
#include "tracee/patch.h"
#include "tracee/region.h"
#include "tracee/remote.h"

/* An unfinished mapping can be settled; with any other unfinished change there is no handover. */
static struct err *judge(const struct previous *left, const struct proc_maps *maps)
{
	struct err *err = previous_journal_check_entries(left, maps);
	uint32_t jumps = 0, states = 0;

	if (err)
		return err;
	for_each_entry(entry, left->journal) {
		if (entry->state == JOURNAL_UNDONE || entry->state == JOURNAL_FREE)
			continue;
		if (entry->state != JOURNAL_DONE && !previous_journal_is_mapping(entry) &&
		    entry->kind != JOURNAL_SNAPSHOT)
			return err_create(ERR_STATE, "that mdbg was in the middle of a change");
		if (entry->kind == JOURNAL_SIGACTION ||
		    (entry->kind == JOURNAL_TEXT && entry->len == 1))
			return err_create(ERR_STATE, "breakpoint probes were in place, and record "
					  "nothing without an mdbg");
		jumps += entry->kind == JOURNAL_TEXT;
		states += entry->kind == JOURNAL_DATA;
	}
	return jumps && states ? NULL : err_create(ERR_STATE, "no probes were in place");
}

struct err *previous_session_to_resume(struct target *target)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct err *err = procfs_maps(target->mem.tid, &maps), *found;

	found = err_create(ERR_STATE, "%s", "");
	vec_each_while(map, &maps.vec, !err) {
		struct previous left = { .target = target, .file = file_id_of_map(map) };

		/* One of that name without a journal may be the program's own. */
		if (!undo_is_journal(map) || previous_journal_check_file(&left, map) ||
		    previous_journal_read(&left, map))
			continue;
		err = previous_journal_check_owner(&left);
		if (!err && !previous_journal_is_forked_copy(&left))
			found = judge(&left, &maps);
		journal_writer_free(&left.writer);
	}
	return err ? err : found;
}

/* Does the journal tell of this mapping of the region's file? */
static bool is_told(const struct journal *journal, const struct proc_map *map)
{
	for_each_entry(entry, journal)
		if ((previous_to_undo(entry, JOURNAL_REGION) ||
		     previous_to_undo(entry, JOURNAL_LOG)) &&
		    entry->address < map->end && map->start < entry->address + entry->len)
			return true;
	return false;
}

/*
 * The journal does not have this mapping yet, or no longer: the earlier mdbg was killed in between.
 */
static struct err *unmap_untold(struct previous *left, const struct proc_maps *maps)
{
	struct remote *remote = NULL;
	struct err *err = NULL;

	vec_each_while(map, &maps->vec, !err) {
		if (!undo_is_of_file(map, &left->file) || is_told(left->journal, map))
			continue;
		if (!remote)
			err = remote_borrow(left->target, NULL, &remote);
		if (!err)
			err = remote_unmap(remote, map->start, map->end - map->start);
	}
	return remote ? remote_borrow_give_back(remote, err) : err;
}

struct err *previous_session_settle(struct target *target)
{
	struct region *region = target->region;
	uint64_t budget = PREVIOUS_RUN_NS;
	struct previous left = {
		.target = target,
		.writer = region->writer,
		.journal = region->journal,
		.journal_address = region->address,
		.file = region->origin.file,
		.budget = &budget,
	};
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct err *err = previous_journal_await_calls(target);

	if (!err)
		err = procfs_maps(target->mem.tid, &maps);
	if (!err)
		err = previous_journal_verify(&left, &region->origin, &maps);
	if (err)
		return err;
	previous_journal_settle(&left, &maps);
	err = unmap_untold(&left, &maps);
	return err ? err : previous_journal_reap(&left);
}

/* The journal that is the target's own, of the maps that it has. */
static struct err *read_own(struct previous *left, const struct proc_maps *maps)
{
	vec_each(map, &maps->vec) {
		if (!undo_is_journal(map) || previous_journal_check_file(left, map) ||
		    previous_journal_read(left, map))
			continue;
		left->file = file_id_of_map(map);
		if (!previous_journal_is_forked_copy(left))
			return NULL;
		journal_writer_free(&left->writer);
	}
	return err_create(ERR_NOTFOUND, "it has no journal of its own");
}

struct err *previous_session_origin(struct target *target, struct origin *ret,
				    struct journal **journal_ret)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct previous left = { .target = target };
	struct err *err = origin_begin(ret, target);

	if (!err)
		err = procfs_maps(target->mem.tid, &maps);
	if (!err)
		err = read_own(&left, &maps);
	if (!err)
		err = previous_journal_verify(&left, ret, &maps);
	if (err) {
		journal_writer_free(&left.writer);
		origin_free(ret);
		return err;
	}
	ret->file = left.file;
	ret->address = left.journal_address;
	ret->journal = *journal_ret = left.writer.own;
	return NULL;
}

struct err *previous_session_unmap(struct target *target, uint32_t entry)
{
	struct remote *remote;
	struct err *err = remote_borrow(target, NULL, &remote);

	return err ? err : remote_borrow_give_back(remote, patch_unmap(target, remote, entry));
}

struct err *previous_session_drain(struct target *target, const uint32_t *index, size_t nr,
				   bool *clean_ret)
{
	uint64_t budget = PREVIOUS_RUN_NS;
	struct previous left = { .target = target, .journal = target->region->journal,
				 .budget = &budget };
	struct err *err = NULL;

	for (size_t i = 0; i < nr && !err; i++)
		err = previous_journal_note_range(&left, &left.journal->entry[index[i]]);
	if (!err)
		err = previous_journal_drain(&left, clean_ret);
	vec_free(&left.ranges);
	vec_free(&left.counts);
	return err;
}
