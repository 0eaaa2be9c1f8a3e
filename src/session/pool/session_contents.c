/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes the look (session_contents.h). */

#include "session/pool/session_contents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "session/heap.h"
#include "session/look.h"
#include "session/pool/session_python.h"
#include "session/private.h"
#include "session/view_take.h"
#include "tracee/target.h"

#define PAGE_NS	3000u	/* to look for types in a page of blocks */

struct job {
	struct session_contents_look in;
	struct memory_view view;	/* of a stop */
	struct look look;
};

static struct err *add_range(const struct proc_map *map, struct reach_ranges *ranges)
{
	return vec_push(&ranges->vec, ((struct reach_range){ map->start, map->end }));
}

/* Constants may lie among code, in a file that was linked so. */
static struct err *take_ranges(const struct proc_maps *maps, struct block_types_source *source)
{
	struct err *err = NULL;

	vec_clear(&source->constant.vec);
	vec_clear(&source->code.vec);
	vec_each_while(map, &maps->vec, !err) {
		if (*map->path == '/' && !map->write && !map->unknown_protection)
			err = add_range(map, &source->constant);
		if (!err && proc_map_is_exec(map))
			err = add_range(map, &source->code);
	}
	return err;
}

/* A class says better what a block is. */
static bool has_class(void *ctx, size_t block)
{
	const struct block_types *types = ctx;

	return types->kinds.at[types->of.at[block]].class;
}

static struct err *spread(struct session_contents_look *look, struct memory *memory)
{
	const struct type_spread_source source = {
		.memory = memory, .list = &look->ret->blocks.held, .layouts = look->ask->layouts,
		.settled = has_class, .ctx = &look->ret->types,
	};

	type_spread_free(&look->ret->spread);
	return type_spread_find(&source, &look->ret->spread);
}

static struct err *find_like(struct session_contents_look *look, struct memory *memory)
{
	const struct block_like_source source = {
		.memory = memory, .list = &look->ret->blocks.held,
		.walk = look->ret->blocks.walked ? &look->ret->blocks.heap.walk : NULL,
		.constant = look->source.constant, .code = look->source.code,
		.site_of_stack = look->ask->site_of_stack, .nr_stacks = look->ask->nr_stacks,
	};

	block_like_free(&look->ret->like);
	return block_like_find(&source, &look->ret->like);
}

/* look->ret has the blocks. */
static struct err *look_at(struct session_contents_look *look, const struct memory_view *view)
{
	struct err *err = take_ranges(&view->maps, &look->source);

	if (err)
		return err;
	look->source.memory = view->memory;
	look->source.list = &look->ret->blocks.held;
	block_types_free(&look->ret->types);
	err = block_types_find(&look->source, &look->ret->types);
	if (!err && look->ask->layouts)
		err = spread(look, view->memory);
	return err || !look->ask->nr_stacks ? err : find_like(look, view->memory);
}

struct err *session_contents_find(struct session_contents_look *look, const struct memory_view *view,
				  const struct leak_marks *blocks, const struct heaps *heap)
{
	struct leak_marks *ret = &look->ret->blocks;
	struct err *err;

	leak_marks_free(ret);
	*ret = (struct leak_marks){ .held = PACKED_INIT, .heap = HEAPS_INIT };
	err = leak_marks_lend(blocks, ret);
	if (err)
		return err;
	ret->heap = *heap;
	return look_at(look, view);
}

/* In a look of its own. */
static struct err *look_alone(struct job *job, const struct memory_view *view)
{
	struct session_contents_look *in = &job->in;
	struct leak_marks *blocks = &in->ret->blocks;
	struct err *err = blocks->walked ? NULL :
			  heaps_list_log(view, in->ask->timed, &blocks->held);

	return err ? err : look_at(in, view);
}

static struct err *stopped(struct session *session, bool stood, void *ctx)
{
	struct job *job = ctx;
	struct leak_marks *blocks = &job->in.ret->blocks;
	struct err *err = NULL;

	memory_view_free(&job->view);
	job->view = (struct memory_view)MEMORY_VIEW_INIT;
	leak_marks_forget(blocks);
	if (!*blocks->why) {
		err = session_heap_stopped(session, !stood, job->in.ask->timed, &blocks->heap,
					   &blocks->held);
		err = leak_marks_take_walk(blocks, err);
	}
	if (!err)
		err = view_take(session, false, &job->view);
	return err ? err : look_alone(job, &job->view);
}

