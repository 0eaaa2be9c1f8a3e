/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The places that point to a block, and what they are (find.h). */

#include "session/find.h"

#include <string.h>

#include "probe/area.h"
#include "probe/probe.h"
#include "session/private.h"
#include "session/search.h"
#include "session/tls.h"
#include "session/view.h"
#include "target/stack.h"
#include "target/target.h"

#define CONTROL_MAX	65536u

struct finder {
	struct session *session;
	const struct view *view;
	struct search_origins origins;
	struct session_find *find;
	struct tls tls;
	/* The last stack that was walked. */
	pid_t walked;
	struct stack_frames frames;
};

static const char *const words[SESSION_HOLDER_KINDS] = {
	[SESSION_HOLDER_REGISTER] = "register", [SESSION_HOLDER_VECTOR] = "vector",
	[SESSION_HOLDER_CHUNK] = "chunk", [SESSION_HOLDER_STACK] = "stack",
	[SESSION_HOLDER_TLS] = "tls", [SESSION_HOLDER_CONTROL] = "control",
	[SESSION_HOLDER_MEMORY] = "memory", [SESSION_HOLDER_HEAP] = "heap",
	[SESSION_HOLDER_BLOCK] = "block",
};

const char *session_holder_word(enum session_holder_kind kind)
{
	return words[kind];
}

/* A thread keeps the stack that it is on, and the table that it points into, as in search.c. */
static bool is_firm(void *ctx, const struct holder *holder)
{
	const struct finder *finder = ctx;
	const struct view *view = finder->view;

	if (holder->in == HOLDER_WORD) {
		const struct search_origin *origin = &finder->origins.vec.at[holder->place];

		return origin->from == SEARCH_REGISTER && origin->index == view->arch->sp;
	}
	vec_each(thread, &view->threads) {
		if (thread->tp && holder->place == thread->tp + view->arch->dtv)
			return true;
	}
	return false;
}

static void walk_stack(struct finder *finder, const struct view_thread *thread)
{
	struct session *session = finder->session;
	struct probes *probes = session->current->probes;
	struct regs regs = thread->regs;

	if (finder->walked == thread->tid)
		return;
	stack_frames_free(&finder->frames);
	finder->walked = thread->tid;
	if (probes)
		area_walk_regs(probes, &thread->regs, &regs);
	/* Without memory for it frames are not told. */
	err_ignore(stack_frames(session->current->target, &regs, probes ? &probes->walk_area : NULL,
				&finder->frames));
}

/* Is the place in a frame that the walk has come to? */
static bool find_frame(struct finder *finder, const struct view_thread *thread,
		       struct session_holder *holder)
{
	const struct stack_frames *frames = &finder->frames;

	if (!thread->stopped)
		return false;
	walk_stack(finder, thread);
	for (uint32_t i = 0; i + 1 < frames->nr; i++) {
		if (!frames->slot[i + 1])
			return false;
		if (holder->place > frames->slot[i + 1])
			continue;
		holder->pc = frames->pc[i];
		holder->returns = i > 0;
		return true;
	}
	return false;
}

static bool is_tls(const struct finder *finder, const struct view_thread *thread,
		   struct session_holder *holder)
{
	uint64_t start, end;

	if (!thread->tp)
		return false;
	if (holder->place < thread->tp) {
		size_t number = (size_t)(thread - finder->view->threads.at);

		if (holder->place < tls_low(&finder->tls, finder->view, number))
			return false;
		holder->kind = SESSION_HOLDER_TLS;
	} else {
		if (holder->place - thread->tp >= CONTROL_MAX ||
		    !view_stack_bounds(finder->view, thread->tp, &start, &end) ||
		    thread->tp - start >= end - start || holder->place >= end)
			return false;
		holder->kind = SESSION_HOLDER_CONTROL;
	}
	holder->tid = thread->tid;
	holder->tp = thread->tp;
	return true;
}

/* Is the place above SP in memory that is known to be a stack, or in a frame? */
static bool is_stack(struct finder *finder, const struct view_thread *thread,
		     struct session_holder *holder)
{
	const struct view *view = finder->view;
	uint64_t sp = regs_get(&thread->regs, view->arch->sp), start, end;
	const struct proc_map *map = thread->placed ? proc_maps_find(&view->maps, sp) : NULL;
	bool known;

