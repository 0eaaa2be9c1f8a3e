/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of a process (types.h). */

#include "type/types.h"

#include <inttypes.h>
#include <string.h>

#include "base/cancel.h"
#include "base/path.h"
#include "symbol/symbol.h"
#include "type/die.h"
#include "type/location.h"
#include "type/type_index.h"
#include "type/type_scope.h"
#include "type/types_private.h"

#define AMBIGUOUS_SHOWN	5u

static struct type *complete(void *ctx, struct type *declared);

struct err *types_create(struct symbols *symbols, struct types **ret)
{
	struct types *types = calloc(1, sizeof(*types));
	struct err *err;

	if (!types)
		return err_nomem;
	types->symbols = symbols;
	types->pool.complete = complete;
	types->pool.ctx = types;
	err = type_pool_init(&types->pool);
	if (err) {
		types_destroy(types);
		return err;
	}
	*ret = types;
	return NULL;
}

void types_destroy(struct types *types)
{
	if (!types)
		return;
	if (types->kept.at)
		types->kept.free(types->kept.at);
	vec_each_value(file, &types->files) {
		type_index_free(&file->index);
		free(file);
	}
	vec_free(&types->files);
	type_pool_free(&types->pool);
	free(types);
}

struct type_pool *types_pool(struct types *types)
{
	return &types->pool;
}

struct symbols *types_symbols(struct types *types)
{
	return types->symbols;
}

struct types_kept *types_kept(struct types *types)
{
	return &types->kept;
}

size_t types_files(struct types *types)
{
	struct symbol_dwarf file;
	size_t nr = 0;

	for (size_t at = 0; symbol_file_dwarf(types->symbols, &at, &file); nr++)
		;
	return nr;
}

struct err *types_names_of(struct types *types, Dwarf *dwarf, struct names_of **ret)
{
	struct names_of *file;
	struct err *err;

	vec_each_value(known, &types->files)
		if (known->dwarf == dwarf) {
			*ret = known;
			return NULL;
		}
	err = vec_reserve(&types->files, 1);
	if (err)
		return err;
	file = calloc(1, sizeof(*file));
	if (!file)
		return err_nomem;
	file->dwarf = dwarf;
	err = type_index_read(&file->index, dwarf);
	if (err) {
		free(file);
		return err;
	}
	types->files.at[types->files.nr++] = file;
	*ret = file;
	return NULL;
}

static struct err *seek(struct seek *seek, bool *found_ret)
{
	struct err *err = NULL;
	size_t at = 0;

	*found_ret = false;
	while (!err && symbol_file_dwarf(seek->types->symbols, &at, &seek->file)) {
		struct names_of *file = NULL;
		size_t entry = 0;

		err = types_names_of(seek->types, seek->file.dwarf, &file);
		if (err)
			break;
		seek->index = &file->index;
		while (type_index_find(seek->index, seek->kind, seek->name, &entry, &seek->found))
			if (!seek->is || seek->is(seek, &seek->found)) {
				*found_ret = true;
				return NULL;
			}
	}
	return err ? err : cancel_check();
}

/* A type that is declared in a class. */
static bool find_nested(Dwarf_Die *parent, const char *name, Dwarf_Die *ret)
{
	if (dwarf_child(parent, ret))
		return false;
	do {
		int tag = dwarf_tag(ret);
		const char *is = dwarf_diename(ret);

		if (is && !strcmp(is, name) && tag != DW_TAG_member && tag != DW_TAG_variable &&
		    tag != DW_TAG_subprogram && tag != DW_TAG_template_type_parameter)
			return true;
	} while (die_next(ret) && !cancel_requested());
	return false;
}

static struct err *find_type(struct types *types, const char *name, unsigned depth,
			     struct type **ret, bool *found_ret)
{
	struct seek all = { .types = types, .kind = INDEX_TYPE, .name = name };
	struct err *err = seek(&all, found_ret);
	const char *last = type_index_last(name);
	struct str outer AUTO_STR = STR_INIT;

	if (err || *found_ret || last - name < 3 || depth == TYPE_DEPTH) {
		if (!err && *found_ret)
			*ret = type_at(&types->pool, &all.found);
		return err;
	}
	err = str_add_bytes(&outer, name, (size_t)(last - name) - 2);
	if (!err)
		err = find_type(types, outer.at, depth + 1, ret, found_ret);
	if (err || !*found_ret)
		return err;
	*ret = type_plain(*ret);
	*found_ret = type_is_struct(*ret) && (*ret)->die.addr &&
		     find_nested(&(*ret)->die, last, &all.found);
	if (*found_ret)
		*ret = type_at(&types->pool, &all.found);
	return NULL;
}

