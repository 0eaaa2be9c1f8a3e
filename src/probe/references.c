/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that code calls, and whose addresses it takes (theory in references.h). */

#include "probe/references.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/cfi.h"
#include "probe/allocators.h"
#include "tracee/module.h"
#include "tracee/target.h"

#define CODE_LONGEST	65536u
#define PLT_ENTRY	16u	/* bytes, on all processors that have one */
#define FUNCTIONS_MOST	64u	/* that are looked through for a call */
#define WORDS_MOST	128u	/* whose relocations are looked for: a module may have a million */

/* Code of a module, read from its file. */
struct code {
	const struct arch *arch;
	const struct module *module;
	uint8_t *bytes;
	size_t len;
	uint64_t start;		/* address in the process */
	unsigned *words;	/* that were looked for so far */
};

static bool read_bytes(struct code *code, uint64_t address, uint64_t len)
{
	code->bytes = malloc(len);
	code->start = address;
	code->len = len;
	return code->bytes && !elf_file_read(code->module->elf, address - code->module->bias,
					     code->bytes, len);
}

static bool read_function(struct code *code, uint64_t address)
{
	uint64_t len;

	return !elf_symbol_function_extent(code->module->elf, address - code->module->bias, &len) &&
	       len && len <= CODE_LONGEST && read_bytes(code, address, len);
}

static struct err *add_once(struct code_targets *targets, uint64_t address)
{
	vec_each(known, &targets->vec)
		if (*known == address)
			return NULL;
	return vec_push(&targets->vec, address);
}

/* Does a function begin there, by the unwind tables or by its symbol? */
static bool is_function(const struct module *module, uint64_t address)
{
	uint64_t value = address - module->bias, start, size;
	struct elf_symbols at;
	struct elf_symbol symbol;

	if (address < module->exec_start || address >= module->exec_end)
		return false;
	if (!cfi_function(module->elf, value, &start, &size))
		return start == value;
	if (elf_symbols_begin(module->elf, &at))
		return false;
	while (elf_symbols_next(&at, &symbol))
		if (symbol.func && symbol.value == value)
			return true;
	return false;
}

struct err *references_ifunc(struct target *target, const struct module *module,
			     uint64_t resolver, struct code_targets *ret)
{
	struct code code = { .arch = target->arch, .module = module };
	struct code_reference reference;
	struct err *err = NULL;
	size_t at = 0;

	if (!read_function(&code, resolver))
		code.len = 0;
	while (!err && code.arch->reference(code.bytes, code.len, code.start, &at, &reference)) {
		uint64_t address = reference.target;

		if (reference.word && memory_read_u64(&target->mem.bring, reference.target,
						      &address))
			continue;
		if (address != resolver && is_function(module, address))
			err = add_once(ret, address);
	}
	free(code.bytes);
	return err;
}

/* Is the word at address filled by the loader with the address of an allocator's function? */
static bool leads_to_allocator(const struct code *code, uint64_t address)
{
	const struct module *module = code->module;
	const char *name;

	return (*code->words)++ < WORDS_MOST &&
	       !elf_symbol_relocation(module->elf, address - module->bias, &name) &&
	       alloc_function_find(name);
}

/* Go through the words that the code reads, calls or jumps by; those of an entry of the PLT, too. */
static bool reads_allocator(const struct code *code)
{
	struct code_reference reference;
	size_t at = 0;

	while (code->arch->reference(code->bytes, code->len, code->start, &at, &reference))
		if (reference.word && leads_to_allocator(code, reference.target))
			return true;
	return false;
}

static bool is_allocator_function(const struct module *module, uint64_t address)
{
	struct elf_symbols at;
	struct elf_symbol symbol;

	if (elf_symbols_begin(module->elf, &at))
		return false;
	while (elf_symbols_next(&at, &symbol))
		if (symbol.func && symbol.value == address - module->bias &&
		    alloc_function_find(symbol.name))
			return true;
	return false;
}

static bool is_plt_to_allocator(const struct code *caller, uint64_t address)
{
	struct code code = { .arch = caller->arch, .module = caller->module,
			     .words = caller->words };
	bool leads = read_bytes(&code, address, PLT_ENTRY) && reads_allocator(&code);

	free(code.bytes);
	return leads;
}

/* Look at what the code calls or jumps to: is it an allocator's, or is it to be looked through? */
static bool follow(const struct code *code, uint64_t (*next)(const uint8_t *, size_t, uint64_t,
							     size_t *),
		   struct code_targets *through)
{
	uint64_t target;
	size_t at = 0;

	while ((target = next(code->bytes, code->len, code->start, &at))) {
		if (is_allocator_function(code->module, target) ||
		    is_plt_to_allocator(code, target))
			return true;
		if (through->vec.nr < FUNCTIONS_MOST && is_function(code->module, target) &&
		    add_once(through, target))
			return false;
	}
	return false;
}

bool references_allocator(const struct target *target, const struct module *module,
			  uint64_t address)
{
	struct code_targets through = { VEC_INIT };
	unsigned words = 0;
	bool calls = false;

	if (add_once(&through, address))
		return false;
	for (size_t i = 0; i < through.vec.nr && !calls; i++) {
		struct code code = { .arch = target->arch, .module = module, .words = &words };

		if (read_function(&code, through.vec.at[i]))
			calls = reads_allocator(&code) ||
				follow(&code, code.arch->call_out, &through) ||
				follow(&code, code.arch->jump_out, &through);
		free(code.bytes);
	}
	vec_free(&through.vec);
	return calls;
}
