/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of debug information (type_index.h).
 *
 * A name's hash goes on from that of its scope. An inline namespace, and one without a name, are
 * left out of it as well as put in: users write std::string, and DWARF has std::__cxx11::string. So
 * an entry may be there twice, and what was found is compared by its own name alone.
 */

#include "type/type_index.h"

#include <string.h>

#include "base/cancel.h"
#include "base/limits.h"
#include "symbol/debug_file.h"
#include "type/die.h"
#include "type/type_scope.h"

#define SCOPES		32u	/* namespaces in one another */
#define HASH_START	2166136261u

static uint32_t hash_add(uint32_t hash, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash;
}

static uint32_t hash_name(uint32_t scope, const char *name)
{
	return hash_add(scope, name, strlen(name));
}

static uint32_t hash_scope(uint32_t scope, const char *name)
{
	return hash_add(hash_name(scope, name), "::", 2);
}

/* A unit that is being read. */
struct reading {
	struct type_index *index;
	uint32_t unit;
};

static struct index_entry entry_of(const struct reading *reading, Dwarf_Die *die,
				   enum type_index_kind kind, uint32_t hash)
{
	return (struct index_entry){ hash, reading->unit & 0x1fffffff, kind & 7, die->addr };
}

static struct err *add(const struct reading *reading, Dwarf_Die *die, enum type_index_kind kind,
		       uint32_t scope, const char *name)
{
	struct type_index *index = reading->index;

	if (!name)
		return NULL;
	if (index->entries.nr == LIMIT_TYPE_NAMES)
		return limit_err("debug information", "too many names", LIMIT_TYPE_NAMES);
	return vec_push(&index->entries, entry_of(reading, die, kind, hash_name(scope, name)));
}

static struct err *add_enumerators(const struct reading *reading, Dwarf_Die *parent, uint32_t scope)
{
	struct err *err = NULL;
	Dwarf_Die die;

	if (dwarf_child(parent, &die))
		return NULL;
	do
		if (dwarf_tag(&die) == DW_TAG_enumerator)
			err = add(reading, &die, INDEX_ENUMERATOR, scope, dwarf_diename(&die));
	while (!err && die_next(&die));
	return err;
}

/* Add a variable, or what defines one that was declared in a class or a namespace. */
static struct err *add_variable(const struct reading *reading, Dwarf_Die *die, uint32_t scope)
{
	struct index_definition definition = {
		.is = entry_of(reading, die, INDEX_VARIABLE, 0),
	};
	Dwarf_Attribute mem;
	Dwarf_Die declared;

	if (!dwarf_attr(die, DW_AT_specification, &mem))
		return add(reading, die, INDEX_VARIABLE, scope, dwarf_diename(die));
	if (!dwarf_formref_die(&mem, &declared))
		return NULL;
	definition.declared = declared.addr;
	if (reading->index->definitions.nr == LIMIT_TYPE_NAMES)
		return limit_err("debug information", "too many names", LIMIT_TYPE_NAMES);
	return vec_push(&reading->index->definitions, definition);
}

/* A type that is defined outside of its scope: in a unit of its own, which is small. */
static struct err *scope_of(Dwarf_Die *die, uint32_t *scope)
{
	struct str text AUTO_STR = STR_INIT;
	struct err *err = NULL;

	if (dwarf_hasattr(die, DW_AT_specification))
		err = type_scope_add(die, &text);
	if (!err && text.len)
		*scope = hash_name(HASH_START, text.at);
	return err;
}

static struct err *add_children(const struct reading *reading, Dwarf_Die *parent, uint32_t scope,
				unsigned depth);

static struct err *add_namespace(const struct reading *reading, Dwarf_Die *die, uint32_t scope,
				 unsigned depth)
{
	const char *name = dwarf_diename(die);
	struct err *err = NULL;

	if (name)
		err = add_children(reading, die, hash_scope(scope, name), depth + 1);
	if (!err && (!name || die_flag(die, DW_AT_export_symbols) || !strncmp(name, "__", 2)))
		err = add_children(reading, die, scope, depth + 1);
	return err;
}

static struct err *add_die(const struct reading *reading, Dwarf_Die *die, uint32_t scope,
			   unsigned depth)
{
	struct err *err = NULL;

	switch (dwarf_tag(die)) {
	case DW_TAG_enumeration_type:
		err = scope_of(die, &scope);
		if (!err && !die_flag(die, DW_AT_enum_class))
			err = add_enumerators(reading, die, scope);
		if (err)
			return err;
		/* fall through */
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		if (die_flag(die, DW_AT_declaration))
			return NULL;
		err = scope_of(die, &scope);
		if (err)
			return err;
		/* fall through */
	case DW_TAG_base_type:
	case DW_TAG_typedef:
		return add(reading, die, INDEX_TYPE, scope, dwarf_diename(die));
	case DW_TAG_variable:
		return add_variable(reading, die, scope);
	case DW_TAG_subprogram:
		if (die_flag(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_specification) ||
		    !(dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges) ||
		      dwarf_hasattr(die, DW_AT_inline)))
			return NULL;
		return add(reading, die, INDEX_FUNCTION, scope, dwarf_diename(die));
	case DW_TAG_namespace:
	case DW_TAG_module:
		return add_namespace(reading, die, scope, depth);
	default:
		return NULL;
	}
}

