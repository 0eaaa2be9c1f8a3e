/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stacks by the names in them, for filters and for the keys of sites. */

#include "answer/stack_names.h"

#include <fnmatch.h>

#include "answer/stack.h"
#include "base/path.h"
#include "log/log.h"
#include "session/session.h"
#include "symbol/symbol.h"

const char *no_stack_text(bool unrecorded)
{
	return unrecorded ? "(not recorded)" : "(allocated before attach)";
}

struct err *function_text(struct str *str, const struct symbol_frame *frame,
			  enum symbol_names names)
{
	const char *name = symbol_frame_name(frame, names);
	struct err *err = str_add(str, name ? name : "??");

	if (!err && frame->file && frame->line)
		err = str_addf(str, " (%s:%d)", path_base(frame->file), frame->line);
	else if (!err && frame->module)
		err = str_addf(str, " [%s]", frame->module);
	return err;
}

/*
 * For templates of types without linkage (lambdas) compilers write only the last part of the name:
 * __invoke_impl<...>. The file tells that such a function is the C++ library's.
 */
static bool is_unscoped_std(const struct symbol_frame *frame)
{
	return frame->inlined && !frame->linkage && frame->file &&
	       strstr(frame->file, "/include/c++/");
}

bool frame_is_skipped(struct session *session, const struct symbol_frame *frame)
{
	const struct name_globs *skip = &session_naming(session)->skip;

	return name_globs_match(skip, frame) ||
	       (is_unscoped_std(frame) && name_globs_match_text(skip, "std::"));
}

void stack_names_init(struct stack_names *names, struct session *session)
{
	*names = (struct stack_names){ .session = session };
}

void stack_names_free(struct stack_names *names)
{

	for (size_t i = 0; i < names->matches.nr; i++)
		vec_free(&names->matches.at[i].known);
	vec_free(&names->matches);
	vec_free(&names->names);
	map_free(&names->keys, NULL);
	map_free(&names->files, NULL);
	map_free(&names->lines, NULL);
}

/* The session is asked once for all stacks: asking it costs as much as many of them. */
static struct symbols *symbols_of(struct stack_names *names)
{
	if (!names->symbols)
		names->symbols = session_symbols(names->session);
	return names->symbols;
}

static bool matches(const char *glob, const char *text)
{
	return text && !fnmatch(glob, text, 0);
}

static bool frame_matches(const struct symbol_frame *frame, enum filter_attr attr, const char *glob)
{
	if (attr == FILTER_MODULE)
		return matches(glob, frame->module) || matches(glob, frame->path);
	return name_glob_matches(glob, frame);
}

static bool stack_matches(struct stack_names *names, uint32_t stack, enum filter_attr attr,
			  const char *glob)
{
	struct log_stack_view view = reader_stack(session_log(names->session), stack);
	struct symbols *symbols = view.nr ? symbols_of(names) : NULL;
	const struct symbol_frame *frames;
	size_t nr, j;

	if (view.nr && attr == FILTER_FUNCTION &&
	    name_glob_matches_text(glob, session_symbols_entry(names->session, view.pcs[0])))
		return true;
	for (uint32_t i = 0; i < view.nr; i++) {
		frames = symbols_resolve(symbols, view.pcs[i], view.generation, i > 0, &nr);
		for (j = 0; j < nr; j++) {
			if (frame_matches(&frames[j], attr, glob))
				return true;
		}
	}
	return false;
}

/* The stacks that match a glob; NULL if there is no memory for them. */
static struct stack_match *match_of(struct stack_names *names, enum filter_attr attr,
				    const char *glob)
{
	vec_each(match, &names->matches)
		if (match->glob == glob && match->attr == attr)
			return match;
	if (vec_push(&names->matches, ((struct stack_match){ .glob = glob, .attr = attr })))
		return NULL;
	return &names->matches.at[names->matches.nr - 1];
}

bool stack_names_match(void *ctx, uint32_t stack, enum filter_attr attr, const char *glob)
{
	struct stack_names *names = ctx;
	struct stack_match *match = NULL;
	uint8_t *known = NULL;
	bool result;

	/* A damaged log may name stacks that do not exist; no answer is kept for them. */
	if (stack <= reader_stacks(session_log(names->session)))
		match = match_of(names, attr, glob);
	if (match)
		known = vec_slot(&match->known, stack);
	if (known && *known)
		return *known == 2;
	result = stack_matches(names, stack, attr, glob);
	if (known)
		*known = result ? 2 : 1;
	return result;
}

static bool has_any(struct stack_names *names, const struct filter_cond *cond)
{
	uint32_t nr = reader_stacks(session_log(names->session));

	for (uint32_t stack = 1; stack <= nr; stack++)
		if (stack_names_match(names, stack, cond->attr, cond->glob))
			return true;
	return false;
}

const struct filter_cond *stack_names_nobody(struct stack_names *names, const struct filter *filter)
{
	vec_each(cond, &filter->conds)
		if ((cond->attr == FILTER_FUNCTION || cond->attr == FILTER_MODULE) &&
		    cond->relop == FILTER_EQ && !has_any(names, cond))
			return cond;
	return NULL;
}

