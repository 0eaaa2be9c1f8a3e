/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The modules of a process (program, shared libraries, loader, vDSO) as /proc/PID/maps has them,
 * each with its ELF file, its unwind rows, and the generations of the module map in which it was
 * mapped.
 *
 * The target's file system is not to be trusted. A module is opened through
 * /proc/TID/map_files/START-END first, else by openat2(RESOLVE_IN_ROOT) of its path below
 * /proc/TID/root with O_NONBLOCK; then device and inode are compared with the mapping and it must
 * be a regular file; a file that cannot be had leaves a module without ELF (and says why), never
 * an error of the whole. A deleted file is still there through map_files.
 *
 * Executable memory without an ELF file (JIT code, a compiler's memfd, a device) is no module. Text
 * that was moved to other memory, such as huge pages, still belongs to its module.
 *
 * The tracer thread owns the list. A dead module may still be needed to resolve old stacks, so it
 * is freed only with the list, or by modules_merge. A module that is loaded again, at any address,
 * shares the file of the first one, so that a library that comes and goes all day takes no more
 * descriptors and no more memory for its tables.
 */
#pragma once

#include <time.h>

#include "base/memory.h"
#include "elf/elf_file.h"
#include "os/procfs.h"
#include "unwind/rows_cache.h"
#include "unwind/walk.h"

struct module {
	char *path;		/* as the target sees it, "[vdso]" */
	uint64_t start, end;	/* all its mappings; only its code, if it is mapped in part */
	uint64_t exec_start, exec_end;	/* its executable mappings (what rows are of) */
	uint64_t bias;		/* process address - file address */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	struct elf_file *elf;	/* NULL: could not be opened or is no ELF file */
	int fd;			/* its own, for symbols; -1: none */
	struct timespec mtime;	/* of fd, when it was opened */
	off_t size;
	/* elf, fd and rows are those of an earlier module of the same file */
	bool shares;
	void *image;		/* vDSO: bytes; else NULL */
	size_t image_len;
	struct rows rows;
	uint32_t serial;	/* growing in the order of coming; see modules_merge */
	uint32_t born;		/* generation */
	uint32_t came;		/* the same, of its last coming */
	uint32_t died;		/* UINT32_MAX: mapped */
	uint8_t walkable;	/* for allocator_to_walk: what it has found; 0: it has not looked */
	bool deleted;
	bool replaced;		/* known to have gone: see modules_refresh */
	char why[256];		/* why there is no elf, or no rows, or not all symbols; "" */
	/* ... since the file has more of something than base/limits.h allows */
	bool over_limit;
};

struct modules {
	VEC(struct module *) all;	/* in order of coming */
	VEC(struct module *) live;	/* of those the mapped ones, by start */
	VEC(struct walk_module) walk;	/* of those mapped, sorted: what map points to */
	struct walk_map map;
	uint32_t generation;	/* from 1; 0: never read */
	uint32_t serial;	/* the last one */
	struct rows_cache cache;
	uint64_t rows_most;	/* of all; LIMIT_ALL_ROWS */
	/*
	 * For names alone: no rows are made, and a file that somebody else delivers (os/local_files.h)
	 * is not opened.
	 */
	bool names_only;
	bool cancellable;	/* a refresh ends with ERR_CANCELLED at Ctrl-C (base/cancel.h) */
};

/*
 * The source of facts about a process: /proc, or a core file (tracee/core_target.h). Files are
 * opened as described above: the result is a regular file, and as far as can be seen the one that
 * is mapped.
 */
struct module_world {
	const struct proc_maps *maps;
	uint64_t entry;			/* AT_ENTRY */
	bool has_entry;
	/*
	 * A descriptor of the file of map, which is one of maps. ERR_FORMAT: it is certainly no ELF
	 * file, or map has no file. Any other error: the file could not be opened.
	 */
	struct err *(*open)(void *ctx, const struct proc_maps *maps, const struct proc_map *map,
			    int *fd_ret);
	/*
	 * The program's file, wherever it is mapped: its numbers and its path (malloc'ed) go to
	 * *map_ret.
	 */
	struct err *(*open_program)(void *ctx, struct proc_map *map_ret, int *fd_ret);
	void *ctx;
};

/* cache_dir: the folder of compiled rows, which outlives the list; NULL: none. */
void modules_init(struct modules *modules, const char *cache_dir);
void modules_deinit(struct modules *modules);
/*
 * Compare the list with the present maps of tid. New modules are opened, and modules that have gone
 * get their `died`; generation grows by one if anything has changed (and *changed_ret, which may be
 * NULL, is true). On failure nothing has changed. A module that was replaced by another file at the
 * same addresses (dlclose, dlopen) is recognised by device, inode and address. One that was
 * replaced by the same file looks the same: if a caller knows of that it sets `replaced`, and the
 * module counts as another one.
 */
struct err *modules_refresh(struct modules *modules, pid_t tid, struct memory *memory,
			    bool *changed_ret) MUST_CHECK;
/* modules_refresh for any source of facts. */
struct err *module_refresh_from(struct modules *modules, const struct module_world *world,
				struct memory *memory, bool *changed_ret) MUST_CHECK;
/*
 * Merge modules that died and came back to the same place, with nothing else there in between: the
 * mapped one takes the serial and the age of the first. Names lose nothing by this, since any code
 * in this range was this module's. But it is known to be there only since `came`. needed: says that
 * another user has a pointer to a dead module, which then stays.
 */
void modules_merge(struct modules *modules,
		   bool (*needed)(const struct module *module, void *ctx), void *ctx);
/* The mapped module that holds addr, or NULL. */
struct module *modules_find(const struct modules *modules, uint64_t addr);
/*
 * Read what nobody writes: from memory, or, if its page is not there, which a read would bring in,
 * from the module's file.
 */
struct err *modules_read_constant(const struct modules *modules, struct memory *memory,
				  uint64_t addr, void *buf, size_t len) MUST_CHECK;
/* Address in the process of a dynamic or static symbol of a module; ERR_NOTFOUND. */
struct err *module_symbol(struct module *module, const char *name, uint64_t *addr_ret,
			  uint64_t *size_ret) MUST_CHECK;
/*
 * Call fn for the mapped modules, the smallest ones first, until it returns true. Returns whether it
 * did; false, too, if there is no memory for it.
 */
bool modules_each_by_size(const struct modules *modules,
			  bool (*fn)(void *ctx, struct module *module), void *ctx);
/*
 * The address of a symbol in a mapped module; 0 if none has it. The smallest module that has it is
 * taken, since programs can be large and seldom have names of libc.
 */
uint64_t modules_symbol(const struct modules *modules, const char *name);
