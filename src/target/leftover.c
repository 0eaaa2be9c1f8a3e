/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an earlier mdbg left in a target (theory in leftover.h). */

#include "target/leftover.h"

#include <dirent.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "log/journal.h"
#include "os/procfs.h"
#include "os/tracer.h"
#include "target/inherited.h"
#include "target/patch.h"
#include "target/region.h"
#include "target/remote.h"
#include "target/snapshot.h"
#include "target/stack.h"
#include "target/target.h"

#define DRAIN_TRIES	200
#define DRAIN_NS	5000000ull

struct leftover {
	struct target *target;
	struct journal *journal;	/* a copy */
	uint64_t journal_address;
	uint64_t inode;			/* of the region's file */
	VEC(struct stack_range) ranges;	/* where threads may be */
	char *left;
	size_t room;
};

static void say_left(struct leftover *leftover, const char *what)
{
	size_t len = leftover->left ? strlen(leftover->left) : 0;

	if (leftover->left)
		snprintf(leftover->left + len, leftover->room - len, "%s%s",
			 len ? "; " : "", what);
}

/* A mapping of the region's file: of the journal, or of what the agent uses. */
static bool is_ours(const struct proc_map *map, uint64_t inode)
{
	return map->inode == inode && !strcmp(map->path, JOURNAL_MEMFD_PATH);
}

/*
 * An mdbg has the log of its own target mapped, journal and all in one. That is nothing that was done
 * to it, and it would not survive to have it taken away.
 */
static bool is_a_view(const struct proc_maps *maps, uint64_t inode)
{
	bool view = false;

	for (size_t i = 0; i < maps->vec.nr; i++) {
		const struct proc_map *map = &maps->vec.at[i];

		if (!is_ours(map, inode) || map->offset)
			continue;
		if (map->end - map->start == JOURNAL_SIZE)
			return false;
		view |= map->end - map->start > JOURNAL_SIZE;
	}
	return view;
}

static bool to_undo(const struct journal_entry *entry, enum journal_kind kind)
{
	return entry->kind == kind &&
		(entry->state == JOURNAL_PLANNED || entry->state == JOURNAL_DONE);
}

/* Of a forked child it is its parent's. */
static bool is_inherited(const struct leftover *leftover)
{
	return leftover->journal->target_start != leftover->target->start_time;
}

static bool owner_alive(const struct journal *journal)
{
	struct proc_stat stat;

	if (!journal->owner || journal->owner == (uint32_t)getpid())
		return false;
	/* One that was killed is a zombie until its parent looks. */
	return !procfs_stat((pid_t)journal->owner, &stat) &&
		stat.start_time == journal->owner_start && stat.state != 'Z' && stat.state != 'X';
}

/* One mdbg at a time. */
static struct err *check_owner(const struct leftover *leftover)
{
	if (is_inherited(leftover) || !owner_alive(leftover->journal))
		return NULL;
	return err_hint(err_create(ERR_ATTACH,
				   "process %d is watched by another mdbg (pid %" PRIu32 ")",
				   leftover->target->pid, leftover->journal->owner),
			"detach that one first");
}

static struct err *read_journal(struct leftover *leftover, const struct proc_map *map)
{
	AUTO_FREE struct journal *journal = malloc(JOURNAL_SIZE);
	struct err *err;

	if (!journal)
		return err_nomem;
	if (map->end - map->start < JOURNAL_SIZE)
		return err_create(ERR_FORMAT, "a journal of %" PRIu64 " bytes",
				  map->end - map->start);
	err = memory_read(&leftover->target->mem.memory, map->start, journal, JOURNAL_SIZE);
	if (!err)
		/* the region is larger than its journal */
		err = journal_check(journal, UINT64_MAX);
	if (err)
		return err;
	leftover->journal = take(journal);
	leftover->journal_address = map->start;
	return NULL;
}

static void put_text_back(struct leftover *leftover)
{
	for (uint32_t i = journal_entries(leftover->journal); i-- > 0;) {
		struct journal_entry *entry = &leftover->journal->entry[i];
		bool undone = entry->state == JOURNAL_UNDONE && entry->kind == JOURNAL_TEXT;
		struct err *err;

		if (!to_undo(entry, JOURNAL_TEXT) && !(undone && is_inherited(leftover)))
			continue;
		err = patch_undo_text_entry(&leftover->target->mem, entry);
		if (err && !undone)
			say_left(leftover, err->msg);
	}
}

