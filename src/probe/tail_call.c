/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the code to which a function of an allocator jumps. If a function ends by a jump to another
 * part (memalign: _mid_memalign; free of glibc 2.42: _int_free_chunk, munmap_chunk ...; a cold
 * part), it has no frame of its own while that runs. Nor has a thunk of ours, if the thread came in
 * before the attach, or if the function is a free, which is recorded first and then jumped to. So
 * nothing would show that the thread is in the allocator. Therefore these parts are searched in its
 * code, and in their own code, as the file has it: a direct jump that leaves a function leads to
 * such a part, whose extent the unwind tables have. A function with a public name (munmap) does not
 * count: a thread in it may have come from elsewhere.
 */

#include "probe/probe.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/cfi.h"
#include "tracee/module.h"

#define TAIL_LONGEST	65536u

/* Does the code there have a public name? Yes, perhaps, if the symbols cannot be read. */
static bool has_a_name(struct elf_file *elf, uint64_t start)
{
	struct elf_symbols at;
	struct elf_symbol symbol;

	if (elf_symbols_begin(elf, &at))
		return true;
	while (elf_symbols_next(&at, &symbol))
		if (symbol.func && symbol.global && symbol.value == start)
			return true;
	return false;
}

static bool is_known(const struct probe *probe, uint64_t address)
{
	for (uint32_t i = 0; i < probe->nr_tails; i++)
		if (address - probe->tail[i].start < probe->tail[i].len)
			return true;
	return false;
}

static void add_tail(struct probe *probe, uint64_t target)
{
	struct module *module = probe->module;
	uint64_t start, size;

	if (probe->nr_tails == PROBE_TAILS || is_known(probe, target) ||
	    cfi_function(module->elf, target - module->bias, &start, &size) ||
	    size > TAIL_LONGEST || has_a_name(module->elf, start))
		return;
	probe->tail[probe->nr_tails++] = (struct probe_code){ start + module->bias, size };
}

static void follow_jumps(const struct arch *arch, struct probe *probe, struct probe_code from)
{
	AUTO_FREE uint8_t *code = malloc(from.len);
	uint64_t target;
	size_t at = 0;

	if (!code ||
	    elf_file_read(probe->module->elf, from.start - probe->module->bias, code, from.len))
		return;
	while ((target = arch->jump_out(code, from.len, from.start, &at)))
		add_tail(probe, target);
}

void tail_call_find(const struct arch *arch, struct probe *probe)
{
	uint64_t size;

	if (elf_symbol_function_extent(probe->module->elf, probe->address - probe->module->bias,
				       &size) ||
	    size > TAIL_LONGEST)
		return;
	/* The search begins with the function itself. */
	probe->tail[0] = (struct probe_code){ probe->address, size };
	probe->nr_tails = 1;
	for (uint32_t i = 0; i < probe->nr_tails; i++)
		follow_jumps(arch, probe, probe->tail[i]);
}
