/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The heaps and the log in one stop (heap/walk.h, heap/block.h).
 *
 * A thread that is inside the allocator may have a block that is in no record yet, or chunks half
 * written. It is told by its stack: a return address in one of our areas (all functions but free
 * keep one there), or in a probed function (free, which is recorded first, keeps none). All words in
 * its registers and on the top of its stack are taken as clues. So those who are inside are let go on
 * alone until they have come out, before each look at a target that may run: mostly nobody is left,
 * and nothing uncertain. While clues still make blocks uncertain, or the walk finds damage, all of it
 * is let go on for a moment and looked at again.
 */

#include "session/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "os/tracer.h"
#include "probe/area.h"
#include "probe/probe.h"
#include "session/private.h"
#include "target/region.h"
#include "target/stack.h"
#include "target/target.h"

#define ROUNDS		16u
#define ROUNDS_NS	1000000000ull	/* no more rounds after this */
#define MOMENT_NS	50000ull	/* how long the target runs before the second; each is twice that */
#define CALM_LOOKS	3u
#define DRAIN_STEPS	8u		/* those inside go on alone so often at most ... */
#define DRAIN_NS	50000ull	/* ... for so long at first, and then for twice as long each time */
#define FRAMES		48u
#define STACK_WORDS	512u		/* of a thread inside the allocator */
#define RED_ZONE	128u

struct clue {
	uint64_t word;
	pid_t tid;
};

struct words {
	VEC(uint64_t) vec;
};

struct job {
	struct session *session;
	bool check;
	struct session_heap *ret;
	struct module *glibc;
	/* Of the stop: */
	VEC(struct heap_map) maps;
	VEC(struct heap_map) data;
	struct words threads, clues, blocks, sure;
	VEC(pid_t) inside;		/* threads that are in the allocator */
	struct addresses left_out;	/* of this look, and: */
	struct addresses unsure;	/* of each look up to now, but those at a torn heap */
	bool looked;			/* there was another */
	unsigned calm;			/* looks in a row with nobody inside */
	VEC(struct clue) owners;
	bool all_threads;
	struct err *err;
};

static void job_free(struct job *job)
{
	vec_free(&job->maps);
	vec_free(&job->data);
	vec_free(&job->threads.vec);
	vec_free(&job->clues.vec);
	vec_free(&job->blocks.vec);
	vec_free(&job->sure.vec);
	vec_free(&job->left_out.vec);
	vec_free(&job->unsure.vec);
	vec_free(&job->owners);
	vec_free(&job->inside);
}

