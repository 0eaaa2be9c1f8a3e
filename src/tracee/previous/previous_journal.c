/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An earlier mdbg's journal, and which of its changes are in the target (previous_journal.h). */

#include "tracee/previous/previous_journal.h"

#include <inttypes.h>

#include "agent/state.h"
#include "base/cleanup.h"
#include "os/memfd.h"
#include "os/tracer.h"
#include "tracee/call_count.h"
#include "tracee/previous/forked_copies.h"
#include "tracee/patch.h"
#include "tracee/previous/previous_file.h"
#include "tracee/remote.h"
#include "tracee/snapshot.h"
#include "tracee/target_wait.h"

#define STEP_NS		5000000ull
#define SNAPSHOTS_MOST	16		/* an mdbg has one at a time */

void previous_journal_say(struct previous *left, const char *fmt, ...)
{
	size_t len = left->said ? strlen(left->said) : 0;
	char what[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	if (left->said && !strstr(left->said, what))
		snprintf(left->said + len, left->room - len, "%s%s", len ? "; " : "", what);
}

bool previous_journal_is_a_view(const struct proc_maps *maps, const struct file_id *file)
{
	bool view = false;

	vec_each(map, &maps->vec) {
		if (!undo_is_of_file(map, file) || map->offset)
			continue;
		if (map->end - map->start == JOURNAL_SIZE)
			return false;
		view |= map->end - map->start > JOURNAL_SIZE;
	}
	return view;
}

bool previous_journal_is_forked_copy(const struct previous *left)
{
	return left->origin || left->journal->target_start != left->target->start_time;
}

/* Its owner */

/* Has this process the file mapped as an mdbg that watches its target has? */
static bool has_view(pid_t pid, const struct file_id *file)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };

	return pid != getpid() && !procfs_maps(pid, &maps) && previous_journal_is_a_view(&maps,
											 file);
}

/* The process that has it; 0: none that can be seen. Reads the maps of all processes. */
static pid_t find_view(const struct file_id *file)
{
	struct proc_tasks all = { VEC_INIT };
	pid_t found = 0;

	err_ignore(procfs_numbers("/proc", &all));
	vec_each_while(pid, &all.vec, !found)
		found = has_view(*pid, file) ? *pid : 0;
	vec_free(&all.vec);
	return found;
}

/*
 * A file can be handed to anybody, and some processes map what they are sent. Nobody else chooses a
 * process's name.
 */
static bool is_named_mdbg(pid_t pid)
{
	struct proc_status status;

	return !procfs_status(pid, &status) && !strncmp(status.name.bytes, "mdbg", 4);
}

enum owner { OWNER_GONE, OWNER_LIVES, OWNER_UNKNOWN };

/*
 * An mdbg of today holds a lock, and is gone if there is none. Older ones hold none: they have the
 * file mapped, which shows only in the namespaces that have them, and only to those who may trace
 * them. The pid that such a journal names is of the owner's own namespace; but where all processes
 * are seen, it is the right one, or that of a process in a namespace below, which is seen, too.
 */
static enum owner find_owner(const struct previous *left)
{
	const struct journal *journal = left->journal;
	bool locked = false;
	struct err *unknown = memfd_is_locked(&left->file, &locked);
	struct proc_stat stat;

	if (locked)
		return OWNER_LIVES;
	if (!journal->owner || journal->owner == (uint32_t)getpid() ||
	    (!unknown && journal_owner_locks(journal)))
		return OWNER_GONE;
	if (find_view(&left->file))
		return OWNER_LIVES;
	if (!procfs_sees_all())
		return OWNER_UNKNOWN;
	/* One whose maps may not be seen. A killed mdbg is a zombie until its parent reaps it. */
	return geteuid() && is_named_mdbg((pid_t)journal->owner) &&
	       !procfs_stat((pid_t)journal->owner, &stat) &&
	       stat.start_time == journal->owner_start && stat.state != 'Z' && stat.state != 'X' ?
	       OWNER_LIVES : OWNER_GONE;
}

/* The journal's word for a pid is not believed: the user may end that process. */
static struct err *is_watched(const struct previous *left)
{
	pid_t pid = find_view(&left->file);

	if (pid && is_named_mdbg(pid))
		return err_hint(err_create(ERR_ATTACH,
					   "process %d is watched by another mdbg (pid %d)",
					   left->target->pid, pid),
				"detach that one first");
	return err_hint(err_create(ERR_ATTACH, "process %d is watched by another mdbg, which cannot "
				   "be seen from here", left->target->pid),
			"detach that one first: it is another user's, or in another container; it "
			"holds the lock on file %" PRIu64 " in /proc/locks", left->file.inode);
}

struct err *previous_journal_check_owner(const struct previous *left)
{
	if (previous_journal_is_forked_copy(left))
		return NULL;
	switch (find_owner(left)) {
	case OWNER_LIVES:
		return is_watched(left);
	case OWNER_UNKNOWN:
		return err_hint(err_create(ERR_ATTACH, "process %d has what an mdbg of an older "
					   "version has put in, and whether that one lives cannot be "
					   "seen in this container", left->target->pid),
				"end it, and attach from outside of the container");
	case OWNER_GONE:
		break;
	}
	return NULL;
}

