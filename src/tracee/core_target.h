/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A core file as a target, which is always stopped. Its threads have the registers of their
 * NT_PRSTATUS, its memory is that of the file, and nothing can be changed. Code that only reads a
 * stopped target (heap walk, leak search, stacks) sees no difference.
 *
 * A core leaves out text and constants, which are in files. So memory is read from these sources,
 * in this order:
 *
 *	1. the core
 *	2. the file of that name, for memory of a mapped ELF file that was never written to, if the
 *	   file is the one that was mapped. It is if its first page (ELF and program headers, and
 *	   usually the build-id) equals the one in the core. If the core does not have that page, this
 *	   cannot be checked, and the file is accepted and counted (unchecked). Writable memory that
 *	   is not in the core was not written to: the kernel and gdb leave out no private memory that
 *	   was (core(5), coredump_filter), unless they are told to leave out all of it, and then the
 *	   stack is missing, too
 *	3. nothing: not readable
 *
 * The names of modules are those of NT_FILE, on mdbg's own file system. The user may give the name
 * of the program.
 *
 * libdwfl's dwfl_core_file_report does something similar for its own list of modules. It is not
 * used: rows, symbols and heap walk need struct module. That list is made as for a live process,
 * from the same files, and a file that does not fit can be named.
 */
#pragma once

#include "elf/core_file.h"
#include "os/procfs.h"

struct target;
struct tracer;

/* A file that was mapped; by the number that its mappings have for an inode, less 1. */
struct core_image {
	int fd;			/* -1: it cannot be opened */
	bool tried;
	enum err_code code;	/* the reason for that */
	char why[160];
};

struct core {
	struct memory memory;
	struct core_file *file;
	struct target *target;
	struct proc_maps maps;
	VEC(struct core_image) images;
	char *exe;		/* as the user named it, or NULL */
	/* as it was started, which need not be a whole path; NULL: not known */
	char *execfn;
	uint64_t program;	/* `inode` of the program's file; 0: not known */
	bool has_written;	/* private memory that was written to is in the core */
	unsigned unchecked;	/* files that could not be checked */
};

/*
 * ERR_FORMAT, ERR_UNSUPPORTED: as core_file_open. exe may be NULL; ERR_FORMAT also if exe is not
 * the program of this core. A missing file is no error: its module says why.
 */
struct err *core_target_open(struct tracer *tracer, const char *path, const char *exe,
			     const char *cache_dir, struct target **ret) MUST_CHECK;
/* Returns the path of the program as it was mapped, or as the user gave it; "" if not known. */
const char *core_target_program(const struct core *core);
