/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The account of the session's process. */

#include "session/account.h"

#include <stdio.h>

#include "os/kernel_text.h"
#include "os/machine/socket_memory.h"
#include "os/memory_groups.h"
#include "session/heap.h"
#include "session/private.h"
#include "tracee/target.h"

#define FILES_MOST	65536u	/* descriptors that are looked at: some 3 us each */

/* What the program has asked for in its blocks, by the log. */
struct asked {
	uint64_t until, bytes, blocks;
	uint8_t process;
};

static struct err *add_block(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct asked *asked = ctx;

	if (block->time > asked->until || block->process != asked->process ||
	    block->heap == LOG_HEAP_USER)
		return NULL;
	asked->bytes += block->size;
	asked->blocks++;
	return NULL;
}

/*
 * The blocks of the log must be the chunks that the walk has noted as recorded: a log has those of
 * other allocators, too.
 */
static struct err *find_asked(const struct heaps *heap, const struct session_heap_moment *moment,
			      struct account_heap *ret)
{
	struct asked asked = { .until = moment->until, .process = heap->process };
	uint64_t differ;
	struct err *err;

	if (!moment->log || log_config(moment->log).sample)
		return NULL;
	err = blocks_each(moment->log, moment->in_hand, add_block, &asked);
	asked.bytes += heap->gone.bytes;
	asked.blocks += heap->gone.blocks;
	differ = asked.blocks > ret->recorded ? asked.blocks - ret->recorded :
						ret->recorded - asked.blocks;
	if (!err && differ <= 16 + ret->recorded / 1000)
		ret->asked = asked.bytes;
	return err;
}

static struct err *divide(void *ctx, const struct heaps *heap,
			  const struct session_heap_moment *moment)
{
	struct account_heap *ret = ctx;
	struct err *err = heap->walked ? account_heap_find(heap, moment->pages_of, ret) : NULL;

	return err || !heap->walked ? err : find_asked(heap, moment, ret);
}

/* A walk that would stop the target for too long leaves the heaps undivided. */
static struct err *find_heap(struct session *session, struct session_account *ret)
{
	const struct session_heap_look at = { divide, &ret->heap };
	struct heaps heap = HEAPS_INIT;
	struct err *err = session_heap(session, SESSION_HEAP_WALK, &at, &heap);

	if (err && err->code == ERR_STATE) {
		snprintf(ret->heap.why, sizeof(ret->heap.why), "%.255s", err->msg);
		err_ignore(err);
		return NULL;
	}
	if (err)
		return err;
	snprintf(ret->heap.why, sizeof(ret->heap.why), "%s", heap.why);
	ret->pause_ns = heap.pause_ns;
	snprintf(ret->no_snapshot, sizeof(ret->no_snapshot), "%s", heap.no_snapshot);
	heaps_free(&heap);
	return NULL;
}

/* The group that the process itself is in. */
static void find_group(pid_t pid, struct session_account *ret)
{
	struct account_beside *beside = &ret->beside;
	struct memory_groups groups;
	struct err *err = memory_groups_read(pid, &groups);

	if (err) {
		err_ignore(err);
		return;
	}
	if (groups.vec.nr) {
		const struct memory_group *group = &groups.vec.at[0];

		snprintf(ret->group, sizeof(ret->group), "%s", group->path);
		if (kernel_is_number(group->file) && kernel_is_number(group->shared))
			beside->group_files = group->file - MIN(group->file, group->shared);
		if (kernel_is_number(group->shared))
			beside->group_shared = group->shared;
		if (kernel_is_number(group->kernel))
			beside->group_kernel = group->kernel;
	}
	memory_groups_free(&groups);
}

static void find_files(pid_t pid, struct account_beside *ret)
{
	struct err *err = held_files_find(pid, FILES_MOST, &ret->files);

	ret->files_known = !err;
	if (!err)
		err = socket_memory_find(pid, &ret->files);
	if (err && ret->files_known)
		snprintf(ret->no_sockets, sizeof(ret->no_sockets), "%.127s", err->msg);
	if (err)
		err_ignore(err);
}

static struct err *find_beside(struct session *session, struct session_account *ret)
{
	pid_t tid = session->current->target->mem.tid;
	struct proc_status status;
	struct err *err = procfs_status(tid, &status);

	if (err)
		return err;
	ret->beside.tables = ret->use.look.kind[MEMORY_KERNEL].at[MEMORY_RSIZE];
	ret->beside.hugetlb = status.hugetlb_kb << 10;
	find_group(tid, ret);
	find_files(tid, &ret->beside);
	return NULL;
}

/* Where control blocks do not tell their threads, stacks have none. */
static bool knows_threads(const struct memory_use *use)
{
	bool stacks = false;

	for (size_t i = 0; i < use->vec.nr; i++) {
		if (use->vec.at[i].thread)
			return true;
		stacks |= use->vec.at[i].kind == MEMORY_STACKS;
	}
	return !stacks;
}

/* Nothing is known yet. */
static struct err *begin(struct session *session, struct session_account *ret)
{
	struct err *err = session_need_view(session);

	*ret = (struct session_account){
		.heap = { .asked = UINT64_MAX }, .use = MEMORY_USE_INIT,
		.beside = {
			.tables = MEMORY_UNKNOWN, .hugetlb = MEMORY_UNKNOWN,
			.group_files = MEMORY_UNKNOWN, .group_shared = MEMORY_UNKNOWN,
			.group_kernel = MEMORY_UNKNOWN, .files = HELD_FILES_INIT,
		},
	};
	if (!err && !session->current->target->kind->live)
		err = err_create(ERR_UNSUPPORTED, "a core file does not say what was in memory");
	return err;
}

/* err is that of the heaps. */
static struct err *finish(struct session *session, struct err *err, struct session_account *is,
			  struct session_account *ret)
{
	if (!err)
		err = session_memory_use(session, SESSION_MEMORY_ALL | SESSION_MEMORY_JUDGE,
					 &is->use);
	if (!err)
		err = find_beside(session, is);
	if (err) {
		session_account_free(is);
		return err;
	}
	is->threads_known = knows_threads(&is->use);
	is->use.look.free = account_heap_free(&is->heap);
	account_make(&is->use, &is->heap, &is->beside, &is->account);
	*ret = *is;
	return NULL;
}

struct err *session_account(struct session *session, struct session_account *ret)
{
	struct session_account is;
	struct err *err = begin(session, &is);

	if (!err)
		err = find_heap(session, &is);
	return finish(session, err, &is, ret);
}

struct err *session_account_of(struct session *session, const struct heaps *heap,
			       struct session_account *ret)
{
	struct log *log = session_recorded(session) ? session_log(session) : NULL;
	struct in_hand in_hand = { VEC_INIT };
	struct session_account is;
	struct session_heap_moment moment = {
		.log = log, .in_hand = &in_hand, .until = UINT64_MAX,
	};
	struct err *err = begin(session, &is);

	if (!err && log)
		err = session_agent_in_hand(session, &in_hand);
	if (!err) {
		moment.pages_of = session->current->target->mem.tid;
		err = divide(&is.heap, heap, &moment);
		snprintf(is.heap.why, sizeof(is.heap.why), "%s", heap->why);
	}
	vec_free(&in_hand.vec);
	return finish(session, err, &is, ret);
}

void session_account_verdict(struct session *session, struct session_account *account,
			     struct memory_verdict *ret)
{
	session_memory_verdict(session, session_memory_last(session), &account->use.look, ret);
}

void session_account_free(struct session_account *account)
{
	memory_use_free(&account->use);
	held_files_free(&account->beside.files);
}
