/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for the code of any process, attached or not, that is read from it as it runs, without a stop.
 *
 * The session's process has its names from the session. Of another one the mappings are read, and the
 * files of its modules, as those of a process that is attached to (tracee/module.h); a file that
 * somebody else delivers (os/local_files.h) is not opened, as the user has not asked for that process.
 *
 * The addresses are from some time ago. So a process that has ended has no names; nor has one that
 * began later, which has the number of one that has ended; nor one of which no thread is called as
 * the thread was, since it may have executed another program.
 */
#pragma once

#include <sys/types.h>

#include "symbol/symbol.h"
#include "tracee/module.h"

struct session;

#define PROCESS_CODE_KEPT	16u	/* processes */
#define PROCESS_CODE_SHARE	64u	/* ... that are read until the files are closed */

struct process_code {
	pid_t pid;			/* 0: none */
	char comm[17];
	uint64_t begun;			/* of the process; ns since the epoch */
	struct proc_maps maps;
	struct symbols *own;		/* of a process that is not the session's */
	struct symbols *symbols;	/* NULL: it has no names */
	uint32_t generation;
	struct err why;			/* it has no names */
};

struct process_codes {
	struct session *session;
	struct process_code code[PROCESS_CODE_KEPT];	/* that have names */
	unsigned next;			/* to be replaced */
	struct process_code nameless;	/* the last one */
	struct symbols *files;		/* opened and read once for all of mdbg's own root */
	unsigned read;			/* processes since then */
};

void process_codes_init(struct process_codes *codes, struct session *session);
void process_codes_free(struct process_codes *codes);
/*
 * The code of a process that was there at a time (ns since the epoch), and had a thread of this name
 * then. It is valid until the next call. Main thread.
 */
const struct process_code *process_codes_find(struct process_codes *codes, pid_t pid,
					      const char *comm, uint64_t time);

/* What is at an address. Strings are valid as long as the code. */
struct process_code_place {
	const char *file;		/* that is mapped there, without folders; NULL: none is */
	uint64_t offset;		/* in the file */
	/* The functions there, innermost first, the real one last; nr is 0 if that has no name. */
	const struct symbol_frame *frames;
	size_t nr;
};

/* entry: the thread was there; else it is a return address. */
struct process_code_place process_code_at(const struct process_code *code, uint64_t pc, bool entry);
