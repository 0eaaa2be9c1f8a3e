/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stacks by the names in them, for filters and for the keys of sites. */

#include "answer/stack_names.h"

#include <fnmatch.h>

#include "answer/own_frame.h"
#include "answer/stack.h"
#include "base/path.h"
#include "log/log.h"
#include "session/session.h"
#include "symbol/symbol.h"

/* Code that a runtime has made, and that nothing names. */
static const char code_of_no_file[] = "?? (code of no file)";

const char *no_stack_text(bool unrecorded)
{
	return unrecorded ? "(not recorded)" : "(allocated before attach)";
}

const char *stack_names_function(const struct symbol_frame *frame, enum symbol_names names)
{
	if (frame->function)
		return symbol_frame_name(frame, names);
	if (frame->place)
		return frame->place;
	return frame->module ? "??" : code_of_no_file;
}

struct err *function_text(struct str *str, const struct symbol_frame *frame,
			  enum symbol_names names)
{
	struct err *err = str_add(str, stack_names_function(frame, names));

	if (err || !frame->function)
		return err;
	if (frame->file && frame->line)
		err = str_addf(str, " (%s:%d)", path_source(frame->file), frame->line);
	else if (frame->module)
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

static bool is_found(const struct session_naming *naming, const struct symbol_frame *frame)
{
	const char *name = frame->function ? frame->function : frame->place;

	for (unsigned i = 0; name && i < naming->nr_wrappers; i++)
		if (!strcmp(naming->wrapper[i].name, name))
			return true;
	return false;
}

bool frame_is_skipped(struct session *session, const struct symbol_frame *frame)
{
	const struct name_globs *skip = &session_naming(session)->skip;

	return is_found(session_naming(session), frame) || name_globs_match(skip, frame) ||
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
	map_free(&names->wrappers, NULL);
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

/* A name is compared with all globs once an answer, not once a stack. */
static bool is_wrapper(struct stack_names *names, const struct symbol_frame *frame)
{
	/* Of inlined functions the file may count, too. */
	const char *name = frame->function ? frame->function : frame->place;
	uintptr_t key = frame->inlined ? 0 : (uintptr_t)name;
	uintptr_t known = key ? (uintptr_t)map_get(&names->wrappers, key) : 0;

	if (known)
		return known == 2;
	known = frame_is_skipped(names->session, frame) ? 2 : 1;
	if (key)
		err_ignore(map_put(&names->wrappers, key, (void *)known));
	return known == 2;
}

static enum own_kind kind_of(struct stack_names *names, const struct symbol_frame *frame)
{
	if (is_wrapper(names, frame))
		return OWN_WRAPPER;
	return frame->function ? OWN_NAMED : OWN_NAMELESS;
}

/*
 * The frames of a code address must not be used after those of the next one: they may be among the
 * few that are not kept. So what may be needed is copied.
 */
static bool find_own(struct stack_names *names, uint32_t stack, bool with_caller,
		     struct stack_own *ret)
{
	struct log_stack_view view = reader_stack(session_log(names->session), stack);
	struct symbols *symbols = view.nr ? symbols_of(names) : NULL;
	struct own_search search = OWN_SEARCH_INIT;
	struct symbol_frame first;
	bool more = true;

	search.with_caller = with_caller;
	ret->caller.pc = 0;
	ret->at = 0;
	for (uint32_t i = 0; more && i < view.nr; i++) {
		struct stack_functions at = stack_functions(names->session, symbols,
			(struct stack_pc){ view.pcs[i], view.generation, !i });

		for (size_t j = 0; more && j < at.nr; j++) {
			const struct symbol_frame *frame = at.entry ? NULL : &at.frames[j];
			size_t number = search.next;

			more = own_frame_next(&search, frame ? kind_of(names, frame) : OWN_ENTRY,
					      frame ? frame->module : NULL);
			if (search.first == number)
				first = *frame;
			if (search.own == number) {
				ret->frame = *frame;
				ret->at = i;
			}
			if (search.caller == number)
				ret->caller = *frame;
		}
	}
	ret->number = own_frame_end(&search);
	if (search.own == OWN_NONE && ret->number != OWN_NONE)
		ret->frame = first;
	return ret->number != OWN_NONE;
}

bool stack_names_own(struct stack_names *names, uint32_t stack, struct stack_own *ret)
{
	return find_own(names, stack, true, ret);
}

struct err *stack_names_each(struct stack_names *names, uint32_t stack,
			     struct err *(*fn)(void *ctx, const struct symbol_frame *frame), void *ctx)
{
	struct log_stack_view view = reader_stack(session_log(names->session), stack);
	struct symbols *symbols = view.nr ? symbols_of(names) : NULL;
	struct err *err = NULL;
	struct stack_own own;
	size_t number = 0;

	if (!find_own(names, stack, false, &own))
		return NULL;
	for (uint32_t i = 0; !err && i < view.nr; i++) {
		struct stack_functions at = stack_functions(names->session, symbols,
			(struct stack_pc){ view.pcs[i], view.generation, !i });

		for (size_t j = 0; !err && j < at.nr; j++)
			if (number++ >= own.number)
				err = fn(ctx, &at.frames[j]);
	}
	return err;
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
			     (struct stack_name){ frame->file, path_source(frame->file),
						  frame->line }) : 0;
}

uint64_t stack_names_key(void *ctx, uint32_t stack, enum site_by by)
{
	struct stack_names *names = ctx;
	const struct symbol_frame *frame;
	struct stack_own own;

	if (!find_own(names, stack, false, &own))
		return 0;
	frame = &own.frame;
	if (by == SITE_MODULE)
		return intern_name(names, frame->module, frame->module);
	if (by == SITE_LINE && frame->file && frame->line > 0)
		return intern_line(names, frame);
	return intern_name(names, stack_names_function(frame, SYMBOL_NAMES_FULL),
			   stack_names_function(frame, SYMBOL_NAMES_SHORT));
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

static struct err *add_caller(struct stack_names *names, const struct stack_own *own,
			      const char *before, struct str *ret)
{
	struct err *err = own->caller.pc ? str_add(ret, before) : NULL;

	return own->caller.pc && !err ?
		function_text(ret, &own->caller, session_naming(names->session)->names) : err;
}

struct err *stack_names_caller(struct stack_names *names, uint32_t stack, const char *before,
			       struct str *ret)
{
	struct stack_own own;

	return stack_names_own(names, stack, &own) ? add_caller(names, &own, before, ret) : NULL;
}

struct err *stack_names_headline(struct stack_names *names, uint32_t stack, struct str *ret)
{
	struct stack_own own;
	struct err *err;

	if (!stack_names_own(names, stack, &own))
		return NULL;
	err = function_text(ret, &own.frame, session_naming(names->session)->names);
	return err ? err : add_caller(names, &own, ", called by ", ret);
}
