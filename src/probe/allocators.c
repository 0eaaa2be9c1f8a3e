/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of allocators. */

#include "probe/allocators.h"

#include <stdio.h>
#include <string.h>

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

const struct allocator *allocator_built_in(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		for (unsigned j = 0; j < ALLOCATOR_FILES && table[i]->built_in[j]; j++)
			if (!strcmp(symbol, table[i]->built_in[j]))
				return table[i];
	return NULL;
}

static bool has_version(const struct allocator *allocator, const struct module *module,
			char version[ALLOCATOR_VERSION])
{
	version[0] = '\0';
	if (allocator->version)
		allocator->version(module, version, ALLOCATOR_VERSION);
	return version[0];
}

const struct allocator *allocator_of(const struct module *module, char *text, size_t room)
{
	const char *name = path_base(module->path);
	const struct allocator *found = allocator_by_file(name);
	char version[ALLOCATOR_VERSION];

	if (found && !found->version) {
		snprintf(text, room, "%s", found->name);
		return found;
	}
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (has_version(table[i], module, version)) {
			snprintf(text, room, "%s %s (%s)", table[i]->name, version,
				 table[i]->algorithm);
			return table[i];
		}
	snprintf(text, room, "%.40s's own", name);
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

	return module->elf && !elf_file_symbol(module->elf, "malloc", &symbol) &&
	       !alloc_module_is_private(path_base(module->path));
}

const struct allocator *allocator_to_walk(const struct modules *modules, struct module **ret)
{
	char version[ALLOCATOR_VERSION];

	vec_each_value(module, &modules->live) {
		const struct allocator *found = allocator_by_file(path_base(module->path));

		if (module->elf && found && found->walk &&
		    (!found->version || has_version(found, module, version))) {
			*ret = module;
			return found;
		}
	}
	for (size_t i = 0; i < modules->live.nr; i++)
		if (allocator_defined(modules->live.at[i])) {
			*ret = modules->live.at[i];
			return allocator_guess;
		}
	return NULL;
}

bool alloc_module_is_cxx_library(const char *name)
{
	return begins(name, "libstdc++.") || begins(name, "libc++.") || begins(name, "libc++abi.");
}

bool alloc_module_is_private(const char *name)
{
	return begins(name, "ld-linux");
}
