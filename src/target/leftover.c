/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an earlier mdbg left in a target: taken out, or gone on with (theory in leftover.h). */

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
#include "os/procfs.h"
#include "target/inherited.h"
#include "target/left.h"
#include "target/patch.h"
#include "target/region.h"
#include "target/remote.h"
#include "target/target.h"

static void put_text_back(struct left *left)
{
	for (uint32_t i = journal_entries(left->journal); i-- > 0;) {
		struct journal_entry *entry = &left->journal->entry[i];
		bool undone = entry->state == JOURNAL_UNDONE && entry->kind == JOURNAL_TEXT;
		struct err *err;

		if (!left_to_undo(entry, JOURNAL_TEXT) && !(undone && left_is_inherited(left)))
			continue;
		err = patch_undo_text_entry(&left->target->mem, entry);
		if (err && !undone)
			left_say(left, err->msg);
	}
}

static struct err *note_ranges(struct left *left)
{
	struct err *err = NULL;

	for (uint32_t i = 0; i < journal_entries(left->journal) && !err; i++) {
		struct journal_entry *entry = &left->journal->entry[i];

		if (left_to_undo(entry, JOURNAL_MAPPING))
			err = vec_push(&left->ranges,
				       ((struct stack_range){ entry->address,
							      entry->address + entry->len, false }));
	}
	return err;
}

