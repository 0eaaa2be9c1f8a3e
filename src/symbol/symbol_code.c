/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the code of functions (symbol_code.h). */

#include "symbol/symbol_code.h"

#include <stdlib.h>

#include "arch/host.h"
#include "elf/elf_file.h"
#include "symbol/function_die.h"
#include "symbol/symbol_private.h"
#include "unwind/cfa.h"

/* The rules that hold at an address. */
struct rules_at {
	uint64_t address;
	struct cfa_state state;
	bool known;
};

static struct err *take_rules(uint64_t pc, const struct cfa_state *state, void *ctx)
{
	struct rules_at *at = ctx;

	if (pc <= at->address) {
		at->state = *state;
		at->known = true;
	}
	return NULL;
}

static const struct cfi_fde *find_fde(const struct cfi *cfi, uint64_t address)
{
	size_t behind = LOWER_BOUND(i, 0, cfi->fdes.nr, cfi->fdes.at[i].start <= address);
	const struct cfi_fde *fde = behind ? &cfi->fdes.at[behind - 1] : NULL;

	return fde && address - fde->start < fde->size ? fde : NULL;
}

static bool find_rules(struct elf_file *file, struct rules_at *at)
{
	const struct cfi *cfi;
	const struct cfi_fde *fde;
	struct cfa_state initial;
	struct err *err = cfi_of(file, &cfi);
	bool bad = true;

	fde = err ? NULL : find_fde(cfi, at->address);
	if (!err && fde && cfa_run_cie(&cfi->cies.at[fde->cie], &initial))
		err = cfa_run_fde(&cfi->cies.at[fde->cie], &initial, fde, take_rules, at, &bad);
	if (err)
		err_ignore(err);
	return !err && !bad && at->known && at->state.cfa.kind == RULE_REGISTER;
}

/* Without rules for the frame, variables in it are not known. */
static void take_frame(struct elf_file *file, uint64_t address, struct symbol_code *ret)
{
	struct rules_at at = { .address = address };

	if (!find_rules(file, &at))
		return;
	if (at.state.cfa.reg == FRAME_SP) {
		ret->sp_known = true;
		ret->sp = -at.state.cfa.offset;
	} else if (at.state.cfa.reg == FRAME_FP) {
		ret->fp_known = true;
		ret->fp = -at.state.cfa.offset;
	}
}

/* The part of the function that has the address: both as in the debug information. */
static bool find_part(Dwarf_Die *function, uint64_t address, uint64_t *start_ret,
		      uint64_t *end_ret)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(function, offset, &base, &start, &end)) > 0) {
		if (address < start || address >= end)
			continue;
		*start_ret = start;
		*end_ret = end;
		return true;
	}
	return false;
}

static bool read_code(struct elf_file *file, uint64_t address, struct symbol_code *ret)
{
	struct err *err;

	ret->code = ret->len <= SYMBOL_CODE_MOST ? malloc(ret->len) : NULL;
	if (!ret->code)
		return false;
	err = elf_file_read(file, address, ret->code, ret->len);
	if (!err)
		return true;
	err_ignore(err);
	free(ret->code);
	return false;
}

bool symbol_code_at(struct symbols *symbols, uint64_t pc, uint32_t generation,
		    struct symbol_code *ret)
{
	const struct module *module = symbols_module_at(symbols, pc - 1, generation);
	struct image *image = module ? module->image : NULL;
	struct elf_file *file = image && image_usable(image) ? image_file(image) : NULL;
	struct function_die is;
	uint64_t start, end;

	if (!file || !function_die_at(symbols, pc - 1, generation, &is))
		return false;
	*ret = (struct symbol_code){ .function = is.die, .bias = is.bias };
	if (!find_part(&ret->function, pc - 1 - ret->bias, &start, &end))
		return false;
	ret->start = start + ret->bias;
	ret->len = end - start;
	if (!read_code(file, ret->start - module->bias, ret))
		return false;
	take_frame(file, pc - module->bias, ret);
	return true;
}
