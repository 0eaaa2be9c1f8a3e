/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A victim with all that the jump engine puts into a process: a region, code, private data, the map
 * of modules, and a function whose first bytes are a jump. Its thread calls that function again and
 * again, and takes some milliseconds inside of our code.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/state.h"
#include "base/compiler.h"
#include "child.h"
#include "victim.h"

#define LIMIT	(64ull << 20)
#define AREA	(256u << 10)	/* as ours are: others are nobody's */
#define DATA	sizeof(struct agent_state)
#define DATA_LEN	ALIGN_UP(DATA, 4096ul)

struct jumped_shared {
	atomic_uint result;	/* of the last call */
	atomic_uint calls;
	atomic_uint fork;	/* what the thread does next: 1: it forks and calls; 2: it waits */
};

extern struct jumped {
	struct victim victim;
	struct child child;
	struct jumped_shared *shared;
	char left[256];		/* what jumped_clean had to leave */
	bool found;		/* and whether there was anything to clean */
	uint64_t area, data, map;	/* addresses of what was put in */
} jumped;

/* Its first five bytes become a jump. It returns 7, and 77 while the jump is in. */
int probed(void);

/* Start the child and stop it. False: not allowed here. *maps_ret has its mappings; free it. */
bool jumped_begin(char **maps_ret);
/* Mappings, one a line, without what a program changes by itself. */
char *jumped_maps_text(pid_t pid);
void jumped_check_maps(const char *before);
/* Put all of it in; a region must be there. */
struct err *jumped_change(struct victim *v);
/* Do so, and release it as after kill -9: the target goes on with all that is in it. */
void jumped_leave(void);
/* The next mdbg comes. */
void jumped_seize_again(void);
/* What it does to be rid of the last one. */
struct err *jumped_clean(struct victim *v);
/* The same, and nothing stays. */
void jumped_clean_all(void);
/* Leave the region, as `detach -keep` does. */
struct err *jumped_keep(struct victim *v);
/* It is let go, works on and ends. */
void jumped_works_again(void);
