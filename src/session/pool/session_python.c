/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes the look (session_python.h). */

#include "session/pool/session_python.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "elf/elf_file.h"
#include "heap/python/pylost.h"
#include "inspect/leak_search.h"
#include "session/look.h"
#include "session/private.h"
#include "session/view_take.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define DATA_MOST	64u	/* writable mappings of the interpreter's module */
/* A page of small objects takes so long, most of it for their types; and where they are searched. */
#define PAGE_NS		7000u
#define LOST_NS		11000u

struct job {
	struct session *session;
	struct session_python *ret;
	bool search;
	struct session_python_place place;
	struct memory_view view;	/* of a stop */
	struct look look;
};

static struct err *find_module(struct session *session, void *arg)
{
	struct session_python_place *place = arg;
	struct modules *modules = &session->current->target->modules;
	uint64_t size, address;

	vec_each_value(module, &modules->live) {
		if (!module->elf || module_symbol(module, "PyObject_Malloc", &address, &size) ||
		    module_symbol(module, "PyType_Type", &place->type_type, &size))
			continue;
		place->start = module->start;
		place->end = module->end;
		return NULL;
	}
	return err_create(ERR_NOTFOUND, "no Python runs in process %d", session->current->pid);
}

/* Its data, and the zeros behind them, which have no file. */
static size_t find_data(const struct session_python_place *place, const struct proc_maps *maps,
			struct pymalloc_range ret[DATA_MOST])
{
	uint64_t end = place->end;
	size_t nr = 0;

	vec_each(map, &maps->vec) {
		bool behind = map->start == end && procparse_map_is_anonymous(map);

		if (map->end <= place->start || (map->start >= end && !behind) || !map->write)
			continue;
		if (nr < DATA_MOST)
			ret[nr++] = (struct pymalloc_range){ map->start, map->end };
		end = MAX(end, map->end);
	}
	return nr;
}

static struct err *search(struct job *job, const struct memory_view *view)
{
	struct pyobjects *objects = &job->ret->objects;
	struct err *err = NULL;

	vec_each_while(map, &view->maps.vec, !err)
		if (leak_search_is_root(view->region, map))
			err = pylost_count(objects, view->memory, map->start, map->end);
	vec_each(thread, &view->threads)
		pylost_count_words(objects, thread->regs.word, ARRAY_SIZE(thread->regs.word));
	return err ? err : pylost_settle(objects, view->memory);
}

static struct err *look_at(struct job *job, const struct memory_view *view)
{
	struct pymalloc_range data[DATA_MOST];
	const struct pymalloc_source source = {
		.memory = view->memory, .maps = &view->maps, .data = data,
		.nr_data = find_data(&job->place, &view->maps, data),
	};
	struct err *err;

	pyobjects_free(&job->ret->objects);
	err = pyobjects_find(&source, job->place.type_type, &job->ret->objects);
	return err || !job->search ? err : search(job, view);
}

struct err *session_python_find(struct session *session, struct session_python_place *ret)
{
	return session_call(session, find_module, ret);
}

struct err *session_python_arenas(const struct session_python_place *place,
				  const struct memory_view *view, struct pymalloc *ret)
{
	struct pymalloc_range data[DATA_MOST];
	const struct pymalloc_source source = {
		.memory = view->memory, .maps = &view->maps, .data = data,
		.nr_data = find_data(place, &view->maps, data),
	};

	return pymalloc_walk(&source, NULL, NULL, ret);
}

struct err *session_python_name(struct session *session, void *arg)
{
	struct pyobjects *objects = arg;
	const struct modules *modules = &session->current->target->modules;

	vec_each(type, &objects->types) {
		const struct module *module = modules_find(modules, type->name_at);

		if (*type->name)
			continue;
		if (!module || !module->elf ||
		    elf_file_read(module->elf, type->name_at - module->bias, type->name,
				  sizeof(type->name)) ||
		    !memchr(type->name, '\0', sizeof(type->name)) ||
		    !pyobjects_is_name(type->name))
			snprintf(type->name, sizeof(type->name), "(type 0x%" PRIx64 ")",
				 type->address);
	}
	return NULL;
}

static struct err *stopped(struct session *session, bool stood UNUSED, void *ctx)
{
	struct job *job = ctx;
	struct err *err;

	memory_view_free(&job->view);
	job->view = (struct memory_view)MEMORY_VIEW_INIT;
	err = view_take(session, false, &job->view);
	return err ? err : look_at(job, &job->view);
}

static struct err *walked(void *ctx, enum look_sure *sure_ret)
{
	struct job *job = ctx;

	*sure_ret = LOOK_SURE;
	return look_at(job, &job->look.view);
}

static bool wants(const struct session *session, const struct proc_map *map)
{
	return leak_search_is_root(session->region, map);
}

struct err *session_python(struct session *session, bool lost, struct session_python *ret)
{
	struct job job = { .session = session, .ret = ret, .search = lost,
			   .view = MEMORY_VIEW_INIT, .look = { LOOK_INIT } };
	struct err *err = session_need_view(session);

	*ret = (struct session_python){ .pause_ns = 0 };
	if (!err)
		err = session_python_find(session, &job.place);
	if (err)
		return err;
	job.look.session = session;
	job.look.deep = lost;
	job.look.page_ns = lost ? LOST_NS : PAGE_NS;
	job.look.wants = wants;
	job.look.stopped = stopped;
	job.look.walked = walked;
	job.look.ctx = &job;
	err = look_run(&job.look);
	if (!err)
		err = session_call(session, session_python_name, &ret->objects);
	ret->pause_ns = job.look.pause_ns;
	snprintf(ret->no_snapshot, sizeof(ret->no_snapshot), "%s", job.look.no_snapshot);
	look_free(&job.look);
	memory_view_free(&job.view);
	return err;
}

void session_python_free(struct session_python *python)
{
	pyobjects_free(&python->objects);
}
