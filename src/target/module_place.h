/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a module lies: its PT_LOAD segments laid over the mappings of a process. Nothing is opened
 * or read here. The segments are those of an untrusted file; addresses that make no sense are left
 * out.
 */
#ifndef TARGET_MODULE_PLACE_H
#define TARGET_MODULE_PLACE_H

#include "target/module.h"

/*
 * The bias by which a segment comes to lie as map, a mapping of elf, does; executable segments are
 * asked first.
 */
bool module_bias(const struct elf_file *elf, const struct proc_map *map, uint64_t *bias_ret);
/*
 * Set the addresses of a module and of its code from elf and bias. False if none of its code is
 * mapped.
 */
bool module_place(struct module *module, const struct proc_maps *maps);
/* Is map one of the module's file? */
bool module_maps_file(const struct module *module, const struct proc_map *map);
bool module_map_is_vdso(const struct proc_map *map);
/* Is anything of the module mapped where it was? */
bool module_still_mapped(const struct module *module, const struct proc_maps *maps);

#endif