/* The journal is the last: should this mdbg be killed, the next one finds it. */
static struct err *unmap_file(const struct left *left, struct remote *remote,
			      const struct proc_maps *maps)
{
	const struct proc_map *journal = NULL;
	struct err *err = NULL;

	for (size_t i = 0; i < maps->vec.nr && !err; i++) {
		const struct proc_map *map = &maps->vec.at[i];

		if (!left_is_ours(map, left->inode))
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
static struct err *remove_mapping(struct left *left, struct remote *remote, uint32_t index)
{
	const struct journal_entry *entry = &left->journal->entry[index];
	uint64_t at = left->journal_address + offsetof(struct journal, entry) +
		      index * sizeof(*entry) + offsetof(struct journal_entry, state);
	uint32_t state = JOURNAL_UNDONE;
	bool covered = !patch_cover(remote, left->journal_address, entry->address, entry->len);
	struct err *err = NULL;

	if (!left_is_inherited(left))
		err = patch_fill(left->target, at, &state, sizeof(state));
	return err || covered ? err : remote_unmap(remote, entry->address, entry->len);
}

static struct err *take_out(struct left *left, struct remote *remote)
{
	struct proc_maps maps = { VEC_INIT };
	struct err *err = NULL;

	for (uint32_t i = journal_entries(left->journal); i-- > 0 && !err;) {
		struct journal_entry *entry = &left->journal->entry[i];

		if (left_to_undo(entry, JOURNAL_SIGACTION))
			err = patch_undo_sigaction_entry(remote, entry);
		else if (left_to_undo(entry, JOURNAL_MAPPING) || left_to_undo(entry, JOURNAL_DATA))
			err = remove_mapping(left, remote, i);
	}
	if (!err)
		err = procfs_maps(left->target->mem.tid, &maps);
	if (!err)
		err = unmap_file(left, remote, &maps);
	proc_maps_free(&maps);
	return err;
}

/* A later version's changes: the journal stays for who knows them. */
static bool has_unknown(struct left *left)
{
	for (uint32_t i = 0; i < journal_entries(left->journal); i++)
		if (left->journal->entry[i].kind > JOURNAL_SNAPSHOT &&
		    left_to_undo(&left->journal->entry[i], left->journal->entry[i].kind))
			return true;
	return false;
}

static struct err *unmap_all(struct left *left)
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct proc_maps maps = { VEC_INIT };
	struct err *err = remote ? procfs_maps(left->target->mem.tid, &maps) : err_nomem, *also;

	if (!err)
		err = remote_begin_any(left->target, remote);
	if (!err) {
		left_settle(left, &maps);
		err = take_out(left, remote);
		also = remote_end(remote);
		err = err ? err : also;
	}
	proc_maps_free(&maps);
	return err;
}

static struct err *clean_one(struct left *left, const struct proc_maps *maps)
{
	bool clean = true;
	struct err *err;

	left_settle(left, maps);
	put_text_back(left);
	err = left_reap(left);
	if (!err)
		err = note_ranges(left);
	if (!err) {
		left->target->left = left->journal;
		err = left_drain(left, &clean);
		left->target->left = NULL;
	}
	if (err)
		return err;
	if (has_unknown(left))
		left_say(left, "an mdbg of a later version has made changes that this one does "
			 "not know: use that to take them out");
	else if (!clean)
		left_say(left,
			 "a thread is still inside what an earlier mdbg left: its pages stay");
	else
		err = unmap_all(left);
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
	       !left_is_a_view(maps, stat.st_ino);
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

	if (!left_is_ours(&maps->vec.at[i], inode))
		return false;
	while (i-- > 0)
		if (left_is_ours(&maps->vec.at[i], inode))
			return false;
	return !left_is_a_view(maps, inode);
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
static struct err *find_journal(struct left *left, const struct proc_maps *maps)
{
	struct err *err = err_create(ERR_FORMAT, "no journal");

	for (size_t i = 0; i < maps->vec.nr && err; i++)
		if (left_is_ours(&maps->vec.at[i], left->inode) && !maps->vec.at[i].offset)
			err = left_read(left, &maps->vec.at[i]);
	return err;
}

static struct err *clean_file(struct target *target, const struct proc_maps *maps, uint64_t inode,
			      char *said, size_t room)
{
	struct left left = {
		.target = target, .inode = inode, .said = said, .room = room
	};
	struct err *err = find_journal(&left, maps);

	if (err) {
		left_say(&left, err->msg);
		return NULL;
	}
	err = left_check_owner(&left);
	if (!err)
		err = clean_one(&left, maps);
	free(left.journal);
	vec_free(&left.ranges);
	return err;
}

struct err *leftover_clean(struct target *target, bool *found_ret, char *left_ret, size_t room)
{
	struct proc_maps maps = { VEC_INIT };
	struct err *err = left_await_calls(target);

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
		    (entry->state != JOURNAL_DONE && !left_is_mapping(entry) &&
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
		struct left left = { .target = target };

		if (strcmp(maps.vec.at[i].path, JOURNAL_MEMFD_PATH) || maps.vec.at[i].offset ||
		    maps.vec.at[i].end - maps.vec.at[i].start != JOURNAL_SIZE)
			continue;
		err = left_read(&left, &maps.vec.at[i]);
		if (!err)
			err = left_check_owner(&left);
		if (!err && !left_is_inherited(&left))
			found = judge(left.journal);
		free(left.journal);
	}
	proc_maps_free(&maps);
	return err ? err : found;
}

/* Does the journal tell of this mapping of the region's file? */
static bool is_told(const struct journal *journal, const struct proc_map *map)
{
	for (uint32_t i = 0; i < journal_entries(journal); i++) {
		const struct journal_entry *entry = &journal->entry[i];

		if ((left_to_undo(entry, JOURNAL_REGION) || left_to_undo(entry, JOURNAL_LOG)) &&
		    entry->address < map->end && map->start < entry->address + entry->len)
			return true;
	}
	return false;
}

/* It is not told of yet, or no more: in hand when the earlier mdbg was killed. */
static struct err *unmap_untold(struct left *left, const struct proc_maps *maps)
{
	AUTO_FREE struct remote *remote = NULL;
	struct err *err = NULL, *also;

	for (size_t i = 0; i < maps->vec.nr && !err; i++) {
		const struct proc_map *map = &maps->vec.at[i];

		if (!left_is_ours(map, left->inode) || is_told(left->journal, map))
			continue;
		if (!remote) {
			remote = malloc(sizeof(*remote));
			err = remote ? remote_begin_any(left->target, remote) : err_nomem;
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
	struct left left = {
		.target = target,
		.journal = target->region->journal,
		.journal_address = target->region->address,
		.inode = inherited_file(target->region),
	};
	struct proc_maps maps = { VEC_INIT };
	struct err *err = left_await_calls(target);

	if (!err)
		err = procfs_maps(target->mem.tid, &maps);
	if (!err) {
		left_settle(&left, &maps);
		err = unmap_untold(&left, &maps);
	}
	if (!err)
		err = left_reap(&left);
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
	struct left left = { .target = target, .journal = target->region->journal };
	struct err *err = NULL;

	for (size_t i = 0; i < nr && !err; i++) {
		const struct journal_entry *entry = &left.journal->entry[index[i]];

		if (entry->kind == JOURNAL_MAPPING)
			err = vec_push(&left.ranges,
				       ((struct stack_range){
					       .start = entry->address,
					       .end = entry->address + entry->len }));
	}
	if (!err)
		err = left_drain(&left, clean_ret);
	vec_free(&left.ranges);
	return err;
}
