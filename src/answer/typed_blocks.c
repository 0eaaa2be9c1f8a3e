/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names the types of blocks (typed_blocks.h). */

#include "answer/typed_blocks.h"

#include <string.h>

#include "answer/frame_type.h"
#include "answer/stack_names.h"
#include "answer/type_plan.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "session/session.h"
#include "symbol/name_glob.h"
#include "symbol/string_pool.h"
#include "symbol/symbol.h"

#define TABLE_OF	"_ZTV"
#define NAME_OF		"_ZTS"
#define NAME_WORDS	"typeinfo name for "
#define HEADER		16u	/* of a table, before its address point */

const char *typed_blocks_how(enum known_how how)
{
	static const char *const words[KNOWN_HOWS] = {
		[KNOWN_VTABLE] = "vtable", [KNOWN_PYTHON] = "python", [KNOWN_FRAME] = "frame",
		[KNOWN_DEBUG] = "debug", [KNOWN_SPREAD] = "spread", [KNOWN_FORM] = "form",
		[KNOWN_LIKE] = "like",
		[KNOWN_UNKNOWN] = "",
	};

	return words[how];
}

struct naming {
	struct stack_names *names;
	struct symbols *symbols;
	struct typed_blocks *ret;
	struct names pool;	/* names of classes come from the target */
	const struct type_plan *plan;
	VEC(struct known_type) kinds;
	VEC(uint32_t) layouts;		/* by layout: number of the type + 1; 0: not asked yet */
	/* Texts of ret->texts; NULL: not asked yet; "": it is not known. */
	VEC(const char *) classes, stacks;
};

static const char *behind(const char *text, const char *words)
{
	size_t len = strlen(words);

	return text && !strncmp(text, words, len) ? text + len : NULL;
}

/* The class by its name, as objects of types have it: `*` stands before a local one. */
static struct err *demangle(struct naming *naming, const char *name, const char **ret)
{
	AUTO_STR struct str mangled = STR_INIT;
	struct err *err = str_addf(&mangled, NAME_OF "%s", name);
	const char *text;

	*ret = "";
	if (err)
		return err;
	text = string_pool_readable(&naming->pool, str_text(&mangled), SIZE_MAX, NULL);
	if (!text)
		return err_nomem;
	text = behind(text, NAME_WORDS);
	return text ? text_set_keep(&naming->ret->texts, text, ret) : NULL;
}

/*
 * The symbol of the table, and the name in the type's object, if both are there, must be of one
 * class. A table for the time of construction (_ZTC) is of none.
 */
static struct err *name_table(struct naming *naming, const struct block_class *class,
			      const char **ret)
{
	size_t nr;
	const struct symbol_frame *frame = symbols_resolve(naming->symbols, class->table,
							   naming->ret->found.generation, false,
							   &nr);
	const char *symbol = behind(frame[nr - 1].linkage, TABLE_OF), *name = class->name;

	*ret = "";
	if (name && *name == '*')
		name++;
	if (behind(frame[nr - 1].linkage, "_ZTC") || (symbol && frame[nr - 1].offset < HEADER))
		return NULL;
	if (symbol && name && strcmp(symbol, name))
		return NULL;
	if (!symbol && !name)
		return NULL;
	return demangle(naming, symbol ? symbol : name, ret);
}

static struct err *name_class(struct naming *naming, uint32_t number, const char **ret)
{
	const struct block_types *types = &naming->ret->found.types;
	const struct block_class *class = &types->classes.at[number];
	const char **known = vec_slot(&naming->classes, number);
	struct err *err = NULL;

	if (!known)
		return err_nomem;
	if (!*known)
		err = class->table ? name_table(naming, class, known) :
			text_set_keep(&naming->ret->texts,
				      types->python.types.at[class->python].name, known);
	*ret = *known;
	return err;
}

static struct err *name_stack(struct naming *naming, uint32_t stack, const char **ret)
{
	AUTO_STR struct str text = STR_INIT;
	const char **known;
	struct err *err;

	*ret = "";
	/* A damaged log may name stacks that do not exist. */
	if (stack == LOG_STACK_NONE || stack > reader_stacks(session_log(naming->names->session)))
		return NULL;
	known = vec_slot(&naming->stacks, stack);
	if (!known)
		return err_nomem;
	if (!*known) {
		err = frame_type_of_stack(naming->names, stack, &text);
		if (!err)
			err = text_set_keep(&naming->ret->texts, str_text(&text), known);
		if (err)
			return err;
	}
	*ret = *known;
	return NULL;
}