static struct err *note_ranges(struct leftover *leftover)
{
	struct err *err = NULL;

	for (uint32_t i = 0; i < journal_entries(leftover->journal) && !err; i++) {
		struct journal_entry *entry = &leftover->journal->entry[i];

		if (to_undo(entry, JOURNAL_MAPPING))
			err = vec_push(&leftover->ranges,
				       ((struct stack_range){ entry->address,
							      entry->address + entry->len, false }));
	}
	return err;
}

struct use {
	struct leftover *leftover;
	bool used;
};

static void look(struct thread *thread, const struct stack_top *top, void *ctx)
{
	struct use *use = ctx;
	struct leftover *leftover = use->leftover;
	bool pending = false;

	if (use->used)
		return;
	if (thread->state == THREAD_STOPPED)
		err_ignore(tracer_trap_pending(thread->tid, &pending));
	use->used = pending ||
		stack_of_uses(thread, top, leftover->ranges.at, (uint32_t)leftover->ranges.nr);
}

/* Let the threads go on until none is inside any more. The target is stopped before and after. */
static struct err *drain(struct leftover *leftover, bool *clean)
{
	struct target *target = leftover->target;

	for (int i = 0; i < DRAIN_TRIES; i++) {
		struct use use = { .leftover = leftover };
		struct err *err;

		stack_each_top(target, look, &use);
		*clean = !use.used;
		if (*clean)
			return NULL;
		err = target_run_for(target, DRAIN_NS);
		if (err)
			return err;
	}
	return NULL;
}

static void find_call(struct thread *thread, void *ctx)
{
	bool *found = ctx;

	*found = *found || remote_is_left(thread);
}

/*
 * What a thread is still to do for an mdbg that was killed changes the mappings: before they are
 * looked at it is done. Stopped before and after.
 */
static struct err *await_calls(struct target *target)
{
	for (int i = 0; i < DRAIN_TRIES; i++) {
		bool found = false;
		struct err *err;

		target_each_thread(target, find_call, &found);
		if (!found)
			return NULL;
		err = target_run_for(target, DRAIN_NS);
		if (err)
			return err;
	}
	return err_hint(err_create(ERR_BUSY, "a system call that an earlier mdbg began in process "
				   "%d is not made yet", target->pid),
			"if the process is stopped, let it go on (kill -CONT %d)", target->pid);
}

/* The journal is the last: should this mdbg be killed, the next one finds it. */
static struct err *unmap_file(const struct leftover *leftover, struct remote *remote,
			      const struct proc_maps *maps)
{
	const struct proc_map *journal = NULL;
	struct err *err = NULL;

	for (size_t i = 0; i < maps->vec.nr && !err; i++) {
		const struct proc_map *map = &maps->vec.at[i];

		if (!is_ours(map, leftover->inode))
			continue;
		if (!journal && !map->offset && map->end - map->start == JOURNAL_SIZE)
			journal = map;
		else
			err = remote_unmap(remote, map->start, map->end - map->start);
	}
	if (!err && journal)
		err = remote_unmap(remote, journal->start, JOURNAL_SIZE);
	return err;
}

/*
 * It becomes a mapping of the file, which goes with the others; then the journal is told, but not
 * that which a forked child has of its parent.
 */
static struct err *remove_mapping(struct leftover *leftover, struct remote *remote, uint32_t index)
{
	const struct journal_entry *entry = &leftover->journal->entry[index];
	uint64_t at = leftover->journal_address + offsetof(struct journal, entry) +
		      index * sizeof(*entry) + offsetof(struct journal_entry, state);
	uint32_t state = JOURNAL_UNDONE;
	bool covered = !patch_cover(remote, leftover->journal_address, entry->address, entry->len);
	struct err *err = NULL;

	if (!is_inherited(leftover))
		err = patch_fill(leftover->target, at, &state, sizeof(state));
	return err || covered ? err : remote_unmap(remote, entry->address, entry->len);
}

static struct err *take_out(struct leftover *leftover, struct remote *remote)
{
	struct proc_maps maps = { VEC_INIT };
	struct err *err = NULL;

	for (uint32_t i = journal_entries(leftover->journal); i-- > 0 && !err;) {
		struct journal_entry *entry = &leftover->journal->entry[i];

		if (to_undo(entry, JOURNAL_SIGACTION))
			err = patch_undo_sigaction_entry(remote, entry);
		else if (to_undo(entry, JOURNAL_MAPPING) || to_undo(entry, JOURNAL_DATA))
			err = remove_mapping(leftover, remote, i);
	}
	if (!err)
		err = procfs_maps(leftover->target->mem.tid, &maps);
	if (!err)
		err = unmap_file(leftover, remote, &maps);
	proc_maps_free(&maps);
	return err;
}

