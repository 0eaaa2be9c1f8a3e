/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a `symbols` that symbol_file.c and symbol_complete.c use. */
#pragma once

#include <string.h>

#include "symbol/debug_file.h"
#include "symbol/image.h"
#include "symbol/symbol.h"

struct module {
	const char *path, *name;	/* kept in names; name is the last component of path */
	struct image *image;		/* NULL: no file */
	const char *build_id;		/* kept in names; of a module without a file, or NULL */
	uint64_t start, end, bias;
	uint32_t born, died;
	/* first module that differs from this one only in its time */
	uint32_t same;
};

/*
 * Returns the module that has this address in that generation; of several that differ only in their
 * time, the first. NULL: there is none.
 */
const struct module *symbols_module_at(struct symbols *symbols, uint64_t address,
				       uint32_t generation);
/* The number of that module; NO_MODULE: there is none. */
uint32_t symbols_module_number(struct symbols *symbols, uint64_t address, uint32_t generation);
const struct module *symbols_module(const struct symbols *symbols, uint32_t number);
struct resolved_cache *symbols_resolved(struct symbols *symbols);
struct debug_search *symbols_search(struct symbols *symbols);
struct names *symbols_names(struct symbols *symbols);
size_t symbols_modules(const struct symbols *symbols);
/*
 * Returns the image of module i if it is mapped, and no mapped module before it has the same file;
 * else NULL.
 */
struct image *symbols_image(const struct symbols *symbols, size_t i, const char **path_ret);
/* The debug information of that image; the rest of *ret is set after NULL, too. */
Dwarf *symbols_image_dwarf(const struct symbols *symbols, size_t i, struct symbol_dwarf *ret);

/*
 * Is name, which came before the backquote, this module: its path, its last component, or that up
 * to ".so"?
 */
static inline bool symbol_private_named(const struct module *module, const char *name, size_t len)
{
	if (strlen(module->path) == len && !memcmp(module->path, name, len))
		return true;
	if (strncmp(module->name, name, len))
		return false;
	return !module->name[len] || !strncmp(module->name + len, ".so", 3);
}

/* A module's name without brackets: "[vdso]" has them already. */
static inline const char *symbol_private_bare(const char *name, int *len_ret)
{
	int len = (int)strlen(name);
	bool bracketed = len > 2 && name[0] == '[' && name[len - 1] == ']';

	*len_ret = bracketed ? len - 2 : len;
	return bracketed ? name + 1 : name;
}
