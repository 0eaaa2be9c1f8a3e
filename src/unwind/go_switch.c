/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of Go's runtime that switch stacks (theory in go_switch.h). */

#include "unwind/go_switch.h"

#include <string.h>

#include "base/compiler.h"
#include "elf/elf_file.h"

/* With the suffix of the ABI that the linker writes since Go 1.17, and without. */
static bool is_switch(const char *name)
{
	static const char *const names[] = { "runtime.asmcgocall", "runtime.systemstack" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i]);

		if (!strncmp(name, names[i], len) &&
		    (!name[len] || !strcmp(name + len, ".abi0")))
			return true;
	}
	return false;
}

struct err *go_switch_find(struct elf_file *file, struct go_switches *ret)
{
	struct elf_symbols at;
	struct elf_symbol symbol;
	struct err *err;

	*ret = (struct go_switches){ .nr = 0 };
	if (!elf_file_has_section(file, ".gopclntab") &&
	    !elf_file_has_section(file, ".data.rel.ro.gopclntab"))
		return NULL;
	err = elf_symbols_begin(file, &at);
	while (!err && ret->nr < GO_SWITCHES && elf_symbols_next(&at, &symbol)) {
		if (!symbol.func || !symbol.size || !is_switch(symbol.name))
			continue;
		ret->at[ret->nr].start = symbol.value;
		ret->at[ret->nr++].size = symbol.size;
	}
	return err;
}
