/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a killed mdbg leaves, with the jump engine's parts, and its forked children. */

#include "tracee/previous/previous_session.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "jumped.h"
#include "os/procfs.h"
#include "os/tracer.h"
#include "tracee/patch.h"
#include "tracee/share.h"
#include "unit.h"

CHILD_SHARED(jumped.shared);

/* The thread is inside nearly all the time: the cleaner has to wait for it. */
TEST("jumps, code, data and log, with a thread inside")
{
	AUTO_FREE char *before = NULL;

	if (!jumped_begin(&before))
		return;
	jumped_leave();
	CU_ASSERT_TRUE_FATAL(victim_seize(&jumped.victim, jumped.child.pid));
	CU_ASSERT_TRUE(previous_session_exists(jumped.victim.target));
	victim_run(&jumped.victim, jumped_clean);
	CU_ASSERT_TRUE(jumped.found);
	CU_ASSERT_STRING_EQUAL(jumped.left, "");
	CU_ASSERT_FALSE(previous_session_exists(jumped.victim.target));
	jumped_check_maps(before);
	jumped_works_again();
}

/* Killed while it made private data: a mapping of the file that no entry tells of. */
static struct err *half_way(struct victim *v)
{
	uint64_t at;

	return remote_syscall(&v->remote, &at, SYS_mremap, v->region->address, 0, DATA_LEN,
			      MREMAP_MAYMOVE);
}

/* Killed while it took private data out: the entry tells of it, but a mapping of the file is there. */
static struct err *half_out(struct victim *v)
{
	const struct journal_entry *entry = v->region->journal->entry;
	uint32_t index;
	struct err *err = patch_map_data(v->target, &v->remote, DATA, &jumped.data, &index);

	if (!err)
		err = patch_cover(&v->remote, v->region->address, jumped.data, DATA_LEN);
	CU_ASSERT_EQUAL(entry[index].state, JOURNAL_DONE);
	return err ? err : half_way(v);
}

static void clean_half(struct err *(*half)(struct victim *v))
{
	AUTO_FREE char *before = NULL;

	if (!jumped_begin(&before))
		return;
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, half);
	jumped_seize_again();
	jumped_clean_all();
	jumped_check_maps(before);
	jumped_works_again();
}

TEST("killed half-way")
{
	clean_half(half_way);
}

TEST("killed half-way out")
{
	clean_half(half_out);
}

static struct err *withdraw_region(struct victim *v)
{
	return region_withdraw(v->target, &v->remote);
}

/* A thread was still inside at the detach: the next mdbg takes out what that one had to leave. */
TEST("left behind by a detach")
{
	AUTO_FREE char *before = NULL;

	if (!jumped_begin(&before))
		return;
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, jumped_change);
	victim_remote(&jumped.victim, withdraw_region);
	CU_ASSERT_PTR_NULL(jumped.victim.target->region);
	CU_ASSERT_EQUAL(jumped.victim.region->journal->owner, 0);
	jumped_seize_again();
	victim_run(&jumped.victim, jumped_clean);
	CU_ASSERT_TRUE(jumped.found);
	CU_ASSERT_STRING_EQUAL(jumped.left, "");
	jumped_check_maps(before);
	jumped_works_again();
}

/* Memory that a journal tells of but that is something else by now is left. */
static struct err *other_data(struct victim *v)
{
	struct journal_entry entry = { .kind = JOURNAL_DATA, .len = DATA_LEN,
				       .address = (uintptr_t)jumped.shared };
	uint32_t index;
	struct err *err = journal_writer_plan(&v->region->writer, &entry, &index);
	entry.address = (uintptr_t)probed & ~0xfffull;
	return err ? err : journal_writer_plan(&v->region->writer, &entry, &index);
}

TEST("somebody else's memory by now")
{
	AUTO_FREE char *before = NULL;

	if (!jumped_begin(&before))
		return;
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, other_data);
	jumped_seize_again();
	victim_run(&jumped.victim, jumped_clean);
	jumped_check_maps(before);
	jumped_works_again();
}

/* The entry of the last mapping of the region's file that the journal tells of. */
static const struct journal_entry *last_log(const struct journal *journal)
{
	const struct journal_entry *last = NULL;

	for (uint32_t i = 0; i < journal->nr; i++)
		if (journal->entry[i].kind == JOURNAL_LOG)
			last = &journal->entry[i];
	return last;
}

/*
 * Killed in the middle of a takeover: the module map is unmapped already, and the journal does not
 * say so; another mapping is there, and the journal does not say so; one is planned, and not there.
 */
static struct err *half_over(struct victim *v)
{
	const struct journal_entry *map = last_log(v->region->journal);
	struct journal_entry planned = { .kind = JOURNAL_MAPPING, .len = AREA,
					 .address = jumped.area + AREA };
	uint32_t index;
	struct err *err = remote_unmap(&v->remote, map->address, map->len);

	if (!err)
		err = journal_writer_plan(&v->region->writer, &planned, &index);
	return err ? err : half_way(v);
}

