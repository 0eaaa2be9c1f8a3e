/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes out what an earlier mdbg left in a target (theory in previous_session.h). */

#include "tracee/previous/previous_session.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "tracee/previous/previous_file.h"
#include "tracee/patch.h"
#include "tracee/region.h"
#include "tracee/remote.h"

/* *stands_ret: some text still leads into code that an mdbg has left, and must not be changed. */
static struct err *put_text_back(struct previous *left, const struct proc_maps *maps,
				 bool *stands_ret)
{
	struct err *err = NULL;

	for (uint32_t i = journal_entries(left->journal); i-- > 0 && !err;) {
		const struct journal_entry *entry = &left->journal->entry[i];
		bool undone = entry->state == JOURNAL_UNDONE && entry->kind == JOURNAL_TEXT;
		struct undo undo;

		if (!previous_to_undo(entry, JOURNAL_TEXT) &&
		    !(undone && previous_journal_is_forked_copy(left)))
			continue;
		undo = previous_journal_undo_text(left, i, maps);
		if (undo.action == UNDO_WRITE)
			err = patch_write_around(&left->target->mem, undo.address, undo.bytes,
						 undo.len, undo.kept);
		if (undo.action != UNDO_LEAVE || (undone && !undo.stands))
			continue;
		previous_journal_say(left, "the code at 0x%" PRIx64 " %s: left as it is",
				     undo.address, undo.why);
		*stands_ret |= undo.stands;
	}
	return err;
}

/* The journal goes last: if this mdbg is killed, the next one finds it. */
static struct err *unmap_file(const struct previous *left, struct remote *remote,
			      const struct proc_maps *maps)
{
	const struct proc_map *journal = NULL;
	struct err *err = NULL;

	vec_each_while(map, &maps->vec, !err) {
		if (!undo_is_of_file(map, &left->file))
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
 * First the memory becomes a mapping of the file, which is unmapped with the others; then the
 * journal gets a note, unless it is the parent's journal in a forked child.
 */
static struct err *remove_mapping(struct previous *left, struct remote *remote, uint32_t index)
{
	const struct journal_entry *entry = &left->journal->entry[index];
	uint64_t at = left->journal_address + offsetof(struct journal, entry[index].state);
	uint32_t state = JOURNAL_UNDONE;
	bool covered = !patch_cover(remote, left->journal_address, entry->address, entry->len);
	struct err *err = NULL;

	if (!previous_journal_is_forked_copy(left))
		err = patch_fill(left->target, at, &state, sizeof(state));
	return err || covered ? err : remote_unmap(remote, entry->address, entry->len);
}

static struct err *reset_handler(struct previous *left, struct remote *remote,
				 const struct journal_entry *entry, const struct proc_maps *maps)
{
	struct patch_sigaction now;
	struct err *err = patch_sigaction_call(remote, (int)entry->aux, NULL, &now);

	if (err || !undo_sigaction(entry, &now, left->journal, maps))
		return err;
	return patch_undo_sigaction_entry(remote, entry);
}

static struct err *take_out(struct previous *left, struct remote *remote,
			    const struct proc_maps *before)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct err *err = NULL;

	for (uint32_t i = journal_entries(left->journal); i-- > 0 && !err;) {
		const struct journal_entry *entry = &left->journal->entry[i];

		if (previous_to_undo(entry, JOURNAL_SIGACTION))
			err = reset_handler(left, remote, entry, before);
		else if (previous_to_undo(entry, JOURNAL_MAPPING) ||
			 previous_to_undo(entry, JOURNAL_DATA))
			err = remove_mapping(left, remote, i);
	}
	if (!err)
		err = procfs_maps(left->target->mem.tid, &maps);
	return err ? err : unmap_file(left, remote, &maps);
}

/* There are changes of unknown kinds: the journal stays for an mdbg that knows them. */
static bool has_unknown(struct previous *left, const struct proc_maps *maps)
{
	const char *what = previous_journal_doubt(left, maps);
	bool unknown = !what && previous_journal_has_unknown(left->journal);

	if (what)
		previous_journal_say(left, "the journal of an earlier mdbg tells of %s: what is mapped "
				     "stays", what);
	else if (unknown)
		previous_journal_say(left, "an mdbg of a later version has made changes that this one "
				     "does not know: use that to take them out");
	return what || unknown;
}

/* Is the SIGTRAP handler that the other mdbg has found, and will put back, in an area of this one? */
static bool leads_to(const struct journal *other, const struct previous *left,
		     const struct proc_maps *maps)
{
	struct patch_sigaction old;

	for_each_entry(entry, other) {
		memcpy(&old, entry->old, sizeof(old));
		if (previous_to_undo(entry, JOURNAL_SIGACTION) &&
		    undo_is_in_area(left->journal, maps, old.handler))
			return true;
	}
	return false;
}

/* Does the journal of another mdbg, which came later and was killed, too, lead to this one's areas? */
static bool is_led_to(const struct previous *left, const struct proc_maps *maps)
{
	bool led = false;

	vec_each_while(map, &maps->vec, !led) {
		struct previous other = { .target = left->target, .file = file_id_of_map(map) };

		if (undo_is_of_file(map, &left->file) || !undo_is_journal(map) ||
		    previous_journal_is_a_view(maps, &other.file))
			continue;
		led = !previous_journal_read(&other, map) && leads_to(other.journal, left, maps);
		journal_writer_free(&other.writer);
	}
	return led;
}

static struct err *unmap_all(struct previous *left)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct remote *remote;
	struct err *err = procfs_maps(left->target->mem.tid, &maps);

	if (err)
		return err;
	left->led_to = is_led_to(left, &maps);
	if (left->led_to)
		return NULL;
	err = remote_borrow(left->target, NULL, &remote);
	if (err)
		return err;
	previous_journal_settle(left, &maps);
	return remote_borrow_give_back(remote, take_out(left, remote, &maps));
}

