/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the names of mapped files (mapped_files.h). */

#include "growth/mapped_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/compiler.h"
#include "growth/growth_replay.h"

#define ROUND	(1ull << 30)	/* no page is larger, so that a range is not taken for too short */

static void list_clear(struct mapped_file_list *list)
{
	vec_each(file, &list->vec)
		free(file->name);
	vec_clear(&list->vec);
}

void mapped_file_list_free(struct mapped_file_list *list)
{
	list_clear(list);
	vec_free(&list->vec);
}

void mapped_files_free(struct mapped_files *files)
{
	mapped_file_list_free(&files->asked);
	mapped_file_list_free(&files->found);
	mapped_file_list_free(&files->known);
	late_calls_free(&files->late);
}

void mapped_files_lose(struct mapped_files *files)
{
	list_clear(&files->asked);
	list_clear(&files->found);
}

/*
 * Add a file, whose name then belongs to the list. The older half goes when the list is full. Few
 * come after one with a larger number: those that have waited for another look.
 */
static void list_add(struct mapped_file_list *list, const struct mapped_file *file)
{
	size_t half = list->vec.nr / 2, at;

	if (list->vec.nr >= MAPPED_FILES_MAX) {
		for (size_t i = 0; i < half; i++)
			free(list->vec.at[i].name);
		list->vec.nr -= half;
		memmove(list->vec.at, list->vec.at + half,
			list->vec.nr * sizeof(list->vec.at[0]));
	}
	if (vec_reserve(&list->vec, 1)) {
		free(file->name);
		return;
	}
	for (at = list->vec.nr++; at > 0 && list->vec.at[at - 1].number > file->number; at--)
		list->vec.at[at] = list->vec.at[at - 1];
	list->vec.at[at] = *file;
}

static struct mapped_file *list_find(const struct mapped_file_list *list, uint64_t number)
{
	size_t at = LOWER_BOUND(i, (size_t)0, list->vec.nr, list->vec.at[i].number < number);

	return at < list->vec.nr && list->vec.at[at].number == number ? &list->vec.at[at] : NULL;
}

const char *mapped_file_name(const struct mapped_file_list *list, uint64_t number)
{
	const struct mapped_file *file = list_find(list, number);

	return file ? file->name : NULL;
}

static bool meets(const struct mapped_file *file, uint64_t start, uint64_t len)
{
	uint64_t end = start + MIN(len, UINT64_MAX - start);

	end += MIN(ROUND, UINT64_MAX - end);
	return file->start < end && start < file->end;
}

/* May the call have changed what is mapped there? */
static bool touches(const struct growth_event *event, const struct mapped_file *file)
{
	switch ((enum growth_call)event->call) {
	case GROWTH_CALL_MMAP:
		return meets(file, event->result, event->arg[1]);
	case GROWTH_CALL_MUNMAP:
		return meets(file, event->arg[0], event->arg[1]);
	case GROWTH_CALL_MREMAP:
		return meets(file, event->arg[0], event->arg[1]) ||
		       meets(file, event->result, event->arg[2]);
	case GROWTH_CALL_SHMAT:		/* as large as its segment, which may be any size */
		return meets(file, event->result, UINT64_MAX);
	case GROWTH_CALL_BRK:
	case GROWTH_CALL_SHMDT:
	case GROWTH_CALL_SHMGET:
	case GROWTH_CALL_SHMCTL:
	case GROWTH_CALLS:
		break;
	}
	return false;
}

/* Names from a look that an event was entered before, whose place it may have changed. */
static void drop_touched(struct mapped_file_list *list, const struct growth_event *event)
{
	size_t nr = 0;

	for (size_t i = 0; i < list->vec.nr; i++) {
		if (event->entered <= list->vec.at[i].looked && touches(event, &list->vec.at[i]))
			free(list->vec.at[i].name);
		else
			list->vec.at[nr++] = list->vec.at[i];
	}
	list->vec.nr = nr;
}

void mapped_files_event(struct mapped_files *files, const struct growth_event *event)
{
	const struct mapped_file asked = { .number = event->number, .offset = event->arg[5] };

	if (growth_replay_event_failed(event))
		return;
	if (event->entered <= files->looked) {
		drop_touched(&files->found, event);
		drop_touched(&files->known, event);
	}
	if (event->call == GROWTH_CALL_MMAP && !(event->arg[3] & MAP_ANONYMOUS))
		list_add(&files->asked, &asked);
}

void mapped_files_settle(struct mapped_files *files)
{
	vec_each(file, &files->found.vec)
		list_add(&files->known, file);
	vec_clear(&files->found.vec);
}

static char *name_of(const struct proc_map *map)
{
	char *name;

	return asprintf(&name, "%s%s", map->path, map->deleted ? " (deleted)" : "") < 0 ?
	       NULL : name;
}

/* Look at the mapping where a piece of the call begins. */
static void find(struct mapped_file *file, const struct held_piece *piece,
		 const struct proc_maps *maps)
{
	const struct proc_map *map = procparse_maps_find(maps, piece->start);

	if (!map || map->path[0] != '/' ||
	    map->offset + (piece->start - map->start) !=
	    file->offset + (piece->start - piece->base))
		return;
	file->start = piece->start;
	file->end = MIN(piece->end, map->end);
	file->name = name_of(map);
}

/* What was found goes to the list of it, and what could be found at a later look stays. */
static void take_found(struct mapped_files *files)
{
	struct mapped_file_list *asked = &files->asked;
	size_t nr = 0;

	vec_each(file, &asked->vec) {
		if (file->name) {
			file->looked = files->looked;
			list_add(&files->found, file);
		} else if (file->wait) {
			file->wait = false;
			asked->vec.at[nr++] = *file;
		}
	}
	asked->vec.nr = nr;
}

void mapped_files_look(struct mapped_files *files, const struct held *held,
		       const struct proc_maps *maps, uint64_t began, uint64_t ended)
{
	struct mapped_file *file;

	files->looked = ended;
	if (!files->asked.vec.nr)
		return;
	held_each(piece, held) {
		file = piece->kind == HELD_MMAP ? list_find(&files->asked, piece->event) : NULL;
		if (!file || file->name)
			continue;
		if (piece->since < began)
			find(file, piece, maps);
		else
			file->wait = true;
	}
	take_found(files);
}

struct err *mapped_files_copy(const struct mapped_files *files, struct mapped_file_list *ret)
{
	struct err *err = vec_reserve(&ret->vec, files->known.vec.nr);

	for (size_t i = 0; !err && i < files->known.vec.nr; i++) {
		struct mapped_file file = files->known.vec.at[i];

		file.name = strdup(file.name);
		if (!file.name)
			return err_nomem;
		ret->vec.at[ret->vec.nr++] = file;
	}
	return err;
}
