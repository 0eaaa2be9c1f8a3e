/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions, inlined calls and lines by DWARF.
 *
 *	units:		address -> compilation unit	built from the units' own ranges
 *	unit:		address -> function		built at the first address in the unit
 *	function:	address -> inlined calls	built at the first address in the function
 *
 * libdw's own way (dwarf_getscopes) walks the whole unit for each address: 2 ms in a large one.
 * Walks over DIEs are bounded in depth and go only forward in the file, so that they end even if
 * the file is made to loop.
 */

#include "symbol/source.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/limits.h"
#include "base/vec.h"
#include "elf/elf_view.h"
#include "symbol/debug_file.h"
#include "symbol/spans.h"

#define DEPTH_MAX	128

struct inlined {
	Dwarf_Die die;
	int depth;		/* of nesting, from 0 */
};

struct function {
	Dwarf_Die die;
	uint64_t start;
	bool walked;
	VEC(struct inlined) inlined;
	struct spans spans;	/* of inlined */
};

enum unit_state {
	UNIT_NEW,
	UNIT_WALKED,
	UNIT_SEARCHED,		/* the contents of functions, too */
};

struct unit {
	Dwarf_Die die;		/* of the file itself: the lines of a skeleton are here */
	Dwarf_Die body;		/* has the functions: those of a skeleton are in its .dwo */
	enum unit_state state;
	VEC(struct function) functions;
	struct spans spans;	/* of functions */
};

struct source {
	Dwarf *dwarf;
	uint64_t bias;
	const char *name;	/* of the file */
	const Elf_Data *lines;	/* .debug_line; NULL: there is none */
	const struct debug_search *search;
	VEC(struct unit) units;
	struct spans spans;	/* of units */
	bool bodies_missing;	/* the user was told that a .dwo file is not read */
};

/*
 * Report that a unit, or a function, is over a limit and left out; others are not affected. An err
 * that is no limit is for lack of memory, or for Ctrl-C.
 */
static void left_out(const struct source *source, const struct err *err)
{
	if (err && err->code == ERR_RANGE)
		debug_file_warn(source->search, err);
}

static struct err *too_many(const struct source *source, const char *what, uint64_t most)
{
	return limit_err(source->name, what, most);
}

/*
 * Add the ranges of a DIE. Linkers put code that they have thrown away at address 0, and their
 * ranges at 1.
 */
static struct err *add_ranges(const struct source *source, struct spans *spans, Dwarf_Die *die,
			      size_t value)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		struct err *err = start > 1 ? spans_add(spans, start, end, (uint32_t)value) : NULL;

		if (!err && spans->vec.nr > LIMIT_RANGES)
			err = too_many(source, "too many address ranges in debug information",
				       LIMIT_RANGES);
		if (!err)
			err = cancel_check();
		if (err)
			return err;
	}
	return NULL;
}

/* Go to the next sibling; in a broken file it may be before the current one. */
static bool next_sibling(Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);

	return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

static struct err *add_units(struct source *source)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (dwarf_get_units(source->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
		struct unit unit = { .die = die, .body = die };
		struct err *err;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		err = add_ranges(source, &source->spans, &die, source->units.nr);
		if (!err && source->units.nr == LIMIT_UNITS)
			err = too_many(source, "too many units of debug information", LIMIT_UNITS);
		if (!err)
			err = vec_push(&source->units, unit);
		if (err)
			return err;
	}
	spans_sort(&source->spans);
	return NULL;
}

struct err *source_create(Dwarf *dwarf, uint64_t bias, const struct elf_view *view,
			  const struct debug_search *search, struct source **ret)
{
	struct source *source = calloc(1, sizeof(*source));
	GElf_Shdr shdr;
	Elf_Scn *scn;
	struct err *err;

	if (!source)
		return err_nomem;
	source->dwarf = dwarf;
	source->bias = bias;
	source->name = view->name;
	scn = elf_view_section(view, ".debug_line", &shdr);
	if (!scn)
		scn = elf_view_section(view, ".zdebug_line", &shdr);
	source->lines = scn ? elf_rawdata(scn, NULL) : NULL;
	source->search = search;
	err = add_units(source);
	if (err) {
		source_destroy(source);
		return err;
	}
	*ret = source;
	return NULL;
}

static void unit_clear(struct unit *unit)
{
	for (size_t i = 0; i < unit->functions.nr; i++) {
		vec_free(&unit->functions.at[i].inlined);
		spans_free(&unit->functions.at[i].spans);
	}
	vec_free(&unit->functions);
	spans_free(&unit->spans);
}

void source_destroy(struct source *source)
{
	if (!source)
		return;
	for (size_t i = 0; i < source->units.nr; i++)
		unit_clear(&source->units.at[i]);
	vec_free(&source->units);
	spans_free(&source->spans);
	free(source);
}

