/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A core file: the record of a process that the kernel, or a debugger, has written (core(5),
 * elf(5)). The memory is in PT_LOAD segments, everything else in notes:
 *
 *	NT_PRSTATUS	of each thread: LWP id, signal, general registers. The first one is the
 *			thread that the signal was for
 *	NT_PRPSINFO	process: ids, name, first bytes of the arguments
 *	NT_SIGINFO	why it was written
 *	NT_AUXV		the auxiliary vector that the kernel gave the program at its start
 *	NT_FILE		which files were mapped where
 *	note_extended	(struct arch), or NT_FPREGSET: vector registers of the thread before it
 *
 * The file is untrusted: every offset is checked, and anything wrong is an ERR_FORMAT that names
 * the file. A segment may have fewer bytes in the file than in memory, or none: this happens with
 * pages of files, memory that was marked MADV_DONTDUMP, and the end of a file that was cut off.
 * Bytes that the file lacks are not readable here; they are never taken for zeros.
 *
 * All 64-bit Linux systems have the same layouts of the notes (linux/elfcore.h), except for the
 * number of registers, which depends on the processor.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "base/err.h"
#include "base/memory.h"
#include "base/vec.h"

struct core_segment {
	uint64_t start, end;
	/* the first len bytes of the segment are here in the file */
	uint64_t offset, len;
	bool read, write, exec;
};

/* Part of a file that was mapped. */
struct core_mapped {
	uint64_t start, end;
	uint64_t offset;		/* bytes */
	char *path;			/* without " (deleted)" */
	bool deleted;
};

struct core_thread {
	pid_t tid;
	int signal;			/* signal that the core was written for; 0: none */
	uint64_t blocked;		/* blocked signals: bit n - 1 for signal n */
	struct regs regs;
	/* place of its vector registers in the file; len 0: there are none */
	uint64_t vector, vector_len;
};

struct core_process {
	pid_t pid, ppid;		/* 0: not known */
	uid_t uid;
	gid_t gid;
	char state;			/* as in /proc; 0: not known */
	char name[17], args[81];	/* may be cut off by the kernel; "": not known */
	int signal, code;		/* of siginfo; 0: not known */
	uint64_t fault;			/* address of the fault */
};

struct core_file {
	struct memory memory;		/* the process's memory, as far as the file has it */
	const struct arch *arch;
	VEC(struct core_segment) segments;	/* by start; they do not overlap */
	VEC(struct core_mapped) mapped;		/* by start; they do not overlap */
	VEC(struct core_thread) threads;	/* in the file's order; at least one */
	struct core_process process;
	void *auxv;			/* as the kernel gave it; may be NULL */
	size_t auxv_len;
	bool has_mapped;		/* there is an NT_FILE */
	uint64_t notes;			/* bytes of all notes that were read */
	/* bytes that the headers promise but the file does not have */
	uint64_t missing;
	int fd;				/* -1: the core is over a struct memory */
	/* The rest is private. */
	struct memory pread;
	struct memory *bytes;		/* the bytes of the file, by offset */
	uint64_t size;
	const char *name;
};

/*
 * ERR_FORMAT: no core file (a program, a compressed file, one whose notes are cut off, ...);
 * ERR_UNSUPPORTED: a core of another processor. Both have a hint if there is a way out.
 */
struct err *core_file_open(const char *path, struct core_file **ret) MUST_CHECK;
/* Open a core over the bytes of a file of `size` bytes; they stay the caller's. */
struct err *core_file_from(struct memory *bytes, uint64_t size, const char *name,
			   struct core_file **ret) MUST_CHECK;
void core_file_close(struct core_file *core);	/* NULL is allowed */

/* Get the value of an entry of the auxiliary vector; ERR_NOTFOUND. */
struct err *core_file_auxv(const struct core_file *core, uint64_t type, uint64_t *ret) MUST_CHECK;
/* Read at most room bytes of a thread's vector registers; ERR_NOTFOUND. */
struct err *core_file_vector(const struct core_file *core, const struct core_thread *thread,
			     void *buf, size_t room, size_t *len_ret) MUST_CHECK;
/*
 * Find the next part of [start, end) that may be other than zero: a kernel leaves holes in the file
 * for pages that were never written. Bytes that the core lacks count as such a part, too. False:
 * there is none.
 */
bool core_file_next(const struct core_file *core, uint64_t start, uint64_t end,
		    uint64_t *start_ret, uint64_t *end_ret);
