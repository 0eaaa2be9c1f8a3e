/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One module: made of a mapping, its file and its rows, by a refresh (module_refresh.c). Only what mdbg
 * itself lacks (memory, descriptors) is an error here; what is wrong with a file is the module's own,
 * noted in its `why`.
 */
#ifndef TARGET_MODULE_NEW_H
#define TARGET_MODULE_NEW_H

#include "target/module.h"

/* As if map were all of it, and without a file. */
struct err *module_create(const struct proc_map *map, const char *path,
			  struct module **ret) MUST_CHECK;
void module_free(struct module *module);
void module_cleanup(struct module **module);

bool module_is_lack(const struct err *err);
/* NULL, or err if it is a lack. */
struct err *module_note(struct module *module, struct err *err) MUST_CHECK;
/* Open what fd is; it is taken over. */
struct err *module_open_elf(struct module *module, int fd) MUST_CHECK;
/* The ELF file of one that has none is its memory. */
struct err *module_read_vdso(struct module *module, struct memory *memory) MUST_CHECK;
/*
 * Once its place is known. Not of one that shares those of an earlier one. None are kept if there are more than
 * `most`.
 */
struct err *module_load_rows(struct module *module, const char *cache_dir,
			     uint64_t most) MUST_CHECK;

#endif
