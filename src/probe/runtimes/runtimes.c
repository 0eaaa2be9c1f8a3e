/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of runtimes. */

#include "probe/runtimes/runtimes.h"

#include <string.h>

#include "base/path.h"
#include "elf/elf_file.h"
#include "tracee/module.h"

static const struct runtime *const table[] = {
	&runtime_go,
	&runtime_jvm,
	&runtime_v8,
	&runtime_python,
	&runtime_php,
	&runtime_ruby,
	&runtime_erlang,
	&runtime_lua,
	&runtime_dotnet,
	&runtime_ocaml,
	&runtime_ghc,
	&runtime_zig,
};

_Static_assert(ARRAY_SIZE(table) <= RUNTIMES_MAX, "struct runtimes has no room for all");

#define EACH_FACT(fact, list) \
	(const char *const *fact = (list); fact < (list) + RUNTIME_FACTS && *fact; fact++)

static bool is_by_file(const struct runtime *runtime, const struct module *module)
{
	const char *name = path_base(module->path);

	for EACH_FACT(file, runtime->files)
		if (!strncmp(name, *file, strlen(*file)))
			return true;
	for EACH_FACT(section, runtime->sections)
		if (elf_file_has_section(module->elf, *section))
			return true;
	return runtime->note && elf_file_has_note(module->elf, runtime->note);
}

static bool has_symbol(const struct runtime *runtime, const char *name)
{
	for EACH_FACT(symbol, runtime->symbols)
		if (!strcmp(*symbol, name))
			return true;
	return false;
}

static void find_by_symbols(const struct module *module, bool found[ARRAY_SIZE(table)])
{
	struct elf_symbols at;
	struct elf_symbol symbol;

	if (elf_symbols_begin(module->elf, &at))
		return;
	while (elf_symbols_next(&at, &symbol))
		for (size_t i = 0; i < ARRAY_SIZE(table); i++)
			if (!found[i] && has_symbol(table[i], symbol.name))
				found[i] = true;
}

void runtimes_find(const struct modules *modules, struct runtimes *ret)
{
	bool found[ARRAY_SIZE(table)] = { false };

	vec_each_value(module, &modules->live) {
		if (!module->elf)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(table); i++)
			if (!found[i] && is_by_file(table[i], module))
				found[i] = true;
		find_by_symbols(module, found);
	}
	*ret = (struct runtimes){ .nr = 0 };
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (found[i])
			ret->at[ret->nr++] = table[i];
}