static int by_value(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

static void sort_words(struct words *words)
{
	if (words->vec.nr)
		qsort(words->vec.at, words->vec.nr, sizeof(*words->vec.at), by_value);
}

static bool is_among(const struct words *words, size_t nr, uint64_t word)
{
	return nr && bsearch(&word, words->vec.at, nr, sizeof(word), by_value);
}

/* --- mappings --- */

static struct err *add_map(struct job *job, const struct proc_map *map)
{
	struct heap_map is = {
		.start = map->start,
		.end = map->end,
		.brk = !strcmp(map->path, "[heap]"),
		.anonymous = !*map->path || !strncmp(map->path, "[anon:", 6),
	};
	struct err *err = NULL;

	if (!map->read || !map->write || map->shared)
		return NULL;
	if (is.brk) {
		job->ret->brk_start = job->ret->brk_start ? job->ret->brk_start : is.start;
		job->ret->brk = is.end;
	}
	if (map->start >= job->glibc->start && map->end <= job->glibc->end)
		err = vec_push(&job->data, is);
	return err ? err : vec_push(&job->maps, is);
}

static struct err *read_maps(struct job *job)
{
	struct proc_maps maps;
	struct err *err = target_maps(job->session->target, &maps);

	if (err)
		return err;
	vec_clear(&job->maps);
	vec_clear(&job->data);
	for (size_t i = 0; i < maps.vec.nr && !err; i++)
		err = add_map(job, &maps.vec.at[i]);
	proc_maps_free(&maps);
	return err;
}

/* --- threads --- */

static bool in_function(const struct probe *probe, uint64_t pc)
{
	uint64_t size;

	return pc >= probe->address && probe->module->elf &&
	       !elf_file_function_extent(probe->module->elf,
					 probe->address - probe->module->bias, &size) &&
	       pc - probe->address < size;
}

static bool in_allocator(const struct probes *probes, uint64_t pc)
{
	if (area_holds(probes, pc))
		return true;
	for (size_t i = 0; i < probes->all.nr; i++) {
		const struct probe *probe = probes->all.at[i];

		/* Functions are short: who is farther away is not asked for its extent. */
		if (probe->fn && probe->state == PROBE_ACTIVE && pc - probe->address < 65536 &&
		    in_function(probe, pc))
			return true;
	}
	return false;
}

static bool is_inside(struct thread *thread, struct probes *probes)
{
	uint64_t pcs[FRAMES];
	enum walk_end end;
	struct regs regs = thread->regs;
	uint32_t nr;

	area_walk_regs(probes, &thread->regs, &regs);
	if (area_holds(probes, regs_get(&thread->regs, thread->target->arch->pc)))
		return true;
	nr = stack_walk(thread->target, &regs, &probes->walk_area, pcs, FRAMES, &end);
	for (uint32_t i = 0; i < nr; i++)
		if (in_allocator(probes, pcs[i]))
			return true;
	return false;
}

static void add_clue(struct job *job, const struct thread *thread, uint64_t word)
{
	if (!word || word % 8)
		return;
	if (!job->err)
		job->err = vec_push(&job->clues.vec, word);
	if (!job->err)
		job->err = vec_push(&job->owners, ((struct clue){ word, thread->tid }));
}

static void add_clues(struct job *job, const struct thread *thread)
{
	const struct arch *arch = thread->target->arch;
	uint64_t word[STACK_WORDS];
	size_t got = 0;

	for (uint8_t i = 0; i < arch->regs_words; i++)
		add_clue(job, thread, regs_get(&thread->regs, i));
	/* Less, where the stack ends. */
	if (memory_read_some(thread->target->memory,
			     (regs_get(&thread->regs, arch->sp) - RED_ZONE) & ~7ull, word,
			     sizeof(word), &got))
		return;
	for (size_t i = 0; i < got / 8; i++)
		add_clue(job, thread, word[i]);
}

static void look_at_thread(struct thread *thread, void *ctx)
{
	struct job *job = ctx;
	uint64_t tp;

	if (thread->state != THREAD_STOPPED) {
		job->all_threads = false;
		return;
	}
	tp = regs_get(&thread->regs, thread->target->arch->tp);
	if (tp && !job->err)
		job->err = vec_push(&job->threads.vec, tp);
	/* What is inside an earlier mdbg's code cannot be told by this one's areas. */
	if (job->session->old_maps.nr ||
	    (job->session->probes && is_inside(thread, job->session->probes))) {
		if (!job->err)
			job->err = vec_push(&job->inside, thread->tid);
		add_clues(job, thread);
	}
}

static struct err *look_at_threads(struct job *job)
{
	vec_clear(&job->threads.vec);
	vec_clear(&job->clues.vec);
	vec_clear(&job->owners);
	vec_clear(&job->inside);
	job->all_threads = true;
	job->err = NULL;
	target_each_thread(job->session->target, look_at_thread, job);
	sort_words(&job->clues);
	return job->err;
}

static bool goes_on(struct thread *thread, void *ctx)
{
	const struct job *job = ctx;

	for (size_t i = 0; i < job->inside.nr; i++)
		if (job->inside.at[i] == thread->tid)
			return true;
	return false;
}

/*
 * Those who wait for an arena wait for one who is inside as well, so that all come out sooner or
 * later; who stays (a call that asks a slow kernel for memory) is looked at as he is.
 */
static struct err *drain(struct job *job)
{
	struct err *err = look_at_threads(job);

	for (unsigned i = 0; i < DRAIN_STEPS && !err && job->inside.nr; i++) {
		err = target_run_some(job->session->target, goes_on, job, DRAIN_NS << i);
		if (!err)
			err = look_at_threads(job);
	}
	return err;
}

/* --- one look --- */

static struct err *read_log(struct job *job)
{
	struct session *session = job->session;
	struct in_hand in_hand = { VEC_INIT };
	struct err *err;

	if (!session->region)
		return NULL;
	err = session_in_hand(session, &in_hand);
	if (!err)
		err = blocks_from_log(&session->region->log, &in_hand, &job->ret->blocks);
	vec_free(&in_hand.vec);
	return err;
}

/* Where the walk may go on behind damage: at blocks that are surely there. */
static struct err *take_known(struct job *job, uint8_t process)
{
	struct err *err = NULL;

	vec_clear(&job->blocks.vec);
	for (size_t i = 0; i < job->ret->blocks.vec.nr && !err; i++) {
		const struct block *block = &job->ret->blocks.vec.at[i];

		if (block->process == process && block->heap != LOG_HEAP_USER)
			err = vec_push(&job->blocks.vec, block->address);
	}
	return err;
}

static uint8_t process_of(const struct session *session)
{
	return session->probes ? session->probes->process : 0;
}

static struct err *walk_heaps(struct job *job)
{
	struct session *session = job->session;
	struct heap_source source = {
		.memory = session->target->memory,
		.map = job->maps.at, .nr_maps = job->maps.nr,
		.data = job->data.at, .nr_data = job->data.nr,
		.thread = job->threads.vec.at, .nr_threads = job->threads.vec.nr,
		.all_threads = job->all_threads,
		.block = job->blocks.vec.at, .nr_blocks = job->blocks.vec.nr,
		.clue = job->clues.vec.at, .nr_clues = job->clues.vec.nr,
		.check = job->check,
	};
	uint64_t size;
	struct err *err = module_symbol(job->glibc, "main_arena", &source.main_arena, &size);

	if (err)
		source.main_arena = 0;	/* most libcs are stripped */
	return glibc_walk(&source, &job->ret->walk);
}

/* What clues lead to is in hand as well. */
static struct err *take_loose(struct job *job)
{
	struct err *err = NULL;

	for (size_t i = 0; i < job->ret->walk.loose.nr && !err; i++)
		err = vec_push(&job->clues.vec, job->ret->walk.loose.at[i]);
	sort_words(&job->clues);
	return err;
}

static struct err *merge(struct job *job)
{
	struct session *session = job->session;
	struct blocks_merge merge = {
		.log = session->region ? &session->region->log : NULL,
		.walk = &job->ret->walk,
		.process = process_of(session),
		.complete = job->ret->complete,
		.clue = job->clues.vec.at, .nr_clues = job->clues.vec.nr,
		.sure = job->sure.vec.at, .nr_sure = job->sure.vec.nr,
	};

	vec_clear(&job->left_out.vec);
	return blocks_add_walk(&job->ret->blocks, &merge, &job->left_out);
}

static void drop_others(struct addresses *from, const struct addresses *kept)
{
	size_t to = 0, j = 0;

	for (size_t i = 0; i < from->vec.nr; i++) {
		while (j < kept->vec.nr && kept->vec.at[j] < from->vec.at[i])
			j++;
		if (j < kept->vec.nr && kept->vec.at[j] == from->vec.at[i])
			from->vec.at[to++] = from->vec.at[i];
	}
	from->vec.nr = to;
}

/*
 * What was left out at each look may be from before the attach; anything else was given out since.
 * A look at a heap that was torn, where it may have been overlooked, says nothing.
 */
static struct err *note_unsure(struct job *job)
{
	struct err *err = NULL;

	if (job->looked && !job->ret->walk.damages)
		drop_others(&job->unsure, &job->left_out);
	if (!job->looked) {
		vec_clear(&job->unsure.vec);
		for (size_t i = 0; i < job->left_out.vec.nr && !err; i++)
			err = vec_push(&job->unsure.vec, job->left_out.vec.at[i]);
		job->looked = !job->ret->walk.damages;
	}
	job->ret->under_way = job->unsure.vec.nr;
	return err;
}

/*
 * Blocks that were listed at any look are sure, should a clue come near them in a later one: not
 * only those of the last, which may have been torn, and have overlooked some.
 */
static struct err *keep_sure(struct job *job)
{
	const struct blocks *blocks = &job->ret->blocks;
	size_t had = job->sure.vec.nr;
	struct err *err = NULL;

	for (size_t i = 0; i < blocks->vec.nr && !err; i++) {
		uint64_t address = blocks->vec.at[i].address;

		if (blocks->vec.at[i].preattach && !is_among(&job->sure, had, address))
			err = vec_push(&job->sure.vec, address);
	}
	if (job->sure.vec.nr > had)
		sort_words(&job->sure);
	return err;
}

/* The threads that stand inside the allocator with an arena in hand: one alone holds its lock. */
static struct err *find_holders(struct job *job)
{
	struct session_heap *heap = job->ret;
	struct err *err = NULL;

	for (size_t i = 0; i < heap->walk.arenas.nr && !err; i++) {
		const struct heap_arena *arena = &heap->walk.arenas.at[i];
		pid_t holder = 0;
		bool several = false;

		for (size_t j = 0; arena->locked && j < job->owners.nr; j++) {
			if (job->owners.at[j].word != arena->address)
				continue;
			several |= holder && holder != job->owners.at[j].tid;
			holder = job->owners.at[j].tid;
		}
		err = vec_push(&heap->holders, several ? 0 : holder);
	}
	return err;
}

static void forget_look(struct session_heap *heap)
{
	blocks_free(&heap->blocks);
	heap->blocks = (struct blocks)BLOCKS_INIT;
	if (heap->walked)
		heap_walk_free(&heap->walk);
	heap->walked = false;
	vec_free(&heap->holders);
}

/* The target is stopped. */
static struct err *look(struct job *job)
{
	struct err *err;

	forget_look(job->ret);
	err = read_maps(job);
	if (!err)
		err = look_at_threads(job);
	job->calm = job->inside.nr ? 0 : job->calm + 1;
	if (!err)
		err = read_log(job);
	if (!err)
		err = take_known(job, process_of(job->session));
	if (err)
		return err;
	err = walk_heaps(job);
	job->ret->walked = !err;
	if (!err)
		err = take_loose(job);
	if (!err)
		err = merge(job);
	return err ? err : find_holders(job);
}

/* --- looks --- */

/*
 * Damage that is there while nobody is inside the allocator stays. Not all who are inside are known
 * (where free jumps to its last part there is no trace of it on the stack), so it takes a few looks.
 */
static bool is_certain(const struct job *job)
{
	return !job->ret->under_way && (!job->ret->walk.damages || job->calm >= CALM_LOOKS);
}

/* One who stays inside an earlier mdbg's code cannot be told from others: that would be all of them. */
static struct err *look_when_drained(struct job *job, bool may_run)
{
	struct err *err = may_run && !job->session->old_maps.nr ? drain(job) : NULL;

	if (!err)
		err = look(job);
	return err ? err : note_unsure(job);
}

static struct err *look_until_certain(struct job *job, bool may_run)
{
	uint64_t deadline = tracer_now() + ROUNDS_NS, moment = MOMENT_NS;
	struct err *err = look_when_drained(job, may_run);

	for (unsigned i = 1; i < ROUNDS && !err && may_run && !is_certain(job); i++) {
		if (tracer_now() > deadline)
			break;
		err = keep_sure(job);
		if (!err)
			err = target_run_for(job->session->target, moment);
		if (!err)
			err = look_when_drained(job, may_run);
		moment *= 2;
	}
	return err;
}

/* Does a function of glibc's go unrecorded? */
static bool all_probed(const struct job *job)
{
	const struct probes *probes = job->session->probes;

	for (size_t i = 0; probes && i < probes->all.nr; i++) {
		const struct probe *probe = probes->all.at[i];

		if (probe->fn && probe->module == job->glibc && !probe->gone &&
		    probe->state != PROBE_ACTIVE)
			return false;
	}
	return probes && probes->armed;
}

static bool is_complete(const struct job *job)
{
	const struct session *session = job->session;
	struct log_accounts accounts;

	if (!session->region || session->lacks_records || process_of(session) ||
	    log_config(&session->region->log).sample || !all_probed(job))
		return false;
	accounts = log_accounts_get(&session->region->log);
	return !accounts.table_full && !accounts.voided;
}

static struct err *walk_stopped(struct job *job, bool may_run)
{
	job->glibc = session_glibc(job->session);
	if (!job->glibc)
		return err_create(ERR_UNSUPPORTED, "no glibc in process %d", job->session->pid);
	job->ret->complete = is_complete(job);
	return look_until_certain(job, may_run);
}

static struct err *heap_job(void *arg)
{
	struct job *job = arg;
	struct session *session = job->session;
	bool was;
	struct err *err = session_hold(session, &was);

	if (err)
		return err;
	err = walk_stopped(job, !was);
	if (!session->ended)
		session_let_go(session, was);
	return err;
}

struct err *session_heap_stopped(struct session *session, bool may_run, struct session_heap *ret)
{
	struct session_heap heap = { BLOCKS_INIT, HEAP_WALK_INIT, VEC_INIT, .walked = false };
	struct job job = { .session = session, .ret = &heap };
	struct err *err = walk_stopped(&job, may_run);

	heap.process = process_of(session);
	job_free(&job);
	if (err)
		session_heap_free(&heap);
	else
		*ret = heap;
	return err;
}

/* Another allocator's blocks are in none of glibc's heaps. */
struct err *session_heap_walkable(struct session *session)
{
	const char *allocator = session_allocator(session);

	/* A static program's own may be glibc's. */
	if (!session->probes || !session->probes->all.nr || strstr(allocator, "glibc") ||
	    strstr(allocator, "'s own") || !strcmp(allocator, "unknown"))
		return NULL;
	return err_create(ERR_UNSUPPORTED, "mdbg cannot walk the heaps of %.100s", allocator);
}

static struct err *walk_or_say(struct job *job)
{
	struct session *session = job->session;
	struct err *err = session_need_target(session);

	if (!err)
		err = session_heap_walkable(session);
	if (!err)
		err = session_call(session, heap_job, job);
	if (!err && strchr(session->allocator, ','))
		snprintf(job->ret->why, sizeof(job->ret->why), "of %.150s only glibc can be walked",
			 session->allocator);
	if (!err || err->code == ERR_NOMEM)
		return err;
	forget_look(job->ret);
	job->ret->under_way = 0;
	snprintf(job->ret->why, sizeof(job->ret->why), "%.255s", err->msg);
	return read_log(job);
}

struct err *session_heap(struct session *session, enum session_heap_how how,
			 struct session_heap *ret)
{
	struct session_heap heap = { BLOCKS_INIT, HEAP_WALK_INIT, VEC_INIT, .walked = false };
	struct job job = { .session = session, .check = how == SESSION_HEAP_CHECK, .ret = &heap };
	struct err *err = how == SESSION_HEAP_LOG ? read_log(&job) : walk_or_say(&job);

	heap.process = process_of(session);
	job_free(&job);
	if (err)
		session_heap_free(&heap);
	else
		*ret = heap;
	return err;
}

void session_heap_free(struct session_heap *heap)
{
	forget_look(heap);
}