struct err *previous_journal_read(struct previous *left, const struct proc_map *map)
{
	AUTO_FREE struct journal *journal = malloc(JOURNAL_SIZE);
	struct err *err;

	if (!journal)
		return err_nomem;
	if (map->end - map->start < JOURNAL_SIZE)
		return err_create(ERR_FORMAT, "a journal of %" PRIu64 " bytes",
				  map->end - map->start);
	if (!previous_file_has_journal(left->target, map))
		return err_create(ERR_FORMAT, "it has no journal");
	err = memory_read(&left->target->mem.bring, map->start, journal, JOURNAL_SIZE);
	if (!err)
		/* the region is larger than its journal */
		err = journal_check(journal, UINT64_MAX);
	if (err)
		return err;
	left->writer = (struct journal_writer){ .own = take(journal) };
	left->journal = left->writer.own;
	left->journal_address = map->start;
	return NULL;
}

struct err *previous_journal_check_file(const struct previous *left, const struct proc_map *map)
{
	struct identity identity;
	struct stat st;
	char path[96];
	struct err *err;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
		 left->target->mem.tid, map->start, map->end);
	if (stat(path, &st))	/* needs privilege; others act with the rights of the user */
		return NULL;
	err = identity_read(left->target->mem.tid, &identity);
	if (err || !st.st_uid || identity_has_uid(&identity, st.st_uid))
		return err;
	return err_create(ERR_STATE, "user %u has made it, whose process this is not",
			  (unsigned)st.st_uid);
}

/* Verified */

struct undo previous_journal_undo_text(const struct previous *left, uint32_t index,
				       const struct proc_maps *maps)
{
	const struct journal_entry *entry = &left->journal->entry[index];
	struct procmem *mem = &left->target->mem;
	struct undo_text text = { .map = procparse_maps_find(maps, entry->address) };

	if (left->origin)
		return forked_copy_undo_text(mem, left->origin, index, maps);
	if (entry->len && entry->len <= sizeof(text.now)) {
		text.readable = !memory_read(&mem->bring, entry->address, text.now, entry->len);
		if (!patch_text_of_file(left->target, entry->address, &text.place, text.file,
					entry->len))
			text.place = (struct text_place){ .offset = 0 };
	}
	return undo_text(entry, &text);
}

/*
 * From now on the entry has the file's bytes; an entry whose file is not known is cleared. This
 * includes patches that were put back, since a forked copy may still have them.
 */
static struct err *verify_text(struct previous *left, struct origin *origin, uint32_t index,
			       const struct proc_maps *maps)
{
	struct journal_entry *entry = &left->writer.own->entry[index];
	struct undo undo = previous_journal_undo_text(left, index, maps);

	if (undo.action == UNDO_LEAVE && undo.stands && previous_to_undo(entry, JOURNAL_TEXT))
		return err_create(ERR_STATE, "the code at 0x%" PRIx64 " %s", undo.address,
				  undo.why);
	if (!entry->len || entry->len > JOURNAL_BYTES ||
	    !patch_text_of_file(left->target, entry->address, &origin->place[index], entry->old,
				entry->len))
		entry->state = JOURNAL_FREE;
	return NULL;
}

const char *previous_journal_doubt(const struct previous *left, const struct proc_maps *maps)
{
	const char *what = undo_malformed_any(left->journal);

	/* A forked copy's journal is its parent's, which may have more. */
	return what || previous_journal_is_forked_copy(left) ? what :
		undo_missing_any(left->journal, maps, &left->file);
}

bool previous_journal_has_unknown(const struct journal *journal)
{
	for_each_entry(entry, journal)
		if (entry->kind > JOURNAL_SNAPSHOT && previous_to_undo(entry, entry->kind))
			return true;
	return false;
}

struct err *previous_journal_check_entries(const struct previous *left, const struct proc_maps *maps)
{
	const char *what = previous_journal_doubt(left, maps);

	if (!what && previous_journal_has_unknown(left->journal))
		what = "a change that this mdbg does not know";
	return what ? err_create(ERR_STATE, "its journal tells of %s", what) : NULL;
}

struct err *previous_journal_verify(struct previous *left, struct origin *origin,
				    const struct proc_maps *maps)
{
	struct err *err = previous_journal_check_entries(left, maps);

	for (uint32_t i = 0; i < journal_entries(left->journal) && !err; i++)
		if (left->journal->entry[i].kind == JOURNAL_TEXT &&
		    left->journal->entry[i].state != JOURNAL_FREE)
			err = verify_text(left, origin, i, maps);
	return err;
}

/* Waited for */

/* The target may run for *budget in all. */
static struct err *await(struct target *target, struct err *(*look)(void *ctx, bool *done_ret),
			 void *ctx, uint64_t *budget, bool *done_ret)
{
	const struct target_wait wait = {
		.look = look, .ctx = ctx,
		.step = STEP_NS, .deadline = UINT64_MAX, .budget = budget,
	};

	return target_wait(target, &wait, done_ret);
}

struct use {
	struct previous *left;
	bool used;
};

