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

struct job {
	struct session *session;
	const struct session_contents_ask *ask;
	struct session_contents *ret;
	struct block_types_source source;
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

static struct err *spread(struct job *job, struct memory *memory)
{
	const struct type_spread_source source = {
		.memory = memory, .list = &job->ret->blocks.held, .layouts = job->ask->layouts,
		.settled = has_class, .ctx = &job->ret->types,
	};

	type_spread_free(&job->ret->spread);
	return type_spread_find(&source, &job->ret->spread);
}

static struct err *find_like(struct job *job, struct memory *memory)
{
	const struct block_like_source source = {
		.memory = memory, .list = &job->ret->blocks.held,
		.walk = job->ret->blocks.walked ? &job->ret->blocks.heap.walk : NULL,
		.constant = job->source.constant, .code = job->source.code,
		.site_of_stack = job->ask->site_of_stack, .nr_stacks = job->ask->nr_stacks,
	};

	block_like_free(&job->ret->like);
	return block_like_find(&source, &job->ret->like);
}

static struct err *look_at(struct job *job, const struct memory_view *view)
{
	struct leak_marks *blocks = &job->ret->blocks;
	struct err *err = NULL;

	if (!blocks->walked)
		err = heaps_list_log(view, job->ask->timed, &blocks->held);
	if (!err)
		err = take_ranges(&view->maps, &job->source);
	if (err)
		return err;
	job->source.memory = view->memory;
	job->source.list = &blocks->held;
	block_types_free(&job->ret->types);
	err = block_types_find(&job->source, &job->ret->types);
	if (!err && job->ask->layouts)
		err = spread(job, view->memory);
	return err || !job->ask->nr_stacks ? err : find_like(job, view->memory);
}

static struct err *stopped(struct session *session, bool stood, void *ctx)
{
	struct job *job = ctx;
	struct leak_marks *blocks = &job->ret->blocks;
	struct err *err = NULL;

	memory_view_free(&job->view);
	job->view = (struct memory_view)MEMORY_VIEW_INIT;
	leak_marks_forget(blocks);
	if (!*blocks->why) {
		err = session_heap_stopped(session, !stood, job->ask->timed, &blocks->heap,
					   &blocks->held);
		err = leak_marks_take_walk(blocks, err);
	}
	if (!err)
		err = view_take(session, false, &job->view);
	return err ? err : look_at(job, &job->view);
}

static struct err *walked(void *ctx, enum look_sure *sure_ret)
{
	struct job *job = ctx;
	struct leak_marks *blocks = &job->ret->blocks;
	struct err *err = NULL;

	leak_marks_forget(blocks);
	if (!*blocks->why) {
		err = heaps_list_past(&job->look.view, &job->session->own_memory, job->ask->timed,
				      &blocks->heap, &blocks->held);
		err = leak_marks_take_walk(blocks, err);
	}
	*sure_ret = leak_marks_torn(blocks) || blocks->heap.under_way ? LOOK_UNSURE : LOOK_SURE;
	return err;
}

static struct err *found(void *ctx)
{
	struct job *job = ctx;

	return look_at(job, &job->look.view);
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
	struct leak_marks *blocks = &job->ret->blocks;
	struct err *err = session_heap_walkable(job->session);

	if (err)
		snprintf(blocks->why, sizeof(blocks->why), "%.255s", err->msg);
	look->session = job->session;
	/* Without the room that mdbg has in the process nothing can be forked. */
	look->how = session_recorded(job->session) ? LOOK_SNAPSHOT : LOOK_AUTO;
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

struct err *session_contents(struct session *session, const struct session_contents_ask *ask,
			     struct session_contents *ret)
{
	struct job job = { .session = session, .ask = ask, .ret = ret, .view = MEMORY_VIEW_INIT,
			   .look = { LOOK_INIT } };
	struct err *err = session_need_view(session);

	*ret = (struct session_contents){ .blocks = { .held = PACKED_INIT, .heap = HEAPS_INIT } };
	if (!err)
		err = session_call(session, find_python, &job.source.type_type);
	if (!err)
		err = run(&job);
	if (!err)
		err = session_call(session, name_all, ret);
	look_free(&job.look);
	memory_view_free(&job.view);
	vec_free(&job.source.constant.vec);
	vec_free(&job.source.code.vec);
	return err;
}

void session_contents_free(struct session_contents *types)
{
	block_types_free(&types->types);
	type_spread_free(&types->spread);
	block_like_free(&types->like);
	leak_marks_free(&types->blocks);
}
