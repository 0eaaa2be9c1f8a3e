/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A core file: what the kernel, or a debugger, has written down of a process (core(5), elf(5)). Its
 * memory is in PT_LOAD segments, all else in notes:
 *
 *	NT_PRSTATUS	of each thread: LWP id, signal, general registers. The first is the one that the
 *			signal was for
 *	NT_PRPSINFO	process: ids, name, first bytes of the arguments
 *	NT_SIGINFO	why it was written
 *	NT_AUXV		what the kernel had told the program at its start
 *	NT_FILE		which files were mapped where
 *	NT_X86_XSTATE	(NT_FPREGSET) vector registers of the thread before it
 *
 * The file is untrusted: every offset is checked, what is wrong is an ERR_FORMAT that names the
 * file. A segment may have less in the file than in memory, or nothing: pages of files, what was
 * marked MADV_DONTDUMP, and the end of a file that was cut off. What the file has not is not
 * readable here; it is never taken for zeros.
 *
 * The layouts of the notes are those of all 64-bit Linux systems (linux/elfcore.h): only the number
 * of registers is the processor's.
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
	uint64_t offset, len;		/* where in the file the first len bytes of it are */
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
	int signal;			/* for which the core was written; 0: none */
	uint64_t blocked;		/* signals: bit n - 1 for signal n */
	struct regs regs;
	uint64_t vector, vector_len;	/* where in the file its vector registers are; len 0: not there */
};

struct core_process {
	pid_t pid, ppid;		/* 0: not known */
	uid_t uid;
	gid_t gid;
	char state;			/* as in /proc; 0: not known */
	char name[17], args[81];	/* cut off by the kernel; "" */
	int signal, code;		/* of siginfo; 0: not known */
	uint64_t fault;			/* its address */
};

struct core_file {
	struct memory memory;		/* what the file has of the process */
	const struct arch *arch;
	VEC(struct core_segment) segments;	/* by start; they do not overlap */
	VEC(struct core_mapped) mapped;		/* by start; they do not overlap */
	VEC(struct core_thread) threads;	/* in the file's order; never none */
	struct core_process process;
	void *auxv;			/* as the kernel gave it; NULL */
	size_t auxv_len;
	bool has_mapped;		/* there is an NT_FILE */
	uint64_t notes;			/* bytes of all that were read */
	uint64_t missing;		/* bytes that the headers promise and the file is too short for */
	int fd;				/* -1: over a struct memory */
	/* The rest is internal. */
	struct memory pread;
	struct memory *bytes;		/* by offset */
	uint64_t size;
	const char *name;
};

/*
 * ERR_FORMAT: no core file (a program, a compressed file, one whose notes are cut off, ...);
 * ERR_UNSUPPORTED: of another processor. Both with a hint where there is a way out.
 */
struct err *core_file_open(const char *path, struct core_file **ret) MUST_CHECK;
/* Open a core over the bytes of a file of `size` bytes, which stay the caller's. */
struct err *core_file_from(struct memory *bytes, uint64_t size, const char *name,
			   struct core_file **ret) MUST_CHECK;
void core_file_close(struct core_file *core);	/* NULL is fine */

/* The value of an entry of the auxiliary vector; ERR_NOTFOUND. */
struct err *core_file_auxv(const struct core_file *core, uint64_t type, uint64_t *ret) MUST_CHECK;
/* At most room bytes of a thread's vector registers; ERR_NOTFOUND. */
struct err *core_file_vector(const struct core_file *core, const struct core_thread *thread,
			     void *buf, size_t room, size_t *len_ret) MUST_CHECK;
/*
 * The next part of [start, end) that may be other than zero: a kernel leaves holes in the file for
 * pages that were never written. What the core has not is such a part, too. False: there is none.
 */
bool core_file_next(const struct core_file *core, uint64_t start, uint64_t end,
		    uint64_t *start_ret, uint64_t *end_ret);