static struct err *add_function(const struct source *source, struct unit *unit, Dwarf_Die *die)
{
	struct function function = { .die = *die };
	size_t before = unit->spans.vec.nr;
	struct err *err = add_ranges(source, &unit->spans, die, unit->functions.nr);
	Dwarf_Addr start;

	if (err || unit->spans.vec.nr == before)
		return err;
	function.start = dwarf_entrypc(die, &start) == 0 ? start : unit->spans.vec.at[before].start;
	err = vec_push(&unit->functions, function);
	if (err)
		unit->spans.vec.nr = before;
	return err;
}

/*
 * Can a DIE with this tag have functions below it? Types usually only declare them; in functions
 * they are rare.
 */
static bool has_functions(int tag, bool thorough)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return thorough;
	default:
		return false;
	}
}

static struct err *add_functions(const struct source *source, struct unit *unit, Dwarf_Die *parent,
				 bool thorough, int depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return NULL;
	do {
		int tag = dwarf_tag(&die);
		struct err *err = tag == DW_TAG_subprogram ? add_function(source, unit, &die) :
							      cancel_check();

		if (!err && has_functions(tag, thorough))
			err = add_functions(source, unit, &die, thorough, depth + 1);
		if (err)
			return err;
	} while (next_sibling(&die));
	return NULL;
}

/*
 * The functions of a skeleton are in a .dwo file, which libdw opens when it is asked for the body.
 */
static void find_body(struct source *source, struct unit *unit)
{
	Dwarf_Die body;
	struct err *err;
	uint8_t type;

	if (dwarf_cu_info(unit->die.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) ||
	    type != DW_UT_skeleton)
		return;
	err = debug_file_check_dwo(&unit->die);
	if (!err && (dwarf_cu_info(unit->die.cu, NULL, NULL, NULL, &body, NULL, NULL, NULL) ||
		     !body.addr))
		err = err_create(ERR_NOTFOUND, "a .dwo file that is not of this build, or damaged");
	if (!err)
		unit->body = body;
	if (err && !source->bodies_missing)
		debug_file_warn(source->search,
				err_wrap(err, "%s: no inlined functions", source->name));
	source->bodies_missing |= err != NULL;
}

static void walk_unit(struct source *source, struct unit *unit, bool thorough)
{
	struct err *err;

	unit_clear(unit);
	if (unit->state == UNIT_NEW)
		find_body(source, unit);
	err = add_functions(source, unit, &unit->body, thorough, 0);
	/* No functions are better than only some of them. */
	if (err)
		unit_clear(unit);
	left_out(source, err);
	spans_sort(&unit->spans);
	if (!err || err->code != ERR_CANCELLED)
		unit->state = thorough ? UNIT_SEARCHED : UNIT_WALKED;
}

static struct function *function_at(struct source *source, struct unit *unit, uint64_t addr)
{
	const struct span *span;

	if (unit->state == UNIT_NEW)
		walk_unit(source, unit, false);
	span = spans_find(&unit->spans, addr, NULL);
	if (!span && unit->state != UNIT_SEARCHED) {
		walk_unit(source, unit, true);
		span = spans_find(&unit->spans, addr, NULL);
	}
	return span ? &unit->functions.at[span->value] : NULL;
}

/* Add the inlined calls below parent; nesting is the number of calls around it. */
static struct err *add_inlined(const struct source *source, struct function *function,
			       Dwarf_Die *parent, int nesting, int depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return NULL;
	do {
		int tag = dwarf_tag(&die);
		bool is_inlined = tag == DW_TAG_inlined_subroutine;
		struct err *err = NULL;

		if (is_inlined) {
			struct inlined inlined = { die, nesting };

			err = add_ranges(source, &function->spans, &die, function->inlined.nr);
			if (!err)
				err = vec_push(&function->inlined, inlined);
		}
		if (!err && (is_inlined || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
			     tag == DW_TAG_catch_block))
			err = add_inlined(source, function, &die, nesting + is_inlined,
					  depth + 1);
		if (err)
			return err;
	} while (next_sibling(&die));
	return NULL;
}

static void walk_function(const struct source *source, struct function *function)
{
	struct err *err;

	if (function->walked)
		return;
	err = add_inlined(source, function, &function->die, 0, 0);
	if (err) {
		/* No inlined calls are better than wrong ones. */
		spans_free(&function->spans);
		vec_free(&function->inlined);
	}
	left_out(source, err);
	function->walked = !err || err->code != ERR_CANCELLED;
	spans_sort(&function->spans);
}