struct err *types_find_type(struct types *types, const char *name, struct type **ret,
			    bool *found_ret)
{
	return find_type(types, name, 0, ret, found_ret);
}

static bool is_tag(struct seek *seek, Dwarf_Die *die)
{
	enum type_kind kind = type_at(&seek->types->pool, die)->kind;
	enum type_kind want = *(const enum type_kind *)seek->ctx;

	return kind == want || (kind == TYPE_CLASS && want == TYPE_STRUCT) ||
	       (kind == TYPE_STRUCT && want == TYPE_CLASS);
}

struct err *types_find_tag(struct types *types, enum type_kind kind, const char *name,
			   struct type **ret, bool *found_ret)
{
	struct seek all = {
		.types = types, .kind = INDEX_TYPE, .name = name, .is = is_tag, .ctx = &kind,
	};
	struct err *err = seek(&all, found_ret);

	if (!err && *found_ret)
		*ret = type_at(&types->pool, &all.found);
	return err;
}

static struct type *complete(void *ctx, struct type *declared)
{
	struct type *whole;
	bool found;

	/* What cannot be looked for now stays incomplete, and says so. */
	if (!declared->name ||
	    types_find_tag(ctx, declared->kind, declared->name, &whole, &found) || !found)
		return NULL;
	return whole;
}

/* The program has its own copy of a library's variable that it names, and that is the one in use. */
static void follow_copy(struct types *types, const struct symbol_dwarf *file, Dwarf_Die *die,
			uint64_t *address)
{
	const char *name = dwarf_diename(die);
	struct symbol_place here, there;
	uint64_t copy, size;
	size_t at = 0;
	struct symbol_dwarf first;

	if (!name || !symbol_file_dwarf(types->symbols, &at, &first) ||
	    first.dwarf == file->dwarf ||
	    symbols_find(types->symbols, name, &copy, &size) || copy == *address ||
	    !symbol_file_place(types->symbols, copy, UINT32_MAX - 1, &there) ||
	    !symbol_file_place(types->symbols, *address, UINT32_MAX - 1, &here) ||
	    here.number == there.number || there.start >= here.start)
		return;
	*address = copy;
}

/* What is declared here may be defined in a file without debug information: the symbol says where. */
static struct err *find_declared(struct types *types, Dwarf_Die *die, struct variable *ret)
{
	const char *name = dwarf_diename(die);
	struct str whole AUTO_STR = STR_INIT;
	struct err *err = type_scope_add(die, &whole);
	uint64_t size;

	if (!err)
		err = str_add(&whole, name ? name : "");
	if (!err && !symbols_find(types->symbols, str_text(&whole), &ret->address, &size))
		ret->where = VARIABLE_ADDRESS;
	return err;
}

struct err *types_describe(struct seek *seek, Dwarf_Die *die, struct variable *ret)
{
	struct types *types = seek->types;
	Dwarf_Die at = *die;
	bool external = die_flag(die, DW_AT_external);
	uint64_t value = 0;

	if (!dwarf_hasattr(die, DW_AT_location) && !dwarf_hasattr(die, DW_AT_const_value))
		type_index_definition(seek->index, die, &at);
	ret->type = type_of(&types->pool, &at);
	switch (location_of(&at, &value)) {
	case LOCATION_ADDRESS:
		ret->where = VARIABLE_ADDRESS;
		ret->address = value + seek->file.bias;
		if (external)
			follow_copy(types, &seek->file, die, &ret->address);
		return NULL;
	case LOCATION_CONSTANT:
		ret->where = VARIABLE_CONSTANT;
		ret->value = (int64_t)value;
		return NULL;
	case LOCATION_THREAD:
		ret->where = VARIABLE_THREAD;
		ret->address = value;
		ret->module = seek->file.module;
		return NULL;
	default:
		ret->where = VARIABLE_NOWHERE;
	}
	return die_flag(die, DW_AT_declaration) ? find_declared(types, die, ret) : NULL;
}

static const char *file_of(Dwarf_Die *die)
{
	Dwarf_Die unit;
	const char *name = dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_diename(&unit) : NULL;

	return name ? name : "?";
}

static bool is_in_file(const char *file, Dwarf_Die *die)
{
	const char *is = file_of(die);

	return !strcmp(is, file) || !strcmp(path_base(is), file);
}

/* Several variables of a name: which of them is meant? */
struct candidates {
	const char *file;
	bool any, external, declared;
	struct variable best;
	struct str files;
	unsigned nr;			/* of different ones */
	struct err *err;
};

