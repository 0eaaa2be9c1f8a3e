/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names of the files that calls of mmap have mapped.
 *
 * An event has the descriptor and no name, and the descriptor may be another file's by the time
 * that anybody looks. So the name is that of the mapping itself in /proc/PID/maps, while it is
 * there:
 *
 *	asked	an event was replayed, and the mappings were not read since a piece of it came to
 *		its place
 *	found	a piece of the call was still held after the replay, and a file is mapped at its
 *		place, with the offset that the call has asked for
 *	known	found, and no event that was entered before the look has taken the place away
 *
 * The mappings are read while the process runs. A program that maps one file after another gets the
 * same address again and again, so that a mapping may be that of another call:
 *
 *	of an earlier one, if the mappings were read before the call returned, or before a mremap
 *	that has moved it. These events are replayed all the same, since events are read after the
 *	mappings; so the call stays `asked` until the next look.
 *	of a later one, whose event was not read yet. So a name counts only when all calls that were
 *	entered before the look have their events (late_calls.h), and these were replayed as well.
 *	If one comes later all the same, it takes the name away.
 *
 * A call whose mapping was gone at its first look has no name.
 */
#pragma once

#include "growth/held.h"
#include "growth/late_calls.h"
#include "log/growth_ring.h"
#include "os/procfs.h"

#define MAPPED_FILES_MAX	65536u	/* names that are kept, the newest */

struct mapped_file {
	uint64_t number;	/* of the event */
	uint64_t offset;	/* in the file, of the call */
	uint64_t start, end;	/* where it was found, ... */
	uint64_t looked;	/* ... in mappings that had been read by then: time stamp */
	char *name;		/* NULL: not found */
	bool wait;		/* the mappings were read before a piece was at its place */
};

/* In order of number. */
struct mapped_file_list {
	VEC(struct mapped_file) vec;
};

struct mapped_files {
	struct mapped_file_list asked, found, known;
	uint64_t looked;	/* when the mappings had been read last: time stamp */
	struct late_calls late;	/* from that moment on */
};

#define MAPPED_FILES_INIT	{ .looked = 0 }

void mapped_file_list_free(struct mapped_file_list *list);
void mapped_files_free(struct mapped_files *files);
/* An event was replayed, or is about to be. Without memory its name stays unknown. */
void mapped_files_event(struct mapped_files *files, const struct growth_event *event);
/* Events were lost: only what is known stays. */
void mapped_files_lose(struct mapped_files *files);
/* The events of all calls before the last look were replayed: what was found is known. */
void mapped_files_settle(struct mapped_files *files);
/*
 * Look for what was asked for, after mapped_files_settle. The mappings were read between the two
 * time stamps, and all events that were published by then were replayed into `held`.
 */
void mapped_files_look(struct mapped_files *files, const struct held *held,
		       const struct proc_maps *maps, uint64_t began, uint64_t ended);
/* Copy what is known. The caller frees *ret, also after an error. */
struct err *mapped_files_copy(const struct mapped_files *files,
			      struct mapped_file_list *ret) MUST_CHECK;
/* The name that the mmap of this number has mapped, or NULL. */
const char *mapped_file_name(const struct mapped_file_list *list, uint64_t number);
