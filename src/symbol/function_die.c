/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions by address, for those who read their debug information (function_die.h). */

#include "symbol/function_die.h"

#include "symbol/symbol_private.h"

bool function_die_at(struct symbols *symbols, uint64_t address, uint32_t generation,
		     struct function_die *ret)
{
	const struct module *module = symbols_module_at(symbols, address, generation);
	struct source *source = module && module->image ? image_source(module->image) : NULL;

	if (!source || !source_function(source, address - module->bias, &ret->die) ||
	    !image_dwarf(module->image, &ret->bias))
		return false;
	ret->bias += module->bias;
	ret->module = module->start;
	return true;
}
