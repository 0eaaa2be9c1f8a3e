/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /tmp/perf-PID.map, in which JIT compilers name their code: lines "START SIZE NAME", hex, appended
 * as code is made. A later line replaces the earlier ones at its addresses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "base/vec.h"
#include "symbol/spans.h"

struct debug_search;

struct perf_entry {
	uint64_t start;
	size_t name;		/* offset in text */
};

struct perf_map {
	pid_t pid;		/* 0: none */
	pid_t inner_pid;	/* pid in the target's namespace */
	const struct debug_search *search;	/* the target's root, and `warn` for a limit */
	int fd;			/* -1: no file yet */
	bool looked;		/* done in this answer: open_map and update need not look again */
	bool dropped;		/* the file is over a limit */
	off_t read;		/* bytes of the file that were taken */
	off_t seen;		/* size of the file when all of its whole lines were taken */
	struct str text;	/* the names */
	VEC(struct perf_entry) entries;
	struct spans spans;	/* of entries */
};

/* search must outlive the map. */
void perf_map_init(struct perf_map *map, pid_t pid, const struct debug_search *search);
void perf_map_deinit(struct perf_map *map);
/* Begin a new answer: the next perf_map_find looks for the file, or for lines that were added. */
void perf_map_begin(struct perf_map *map);
/* Get the name and the start of the code at addr. False: unknown (so far). */
bool perf_map_find(struct perf_map *map, uint64_t addr, const char **name_ret, uint64_t *start_ret);
