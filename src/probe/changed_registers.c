/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which registers a function of an allocator changes, of those that C may change: its thunk need
 * not save them.
 *
 * A compiler that lets the callers of a function in the same file rely on registers which the
 * function does not touch (GCC's -fipa-ra) knows what its code changes: that is all its
 * instructions, whether they run or not, and those of the functions that it calls, or more where it
 * does not know these. So whatever is changed in the code of the function, of the parts that it
 * jumps to (tail_call.c), or of a function that it calls directly, no caller expects to find
 * unchanged. What is not looked at (calls by pointers, and what the called functions call) only
 * makes the set smaller. A register that is popped may have got its old value back, so it does not
 * count.
 *
 * What a thunk does not save it loses, so this holds only where the function's whole interface is
 * known: at most three arguments, and at most one result. Of a function that the user has named, and
 * of one of the program's own that has the name of an allocator's, we know neither. It may take its
 * fourth to sixth argument in rcx, r8 and r9, and return two words, the second one in rdx; all of
 * these it may change. So its thunk saves all (plan.c).
 */

#include "probe/probe.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/cfi.h"
#include "tracee/module.h"

#define CALLED_LONGEST	65536u
/* In the map of called functions, whose values are not NULL, above the registers. */
#define KNOWN		(UINT64_C(1) << 32)

struct search {
	const struct arch *arch;
	const struct module *module;
	struct map *called;
	uint32_t changed;
};

/* The code as the file has it; NULL: it cannot be read. The caller frees it. */
static uint8_t *read_code(const struct module *module, struct probe_code code)
{
	uint8_t *bytes = malloc(code.len);

	if (bytes && elf_file_read(module->elf, code.start - module->bias, bytes, code.len)) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

/* What a called function changes. Nothing, if its code is not known. */
static uint32_t changed_by(const struct search *search, uint64_t address)
{
	const struct module *module = search->module;
	AUTO_FREE uint8_t *bytes = NULL;
	uint32_t changed = 0, popped = 0;
	struct probe_code code;

	if (cfi_function(module->elf, address - module->bias, &code.start, &code.len) ||
	    code.len > CALLED_LONGEST)
		return 0;
	code.start += module->bias;
	bytes = read_code(module, code);
	if (!bytes || !search->arch->changed_registers(bytes, code.len, &changed, &popped))
		return 0;
	return changed & ~popped;
}

/* An allocator's functions call the same few functions again and again: each is looked at once. */
static void add_called(struct search *search, uint64_t address)
{
	uintptr_t known = (uintptr_t)map_get(search->called, address);

	if (!known) {
		known = KNOWN | changed_by(search, address);
		err_ignore(map_put(search->called, address, (void *)known));
	}
	search->changed |= (uint32_t)known;
}

void changed_registers_find(const struct arch *arch, struct probe *probe, struct map *called)
{
	struct search search = { arch, probe->module, called, 0 };
	uint32_t popped = 0;

	for (uint32_t i = 0; i < probe->nr_tails; i++) {
		struct probe_code code = probe->tail[i];
		AUTO_FREE uint8_t *bytes = read_code(probe->module, code);
		uint64_t target;
		size_t at = 0;

		if (!bytes ||
		    !arch->changed_registers(bytes, code.len, &search.changed, &popped))
			return;
		while ((target = arch->call_out(bytes, code.len, code.start, &at)))
			add_called(&search, target);
	}
	probe->changed = search.changed & ~popped;
}
