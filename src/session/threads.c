/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The threads of the target: their states, stacks and registers. */

#include <string.h>

#include "arch/host.h"
#include "inspect/ended.h"
#include "inspect/tls.h"
#include "probe/area.h"
#include "probe/probe.h"
#include "session/private.h"
#include "session/view_take.h"
#include "tracee/backtrace.h"
#include "tracee/target.h"

/* What is known about the thread while it runs on. */
static struct err *add_thread(struct session *session, pid_t tid, struct session_threads *ret)
{
	struct session_thread described = { .lwp = tid, .main = tid == session->current->pid };
	struct proc_status status;

	if (session->current->target->kind->status(session->current->target, tid, &status))
		return NULL;
	described.name = status.name;
	described.state = status.state;
	described.blocks_sigtrap = status.sig_blocked >> 4 & 1;
	return vec_push(&ret->vec, described);
}

/* Add what only the registers of the thread say. */
static void add_registers(struct session *session, struct session_thread *described, bool stopped)
{
	const struct thread *thread = thread_find(session->current->target, described->lwp);
	const struct arch *arch = session->current->target->arch;

	if (!thread)
		return;
	described->pthread = regs_get(&thread->regs, arch->tp);
	described->blocks_sigtrap |= thread->blocks_sigtrap;
	if (stopped && thread_is_stopped(thread))
		described->pc = regs_get(&thread->regs, arch->pc);
}

/* The threads ran before: the PC at which mdbg has stopped one says nothing, so it is left out. */
static struct err *registers_of_all(struct session *session, bool stood UNUSED, void *arg)
{
	struct session_threads *ret = arg;

	vec_each(thread, &ret->vec)
		add_registers(session, thread, false);
	return NULL;
}

static struct err *threads_job(struct session *session, void *arg)
{
	struct session_threads *ret = arg;
	struct process *process = session->current;
	bool stopped = process->target->state == TARGET_STOPPED;
	bool held = process->target->state == TARGET_UNTRACED;
	struct proc_tasks tasks = { VEC_INIT };
	struct err *err = process->target->kind->tasks(process->target, &tasks);

	for (size_t i = 0; i < tasks.vec.nr && !err; i++)
		err = add_thread(session, tasks.vec.at[i], ret);
	vec_free(&tasks.vec);
	ret->traced = !held;
	if (err)
		return err;
	if (held)
		return session_pause_run(session, registers_of_all, ret, NULL);
	for (size_t i = 0; i < ret->vec.nr; i++)
		add_registers(session, &ret->vec.at[i], stopped);
	return NULL;
}

struct err *session_threads(struct session *session, struct session_threads *ret)
{
	struct err *err = session_need_view(session);

	*ret = (struct session_threads){ .vec = VEC_INIT };
	if (!err)
		err = session_call(session, threads_job, ret);
	if (err)
		vec_free(&ret->vec);
	return err;
}

struct where_job {
	pid_t lwp;		/* 0: all */
	uint32_t max;
	struct session_stacks *ret;
	struct regs *regs;
	bool found;
};

static struct err *where_one(struct session *session, struct where_job *job,
			     struct thread *thread)
{
	struct probes *probes = session->current->probes;
	struct session_stack stack = { .lwp = thread->tid, .pcs = VEC_INIT };
	struct regs regs;
	struct err *err;

	if (!thread_is_stopped(thread) || (job->lwp && thread->tid != job->lwp))
		return NULL;
	job->found = true;
	err = vec_reserve(&stack.pcs, job->max);
	if (!err)
		err = vec_reserve(&job->ret->vec, 1);
	if (err) {
		vec_free(&stack.pcs);
		return err;
	}
	regs = thread->regs;
	if (probes)
		area_walk_regs(probes, thread->target->memory, &thread->regs, &regs);
	stack.pcs.nr = backtrace_walk(thread->target, &regs, probes ? &probes->walk_area : NULL,
				      stack.pcs.at, job->max, &stack.end);
	job->ret->vec.at[job->ret->vec.nr++] = stack;
	return NULL;
}