/* The best that is known of a kind. */
static struct err *name_kind(struct naming *naming, const struct block_kind *kind,
			     const char **type_ret, enum known_how *how_ret)
{
	struct err *err = NULL;

	*type_ret = "";
	if (kind->class) {
		*how_ret = naming->ret->found.types.classes.at[kind->class - 1].table ?
				   KNOWN_VTABLE : KNOWN_PYTHON;
		err = name_class(naming, kind->class - 1, type_ret);
	}
	if (!err && !**type_ret) {
		*how_ret = KNOWN_FRAME;
		err = name_stack(naming, kind->stack, type_ret);
	}
	if (err || **type_ret)
		return err;
	*how_ret = kind->form == BLOCK_FORM_NONE ? KNOWN_UNKNOWN : KNOWN_FORM;
	*type_ret = block_form_name(kind->form);
	return NULL;
}

static struct err *add_kind(struct naming *naming, const struct block_kind *kind)
{
	struct typed_blocks *ret = naming->ret;
	enum known_how how = KNOWN_UNKNOWN;
	uint32_t number;
	const char *type;
	struct err *err = name_kind(naming, kind, &type, &how);

	if (!err)
		err = text_set_number(&ret->texts, type, &number);
	if (!err && number >= TYPED_MOST)
		err = err_create(ERR_RANGE, "there are more than %u types", TYPED_MOST);
	return err ? err : vec_push(&naming->kinds, ((struct known_type){ number, how }));
}

static struct err *number_layout(struct naming *naming, uint32_t layout, uint32_t *ret)
{
	uint32_t *known = vec_slot(&naming->layouts, layout), number;
	struct err *err;

	if (!known)
		return err_nomem;
	if (!*known) {
		err = text_set_copy(&naming->ret->texts, naming->plan->of.names.vec.at[layout],
				    &number);
		if (!err && number >= TYPED_MOST)
			err = err_create(ERR_RANGE, "there are more than %u types", TYPED_MOST);
		if (err)
			return err;
		*known = number + 1;
	}
	*ret = *known - 1;
	return NULL;
}

/* What is known of the pointers to a block, if nothing better is. */
static struct err *take_spread(struct naming *naming)
{
	const struct type_spread *spread = &naming->ret->found.spread;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < spread->of.nr; i++) {
		struct known_type *type = &naming->ret->of.at[i];
		uint32_t layout = spread->of.at[i] & ~TYPE_SPREAD_STACK, number;

		if (!layout || type->how < KNOWN_DEBUG)
			continue;
		err = number_layout(naming, layout - 1, &number);
		if (!err)
			*type = (struct known_type){ number, spread->of.at[i] & TYPE_SPREAD_STACK ?
						     KNOWN_DEBUG : KNOWN_SPREAD };
	}
	return err;
}

/* The types of blocks that are like those of a site: by its number + 1. */
static struct err *number_site(struct naming *naming, const struct like_sites *sites, uint32_t site,
			       uint32_t *ret)
{
	struct typed_blocks *typed = naming->ret;
	AUTO_STR struct str text = STR_INIT;
	struct like_site *like;
	struct err *err = str_addf(&text, "as by %s", sites->names.vec.at[site - 1]);

	if (!err)
		err = text_set_copy(&typed->texts, str_text(&text), ret);
	if (!err && *ret >= TYPED_MOST)
		err = err_create(ERR_RANGE, "there are more than %u types", TYPED_MOST);
	if (err)
		return err;
	like = vec_slot(&typed->likes, *ret);
	if (!like)
		return err_nomem;
	*like = typed->found.like.sites.at[site - 1];
	return NULL;
}

/* A site whose rules the blocks that were seen do not bear out names nothing. */
static struct err *take_likes(struct naming *naming, const struct like_sites *sites)
{
	const struct block_like *like = &naming->ret->found.like;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < like->of.nr; i++) {
		struct known_type *type = &naming->ret->of.at[i];
		uint32_t site = like->of.at[i], number;

		if (!site || type->how < KNOWN_UNKNOWN || site > like->sites.nr ||
		    like->sites.at[site - 1].right * 100 < like->sites.at[site - 1].tested * 99)
			continue;
		err = number_site(naming, sites, site, &number);
		if (!err)
			*type = (struct known_type){ number, KNOWN_LIKE };
	}
	return err;
}

/* In place: a block's kind makes room for its type. */
static void take_kinds(const struct naming *naming)
{
	struct block_types *types = &naming->ret->found.types;

	_Static_assert(sizeof(*types->of.at) == sizeof(*naming->ret->of.at), "they are converted");
	naming->ret->of.at = (void *)types->of.at;
	naming->ret->of.nr = types->of.nr;
	naming->ret->of.room = types->of.room;
	for (size_t i = 0; i < types->of.nr; i++)
		naming->ret->of.at[i] = naming->kinds.at[types->of.at[i]];
	types->of.at = NULL;
	types->of.nr = types->of.room = 0;
}

