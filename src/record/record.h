/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a recording consists of: the tables of a sample with their columns, events, stacks. The
 * bytes of it are described in docs/record-format.md; writer.h makes them, reader.h reads them.
 *
 * A sample is what was known of one target at one time. It has tables: rows with a key, and numbers
 * in columns. A row that is not there is one of zeros; a number that is not known is
 * RECORD_UNKNOWN. Not every table is taken anew for each sample: the walk for the account costs
 * more than a look at the totals. So each table has its own time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RECORD_UNKNOWN	UINT64_MAX

/* Their numbers are those of the format: they stay, and new ones are added behind. */
enum record_table_kind {
	/*
	 * Key: a string, "bytes" (record/figures.h). One column: the figure plus 1, so that one
	 * that is not known is 0, and has no row (record_table_figure).
	 */
	RECORD_TOTALS,
	RECORD_SITES,		/* key: a stack; columns: enum record_site */
	RECORD_ACCOUNT,		/* key: a string, the part; columns: enum record_account */
	RECORD_MEMORY,		/* key: a string, the kind, or "all"; columns: enum memory_figure */
	RECORD_GROWTH,		/* key: a stack and a kind (record_growth_key); enum record_growth */
	RECORD_MACHINE,		/* the same of the machine: "available" */
	RECORD_CACHES,		/* slab caches; key: a string, the name; enum record_cache */
	RECORD_GROUPS,		/* control groups; key: a string, the path; enum record_group */
	RECORD_PROCESSES,	/* key: a pid; columns: enum record_process */
	/* Children that have ended, by program. Key: a string, the name; enum record_child */
	RECORD_CHILDREN,
	RECORD_TABLES,
};

enum record_site {
	RECORD_SITE_BYTES, RECORD_SITE_COUNT,	/* live, as in struct site */
	RECORD_SITE_TOTAL, RECORD_SITE_TOTAL_BYTES,	/* of all time */
	RECORD_SITE_COLUMNS,
};

enum record_account {
	RECORD_ACCOUNT_BYTES,
	RECORD_ACCOUNT_WHERE,		/* 1 in, 2 sum, 3 of, 4 beside */
	RECORD_ACCOUNT_NOTE,		/* a string */
	RECORD_ACCOUNT_ORDER,		/* the number of the row in the answer, from 1 on */
	RECORD_ACCOUNT_COLUMNS,
};

#define RECORD_MEMORY_COLUMNS	10	/* MEMORY_FIGURES */

/* Kinds as in enum held_kind (brk, mmap, shm), then page faults and the kernel's memory. */
enum record_growth {
	RECORD_GROWTH_BYTES, RECORD_GROWTH_COUNT,
	RECORD_GROWTH_COLUMNS,
};

enum record_growth_kind {
	RECORD_GROWTH_BRK, RECORD_GROWTH_MMAP, RECORD_GROWTH_SHM, RECORD_GROWTH_FAULT,
	RECORD_GROWTH_KERNEL,
	RECORD_GROWTH_KINDS,
};

enum record_cache { RECORD_CACHE_BYTES, RECORD_CACHE_OBJECTS, RECORD_CACHE_COLUMNS };

/* As in struct memory_group. */
enum record_group {
	RECORD_GROUP_USE, RECORD_GROUP_LIMIT, RECORD_GROUP_HIGH, RECORD_GROUP_SWAP_USE,
	RECORD_GROUP_SWAP_LIMIT, RECORD_GROUP_ANONYMOUS, RECORD_GROUP_FILE, RECORD_GROUP_SHARED,
	RECORD_GROUP_KERNEL, RECORD_GROUP_INACTIVE_FILE, RECORD_GROUP_AT_LIMIT,
	RECORD_GROUP_OOM_KILLS,
	RECORD_GROUP_ORDER,		/* 1: the process's own, and then upwards */
	RECORD_GROUP_LEAST_LIMIT, RECORD_GROUP_LEAST_SWAP_LIMIT, RECORD_GROUP_SOCKETS,
	RECORD_GROUP_SLAB, RECORD_GROUP_PAGE_TABLES, RECORD_GROUP_KERNEL_STACKS,
	RECORD_GROUP_SOME_10, RECORD_GROUP_SOME_60, RECORD_GROUP_FULL_10, RECORD_GROUP_FULL_60,
	RECORD_GROUP_COLUMNS,
};

enum record_process {
	RECORD_PROCESS_BYTES, RECORD_PROCESS_PRIVATE, RECORD_PROCESS_PSS,
	RECORD_PROCESS_START,		/* as in /proc/PID/stat */
	RECORD_PROCESS_PARENT,
	RECORD_PROCESS_NAME,		/* a string */
	RECORD_PROCESS_COLUMNS,
};

/* Since the target was attached to. */
enum record_child {
	RECORD_CHILD_RUNS, RECORD_CHILD_FAILED,	/* how many, and with another status than 0 */
	RECORD_CHILD_MOST,	/* bytes: the largest that was resident of one */
	RECORD_CHILD_SUM,	/* ... and the sum of what was resident of each at most */
	RECORD_CHILD_CPU,	/* ns */
	RECORD_CHILD_FAULTS,	/* of pages */
	RECORD_CHILD_COLUMNS,
};

#define RECORD_CHILDREN_OTHERS	"(others)"	/* beyond so many names: */
#define RECORD_CHILDREN_MOST	256u

#define RECORD_COLUMNS_MOST	32

#define RECORD_ALL_TABLES	((1u << RECORD_TABLES) - 1)

/* Which of a table's numbers are strings: bits by column; and what its key is. */
enum record_key { RECORD_KEY_STRING, RECORD_KEY_STACK, RECORD_KEY_GROWTH, RECORD_KEY_NUMBER };