static bool is_same(const struct variable *x, const struct variable *y)
{
	return x->where == y->where && x->address == y->address && x->value == y->value;
}

/* External ones come before static ones, definitions before declarations. */
static bool consider(struct seek *seek, Dwarf_Die *die)
{
	struct candidates *list = (struct candidates *)seek->ctx;
	bool external = die_flag(die, DW_AT_external);
	struct variable is = { .type = NULL };

	if (list->file && !is_in_file(list->file, die))
		return false;
	list->err = types_describe(seek, die, &is);
	if (list->err)
		return true;
	if (list->any && (is_same(&is, &list->best) || list->external ||
			  is.where == VARIABLE_NOWHERE))
		return false;
	if (!list->any || external || list->best.where == VARIABLE_NOWHERE) {
		list->best = is;
		list->nr = 0;
	}
	list->any = true;
	list->external = external && is.where != VARIABLE_NOWHERE;
	if (list->nr++ < AMBIGUOUS_SHOWN)
		list->err = str_addf(&list->files, "%s'%s'::%s", list->files.len ? ", " : "",
				     path_base(file_of(die)), seek->name);
	return list->err;
}

static struct err *find_variable(struct seek *seek, const char *file, struct named *ret,
				 bool *found_ret)
{
	struct candidates list = { .file = file, .files = STR_INIT };
	struct err *err = NULL;
	size_t entry = 0;
	Dwarf_Die die;

	seek->ctx = &list;
	while (!err && type_index_find(seek->index, INDEX_VARIABLE, seek->name, &entry, &die)) {
		consider(seek, &die);
		err = list.err;
	}
	if (!err && list.nr > 1 && !list.external)
		err = err_hint(err_create(ERR_USAGE, "%u files have a static variable %s", list.nr,
					  seek->name), "%s", str_text(&list.files));
	str_free(&list.files);
	*found_ret = list.any;
	*ret = (struct named){ NAME_VARIABLE, list.best };
	return err;
}

static void name_function(struct seek *seek, struct variable *ret)
{
	Dwarf_Addr entry = 0;

	ret->type = type_at(&seek->types->pool, &seek->found);
	ret->where = dwarf_entrypc(&seek->found, &entry) ? VARIABLE_NOWHERE : VARIABLE_ADDRESS;
	ret->address = entry + seek->file.bias;
}

static void name_enumerator(struct seek *seek, struct variable *ret)
{
	struct type_pool *pool = &seek->types->pool;
	uint64_t value = 0;
	Dwarf_Die parent;

	location_of(&seek->found, &value);
	ret->type = type_scope_parent(&seek->found, &parent) ? type_at(pool, &parent) :
							       pool->unknown;
	ret->where = VARIABLE_CONSTANT;
	ret->value = (int64_t)value;
}

/* In one file: a variable, else one of the others. */
static struct err *find_here(struct seek *seek, const char *file, struct named *ret, bool *found_ret)
{
	static const enum type_index_kind kinds[] = {
		[NAME_FUNCTION] = INDEX_FUNCTION, [NAME_ENUMERATOR] = INDEX_ENUMERATOR,
		[NAME_TYPE] = INDEX_TYPE,
	};
	struct err *err = find_variable(seek, file, ret, found_ret);

	for (int kind = NAME_FUNCTION; !err && !*found_ret && !file && kind <= NAME_TYPE; kind++) {
		size_t entry = 0;
		Dwarf_Addr address;
		Dwarf_Die other;

		if (!type_index_find(seek->index, kinds[kind], seek->name, &entry, &seek->found))
			continue;
		/* What is inlined may be there without an address, too. */
		while (kind == NAME_FUNCTION && dwarf_entrypc(&seek->found, &address) &&
		       type_index_find(seek->index, kinds[kind], seek->name, &entry, &other))
			seek->found = other;
		*found_ret = true;
		*ret = (struct named){ .kind = (enum name_kind)kind };
		if (kind == NAME_FUNCTION)
			name_function(seek, &ret->is);
		else if (kind == NAME_ENUMERATOR)
			name_enumerator(seek, &ret->is);
		else
			ret->is.type = type_at(&seek->types->pool, &seek->found);
	}
	return err;
}

