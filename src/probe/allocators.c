/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of allocators. */

#include "probe/allocators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/path.h"
#include "elf/elf_file.h"
#include "log/log.h"
#include "tracee/module.h"

/* If two symbols have one address the earlier allocator gives the name. */
static const struct allocator *const table[] = {
	&allocator_glibc,
	&allocator_cxx,
	&allocator_jemalloc,
	&allocator_mimalloc,
	&allocator_tcmalloc,
	&allocator_musl,
};

#define NONE	UINT8_MAX	/* of module.walkable */
#define SIGN_PART	(256ull << 10)	/* bytes that are read at a time */
#define SIGN_MOST	(64ull << 20)	/* bytes of a segment that are searched */
#define SIGN_LONGEST	64u		/* no sign is longer */
#define CONSTANTS_MOST	(16u << 20)	/* bytes */

const struct allocator *const allocator_guess = &allocator_glibc;

const struct alloc_function *alloc_function_find(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		for (size_t j = 0; j < table[i]->nr_functions; j++) {
			const struct alloc_function *fn = &table[i]->functions[j];

			if (fn->symbol[0] == symbol[0] && !strcmp(fn->symbol, symbol))
				return fn;
		}
	return NULL;
}

size_t alloc_function_rank(const struct alloc_function *fn)
{
	size_t rank = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		for (size_t j = 0; j < table[i]->nr_functions; j++, rank++)
			if (fn == &table[i]->functions[j])
				return rank;
	return rank;
}

unsigned alloc_function_arguments(const struct alloc_function *fn)
{
	int8_t last[] = { fn->size, fn->count, fn->ptr, (int8_t)(fn->nr_args - 1) };
	int most = ALLOC_NO_ARG;

	for (unsigned i = 0; i < ARRAY_SIZE(last); i++)
		most = MAX(most, last[i]);
	return (unsigned)(most + 1);
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

const struct allocator *allocator_by_file(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		for (unsigned j = 0; j < ALLOCATOR_FILES && table[i]->files[j]; j++)
			if (begins(name, table[i]->files[j]))
				return table[i];
	return NULL;
}

bool allocator_is_inside(const struct module *module, uint64_t pc)
{
	const struct allocator *allocator;

	if (pc < module->exec_start || pc >= module->exec_end)
		return false;
	allocator = allocator_by_file(path_base(module->path));
	return allocator && allocator->all_inside;
}

const struct allocator *allocator_built_in(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		for (unsigned j = 0; j < ALLOCATOR_FILES && table[i]->built_in[j]; j++)
			if (!strcmp(symbol, table[i]->built_in[j]))
				return table[i];
	return NULL;
}

char *allocator_constants(const struct module *module, size_t number, size_t *len_ret)
{
	AUTO_FREE char *bytes = NULL;
	const struct elf_segment *segment;
	size_t nr;

	segment = elf_file_segments(module->elf, &nr);
	if (number >= nr || segment[number].write || segment[number].exec ||
	    segment[number].filesz > CONSTANTS_MOST)
		return NULL;
	bytes = calloc(1, segment[number].filesz + 16);
	if (!bytes || elf_file_read(module->elf, segment[number].vaddr, bytes,
				    segment[number].filesz))
		return NULL;
	*len_ret = segment[number].filesz;
	return take(bytes);
}

static bool has_version(const struct allocator *allocator, const struct module *module,
			char version[ALLOCATOR_VERSION])
{
	version[0] = '\0';
	if (allocator->version)
		allocator->version(module, version, ALLOCATOR_VERSION);
	return version[0];
}

/*
 * The allocator by the name of the module's file, or by its version if the file only seems to be
 * another one's: musl's libc.so. NULL: neither tells.
 */
static const struct allocator *named_of(const struct module *module,
					char version[ALLOCATOR_VERSION])
{
	const struct allocator *found = allocator_by_file(path_base(module->path));

	version[0] = '\0';
	if (!found || !found->version || has_version(found, module, version))
		return found;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i] != found && has_version(table[i], module, version))
			return table[i];
	return NULL;
}

uint32_t allocator_near_size(const struct module *module)
{
	const struct allocator *found = allocator_by_file(path_base(module->path));
	char version[ALLOCATOR_VERSION];

	return found && found->spaced_from &&
			       (!found->version || has_version(found, module, version)) ?
		       found->spaced_from - 1u : LOG_SPACING;
}

bool allocator_defined(const struct module *module)
{
	struct elf_symbol symbol;

	return module->elf && !elf_symbol_named(module->elf, "malloc", &symbol) &&
	       !alloc_module_is_private(path_base(module->path));
}

/*
 * A static program has another name than the C library, and no version of it, but its symbols. They
 * are not looked for in other modules: in a large one that takes many milliseconds.
 */
static bool has_arena(const struct allocator *allocator, const struct module *module)
{
	struct elf_symbol symbol;

	return allocator->arena && elf_file_entry(module->elf) &&
	       !elf_file_has_section(module->elf, ".interp") && allocator_defined(module) &&
	       !elf_symbol_named(module->elf, allocator->arena, &symbol);
}

/* The place in the table, from 1, of the allocator whose sign is in these bytes; 0: none is. */
static uint8_t sign_in(const char *bytes, size_t len)
{
	for (uint8_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i]->sign && memmem(bytes, len, table[i]->sign, strlen(table[i]->sign)))
			return i + 1;
	return 0;
}