static struct err *walked(void *ctx, enum look_sure *sure_ret)
{
	struct job *job = ctx;
	struct leak_marks *blocks = &job->in.ret->blocks;
	struct err *err = NULL;

	leak_marks_forget(blocks);
	if (!*blocks->why) {
		err = heaps_list_past(&job->look.view, &job->in.session->own_memory, job->in.ask->timed,
				      &blocks->heap, &blocks->held);
		err = leak_marks_take_walk(blocks, err);
	}
	*sure_ret = leak_marks_torn(blocks) || blocks->heap.under_way ? LOOK_UNSURE : LOOK_SURE;
	return err;
}

static struct err *found(void *ctx)
{
	struct job *job = ctx;

	return look_alone(job, &job->look.view);
}

/* Blocks lie in such memory; what a fork leaves out of it is copied. */
static bool wants(const struct session *session UNUSED, const struct proc_map *map)
{
	return map->read && map->write && !map->shared;
}

/* A name in a page of a file that the view does not have; without it the class is not known. */
static struct err *name_class(const struct modules *modules, struct block_class *class)
{
	const struct module *module = modules_find(modules, class->name_at);
	char name[BLOCK_CLASS_NAME] = "";

	if (!module || !module->elf)
		return NULL;
	err_ignore(elf_file_read(module->elf, class->name_at - module->bias, name, sizeof(name)));
	if (!*name || !memchr(name, '\0', sizeof(name)))
		return NULL;
	class->name = strdup(name);
	return class->name ? NULL : err_nomem;
}

static struct err *name_all(struct session *session, void *arg)
{
	struct session_contents *types = arg;
	const struct modules *modules = &session->current->target->modules;
	struct err *err = session_python_name(session, &types->types.python);

	types->generation = modules->generation;
	vec_each_while(class, &types->types.classes, !err)
		if (class->name_at && !class->name)
			err = name_class(modules, class);
	return err;
}

static struct err *find_python(struct session *session, void *arg)
{
	uint64_t *type_type = arg;

	*type_type = modules_symbol(&session->current->target->modules, "PyType_Type");
	return NULL;
}

static struct err *run(struct job *job)
{
	struct look *look = &job->look;
	struct leak_marks *blocks = &job->in.ret->blocks;
	struct err *err = session_heap_walkable(job->in.session);

	if (err)
		snprintf(blocks->why, sizeof(blocks->why), "%.255s", err->msg);
	look->session = job->in.session;
	/* Without the room that mdbg has in the process nothing can be forked. */
	look->how = session_recorded(job->in.session) ? LOOK_SNAPSHOT : LOOK_AUTO;
	look->page_ns = PAGE_NS;
	look->wants = wants;
	look->stopped = stopped;
	look->walked = walked;
	look->found = found;
	look->ctx = job;
	err = look_run(look);
	blocks->pause_ns = look->pause_ns;
	blocks->snapshot = look->snapshot;
	snprintf(blocks->no_snapshot, sizeof(blocks->no_snapshot), "%s", look->no_snapshot);
	return err;
}

struct err *session_contents_begin(struct session *session, const struct session_contents_ask *ask,
				   struct session_contents_look *look,
				   struct session_contents *ret)
{
	*look = (struct session_contents_look){ .session = session, .ask = ask, .ret = ret };
	*ret = (struct session_contents){ .blocks = { .held = PACKED_INIT, .heap = HEAPS_INIT } };
	return session_call(session, find_python, &look->source.type_type);
}

struct err *session_contents_end(struct session_contents_look *look)
{
	return session_call(look->session, name_all, look->ret);
}

void session_contents_rest(struct session_contents_look *look)
{
	vec_free(&look->source.constant.vec);
	vec_free(&look->source.code.vec);
}

struct err *session_contents(struct session *session, const struct session_contents_ask *ask,
			     struct session_contents *ret)
{
	struct job job = { .view = MEMORY_VIEW_INIT, .look = { LOOK_INIT } };
	struct err *err;

	*ret = (struct session_contents){ .blocks = { .held = PACKED_INIT, .heap = HEAPS_INIT } };
	err = session_need_view(session);
	if (!err)
		err = session_contents_begin(session, ask, &job.in, ret);
	if (!err)
		err = run(&job);
	if (!err)
		err = session_contents_end(&job.in);
	look_free(&job.look);
	memory_view_free(&job.view);
	session_contents_rest(&job.in);
	return err;
}

void session_contents_free(struct session_contents *types)
{
	block_types_free(&types->types);
	type_spread_free(&types->spread);
	block_like_free(&types->like);
	leak_marks_free(&types->blocks);
}