/* Does the private anonymous mapping of an entry lie there, with the rights that ours have? */
static bool is_private_there(const struct proc_map *map, const struct journal_entry *entry)
{
	bool data = entry->kind == JOURNAL_DATA;

	return map->read && map->exec == !data && map->write == data && !map->shared && !map->inode;
}

/* Or that part of the region's file? */
static bool is_file_there(const struct proc_map *map, const struct journal_entry *entry,
			  uint64_t inode)
{
	return is_ours(map, inode) && map->offset + (entry->address - map->start) == entry->aux;
}

static bool is_there(const struct leftover *leftover, const struct proc_maps *maps,
		     const struct journal_entry *entry)
{
	const struct proc_map *map = proc_maps_find(maps, entry->address);

	if (!map || entry->len > map->end - entry->address)
		return false;
	return entry->kind == JOURNAL_LOG ? is_file_there(map, entry, leftover->inode) :
					    is_private_there(map, entry);
}

static bool is_mapping(const struct journal_entry *entry)
{
	return to_undo(entry, JOURNAL_MAPPING) || to_undo(entry, JOURNAL_DATA) ||
	       to_undo(entry, JOURNAL_LOG);
}

/*
 * What was in hand when the earlier mdbg was killed is done, or it is not. A mapping that was only
 * planned, or is gone, must not be unmapped: something else may lie there.
 */
static void settle(struct leftover *leftover, const struct proc_maps *maps)
{
	for (uint32_t i = 0; i < journal_entries(leftover->journal); i++) {
		if (!is_mapping(&leftover->journal->entry[i]))
			continue;
		if (is_there(leftover, maps, &leftover->journal->entry[i]))
			journal_done(leftover->journal, i);
		else
			journal_undone(leftover->journal, i);
	}
}

/* A later version's changes: the journal stays for who knows them. */
static bool has_unknown(struct leftover *leftover)
{
	for (uint32_t i = 0; i < journal_entries(leftover->journal); i++)
		if (leftover->journal->entry[i].kind > JOURNAL_SNAPSHOT &&
		    to_undo(&leftover->journal->entry[i], leftover->journal->entry[i].kind))
			return true;
	return false;
}

static struct err *unmap_all(struct leftover *leftover)
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct proc_maps maps = { VEC_INIT };
	struct err *err = remote ? procfs_maps(leftover->target->mem.tid, &maps) : err_nomem, *also;

	if (!err)
		err = remote_begin_any(leftover->target, remote);
	if (!err) {
		settle(leftover, &maps);
		err = take_out(leftover, remote);
		also = remote_end(remote);
		err = err ? err : also;
	}
	proc_maps_free(&maps);
	return err;
}

static struct err *reap_one(struct leftover *leftover, uint32_t index)
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct err *err = remote ? remote_begin_any(leftover->target, remote) : err_nomem, *also;

	if (err)
		return err;
	err = snapshot_reap_left(remote, &leftover->journal->entry[index]);
	if (!err)
		journal_undone(leftover->journal, index);
	also = remote_end(remote);
	return err ? err : also;
}

/*
 * Killed with the mdbg that made them; what is not dead yet soon is. A forked child of the target has
 * none of its own.
 */
static struct err *reap_snapshots(struct leftover *leftover)
{
	uint32_t nr = is_inherited(leftover) ? 0 : journal_entries(leftover->journal);
	struct err *err = NULL;

	for (uint32_t i = 0; i < nr && !err; i++) {
		if (!to_undo(&leftover->journal->entry[i], JOURNAL_SNAPSHOT))
			continue;
		err = reap_one(leftover, i);
		for (int tries = 0; err && err->code == ERR_BUSY && tries < DRAIN_TRIES; tries++) {
			err = target_run_for(leftover->target, DRAIN_NS);
			if (!err)
				err = reap_one(leftover, i);
		}
		if (err && err->code == ERR_BUSY) {
			say_left(leftover, err->msg);
			err = NULL;
		}
	}
	return err;
}

static struct err *clean_one(struct leftover *leftover, const struct proc_maps *maps)
{
	bool clean = true;
	struct err *err;