bool stack_names_own(struct stack_names *names, uint32_t stack, struct symbol_frame *ret)
{
	struct log_stack_view view = reader_stack(session_log(names->session), stack);
	struct symbols *symbols = view.nr ? symbols_of(names) : NULL;
	bool found = false;

	for (uint32_t i = 0; i < view.nr; i++) {
		struct stack_functions at = stack_functions(names->session, symbols,
			(struct stack_pc){ view.pcs[i], view.generation, !i });

		for (size_t j = 0; !at.entry && j < at.nr; j++) {
			bool skipped = frame_is_skipped(names->session, &at.frames[j]);

			if (!found || !skipped)
				*ret = at.frames[j];
			found = true;
			if (!skipped)
				return true;
		}
	}
	return found;
}

/* Does a walk that looks for the own frame begin at this one? Without one, at the caller of the entry. */
static bool has_own(struct stack_names *names, uint32_t stack)
{
	struct symbol_frame own;

	return stack_names_own(names, stack, &own) && !frame_is_skipped(names->session, &own);
}

struct err *stack_names_each(struct stack_names *names, uint32_t stack,
			     struct err *(*fn)(void *ctx, const struct stack_step *step), void *ctx)
{
	struct log_stack_view view = reader_stack(session_log(names->session), stack);
	struct symbols *symbols = view.nr ? symbols_of(names) : NULL;
	bool begun = !view.nr || !has_own(names, stack);
	struct err *err = NULL;
	size_t nr;

	for (uint32_t i = 0; !err && i < view.nr; i++) {
		const struct symbol_frame *frames;

		if (!i && session_symbols_entry(names->session, view.pcs[0]))
			continue;
		frames = symbols_resolve(symbols, view.pcs[i], view.generation, i > 0, &nr);
		for (size_t j = 0; !err && j < nr; j++) {
			begun = begun || !frame_is_skipped(names->session, &frames[j]);
			if (begun)
				err = fn(ctx, &(struct stack_step){ &frames[j], view.generation, !i });
		}
	}
	return err;
}

const char *stack_names_place(struct stack_names *names, const struct stack_step *step,
			      enum symbol_names form)
{
	return symbols_text(symbols_of(names), step->frame->pc, step->generation, !step->entry, form);
}

/* The key of a name that has the number `at` in one of the maps; 0 if there is no memory. */
static uint32_t intern(struct stack_names *names, struct map *keys, uint64_t at,
		       struct stack_name name)
{
	uint32_t key = (uint32_t)(uintptr_t)map_get(keys, at);

	if (key || vec_reserve(&names->names, 1))
		return key;
	key = (uint32_t)names->names.nr + 1;
	if (map_put(keys, at, (void *)(uintptr_t)key))
		return 0;
	names->names.at[names->names.nr++] = name;
	return key;
}

/* The symbols keep one copy of each name, so names are compared by address. */
static uint32_t intern_name(struct stack_names *names, const char *full, const char *brief)
{
	return full ? intern(names, &names->keys, (uintptr_t)full,
			     (struct stack_name){ full, brief, 0 }) : 0;
}

/* The number of a file, from 1 in order of first appearance; 0 if there is no memory. */
static uint64_t file_number(struct stack_names *names, const char *file)
{
	uint64_t number = (uintptr_t)map_get(&names->files, (uintptr_t)file);

	if (number)
		return number;
	number = map_count(&names->files) + 1;
	return map_put(&names->files, (uintptr_t)file, (void *)(uintptr_t)number) ? 0 : number;
}

static uint32_t intern_line(struct stack_names *names, const struct symbol_frame *frame)
{
	uint64_t file = file_number(names, frame->file);

	return file ? intern(names, &names->lines, file << 32 | (uint32_t)frame->line,
			     (struct stack_name){ frame->file, path_base(frame->file),
						  frame->line }) : 0;
}

uint64_t stack_names_key(void *ctx, uint32_t stack, enum site_by by)
{
	struct stack_names *names = ctx;
	struct symbol_frame frame;

	if (!stack_names_own(names, stack, &frame))
		return 0;
	if (by == SITE_MODULE)
		return intern_name(names, frame.module, frame.module);
	if (by == SITE_LINE && frame.file && frame.line > 0)
		return intern_line(names, &frame);
	return intern_name(names, frame.function, frame.brief);
}

const char *stack_names_name(const struct stack_names *names, uint64_t key)
{
	const struct stack_name *name;

	if (!key || key > names->names.nr)
		return "(unknown)";
	name = &names->names.at[key - 1];
	return session_naming(names->session)->names == SYMBOL_NAMES_FULL ? name->full :
									     name->brief;
}

int stack_names_line(const struct stack_names *names, uint64_t key)
{
	return key && key <= names->names.nr ? names->names.at[key - 1].line : 0;
}

struct err *stack_names_headline(struct stack_names *names, uint32_t stack, struct str *ret)
{
	struct log_stack_view view = reader_stack(session_log(names->session), stack);
	enum symbol_names form = session_naming(names->session)->names;
	struct symbol_frame frame;

	if (!stack_names_own(names, stack, &frame))
		return NULL;
	/* Code without a name is shown by its place. */
	if (frame.function)
		return function_text(ret, &frame, form);
	return str_add(ret, symbols_text(names->symbols, frame.pc, view.generation,
					 frame.pc != view.pcs[0], form));
}