static struct err *add_children(const struct reading *reading, Dwarf_Die *parent, uint32_t scope,
				unsigned depth)
{
	struct err *err = NULL;
	Dwarf_Die die;

	if (depth == SCOPES || dwarf_child(parent, &die))
		return NULL;
	do {
		err = add_die(reading, &die, scope, depth);
		if (!err)
			err = cancel_check();
	} while (!err && die_next(&die));
	return err;
}

/* The names of a skeleton are in its .dwo file (symbol/debug_file.h). */
static bool find_body(struct type_index *index, Dwarf_Die *die)
{
	Dwarf_Die body;
	struct err *err = debug_file_check_dwo(die);

	if (!err && !dwarf_cu_info(die->cu, NULL, NULL, NULL, &body, NULL, NULL, NULL) &&
	    body.addr) {
		*die = body;
		return true;
	}
	index->bodies_missing = true;
	return false;
}

static struct err *read_units(struct type_index *index, Dwarf *dwarf)
{
	struct err *err = NULL;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (!err && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
		struct reading reading = { index, (uint32_t)index->units.nr };

		if (type == DW_UT_skeleton && !find_body(index, &die))
			continue;
		if (index->units.nr == LIMIT_UNITS)
			return limit_err("debug information", "too many units", LIMIT_UNITS);
		err = vec_push(&index->units, die.cu);
		if (!err)
			err = add_children(&reading, &die, HASH_START, 0);
	}
	return err;
}

COMPARE_BY(compare_entries, struct index_entry, x, (uint64_t)x->hash)
COMPARE_BY(compare_definitions, struct index_definition, x, (uintptr_t)x->declared)

struct err *type_index_read(struct type_index *index, Dwarf *dwarf)
{
	Dwarf *alt = dwarf_getalt(dwarf);
	struct err *err = read_units(index, dwarf);

	if (!err && alt)
		err = read_units(index, alt);
	if (err) {
		type_index_free(index);
		return err;
	}
	vec_sort(&index->entries, compare_entries);
	vec_sort(&index->definitions, compare_definitions);
	return NULL;
}

void type_index_free(struct type_index *index)
{
	vec_free(&index->entries);
	vec_free(&index->definitions);
	vec_free(&index->units);
}

/* libdw finds out the rest of a DIE from its unit and its place. */
static Dwarf_Die die_of(const struct type_index *index, const struct index_entry *entry)
{
	return (Dwarf_Die){ .addr = entry->at, .cu = index->units.at[entry->unit] };
}

const char *type_index_last(const char *name)
{
	const char *part = name;
	int depth = 0;

	for (const char *at = name; *at; at++) {
		depth += (*at == '<') - (*at == '>');
		if (!depth && at[0] == ':' && at[1] == ':')
			part = at + 2;
	}
	return part;
}

static size_t first_of(const struct type_index *index, uint32_t hash)
{
	size_t low = 0, high = index->entries.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->entries.at[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool type_index_find(const struct type_index *index, enum type_index_kind kind, const char *name,
		     size_t *at, Dwarf_Die *ret)
{
	uint32_t hash = hash_name(HASH_START, name);
	const char *part = type_index_last(name);

	if (!*at)
		*at = first_of(index, hash) + 1;
	for (; *at <= index->entries.nr && index->entries.at[*at - 1].hash == hash; ++*at) {
		const struct index_entry *entry = &index->entries.at[*at - 1];
		Dwarf_Die die = die_of(index, entry);
		const char *is = entry->kind == kind ? dwarf_diename(&die) : NULL;

		if (is && !strcmp(is, part)) {
			++*at;
			*ret = die;
			return true;
		}
	}
	return false;
}

bool type_index_definition(const struct type_index *index, const Dwarf_Die *declared, Dwarf_Die *ret)
{
	struct index_definition key = { .declared = declared->addr };
	const struct index_definition *found = index->definitions.nr ?
		bsearch(&key, index->definitions.at, index->definitions.nr, sizeof(key),
			compare_definitions) : NULL;

	if (found)
		*ret = die_of(index, &found->is);
	return found;
}

bool type_index_has_unit(const struct type_index *index, const Dwarf_CU *unit)
{
	vec_each_value(own, &index->units)
		if (own == unit)
			return true;
	return false;
}

bool type_index_next(const struct type_index *index, enum type_index_kind kind, size_t *at,
		     Dwarf_Die *ret)
{
	while (*at < index->entries.nr) {
		const struct index_entry *entry = &index->entries.at[(*at)++];

		if (entry->kind != kind)
			continue;
		*ret = die_of(index, entry);
		return true;
	}
	return false;
}

void type_index_each_name(const struct type_index *index, bool (*fn)(void *ctx, const char *name),
			  void *ctx)
{
	vec_each_while(entry, &index->entries, !cancel_requested()) {
		Dwarf_Die die = die_of(index, entry);
		const char *name = dwarf_diename(&die);

		if (name && fn(ctx, name))
			return;
	}
}