	settle(leftover, maps);
	put_text_back(leftover);
	err = reap_snapshots(leftover);
	if (!err)
		err = note_ranges(leftover);
	if (!err)
		err = drain(leftover, &clean);
	if (err)
		return err;
	if (has_unknown(leftover))
		say_left(leftover, "an mdbg of a later version has made changes that this one does "
			 "not know: use that to take them out");
	else if (!clean)
		say_left(leftover,
			 "a thread is still inside what an earlier mdbg left: its pages stay");
	else
		err = unmap_all(leftover);
	return err;
}

static bool is_left_descriptor(int dir, const char *name, const struct proc_maps *maps)
{
	char link[64];
	ssize_t len = readlinkat(dir, name, link, sizeof(link) - 1);
	struct stat stat;

	if (len < 0)
		return false;
	link[len] = '\0';
	return !strcmp(link, JOURNAL_MEMFD_PATH " (deleted)") && !fstatat(dir, name, &stat, 0) &&
	       !is_a_view(maps, stat.st_ino);
}

/*
 * A memfd that was made but not closed before the earlier mdbg was killed: its descriptor, or -1.
 */
static int left_descriptor(const struct target *target, const struct proc_maps *maps)
{
	struct dirent *dirent;
	char path[64];
	int fd = -1;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", target->mem.tid);
	dir = opendir(path);
	while (dir && fd < 0 && (dirent = readdir(dir)))
		if (is_left_descriptor(dirfd(dir), dirent->d_name, maps))
			fd = atoi(dirent->d_name);
	if (dir)
		closedir(dir);
	return fd;
}

static struct err *close_descriptors(struct target *target, const struct proc_maps *maps,
				     bool *found)
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct err *err = remote ? NULL : err_nomem, *also;
	int fd;

	while (!err && (fd = left_descriptor(target, maps)) >= 0) {
		uint64_t unused;

		*found = true;
		err = remote_begin_any(target, remote);
		if (err)
			break;
		err = remote_syscall(remote, &unused, SYS_close, (uint64_t)fd);
		also = remote_end(remote);
		err = err ? err : also;
	}
	return err;
}

/* Is it the first mapping of a file that was left? */
static bool is_first(const struct proc_maps *maps, size_t i)
{
	uint64_t inode = maps->vec.at[i].inode;

	if (!is_ours(&maps->vec.at[i], inode))
		return false;
	while (i-- > 0)
		if (is_ours(&maps->vec.at[i], inode))
			return false;
	return !is_a_view(maps, inode);
}

bool leftover_exists(const struct target *target)
{
	struct proc_maps maps = { VEC_INIT };
	bool exists = false;

	if (procfs_maps(target->mem.tid, &maps))
		return false;
	for (size_t i = 0; i < maps.vec.nr && !exists; i++)
		exists = is_first(&maps, i);
	exists = exists || left_descriptor(target, &maps) >= 0;
	proc_maps_free(&maps);
	return exists;
}

/* The journal of a file of ours, by any mapping of its start. */
static struct err *find_journal(struct leftover *leftover, const struct proc_maps *maps)
{
	struct err *err = err_create(ERR_FORMAT, "no journal");

	for (size_t i = 0; i < maps->vec.nr && err; i++)
		if (is_ours(&maps->vec.at[i], leftover->inode) && !maps->vec.at[i].offset)
			err = read_journal(leftover, &maps->vec.at[i]);
	return err;
}

static struct err *clean_file(struct target *target, const struct proc_maps *maps, uint64_t inode,
			      char *left, size_t room)
{
	struct leftover leftover = {
		.target = target, .inode = inode, .left = left, .room = room
	};
	struct err *err = find_journal(&leftover, maps);

	if (err) {
		say_left(&leftover, err->msg);
		return NULL;
	}
	err = check_owner(&leftover);
	if (!err)
		err = clean_one(&leftover, maps);
	free(leftover.journal);
	vec_free(&leftover.ranges);
	return err;
}

struct err *leftover_clean(struct target *target, bool *found_ret, char *left_ret, size_t room)
{
	struct proc_maps maps = { VEC_INIT };
	struct err *err = await_calls(target);

	*found_ret = false;
	*left_ret = '\0';
	if (!err)
		err = procfs_maps(target->mem.tid, &maps);
	for (size_t i = 0; i < maps.vec.nr && !err; i++) {
		if (!is_first(&maps, i))
			continue;
		*found_ret = true;
		err = clean_file(target, &maps, maps.vec.at[i].inode, left_ret, room);
	}
	if (!err)
		err = close_descriptors(target, &maps, found_ret);
	proc_maps_free(&maps);
	return err;
}