/*
 * The same of the program's constants, which are read once for all signs: they may be many MB. Parts
 * overlap by the longest sign.
 */
static uint8_t find_sign(const struct module *module)
{
	AUTO_FREE char *part = malloc(SIGN_PART);
	const struct elf_segment *segment;
	uint8_t found = 0;
	size_t nr;

	if (!part || !elf_file_entry(module->elf))
		return 0;
	segment = elf_file_segments(module->elf, &nr);
	for (size_t i = 0; i < nr && !found; i++) {
		uint64_t most = MIN(segment[i].filesz, SIGN_MOST);

		for (uint64_t at = 0; !segment[i].write && !segment[i].exec && at < most && !found;
		     at += SIGN_PART - SIGN_LONGEST) {
			uint64_t len = MIN(SIGN_PART, segment[i].filesz - at);

			if (elf_file_read(module->elf, segment[i].vaddr + at, part, len))
				break;
			found = sign_in(part, len);
		}
	}
	return found;
}

/* Was it found before that the module has an allocator linked in? */
static bool is_signed(const struct module *module, const struct allocator **ret)
{
	if (!module->walkable || module->walkable == NONE || !table[module->walkable - 1]->sign)
		return false;
	*ret = table[module->walkable - 1];
	return true;
}

const struct allocator *allocator_of(const struct module *module, char *text, size_t room)
{
	char version[ALLOCATOR_VERSION];
	const struct allocator *found = named_of(module, version);

	for (size_t i = 0; i < ARRAY_SIZE(table) && !found; i++)
		if (has_version(table[i], module, version) || has_arena(table[i], module))
			found = table[i];
	if (found && version[0] && found->algorithm)
		snprintf(text, room, "%s %s (%s)", found->name, version, found->algorithm);
	else if (found && version[0])
		snprintf(text, room, "%s %s", found->name, version);
	else if (found)
		snprintf(text, room, "%s", found->name);
	else if (is_signed(module, &found))
		snprintf(text, room, "%s (in %.40s)", found->name, path_base(module->path));
	else
		snprintf(text, room, "%.40s's own", path_base(module->path));
	return found;
}

/* The place in the table, from 1, of a module's allocator whose heaps can be walked, or NONE. */
static uint8_t find_walkable(const struct module *module)
{
	char version[ALLOCATOR_VERSION];
	const struct allocator *named = module->elf ? named_of(module, version) : NULL;

	uint8_t found;

	for (uint8_t i = 0; i < ARRAY_SIZE(table) && module->elf; i++)
		if (table[i]->walk && (named ? named == table[i] : has_arena(table[i], module)))
			return i + 1;
	found = module->elf && !named ? find_sign(module) : 0;
	return found ? found : NONE;
}

/* NULL: there is none. The search is done once, as it reads the module's file. */
static const struct allocator *walkable_of(struct module *module)
{
	if (!module->walkable)
		module->walkable = find_walkable(module);
	return module->walkable == NONE ? NULL : table[module->walkable - 1];
}

bool allocator_is_headed(struct module *module, const struct alloc_function *fn)
{
	const struct allocator *allocator = walkable_of(module);

	return allocator && allocator->headed && fn >= allocator->functions &&
	       fn < allocator->functions + allocator->nr_functions;
}

static int by_allocator(const void *a, const void *b)
{
	const struct walkable_module *x = a, *y = b;

	if (x->allocator != y->allocator)
		return x->module->walkable < y->module->walkable ? -1 : 1;
	return x->module->serial < y->module->serial ? -1 : x->module->serial > y->module->serial;
}

/* The one file of a static program, or NULL. */
static struct module *only_module(const struct modules *modules)
{
	struct module *only = NULL;

	vec_each_value(module, &modules->live) {
		if (!module->elf || module->image)
			continue;
		if (only)
			return NULL;
		only = module;
	}
	return only;
}

/* Whoever defines malloc; without symbols, a static program may, with the malloc of either C library. */
static void guess(const struct modules *modules, struct walkable *ret)
{
	struct module *only = only_module(modules);

	for (size_t i = 0; i < modules->live.nr; i++)
		if (allocator_defined(modules->live.at[i])) {
			ret->at[ret->nr++] = (struct walkable_module){ allocator_guess,
								       modules->live.at[i] };
			return;
		}
	if (!only)
		return;
	ret->at[ret->nr++] = (struct walkable_module){ allocator_guess, only };
	ret->at[ret->nr++] = (struct walkable_module){ &allocator_musl, only };
}

void allocators_to_walk(const struct modules *modules, struct walkable *ret)
{
	*ret = (struct walkable){ .nr = 0 };
	vec_each_value(module, &modules->live) {
		const struct allocator *allocator = walkable_of(module);

		if (allocator && ret->nr < WALKABLE_MAX)
			ret->at[ret->nr++] = (struct walkable_module){ allocator, module };
	}
	qsort(ret->at, ret->nr, sizeof(ret->at[0]), by_allocator);
	if (!ret->nr)
		guess(modules, ret);
}

bool allocators_walkable_has(const struct walkable *walkable, const struct module *module)
{
	for (unsigned i = 0; i < walkable->nr; i++)
		if (walkable->at[i].module == module)
			return true;
	return false;
}

bool alloc_module_is_cxx_library(const char *name)
{
	return begins(name, "libstdc++.") || begins(name, "libc++.") || begins(name, "libc++abi.");
}

bool alloc_module_is_private(const char *name)
{
	return begins(name, "ld-linux");
}
