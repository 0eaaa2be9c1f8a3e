/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file behind a mapping, opened without trust in the target's file system (see module.h). */
#ifndef TARGET_MODULE_FILE_H
#define TARGET_MODULE_FILE_H

#include "base/memory.h"
#include "os/procfs.h"

/* Do both map the same file? False for anonymous memory. */
bool module_file_same(const struct proc_map *map, uint32_t dev_major, uint32_t dev_minor,
		      uint64_t inode);
/*
 * A descriptor of the file that map, one of maps, is of. ERR_FORMAT: it is certainly no ELF file
 * (a device, a JIT compiler's memfd), or map is of no file; any other error: it could not be had.
 */
struct err *module_file_open(pid_t tid, const struct proc_maps *maps, const struct proc_map *map,
			     struct memory *memory, int *fd_ret) MUST_CHECK;
/*
 * The same for the program that tid runs, wherever it is mapped; the numbers of its file go to
 * *map_ret.
 */
struct err *module_file_open_exe(pid_t tid, struct proc_map *map_ret, int *fd_ret) MUST_CHECK;

#endif