/* --- gone on with --- */

/* A mapping that was in hand is settled; what else was, is not gone on with. */
static struct err *judge(const struct journal *journal)
{
	uint32_t jumps = 0, states = 0;

	for (uint32_t i = 0; i < journal_entries(journal); i++) {
		const struct journal_entry *entry = &journal->entry[i];

		if (entry->state == JOURNAL_UNDONE || entry->state == JOURNAL_FREE)
			continue;
		if (entry->kind > JOURNAL_SNAPSHOT ||
		    (entry->state != JOURNAL_DONE && !is_mapping(entry) &&
		     entry->kind != JOURNAL_SNAPSHOT))
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

struct err *leftover_to_keep(struct target *target)
{
	struct proc_maps maps = { VEC_INIT };
	struct err *err = procfs_maps(target->mem.tid, &maps), *found;

	found = err_create(ERR_STATE, "%s", "");
	for (size_t i = 0; i < maps.vec.nr && !err; i++) {
		struct leftover leftover = { .target = target };

		if (strcmp(maps.vec.at[i].path, JOURNAL_MEMFD_PATH) || maps.vec.at[i].offset ||
		    maps.vec.at[i].end - maps.vec.at[i].start != JOURNAL_SIZE)
			continue;
		err = read_journal(&leftover, &maps.vec.at[i]);
		if (!err)
			err = check_owner(&leftover);
		if (!err && !is_inherited(&leftover))
			found = judge(leftover.journal);
		free(leftover.journal);
	}
	proc_maps_free(&maps);
	return err ? err : found;
}

/* Does the journal tell of this mapping of the region's file? */
static bool is_told(const struct journal *journal, const struct proc_map *map)
{
	for (uint32_t i = 0; i < journal_entries(journal); i++) {
		const struct journal_entry *entry = &journal->entry[i];

		if ((to_undo(entry, JOURNAL_REGION) || to_undo(entry, JOURNAL_LOG)) &&
		    entry->address < map->end && map->start < entry->address + entry->len)
			return true;
	}
	return false;
}

/* It is not told of yet, or no more: in hand when the earlier mdbg was killed. */
static struct err *unmap_untold(struct leftover *leftover, const struct proc_maps *maps)
{
	AUTO_FREE struct remote *remote = NULL;
	struct err *err = NULL, *also;

	for (size_t i = 0; i < maps->vec.nr && !err; i++) {
		const struct proc_map *map = &maps->vec.at[i];

		if (!is_ours(map, leftover->inode) || is_told(leftover->journal, map))
			continue;
		if (!remote) {
			remote = malloc(sizeof(*remote));
			err = remote ? remote_begin_any(leftover->target, remote) : err_nomem;
			if (err)
				return err;
		}
		err = remote_unmap(remote, map->start, map->end - map->start);
	}
	also = remote ? remote_end(remote) : NULL;
	return err ? err : also;
}

struct err *leftover_settle(struct target *target)
{
	struct leftover leftover = {
		.target = target,
		.journal = target->region->journal,
		.journal_address = target->region->address,
		.inode = inherited_file(target->region),
	};
	struct proc_maps maps = { VEC_INIT };
	struct err *err = await_calls(target);

	if (!err)
		err = procfs_maps(target->mem.tid, &maps);
	if (!err) {
		settle(&leftover, &maps);
		err = unmap_untold(&leftover, &maps);
	}
	if (!err)
		err = reap_snapshots(&leftover);
	proc_maps_free(&maps);
	return err;
}

struct err *leftover_unmap(struct target *target, uint32_t entry)
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct err *err = remote ? remote_begin_any(target, remote) : err_nomem, *also;

	if (err)
		return err;
	err = patch_unmap(target, remote, entry);
	also = remote_end(remote);
	return err ? err : also;
}

struct err *leftover_drain(struct target *target, const uint32_t *index, size_t nr, bool *clean_ret)
{
	struct leftover leftover = { .target = target, .journal = target->region->journal };
	struct err *err = NULL;

	for (size_t i = 0; i < nr && !err; i++) {
		const struct journal_entry *entry = &leftover.journal->entry[index[i]];

		if (entry->kind == JOURNAL_MAPPING)
			err = vec_push(&leftover.ranges,
				       ((struct stack_range){
					       .start = entry->address,
					       .end = entry->address + entry->len }));
	}
	if (!err)
		err = drain(&leftover, clean_ret);
	vec_free(&leftover.ranges);
	return err;
}
