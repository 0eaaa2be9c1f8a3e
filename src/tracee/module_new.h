/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A refresh (module_refresh.c) makes a module from three parts: the file behind a mapping
 * (module_file.c), the place of its segments (module_layout.c), and its symbols and rows
 * (module_new.c).
 */
#pragma once

#include "tracee/module.h"

/* The file is opened without trust in the target's file system (see module.h). */

/* Do both map the same file? False for anonymous memory. */
bool module_file_same(const struct proc_map *map, uint32_t dev_major, uint32_t dev_minor,
		      uint64_t inode);
/*
 * A descriptor of the file of map, which is one of maps. ERR_FORMAT: it is certainly no ELF file (a
 * device, a JIT compiler's memfd), or map has no file. Any other error: the file could not be
 * opened.
 */
struct err *module_file_open(pid_t tid, const struct proc_maps *maps, const struct proc_map *map,
			     struct memory *memory, int *fd_ret) MUST_CHECK;
/*
 * module_file_open for the program that tid runs, wherever it is mapped. *map_ret gets device and
 * inode of its file.
 */
struct err *module_file_open_exe(pid_t tid, struct proc_map *map_ret, int *fd_ret) MUST_CHECK;

/*
 * The place: PT_LOAD segments are compared with the mappings of a process. Nothing is opened or
 * read here. The segments are those of an untrusted file; addresses that make no sense are ignored.
 */

/*
 * The bias that puts a segment where map, a mapping of elf, lies. Executable segments are tried
 * first.
 */
bool module_layout_bias(const struct elf_file *elf, const struct proc_map *map, uint64_t *bias_ret);
/*
 * Set the addresses of a module and of its code from elf and bias. False if none of its code is
 * mapped.
 */
bool module_layout(struct module *module, const struct proc_maps *maps);
/* Is map a mapping of the module's file? */
bool module_layout_maps_file(const struct module *module, const struct proc_map *map);
bool module_layout_is_vdso(const struct proc_map *map);
/* Is anything of the module mapped where it was? */
bool module_layout_still_mapped(const struct module *module, const struct proc_maps *maps);

/*
 * One module. Only a lack of mdbg's own (memory, descriptors) is an error here. If something is
 * wrong with a file, that is noted in the module's `why`.
 */

/* A module that consists of map alone, without a file. */
struct err *module_create(const struct proc_map *map, const char *path,
			  struct module **ret) MUST_CHECK;
void module_free(struct module *module);
void module_cleanup(struct module **module);

bool module_is_lack(const struct err *err);
/* Note err in the module's `why`. Returns err if it is a lack of mdbg's own, else NULL. */
struct err *module_note(struct module *module, struct err *err) MUST_CHECK;
/* Open the ELF file of fd, which the module takes over. */
struct err *module_open_elf(struct module *module, int fd) MUST_CHECK;
/* Use a module's memory as its ELF file, if it has no file. */
struct err *module_read_vdso(struct module *module, struct memory *memory) MUST_CHECK;
/*
 * Make the rows, once the place is known. Not for a module that shares those of an earlier one. If
 * there are more than `most`, none are kept.
 */
struct err *module_load_rows(struct module *module, struct rows_cache *cache,
			     uint64_t most) MUST_CHECK;
