/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mappings of a process as its core file has them: addresses and protection are in the
 * segments, files in NT_FILE. The kernel writes a segment for each mapping. gdb's gcore leaves out
 * mappings of files that were not written to; their protection must then be taken from the file's
 * program headers.
 *
 * A core does not have the names that the kernel gives to memory without a file, which mdbg needs:
 * [stack] is the mapping that AT_RANDOM points into, [vdso] the one of AT_SYSINFO_EHDR, and [vvar]
 * lies below that. [heap] needs the program's symbols: see core_maps_name.
 */
#pragma once

#include "elf/core_file.h"
#include "os/procfs.h"

/*
 * In order of address, with names. All mappings of a file have the same `inode`, a number of mdbg's
 * own from 1 on; device numbers are 0.
 */
struct err *core_maps_build(const struct core_file *file, struct proc_maps *ret) MUST_CHECK;
/* Give the mapping that holds addr this name, if it has none. ERR_NOMEM. */
struct err *core_maps_name(struct proc_maps *maps, uint64_t addr, const char *name) MUST_CHECK;
/*
 * The mapping with the start of the file of map, which is one of maps: the last such mapping at or
 * below map; or NULL.
 */
const struct proc_map *core_maps_header(const struct proc_maps *maps, const struct proc_map *map);
/*
 * Set the protection of map, which is not known, from the program headers of its file. header is
 * the mapping with the start of the file, elf has their bytes as they are at `at`. If they do not
 * say, map is not changed.
 */
void core_maps_protect(struct proc_map *map, const struct proc_map *header, struct memory *elf,
		       uint64_t at);