static struct err *name_all(struct stack_names *names, const struct type_plan *plan,
			    const struct like_sites *sites, struct typed_blocks *ret)
{
	struct naming naming = { .names = names, .ret = ret, .pool = NAMES_INIT, .plan = plan,
				 .symbols = session_symbols(names->session) };
	uint32_t unknown;
	struct err *err = text_set_number(&ret->texts, block_form_name(BLOCK_FORM_NONE), &unknown);

	vec_each_while(kind, &ret->found.types.kinds, !err) {
		err = cancel_check();
		if (!err)
			err = add_kind(&naming, kind);
	}
	if (!err) {
		take_kinds(&naming);
		err = take_spread(&naming);
	}
	if (!err)
		err = take_likes(&naming, sites);
	string_pool_free(&naming.pool);
	vec_free(&naming.kinds);
	vec_free(&naming.layouts);
	vec_free(&naming.classes);
	vec_free(&naming.stacks);
	return err;
}

static struct err *plan(struct stack_names *names, struct typed_look *look, struct typed_blocks *ret)
{
	struct err *err;

	*look = (struct typed_look){ .ask.timed = true, .sites.names = TEXT_SET_INIT };
	err = type_plan_of(names, &look->plan);
	if (!err)
		err = like_sites_take(names, &look->sites);
	*ret = (struct typed_blocks){ .taken = !err };
	if (err)
		return err;
	look->ask.site_of_stack = look->sites.of_stack.at;
	look->ask.nr_stacks = look->sites.of_stack.nr;
	look->ask.layouts = look->plan->layouts.vec.nr ? &look->plan->layouts : NULL;
	return NULL;
}

struct err *typed_blocks_take(struct stack_names *names, struct typed_blocks *ret)
{
	CLEANUP(typed_blocks_rest) struct typed_look look;
	struct err *err = plan(names, &look, ret);

	if (!err)
		err = session_contents(names->session, &look.ask, &ret->found);
	return err ? err : name_all(names, look.plan, &look.sites, ret);
}

struct err *typed_blocks_begin(struct stack_names *names, struct typed_look *look,
			       struct typed_blocks *ret)
{
	struct err *err = plan(names, look, ret);

	return err ? err : session_contents_begin(names->session, &look->ask, &look->in, &ret->found);
}

struct err *typed_blocks_end(struct stack_names *names, struct typed_look *look,
			     struct typed_blocks *ret)
{
	struct err *err = session_contents_end(&look->in);

	return err ? err : name_all(names, look->plan, &look->sites, ret);
}

void typed_blocks_rest(struct typed_look *look)
{
	session_contents_rest(&look->in);
	like_sites_free(&look->sites);
}

void typed_blocks_free(struct typed_blocks *typed)
{
	if (typed->taken)
		session_contents_free(&typed->found);
	vec_free(&typed->of);
	vec_free(&typed->likes);
	vec_free(&typed->matches);
	text_set_free(&typed->texts);
	typed->taken = false;
}

static bool is_same(const struct block *was, const struct block *block)
{
	return was->preattach == block->preattach && was->size == block->size &&
	       was->stack == block->stack && (!block->time || was->time == block->time);
}

struct known_type typed_blocks_of(const struct typed_blocks *typed, const struct block *block)
{
	const struct known_type unknown = { TYPED_UNKNOWN, KNOWN_UNKNOWN };
	const struct packed_list *list = &typed->found.blocks.held;
	bool user = block->heap == LOG_HEAP_USER;
	size_t from = user ? list->nr_outer : 0, to = user ? list->nr : list->nr_outer;
	size_t at = LOWER_BOUND(i, from, to, packed_at(list, i)->address < block->address);
	struct block was;

	if (at >= to || packed_at(list, at)->address != block->address ||
	    block->process != list->process)
		return unknown;
	was = packed_block(list, at);
	return is_same(&was, block) ? typed->of.at[at] : unknown;
}

bool typed_blocks_match(void *types, const struct block *block, const char *glob)
{
	struct typed_blocks *typed = types;
	uint32_t number = typed_blocks_of(typed, block).number;
	bool result;

	if (typed->glob != glob)
		vec_free(&typed->matches);
	typed->glob = glob;
	if (number < typed->matches.nr && typed->matches.at[number])
		return typed->matches.at[number] == 2;
	result = name_glob_matches_text(glob, typed_blocks_name(typed, number));
	if (vec_slot(&typed->matches, number))
		typed->matches.at[number] = result ? 2 : 1;
	return result;
}