struct record_table_form {
	const char *name;
	enum record_key key;
	unsigned columns;
	unsigned strings;	/* bits of the columns that are strings */
};

static const struct record_table_form record_table_forms[RECORD_TABLES] = {
	[RECORD_TOTALS] = { "totals", RECORD_KEY_STRING, 1, 0 },
	[RECORD_SITES] = { "sites", RECORD_KEY_STACK, RECORD_SITE_COLUMNS, 0 },
	[RECORD_ACCOUNT] = { "account", RECORD_KEY_STRING, RECORD_ACCOUNT_COLUMNS,
			     1u << RECORD_ACCOUNT_NOTE },
	[RECORD_MEMORY] = { "memory", RECORD_KEY_STRING, RECORD_MEMORY_COLUMNS, 0 },
	[RECORD_GROWTH] = { "growth", RECORD_KEY_GROWTH, RECORD_GROWTH_COLUMNS, 0 },
	[RECORD_MACHINE] = { "machine", RECORD_KEY_STRING, 1, 0 },
	[RECORD_CACHES] = { "caches", RECORD_KEY_STRING, RECORD_CACHE_COLUMNS, 0 },
	[RECORD_GROUPS] = { "groups", RECORD_KEY_STRING, RECORD_GROUP_COLUMNS, 0 },
	[RECORD_PROCESSES] = { "processes", RECORD_KEY_NUMBER, RECORD_PROCESS_COLUMNS,
			       1u << RECORD_PROCESS_NAME },
	[RECORD_CHILDREN] = { "children", RECORD_KEY_STRING, RECORD_CHILD_COLUMNS, 0 },
};

static inline uint64_t record_growth_key(uint32_t stack, enum record_growth_kind kind)
{
	return (uint64_t)stack << 3 | kind;
}

/* Strings, locations and stacks have numbers from 1 on; 0: none. */
#define RECORD_NONE	0u

/* A function at a location: the real one, or one that was inlined into it (struct symbol_frame). */
struct record_function {
	uint32_t name, brief;		/* strings: demangled, in full and short; 0: not known */
	uint32_t linkage;		/* as in the symbol table; 0: the same as name, or not known */
	uint32_t place;			/* what it is known by if it has no name */
	uint32_t file;			/* of the source */
	uint32_t line;			/* 0: not known */
	uint32_t name_bare, brief_bare;	/* lengths without parameters */
	uint64_t offset;		/* the address less that of the function */
	bool inlined;			/* into the next one */
};

/* A place in code, as it was named when it was recorded. */
struct record_location {
	uint32_t module;	/* string: the path as the target sees it; 0: code of no file */
	uint32_t build_id;	/* string: in hex; 0: none */
	uint64_t address;	/* in the module's file; without a module that in the process */
	uint32_t entry;		/* string: the allocator's function that begins here; 0: none does */
	uint32_t nr;		/* of its functions, innermost first; 0 only if it is an entry */
	const struct record_function *functions;
};

struct record_stack {
	uint32_t nr;
	const uint32_t *locations;	/* innermost first */
	uint32_t end;			/* string: why it ends early; 0: it is whole */
};

/* A process that is recorded, or was. boot, pid and start say which it is. */
struct record_target {
	pid_t pid;
	uint64_t start;		/* as in /proc/PID/stat */
	uint32_t boot;		/* strings: the machine's boot id, and its name */
	uint32_t host;
	uint32_t name, command, program, build_id;	/* program: the path of its file */
	uint32_t group;		/* of its memory */
	uint32_t allocator;	/* "glibc 2.36 (ptmalloc)" */
};

/* Their numbers are those of the format. */
enum record_event_kind {
	RECORD_EVENT_BEGIN,	/* a recorder begins; text: its version */
	RECORD_EVENT_CLOSE,	/* ... and ends; text: why. Without it the recorder was killed */
	RECORD_EVENT_ATTACH,	/* the target is attached to */
	RECORD_EVENT_DETACH,
	RECORD_EVENT_EXEC,	/* text: the new program */
	/* number: the status as wait(2) gives it, or RECORD_UNKNOWN; text: why, as RECORD_END_OOM */
	RECORD_EVENT_EXIT,
	RECORD_EVENT_FORK,	/* number: the child's pid */
	RECORD_EVENT_RESTART,	/* the next process of that name; number: the pid of the one before */
	RECORD_EVENT_OOM,	/* a kill for lack of memory; text: name; number: pid; also: bytes */
	RECORD_EVENT_MARK,	/* text: its name */
	RECORD_EVENT_MODULE,	/* loaded; text: its path; number, also: start and end in the process */
	RECORD_EVENT_CLOCK,	/* the time of day was set; number: before, also: after, in ns */
	RECORD_EVENT_LOST,	/* nothing could be written; text: why; number, also: from and to */
	RECORD_EVENT_NOTE,	/* text: something that the answers lack */
	RECORD_EVENT_KINDS,
};

#define RECORD_END_OOM	"for lack of memory"	/* the kernel has killed it */

struct record_event {
	uint64_t time_ns;	/* since the epoch */
	uint32_t target;	/* 0: of no target */
	enum record_event_kind kind;
	uint32_t text;
	uint64_t number, also;
};

/* Bounds. What a file says beyond them is no recording. */
#define RECORD_FRAME_MOST	(16u << 20)	/* bytes of a frame, unpacked */
#define RECORD_ROWS_MOST	(1u << 19)	/* of a table */
#define RECORD_STRING_MOST	(64u << 10)	/* bytes of a string */
#define RECORD_STACK_MOST	1024u		/* locations of a stack */
#define RECORD_FUNCTIONS_MOST	512u		/* of a location */
#define RECORD_TARGETS_MOST	65536u