/* Calls that are counted, and have not returned. */
static uint64_t calls_in(const struct previous *left)
{
	uint64_t calls = 0;

	vec_each(counts, &left->counts)
		calls += call_count(&left->target->mem.bring, *counts);
	return calls;
}

static void look_at_use(struct thread *thread, const struct stack_top *top UNUSED, void *ctx)
{
	struct use *use = ctx;
	struct previous *left = use->left;
	bool pending = false;

	if (use->used)
		return;
	if (thread_is_stopped(thread))
		err_ignore(ptrace_trap_pending(thread->tid, &pending));
	use->used = pending ||
		stack_use_of_thread(thread, left->ranges.at, (uint32_t)left->ranges.nr);
}

static struct err *is_unused(void *left, bool *done_ret)
{
	struct use use = { .left = left };

	backtrace_each_top(use.left->target, look_at_use, &use);
	*done_ret = !use.used;
	return NULL;
}

struct err *previous_journal_note_range(struct previous *left, const struct journal_entry *entry)
{
	struct stack_range range = { entry->address, entry->address + entry->len, false };
	struct stack_range agent = { entry->address, entry->address, true };
	uint64_t counts = entry->aux & ~(uint64_t)JOURNAL_AREA_AGENT;
	struct err *err;

	if (entry->kind != JOURNAL_MAPPING)
		return NULL;
	if (entry->aux & JOURNAL_AREA_AGENT)
		agent.end = range.start = entry->address + AGENT_IMAGE_ROOM;
	err = vec_push(&left->ranges, range);
	if (!err)
		err = vec_push(&left->ranges, agent);
	return err || !counts ? err : vec_push(&left->counts, counts);
}

struct err *previous_journal_drain(struct previous *left, bool *clean)
{
	struct err *err = await(left->target, is_unused, left, left->budget, clean);

	left->calls = err || !*clean ? 0 : calls_in(left);
	*clean = *clean && !left->calls;
	return err;
}

static struct err *has_no_call(void *ctx, bool *done_ret)
{
	struct target *target = ctx;
	struct thread *thread;

	*done_ret = true;
	for_each_thread(thread, target)
		*done_ret = *done_ret && !remote_is_left(thread);
	return NULL;
}

struct err *previous_journal_await_calls(struct target *target)
{
	uint64_t budget = PREVIOUS_RUN_NS;
	bool made;
	struct err *err = await(target, has_no_call, target, &budget, &made);

	if (err || made)
		return err;
	return err_hint(err_create(ERR_BUSY, "a system call that an earlier mdbg began in process "
				   "%d is not made yet", target->pid),
			"if the process is stopped, let it go on (kill -CONT %d)", target->pid);
}

bool previous_journal_is_mapping(const struct journal_entry *entry)
{
	return previous_to_undo(entry, JOURNAL_MAPPING) || previous_to_undo(entry, JOURNAL_DATA) ||
	       previous_to_undo(entry, JOURNAL_LOG);
}

void previous_journal_settle(struct previous *left, const struct proc_maps *maps)
{
	for (uint32_t i = 0; i < journal_entries(left->journal); i++) {
		if (!previous_journal_is_mapping(&left->journal->entry[i]))
			continue;
		if (undo_is_mapped(&left->journal->entry[i], maps, &left->file))
			journal_writer_done(&left->writer, i);
		else
			journal_writer_undone(&left->writer, i);
	}
}

struct reaping {
	struct previous *left;
	uint32_t index;
	struct err *busy;	/* why it could not be reaped */
};

static struct err *try_to_reap(void *ctx, bool *done_ret)
{
	struct reaping *reaping = ctx;
	struct previous *left = reaping->left;
	struct remote *remote;
	struct err *err = remote_borrow(left->target, NULL, &remote);

	if (!err) {
		err = snapshot_reap_left(remote, &left->journal->entry[reaping->index]);
		if (!err)
			journal_writer_undone(&left->writer, reaping->index);
		err = remote_borrow_give_back(remote, err);
	}
	*done_ret = !err;
	if (!err || err->code != ERR_BUSY)
		return err;
	reaping->busy = err;
	return NULL;
}

struct err *previous_journal_reap(struct previous *left)
{
	uint32_t nr = previous_journal_is_forked_copy(left) ? 0 : journal_entries(left->journal);
	struct reaping reaping = { .left = left };
	/* The kernel ends it, whether the target is stopped or not. */
	const struct target_wait wait = {
		.look = try_to_reap, .ctx = &reaping, .elsewhere = true,
		.step = STEP_NS, .deadline = UINT64_MAX, .budget = left->budget,
	};
	struct err *err = NULL;
	int snapshots = 0;
	bool reaped;

	for (uint32_t i = 0; i < nr && snapshots < SNAPSHOTS_MOST && !err; i++) {
		if (!previous_to_undo(&left->journal->entry[i], JOURNAL_SNAPSHOT))
			continue;
		snapshots++;
		reaping.index = i;
		err = target_wait(left->target, &wait, &reaped);
		if (!err && !reaped)
			previous_journal_say(left, "%s", reaping.busy->msg);
	}
	return err;
}