static struct err *settle(struct victim *v)
{
	struct err *err = previous_session_to_resume(v->target);

	if (!err)
		err = region_adopt(v->target, &v->region);
	return err ? err : previous_session_settle(v->target);
}

/* How many mappings of a region's file there are. */
static unsigned file_mappings(pid_t pid)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	unsigned nr = 0;

	CU_ASSERT_PTR_NULL_FATAL(procfs_maps(pid, &maps));
	for (size_t i = 0; i < maps.vec.nr; i++)
		nr += !strcmp(maps.vec.at[i].path, JOURNAL_MEMFD_PATH);
	return nr;
}

static void check_settled(const struct journal *journal)
{
	unsigned done[JOURNAL_LOCK + 1] = { 0 };

	for (uint32_t i = 0; i < journal->nr; i++) {
		const struct journal_entry *entry = &journal->entry[i];

		CU_ASSERT_NOT_EQUAL(entry->state, JOURNAL_PLANNED);
		done[entry->kind] += entry->state == JOURNAL_DONE;
	}
	CU_ASSERT_EQUAL(done[JOURNAL_REGION], 1);
	CU_ASSERT_EQUAL(done[JOURNAL_TEXT], 1);
	CU_ASSERT_EQUAL(done[JOURNAL_MAPPING], 1);
	CU_ASSERT_EQUAL(done[JOURNAL_DATA], 1);
	CU_ASSERT_EQUAL(done[JOURNAL_LOG], 1);
	CU_ASSERT_EQUAL(last_log(journal)->state, JOURNAL_UNDONE);
}

TEST("gone on with: what was in hand")
{
	AUTO_FREE char *before = NULL;

	if (!jumped_begin(&before))
		return;
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, jumped_change);
	victim_remote(&jumped.victim, half_over);
	jumped_seize_again();
	CU_ASSERT_EQUAL(file_mappings(jumped.child.pid), 3);
	victim_run(&jumped.victim, settle);
	check_settled(jumped.victim.region->journal);
	/* Journal and log. */
	CU_ASSERT_EQUAL(file_mappings(jumped.child.pid), 2);
	victim_run(&jumped.victim, jumped_keep);
	jumped_clean_all();
	jumped_check_maps(before);
	jumped_works_again();
}

#define UNKNOWN	(JOURNAL_LOCK + 1)

static void become(struct journal *journal, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < journal->nr; i++)
		if (journal->entry[i].kind == from)
			journal->entry[i].kind = to;
}

/* The journal has changed between the look at it and the copy that is gone on with. */
static struct err *settle_changed(struct victim *v)
{
	struct err *err = previous_session_to_resume(v->target), *changed;

	if (!err)
		err = region_adopt(v->target, &v->region);
	if (err)
		return err;
	become(v->region->writer.own, JOURNAL_TEXT, UNKNOWN);
	changed = previous_session_settle(v->target);
	CU_ASSERT_PTR_NOT_NULL_FATAL(changed);
	CU_ASSERT_EQUAL(changed->code, ERR_STATE);
	become(v->region->writer.own, UNKNOWN, JOURNAL_TEXT);
	return NULL;
}

TEST("not gone on with: a change that is not known")
{
	AUTO_FREE char *before = NULL;

	if (!jumped_begin(&before))
		return;
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, jumped_change);
	jumped_seize_again();
	victim_run(&jumped.victim, settle_changed);
	victim_run(&jumped.victim, jumped_keep);
	jumped_clean_all();
	jumped_check_maps(before);
	jumped_works_again();
}

/*
 * What is not unmapped is told of again; and what is not there any more is not unmapped, since
 * something else may be.
 */
static struct err *not_unmapped(struct victim *v)
{
	uint32_t index = (uint32_t)(last_log(v->region->journal) - v->region->journal->entry);
	struct journal_entry *map = &v->region->writer.own->entry[index];
	unsigned mappings = file_mappings(jumped.child.pid);

	v->remote.away = true;		/* so that it can make no call */
	CU_ASSERT_PTR_NOT_NULL(patch_unmap(v->target, &v->remote, index));
	v->remote.away = false;
	CU_ASSERT_EQUAL(map->state, JOURNAL_DONE);
	map->aux += PAGE;		/* of another place in the file */
	CU_ASSERT_PTR_NULL(patch_unmap(v->target, &v->remote, index));
	CU_ASSERT_EQUAL(map->state, JOURNAL_UNDONE);
	CU_ASSERT_EQUAL(file_mappings(jumped.child.pid), mappings);
	CU_ASSERT_FALSE(v->target->lost);
	map->state = JOURNAL_DONE;
	patch_look(v->target);
	CU_ASSERT_TRUE(v->target->lost);
	CU_ASSERT_EQUAL(patch_fill(v->target, map->address, map, 1)->code, ERR_STATE);
	v->target->lost = false;
	map->aux -= PAGE;
	journal_writer_done(&v->region->writer, index);
	return NULL;
}