static struct err *not_found(const struct session *session, const struct where_job *job)
{
	const struct thread *thread = thread_find(session->current->target, job->lwp);

	if (thread && thread->state == THREAD_STUCK)
		return err_create(ERR_BUSY,
				  "thread %d is in an uninterruptible sleep: it cannot be stopped",
				  job->lwp);
	return err_hint(err_create(ERR_NOTFOUND, "process %d has no thread %d",
				   session->current->pid, job->lwp),
			"`thread` lists them");
}

static struct err *where_held(struct session *session, bool stood UNUSED, void *arg)
{
	struct where_job *job = arg;
	struct err *err = target_refresh(session->current->target, NULL);
	struct thread *thread;

	for_each_thread(thread, session->current->target)
		if (!err)
			err = where_one(session, job, thread);
	return !err && job->lwp && !job->found ? not_found(session, job) : err;
}

void session_thread_stacks_free(struct session_stacks *stacks)
{
	for (size_t i = 0; i < stacks->vec.nr; i++)
		vec_free(&stacks->vec.at[i].pcs);
	vec_free(&stacks->vec);
}

struct err *session_thread_stacks(struct session *session, pid_t lwp, uint32_t max,
				  struct session_stacks *ret)
{
	struct where_job job = { .lwp = lwp, .max = max, .ret = ret };
	struct err *err = session_need_view(session);

	*ret = (struct session_stacks){ VEC_INIT };
	if (!err)
		err = session_pause_call(session, where_held, &job, NULL);
	if (!err)
		err = session_symbols_sync(session);
	if (err)
		session_thread_stacks_free(ret);
	return err;
}

static struct err *registers_held(struct session *session, bool stood UNUSED, void *arg)
{
	struct where_job *job = arg;
	struct thread *thread = thread_find(session->current->target, job->lwp);

	if (!thread || thread->state != THREAD_STOPPED)
		return not_found(session, job);
	*job->regs = thread->regs;
	return NULL;
}

struct err *session_thread_registers(struct session *session, pid_t lwp, struct regs *ret)
{
	struct where_job job = { .lwp = lwp, .regs = ret };
	struct err *err = session_need_view(session);

	return err ? err : session_pause_call(session, registers_held, &job, NULL);
}

#define FRAME_ROOM	(1u << 20)	/* bytes of frames that are copied, at most */
#define FRAME_BEHIND	4096u		/* bytes behind the last CFA: arguments on the stack */

struct frame_job {
	pid_t lwp;
	uint32_t nr;
	struct session_frame *ret;
};

/* Copy the frames' part of the stack, which is not the same any more when the thread has run on. */
static void copy_frame(struct target *target, struct session_frame *frame)
{
	const struct walk_frame *last = &frame->at[frame->nr - 1];
	const struct arch *arch = target->arch;
	uint64_t sp = frame->at[0].regs[FRAME_SP], end = sp + FRAME_ROOM;
	struct err *err;

	if (last->has_cfa && last->cfa > sp)
		end = MIN(end, last->cfa + FRAME_BEHIND);
	frame->start = sp - arch->red_zone;
	frame->copy = malloc(end - frame->start);
	if (!frame->copy)
		return;
	err = memory_read_some(target->memory, frame->start, frame->copy, end - frame->start,
			       &frame->len);
	if (err) {
		err_ignore(err);
		frame->len = 0;
	}
}

#define VECTORS_MOST	512u	/* bytes: XSAVE begins with what FXSAVE makes, and that has them */