struct err *types_find(struct types *types, const char *file, const char *name, struct named *ret,
		       bool *found_ret)
{
	struct seek here = { .types = types, .name = name };
	struct err *err = NULL;
	size_t at = 0;

	*found_ret = false;
	while (!err && !*found_ret && symbol_file_dwarf(types->symbols, &at, &here.file)) {
		struct names_of *names = NULL;

		err = types_names_of(types, here.file.dwarf, &names);
		if (err)
			break;
		here.index = &names->index;
		err = find_here(&here, file, ret, found_ret);
	}
	return err ? err : cancel_check();
}

/* Rust's own main has a scope. */
static bool first_unit_is_cxx(struct types *types)
{
	struct symbol_dwarf file;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	size_t at = 0;

	return symbol_file_dwarf(types->symbols, &at, &file) &&
	       !dwarf_get_units(file.dwarf, NULL, &unit, NULL, NULL, &die, NULL) &&
	       type_die_is_cxx(&die);
}

bool types_are_cxx(struct types *types)
{
	struct named main;
	bool found;

	if (types->language == LANGUAGE_UNKNOWN && !types_find(types, NULL, "main", &main, &found))
		types->language = (found ? main.is.type->cxx : first_unit_is_cxx(types)) ?
			LANGUAGE_CXX : LANGUAGE_C;
	return types->language == LANGUAGE_CXX;
}

struct err *types_find_static(struct types *types, const struct member *member,
			      struct variable *ret, bool *found_ret)
{
	struct seek here = { .types = types, .name = member->name };
	Dwarf_Die die = member->die;
	struct err *err = NULL;
	size_t at = 0;

	*found_ret = false;
	while (!err && !*found_ret && symbol_file_dwarf(types->symbols, &at, &here.file)) {
		struct names_of *names = NULL;

		err = types_names_of(types, here.file.dwarf, &names);
		if (err || !type_index_has_unit(&names->index, die.cu))
			continue;
		here.index = &names->index;
		*found_ret = true;
		err = types_describe(&here, &die, ret);
	}
	return err;
}

/* Find a static variable in a function, or in a block of it. */
static bool find_in_function(Dwarf_Die *parent, const char *name, unsigned depth, Dwarf_Die *ret)
{
	Dwarf_Die die;

	if (depth == TYPE_DEPTH || dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *is = tag == DW_TAG_variable ? dwarf_diename(&die) : NULL;

		if (is && !strcmp(is, name)) {
			*ret = die;
			return true;
		}
		if (tag == DW_TAG_lexical_block && find_in_function(&die, name, depth + 1, ret))
			return true;
	} while (die_next(&die) && !cancel_requested());
	return false;
}

/* A constant of an enumeration, or of one in a class. */
static bool find_constant(Dwarf_Die *parent, const char *name, Dwarf_Die *ret)
{
	Dwarf_Die die;

	if (dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *is = tag == DW_TAG_enumerator ? dwarf_diename(&die) : NULL;

		*ret = die;
		if ((is && !strcmp(is, name)) ||
		    (tag == DW_TAG_enumeration_type && dwarf_tag(parent) != tag &&
		     find_constant(&die, name, ret)))
			return true;
	} while (die_next(&die) && !cancel_requested());
	return false;
}

static struct err *find_in_type(struct types *types, struct type *type, const char *name,
				struct variable *ret, bool *found_ret)
{
	struct seek in = { .types = types };

	vec_each(member, &type_members(type)->vec)
		if (member->is_static && member->name && !strcmp(member->name, name))
			return types_find_static(types, member, ret, found_ret);
	*found_ret = type->die.addr && find_constant(&type->die, name, &in.found);
	if (*found_ret)
		name_enumerator(&in, ret);
	return NULL;
}

struct err *types_find_inner(struct types *types, const char *outer, const char *name,
			     struct variable *ret, bool *found_ret)
{
	struct seek in = { .types = types, .kind = INDEX_FUNCTION, .name = outer };
	struct err *err = seek(&in, found_ret);
	Dwarf_Attribute mem;
	struct type *type;
	Dwarf_Die die;

	if (err)
		return err;
	if (*found_ret) {
		/* The variables of one that is inlined are in the instance that was inlined. */
		*found_ret = find_in_function(&in.found, name, 0, &die) ||
			(dwarf_attr(&in.found, DW_AT_abstract_origin, &mem) &&
			 dwarf_formref_die(&mem, &in.found) &&
			 find_in_function(&in.found, name, 0, &die));
		in.name = name;
		return *found_ret ? types_describe(&in, &die, ret) : NULL;
	}
	err = types_find_type(types, outer, &type, found_ret);
	if (err || !*found_ret)
		return err;
	*found_ret = false;
	return find_in_type(types, type_plain(type), name, ret, found_ret);
}