/* Find the inlined calls around addr, outermost first. */
static size_t inlined_at(const struct source *source, struct function *function, uint64_t addr,
			 Dwarf_Die **dies, size_t room)
{
	const struct span *span = NULL;
	size_t nr = 0;

	walk_function(source, function);
	for (size_t i = 0; i < room; i++)
		dies[i] = NULL;
	while ((span = spans_find(&function->spans, addr, span))) {
		struct inlined *inlined = &function->inlined.at[span->value];

		if ((size_t)inlined->depth < room)
			dies[inlined->depth] = &inlined->die;
	}
	while (nr < room && dies[nr])
		nr++;
	return nr;
}

static const char *string_of(Dwarf_Die *die, unsigned int attr)
{
	Dwarf_Attribute mem;

	return dwarf_formstring(dwarf_attr_integrate(die, attr, &mem));
}

static const char *name_of(Dwarf_Die *die)
{
	const char *name = string_of(die, DW_AT_linkage_name);

	if (!name)
		name = string_of(die, DW_AT_MIPS_linkage_name);
	return name ? name : string_of(die, DW_AT_name);
}

/*
 * libdw makes all the rows of a unit's line program at once, with 50 bytes for each, and a single
 * byte of the program may make one.
 */
static struct err *check_lines(const struct source *source, Dwarf_Die *die)
{
	Dwarf_Attribute mem;
	Dwarf_Word offset;
	uint32_t len;

	if (!source->lines || !source->lines->d_buf ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_stmt_list, &mem), &offset) ||
	    source->lines->d_size < sizeof(len) || offset > source->lines->d_size - sizeof(len))
		return NULL;	/* then libdw finds none */
	memcpy(&len, (const uint8_t *)source->lines->d_buf + offset, sizeof(len));
	return len > LIMIT_LINES ?
		       too_many(source, "too many bytes of a unit's lines", LIMIT_LINES) :
		       NULL;
}

/* Get the place where the inlined function of die was called. */
static void call_of(const struct source *source, Dwarf_Die *die, struct source_frame *frame)
{
	Dwarf_Attribute mem;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	Dwarf_Die unit;
	size_t nr;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &mem), &line) == 0 &&
	    line <= INT32_MAX)
		frame->line = (int)line;
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &mem), &file) == 0 &&
	    dwarf_diecu(die, &unit, NULL, NULL) && !check_lines(source, &unit) &&
	    dwarf_getsrcfiles(&unit, &files, &nr) == 0 &&
	    file < nr)
		frame->file = dwarf_filesrc(files, file, NULL, NULL);
}

static void line_of(const struct source *source, struct unit *unit, uint64_t addr,
		    struct source_frame *frame)
{
	struct err *err = check_lines(source, &unit->die);
	Dwarf_Line *line = err ? NULL : dwarf_getsrc_die(&unit->die, addr);
	int number;

	left_out(source, err);
	if (!line || dwarf_lineno(line, &number) || number <= 0)
		return;
	frame->line = number;
	frame->file = dwarf_linesrc(line, NULL, NULL);
}

/* Returns the unit at addr that has a function there, else one that has at least the address. */
static struct unit *unit_at(struct source *source, uint64_t addr, struct function **function_ret)
{
	const struct span *span = NULL;
	struct unit *first = NULL;

	*function_ret = NULL;
	while ((span = spans_find(&source->spans, addr, span))) {
		struct unit *unit = &source->units.at[span->value];

		*function_ret = function_at(source, unit, addr);
		if (*function_ret)
			return unit;
		if (!first)
			first = unit;
	}
	return first;
}

size_t source_at(struct source *source, uint64_t addr, struct source_frame *frames)
{
	Dwarf_Die *inlined[SOURCE_FRAMES - 1];
	struct function *function;
	struct unit *unit;
	size_t nr = 0;

	addr -= source->bias;
	unit = unit_at(source, addr, &function);
	if (function)
		nr = inlined_at(source, function, addr, inlined, SOURCE_FRAMES - 1);
	for (size_t i = 0; i <= nr; i++)
		frames[i] = (struct source_frame){ .name = NULL };
	if (unit)
		line_of(source, unit, addr, &frames[0]);
	for (size_t i = 0; i < nr; i++) {
		frames[i].name = name_of(inlined[nr - 1 - i]);
		call_of(source, inlined[nr - 1 - i], &frames[i + 1]);
	}
	if (function) {
		frames[nr].name = name_of(&function->die);
		frames[nr].start = function->start + source->bias;
	}
	return nr + 1;
}

bool source_function(struct source *source, uint64_t addr, Dwarf_Die *ret)
{
	struct function *function;

	unit_at(source, addr - source->bias, &function);
	if (function)
		*ret = function->die;
	return function;
}