/* They are the innermost frame's. */
static void copy_vectors(const struct thread *thread, struct session_frame *frame)
{
	const struct arch *arch = thread->target->arch;
	uint8_t state[VECTORS_MOST];
	size_t len, end = 0;
	struct err *err = target_vector(thread, state, sizeof(state), &len);

	if (err) {
		err_ignore(err);
		return;
	}
	for (uint32_t i = 0; i < MIN(arch->nr_vectors, SESSION_VECTORS) && end <= len; i++) {
		end = arch->vectors_at + (size_t)arch->vector_size * i + sizeof(frame->vectors[i]);
		if (end > len)
			break;
		memcpy(frame->vectors[i], &state[end - sizeof(frame->vectors[i])],
		       sizeof(frame->vectors[i]));
		frame->nr_vectors = i + 1;
	}
}

static struct err *frame_held(struct session *session, bool stood UNUSED, void *arg)
{
	struct frame_job *job = arg;
	struct where_job where = { .lwp = job->lwp };
	struct probes *probes = session->current->probes;
	struct target *target = session->current->target;
	struct err *err = target_refresh(target, NULL);
	const struct thread *thread = err ? NULL : thread_find(target, job->lwp);
	struct regs regs;

	if (err)
		return err;
	if (!thread || !thread_is_stopped(thread))
		return not_found(session, &where);
	regs = thread->regs;
	if (probes)
		area_walk_regs(probes, target->memory, &thread->regs, &regs);
	while (job->ret->nr < SESSION_FRAMES &&
	       backtrace_frame(target, &regs, probes ? &probes->walk_area : NULL,
			       job->nr + job->ret->nr, &job->ret->at[job->ret->nr]))
		job->ret->nr++;
	if (!job->ret->nr)
		return err_create(ERR_NOTFOUND, "thread %d has no frame %u", job->lwp, job->nr);
	copy_frame(target, job->ret);
	if (!job->nr)
		copy_vectors(thread, job->ret);
	return NULL;
}

void session_thread_frame_free(struct session_frame *frame)
{
	free(frame->copy);
	frame->copy = NULL;
	frame->len = 0;
}

struct err *session_thread_frame(struct session *session, pid_t lwp, uint32_t nr,
				 struct session_frame *ret)
{
	struct frame_job job = { lwp, nr, ret };
	struct err *err = session_need_view(session);

	*ret = (struct session_frame){ .copy = NULL };
	if (!err)
		err = session_pause_call(session, frame_held, &job, NULL);
	if (!err)
		err = session_symbols_sync(session);
	if (err)
		session_thread_frame_free(ret);
	return err;
}

struct data_job {
	pid_t lwp;
	uint64_t module, *ret;
};

static struct err *data_held(struct session *session, bool stood UNUSED, void *arg)
{
	struct data_job *job = arg;
	struct target *target = session->current->target;
	struct memory_view view = MEMORY_VIEW_INIT;
	const struct module *module = NULL;
	struct err *err = view_take_unmapped(session, false, &view);
	struct tls tls = { VEC_INIT, VEC_INIT };
	bool found = false;

	if (!err)
		tls_read(&view, &tls);
	if (!err)
		module = modules_find(&target->modules, job->module);
	vec_each(block, &tls.blocks)
		if (module && block->tid == job->lwp && block->module >= module->start &&
		    block->module < module->end) {
			*job->ret = block->start;
			found = true;
		}
	tls_free(&tls);
	memory_view_free(&view);
	return err || found ? err :
		err_create(ERR_NOTFOUND, "thread %d has no data of this module, or it is not known "
			   "where", job->lwp);
}

struct err *session_thread_data(struct session *session, pid_t lwp, uint64_t module, uint64_t *ret)
{
	struct data_job job = { lwp, module, ret };
	struct err *err = session_need_view(session);

	return err ? err : session_pause_call(session, data_held, &job, NULL);
}

static struct err *ended_job(struct session *session, void *arg)
{
	return ended_find(session->current->target, arg);
}

struct err *session_threads_ended(struct session *session, struct ended_threads *ret)
{
	struct err *err = session_need_view(session);

	*ret = (struct ended_threads){ .vec = VEC_INIT };
	return err ? err : session_call(session, ended_job, ret);
}