/* No thread enters the code of ours any more. */
static struct err *clean_mapped(struct previous *left)
{
	bool clean = true;
	struct err *err = NULL;

	for_each_entry_while(entry, left->journal, !err)
		if (previous_to_undo(entry, JOURNAL_MAPPING))
			err = previous_journal_note_range(left, entry);
	if (!err) {
		left->target->left = left->journal;
		err = previous_journal_drain(left, &clean);
		left->target->left = NULL;
	}
	if (err)
		return err;
	if (clean)
		return unmap_all(left);
	if (left->calls)
		previous_journal_say(left,
				     "calls of functions that an earlier mdbg probed, which have "
				     "not "
				     "returned (suspended coroutines?): %" PRIu64 "; its pages "
				     "stay",
				     left->calls);
	else
		previous_journal_say(left,
				     "a thread is still inside what an earlier mdbg left: its "
				     "pages "
				     "stay");
	return NULL;
}

static struct err *clean_one(struct previous *left, const struct proc_maps *maps)
{
	bool unknown = has_unknown(left, maps), stands = false;
	struct err *err;

	previous_journal_settle(left, maps);
	err = put_text_back(left, maps, &stands);
	if (!err && !unknown)
		err = previous_journal_reap(left);
	return err || unknown || stands ? err : clean_mapped(left);
}

static struct err *close_descriptors(struct target *target, const struct proc_maps *maps,
				     bool *found)
{
	struct err *err = NULL;
	int fd;

	while (!err && (fd = previous_file_find(target, maps)) >= 0) {
		struct remote *remote;
		uint64_t unused;

		*found = true;
		err = remote_borrow(target, NULL, &remote);
		if (err)
			break;
		err = remote_syscall(remote, &unused, SYS_close, (uint64_t)fd);
		err = remote_borrow_give_back(remote, err);
	}
	return err;
}

/* Is it the first mapping of a file that was left? */
static bool is_first(const struct proc_maps *maps, size_t i)
{
	struct file_id file = file_id_of_map(&maps->vec.at[i]);

	if (!undo_is_of_file(&maps->vec.at[i], &file))
		return false;
	while (i-- > 0)
		if (undo_is_of_file(&maps->vec.at[i], &file))
			return false;
	return !previous_journal_is_a_view(maps, &file);
}

bool previous_session_exists(const struct target *target)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };

	if (procfs_maps(target->mem.tid, &maps))
		return false;
	for (size_t i = 0; i < maps.vec.nr; i++)
		if (is_first(&maps, i))
			return true;
	return previous_file_find(target, &maps) >= 0;
}

