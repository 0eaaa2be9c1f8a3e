/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the forked copies of a target, and distinguishes them from other processes (theory in
 * forked_copies.h).
 */

#include "tracee/previous/forked_copies.h"

#include <elf.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "tracee/target.h"

/*
 * The bytes stay as they are if they cannot be read: a process may have unmapped its first stack.
 */
static void read_random(pid_t tid, struct procmem *mem, uint8_t *ret)
{
	uint8_t random[ORIGIN_RANDOM];
	uint64_t address;
	struct err *err = procfs_auxv(tid, AT_RANDOM, &address);

	if (!err)
		err = memory_read(&mem->bring, address, random, ORIGIN_RANDOM);
	if (!err)
		memcpy(ret, random, ORIGIN_RANDOM);
	err_ignore(err);
}

struct err *origin_begin(struct origin *origin, struct target *target)
{
	struct err *err;

	*origin = (struct origin){ .pid = target->pid };
	origin->place = calloc(JOURNAL_ROOM, sizeof(*origin->place));
	if (!origin->place)
		return err_nomem;
	err = identity_read(target->mem.tid, &origin->identity);
	origin->now = origin->identity;
	read_random(target->mem.tid, &target->mem, origin->random);
	memcpy(origin->random_now, origin->random, ORIGIN_RANDOM);
	if (err)
		origin_free(origin);
	return err;
}

void origin_free(struct origin *origin)
{
	free(origin->place);
	origin->place = NULL;
}

/* Found */

bool forked_copy_maps(pid_t pid, const struct file_id *file)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };

	if (procfs_maps(pid, &maps))
		return false;
	vec_each(map, &maps.vec)
		/* In an mdbg the mapping includes the log. */
		if (!map->offset && map->end - map->start == JOURNAL_SIZE &&
		    undo_is_of_file(map, file))
			return true;
	return false;
}

static bool is_sharer(const struct target *target, pid_t pid)
{
	return pid == target->pid || thread_find(target, pid) ||
	       (target->state != TARGET_ENDED && thread_shares(target, pid));
}

struct err *forked_copies_find(struct target *target, struct origin *origin, struct proc_tasks *ret)
{
	struct proc_tasks all;
	size_t nr = 0;
	struct err *err = procfs_numbers("/proc", &all);

	if (err)
		return err;
	/*
	 * It may have given up rights since then, and the children that it forks now have given
	 * them up, too.
	 */
	if (target->state != TARGET_ENDED) {
		err_ignore(identity_read(target->mem.tid, &origin->now));
		read_random(target->mem.tid, &target->mem, origin->random_now);
	}
	vec_each(pid, &all.vec)
		if (forked_copy_maps(*pid, &origin->file) && !is_sharer(target, *pid))
			all.vec.at[nr++] = *pid;
	all.vec.nr = nr;
	*ret = all;
	return NULL;
}

/* Distinguished from others */

static struct err *another(const char *what)
{
	return err_create(ERR_STATE, "%s", what);
}

static struct err *check_journal(const struct origin *origin, const struct proc_maps *maps)
{
	const struct proc_map *map = procparse_maps_find(maps, origin->address);

	if (!map || map->start != origin->address || !undo_is_journal(map) ||
	    !undo_is_of_file(map, &origin->file))
		return another("it has the journal mapped in a way in which no forked copy has it");
	return NULL;
}

struct err *forked_copy_check(pid_t tid, const struct origin *origin)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct identity identity;
	struct err *err = identity_read(tid, &identity);
	const char *what;

	if (err)
		return err;
	what = identity_difference(&origin->identity, &identity);
	if (what && identity_difference(&origin->now, &identity))
		return another(what);
	err = procfs_maps(tid, &maps);
	return err ? err : check_journal(origin, &maps);
}

/* If addresses are not random, only these bytes show an exec of the same program. */
static struct err *check_random(pid_t tid, struct procmem *mem, const struct origin *origin)
{
	uint8_t random[ORIGIN_RANDOM] = { 0 };

	read_random(tid, mem, random);
	if (memcmp(random, origin->random, ORIGIN_RANDOM) &&
	    memcmp(random, origin->random_now, ORIGIN_RANDOM))
		return another("it executes the program anew");
	return NULL;
}

static bool has_area(const struct origin *origin, const struct proc_maps *maps)
{
	for_each_entry(entry, origin->journal) {
		/* The patch may have been taken out of the target since the fork. */
		if (entry->kind == JOURNAL_MAPPING && entry->state != JOURNAL_FREE &&
		    undo_is_mapped(entry, maps, &origin->file))
			return true;
	}
	return false;
}

struct undo forked_copy_undo_text(struct procmem *mem, const struct origin *origin, uint32_t index,
				  const struct proc_maps *maps)
{
	const struct journal_entry *entry = &origin->journal->entry[index];
	struct undo_text text = {
		.map = procparse_maps_find(maps, entry->address),
		.place = origin->place[index],
	};

	if (entry->len <= sizeof(text.now))
		text.readable = !memory_read(&mem->bring, entry->address, text.now, entry->len);
	/* These bytes were found to be the file's when the patch was made. */
	memcpy(text.file, entry->old, sizeof(text.file));
	return undo_text(entry, &text);
}

struct err *forked_copy_check_text(pid_t tid, struct procmem *mem, const struct origin *origin,
				   const struct proc_maps *maps)
{
	struct err *err = forked_copy_check(tid, origin);
	bool stands = false;

	if (!err)
		err = check_random(tid, mem, origin);
	for (uint32_t i = 0; i < journal_entries(origin->journal) && !err; i++) {
		struct undo undo;

		if (origin->journal->entry[i].kind != JOURNAL_TEXT ||
		    origin->journal->entry[i].state == JOURNAL_FREE)
			continue;
		undo = forked_copy_undo_text(mem, origin, i, maps);
		if (undo.action == UNDO_LEAVE && undo.stands)
			err = err_create(ERR_STATE, "the code at 0x%" PRIx64 " %s",
					 undo.address, undo.why);
		stands |= undo.action == UNDO_WRITE;
	}
	if (!err && stands && !has_area(origin, maps))
		err = another("it has none of the code that ours leads to");
	return err;
}