	if (!map || holder->place < sp - view->arch->red_zone || holder->place >= map->end)
		return false;
	known = !strcmp(map->path, "[stack]") ||
		(view_stack_bounds(view, thread->tp, &start, &end) && sp >= start &&
		 holder->place < MIN(end, thread->tp));
	if (!find_frame(finder, thread, holder) && !known)
		return false;
	holder->kind = SESSION_HOLDER_STACK;
	holder->tid = thread->tid;
	return true;
}

static void look_at_root(struct finder *finder, struct session_holder *holder)
{
	const struct view *view = finder->view;

	for (size_t i = 0; i < view->threads.nr; i++)
		if (is_tls(finder, &view->threads.at[i], holder))
			return;
	for (size_t i = 0; i < view->threads.nr; i++)
		if (is_stack(finder, &view->threads.at[i], holder))
			return;
}

/* In whichever memory it is. */
static void look_at_tls(const struct finder *finder, struct session_holder *holder)
{
	const struct tls_block *block = tls_at(&finder->tls, holder->place);

	if (!block)
		return;
	holder->tid = block->tid;
	holder->tls_module = block->module;
	holder->tls_offset = holder->place - block->start;
}

static void take_word(const struct finder *finder, const struct holder *holder,
		      struct session_holder *ret)
{
	const struct search_origin *origin = &finder->origins.vec.at[holder->place];

	ret->place = 0;
	ret->tid = origin->tid;
	ret->index = origin->index;
	ret->kind = origin->from == SEARCH_REGISTER ? SESSION_HOLDER_REGISTER :
		    origin->from == SEARCH_VECTOR ? SESSION_HOLDER_VECTOR : SESSION_HOLDER_CHUNK;
}

static struct err *take(struct finder *finder, const struct holder *holder)
{
	struct session_holder is = { .firm = holder->firm, .place = holder->place,
				     .word = holder->word, .block = holder->block };

	switch (holder->in) {
	case HOLDER_WORD:
		take_word(finder, holder, &is);
		break;
	case HOLDER_ROOT:
		is.kind = SESSION_HOLDER_MEMORY;
		look_at_root(finder, &is);
		break;
	case HOLDER_HEAP:
		is.kind = SESSION_HOLDER_HEAP;
		break;
	default:
		is.kind = SESSION_HOLDER_BLOCK;
		break;
	}
	if (is.place)
		look_at_tls(finder, &is);
	return vec_push(&finder->find->vec, is);
}

static struct err *take_all(struct finder *finder, const struct holders *holders)
{
	struct session_find *find = finder->find;
	struct err *err = NULL;

	find->block = holders->block;
	find->outer = holders->outer;
	find->nr_firm = holders->nr_firm;
	find->nr_inner = holders->nr_inner;
	find->own = holders->own;
	find->unread = holders->unread_roots.bytes + holders->unread_blocks.bytes;
	for (size_t i = 0; i < holders->firm.nr && !err; i++)
		err = take(finder, &holders->firm.at[i]);
	for (size_t i = 0; i < holders->inner.nr && !err; i++)
		err = take(finder, &holders->inner.at[i]);
	return err;
}

/* An address behind a block's end, and still in its chunk, counts as that block's. */
static uint64_t block_around(const struct session_find *find, uint64_t address)
{
	struct heap_chunk chunk;

	return find->in.walked && heap_chunk_around(&find->heap.walk.chunks, address, &chunk) &&
		       chunk_held(&chunk) && address >= chunk.address ? chunk.address : 0;
}

struct err *find_holders(struct session *session, const struct view *view, uint64_t address,
			 size_t limit, struct session_find *find)
{
	struct finder finder = { .session = session, .view = view, .find = find };
	struct holders_spec spec = {
		.address = address, .otherwise = block_around(find, address),
		.limit = limit, .is_firm = is_firm, .ctx = &finder,
	};
	struct holders holders;
	struct err *err = search_holders(session, view, find, &spec, &finder.origins, &holders);

	if (!err) {
		tls_read(session->current->target, view, &finder.tls);
		err = take_all(&finder, &holders);
		tls_free(&finder.tls);
		holders_free(&holders);
	}
	vec_free(&finder.origins.vec);
	stack_frames_free(&finder.frames);
	return err;
}

void session_find_free(struct session_find *find)
{
	session_leaks_free(&find->in);
	session_heap_free(&find->heap);
	proc_maps_free(&find->maps);
	vec_free(&find->vec);
}