static struct err *find_journal(struct previous *left, const struct proc_maps *maps)
{
	struct err *err = err_create(ERR_FORMAT, "it has no journal");

	vec_each_while(map, &maps->vec, err)
		if (undo_is_of_file(map, &left->file) && undo_is_journal(map))
			err = previous_journal_read(left, map);
	return err;
}

static struct err *unmap_unbegun(struct previous *left, const struct proc_map *map)
{
	struct remote *remote;
	struct err *err = remote_borrow(left->target, NULL, &remote);

	return err ? err : remote_borrow_give_back(remote,
						   remote_unmap(remote, map->start, JOURNAL_SIZE));
}

/* *led_ret: one more is led to by another file's handler. */
static struct err *clean_file(struct previous *left, const struct proc_maps *maps,
			      const struct proc_map *map, unsigned *led_ret)
{
	struct err *err = previous_journal_check_file(left, map);

	if (!err && previous_file_maps_unbegun(left->target, maps, map))
		return unmap_unbegun(left, map);
	if (!err)
		err = find_journal(left, maps);
	if (err) {
		previous_journal_say(left,
				     "a file called mdbg that is mapped at 0x%" PRIx64 " is left "
				     "as "
				     "it is: %s", map->start, err->msg);
		return NULL;
	}
	err = previous_journal_check_owner(left);
	if (!err)
		err = clean_one(left, maps);
	*led_ret += left->led_to;
	journal_writer_free(&left->writer);
	vec_free(&left->ranges);
	vec_free(&left->counts);
	return err;
}

/* Each file once. */
static struct err *clean_files(const struct previous *each, bool *found_ret, unsigned *led_ret)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct err *err = procfs_maps(each->target->mem.tid, &maps);

	*led_ret = 0;
	for (size_t i = 0; i < maps.vec.nr && !err; i++) {
		struct previous left = *each;

		if (!is_first(&maps, i))
			continue;
		*found_ret = true;
		left.file = file_id_of_map(&maps.vec.at[i]);
		err = clean_file(&left, &maps, &maps.vec.at[i], led_ret);
	}
	return err;
}

struct err *previous_session_clean(struct target *target, bool *found_ret, char *left_ret,
				   size_t room)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	uint64_t budget = PREVIOUS_RUN_NS;
	struct previous each = { .target = target, .said = left_ret, .room = room,
				 .budget = &budget };
	struct err *err = previous_journal_await_calls(target);
	unsigned led = UINT_MAX, before;

	*found_ret = false;
	*left_ret = '\0';
	/* As it is found: what is unmapped shows whose descriptor it was (previous_file.h). */
	if (!err)
		err = procfs_maps(target->mem.tid, &maps);
	/* When the later one has gone, nobody leads to the earlier one. */
	do {
		before = led;
		if (!err)
			err = clean_files(&each, found_ret, &led);
	} while (!err && led && led < before);
	if (!err && led)
		previous_journal_say(&each,
				     "the SIGTRAP handler of a later mdbg leads to what an earlier "
				     "one left: its pages stay");
	return err ? err : close_descriptors(target, &maps, found_ret);
}

/* A forked copy */

/* Work on a copy of the journal, which is settled for this process alone. */
static struct err *clean_by(struct previous *left, const struct proc_maps *maps)
{
	AUTO_FREE struct journal *own = malloc(JOURNAL_SIZE);
	struct err *err;

	if (!own)
		return err_nomem;
	memcpy(own, left->origin->journal, JOURNAL_SIZE);
	left->writer.own = own;
	left->journal = own;
	err = clean_one(left, maps);
	vec_free(&left->ranges);
	vec_free(&left->counts);
	return err;
}

struct err *previous_session_clean_copy(struct target *target, const struct origin *origin,
					char *left_ret,
					size_t room)
{
	uint64_t budget = PREVIOUS_RUN_NS;
	struct previous left = { .target = target, .origin = origin, .file = origin->file,
			     .journal_address = origin->address, .said = left_ret, .room = room,
			     .budget = &budget };
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct err *err = previous_journal_await_calls(target);

	*left_ret = '\0';
	if (!err)
		err = procfs_maps(target->mem.tid, &maps);
	if (!err)
		err = forked_copy_check_text(target->mem.tid, &target->mem, origin, &maps);
	return err ? err : clean_by(&left, &maps);
}
