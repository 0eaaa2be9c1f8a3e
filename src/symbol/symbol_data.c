/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Symbols of data, of which nothing is kept (symbol.h). */

#include "symbol/symbol_private.h"
#include "symbol/symtab.h"

struct symbol_data symbol_data_at(struct symbols *symbols, uint64_t address, uint32_t generation)
{
	struct symbol_data is = { .start = address, .end = address + 8 };
	const struct module *module = symbols_module_at(symbols, address, generation);
	struct symtab *symtab = module && module->image && image_usable(module->image) ?
		image_symtab(module->image) : NULL;
	const struct symtab_entry *entry = symtab ? symtab_at(symtab, address - module->bias) : NULL;
	struct shown_name shown;

	is.module = module ? module->name : NULL;
	is.offset = module ? address - module->bias : 0;
	if (entry && string_pool_shown(symbols_names(symbols), entry->name, entry->len, &shown)) {
		is.name = shown.full;
		is.brief = shown.brief;
		is.start = entry->start + module->bias;
		is.end = MAX(entry->end + module->bias, address + 1);
	}
	return is;
}

struct symbol_tls symbol_data_tls(struct symbols *symbols, uint64_t address, uint32_t generation,
				  uint64_t offset)
{
	struct symbol_tls is = { .offset = offset };
	struct shown_name shown;
	const struct module *module = symbols_module_at(symbols, address, generation);
	struct symtab *symtab = module && module->image && image_usable(module->image) ?
		image_symtab(module->image) : NULL;
	const struct symtab_entry *entry = symtab ? symtab_tls_at(symtab, offset) : NULL;

	is.module = module ? module->name : NULL;
	if (entry && string_pool_shown(symbols_names(symbols), entry->name, entry->len, &shown)) {
		is.name = shown.full;
		is.brief = shown.brief;
		is.offset -= entry->start;
	}
	return is;
}

bool symbol_data_is_function(struct symbols *symbols, uint64_t address, uint32_t generation)
{
	const struct module *module = symbols_module_at(symbols, address, generation);
	struct symtab *symtab = module && module->image && image_usable(module->image) ?
		image_symtab(module->image) : NULL;
	const struct symtab_entry *entry = symtab ? symtab_at(symtab, address - module->bias) :
						    NULL;

	return entry && entry->kind == SYMTAB_FUNCTION;
}
