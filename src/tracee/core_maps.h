/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mappings of a process as its core file has them: addresses and protection are in the
 * segments, files in NT_FILE. The kernel writes a segment for each mapping; gdb's gcore leaves
 * out those of files that were not written to, whose protection is then the business of the file.
 *
 * What a core does not tell and mdbg needs: names that the kernel gives to memory without a file.
 * [stack] is where AT_RANDOM lies, [vdso] where AT_SYSINFO_EHDR does, with [vvar] below it. [heap]
 * takes the program's symbols: see core_maps_name.
 */
#pragma once

#include "elf/core_file.h"
#include "os/procfs.h"

/*
 * In order of address, with names. A file has the same `inode` in all its mappings, 1 or more,
 * which says nothing else; device numbers are 0.
 */
struct err *core_maps_build(const struct core_file *file, struct proc_maps *ret) MUST_CHECK;
/* Call the mapping that holds addr so, if it has no name. ERR_NOMEM. */
struct err *core_maps_name(struct proc_maps *maps, uint64_t addr, const char *name) MUST_CHECK;
/*
 * The mapping with the start of the file that map, one of maps, is of: the last one at or below it;
 * or NULL.
 */
const struct proc_map *core_maps_header(const struct proc_maps *maps, const struct proc_map *map);
/*
 * Give map, whose protection is not known, what the program headers of its file say of it. header
 * is the mapping with their start, elf has their bytes as they are at `at`. Nothing where they do
 * not tell.
 */
void core_maps_protect(struct proc_map *map, const struct proc_map *header, struct memory *elf,
		       uint64_t at);