TEST("an entry that could not be undone")
{
	AUTO_FREE char *before = NULL;

	if (!jumped_begin(&before))
		return;
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, jumped_change);
	victim_remote(&jumped.victim, not_unmapped);
	victim_run(&jumped.victim, jumped_clean);
	jumped_works_again();
}

/* The lock says that the owner lives, whatever the journal says; and the journal names nobody. */
static struct err *watched(struct victim *v)
{
	static const uint32_t owner[] = { 0, 1 };
	struct journal *shared = v->region->writer.shared;
	char left[256];
	bool found;

	CU_ASSERT_TRUE(journal_owner_locks(shared));
	for (size_t i = 0; i < ARRAY_SIZE(owner); i++) {
		struct err *err;

		shared->owner = owner[i];
		err = previous_session_clean(v->target, &found, left, sizeof(left));
		CU_ASSERT_FATAL(err && err->code == ERR_ATTACH);
		CU_ASSERT_PTR_NULL(strstr(err->msg, "pid 1)"));
		CU_ASSERT_FALSE(journal_owner_locks(shared));
	}
	shared->owner = v->region->journal->owner;
	return NULL;
}

TEST("one whose mdbg lives")
{
	AUTO_FREE char *before = NULL;

	if (!jumped_begin(&before))
		return;
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, jumped_change);
	victim_run(&jumped.victim, watched);
	jumped_clean_all();
	jumped_check_maps(before);
	jumped_works_again();
}

static struct err *borrow(struct victim *v)
{
	struct thread *thread = thread_any_stopped(v->target);
	struct err *err;

	CU_ASSERT_FALSE(remote_is_left(thread));
	err = remote_borrow_begin(thread, &v->remote);
	if (!err)
		err = ptrace_get_regs(thread->tid, &thread->regs);
	CU_ASSERT_TRUE(remote_is_left(thread));
	return err;
}

static struct err *not_borrowed(struct victim *v)
{
	CU_ASSERT_FALSE(remote_is_left(thread_any_stopped(v->target)));
	return NULL;
}

/* Killed when a thread was about to make a call for it: the call is waited for. */
TEST("a thread that is still to make a call")
{
	AUTO_FREE char *before = NULL;

	if (!jumped_begin(&before))
		return;
	victim_run(&jumped.victim, borrow);
	victim_run(&jumped.victim, jumped_clean);
	victim_run(&jumped.victim, not_borrowed);
	jumped_works_again();
}

/* A forked child is cleaned of what it has inherited. */

static struct target *forked;

static struct err *clean_forked_with(struct victim *v, struct remote *remote)
{
	struct region *region = v->region;
	struct err *err = NULL, *also;
	uint64_t unused;

	for (uint32_t i = 0; i < region->journal->nr && !err; i++) {
		const struct journal_entry *entry = &region->journal->entry[i];

		if (entry->kind == JOURNAL_TEXT)
			err = patch_undo_text_entry(&forked->mem, entry);
	}
	if (!err)
		err = remote_borrow_begin_any(forked, remote);
	if (err)
		return err;
	err = remote_syscall(remote, &unused, SYS_munmap, jumped.area, AREA);
	if (!err)
		err = remote_syscall(remote, &unused, SYS_munmap, jumped.data, DATA_LEN);
	if (!err)
		err = share_withdraw_forked_copy(v->target, remote);
	if (!err)
		err = region_withdraw_forked_copy(region, remote);
	also = remote_end(remote);
	return err ? err : also;
}

static struct err *clean_forked(struct victim *v)
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct err *err = target_create(v->tracer, v->forked, NULL, v->target->ops, v, &forked);

	if (err)
		return err;
	forked->modules.map = v->target->modules.map;
	forked->gadgets = v->target->gadgets;
	err = seize_adopt(forked, v->forked);
	return err ? err : clean_forked_with(v, remote);
}

static struct err *release_forked(struct victim *v UNUSED)
{
	forked->modules.map = (struct walk_map){ .module = NULL };
	seize_release(forked);
	target_destroy(forked);
	return NULL;
}

TEST("a forked child")
{
	AUTO_FREE char *before = NULL;
	AUTO_FREE char *after = NULL;

	if (!jumped_begin(&before))
		return;
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, jumped_change);
	victim_resume(&jumped.victim);
	atomic_store(&jumped.shared->fork, 1);
	while (!atomic_load(&jumped.victim.forked))
		;
	victim_run(&jumped.victim, clean_forked);
	after = jumped_maps_text(jumped.victim.forked);
	CU_ASSERT_STRING_EQUAL(before, after);
	victim_run(&jumped.victim, release_forked);
	while (atomic_load(&jumped.shared->result) < 100)
		;
	CU_ASSERT_EQUAL(atomic_load(&jumped.shared->result), 107);
	victim_stop(&jumped.victim);
	jumped_clean_all();
	victim_release(&jumped.victim);
	CU_ASSERT_EQUAL(child_end(&jumped.child), 0);
}
