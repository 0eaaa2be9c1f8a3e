/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names stacks for a recording, each once. */

#include "answer/recorder_stacks.h"

#include "session/session.h"
#include "symbol/symbol.h"

void recorder_stacks_begin(struct recorder_stacks *stacks, struct session *session,
			   struct record_names *names)
{
	recorder_stacks_free(stacks);
	stacks->session = stacks->ends.session = session;
	stacks->names = names;
	stacks->symbols = session_symbols(session);
}

static struct err *put_strings(struct recorder_stacks *stacks, const char *const *texts,
			       uint32_t *const *ret, size_t nr)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < nr; i++)
		err = record_names_string(stacks->names, texts[i], ret[i]);
	return err;
}

static struct err *put_function(struct recorder_stacks *stacks, const struct symbol_frame *frame,
				struct record_function *ret)
{
	*ret = (struct record_function){
		.line = frame->line > 0 ? (uint32_t)frame->line : 0,
		.name_bare = frame->function_bare, .brief_bare = frame->brief_bare,
		.offset = frame->offset, .inlined = frame->inlined,
	};
	return put_strings(stacks, (const char *[]){ frame->function, frame->brief, frame->linkage,
						     frame->place, frame->file },
			   (uint32_t *[]){ &ret->name, &ret->brief, &ret->linkage, &ret->place,
					   &ret->file }, 5);
}

/* The module of a place in code, and its address there. */
static struct err *put_module(struct recorder_stacks *stacks, struct stack_pc pc,
			      struct record_location *ret)
{
	uint64_t code = pc.pc - (!pc.entry && pc.pc);
	AUTO_STR struct str build_id = STR_INIT;
	struct symbol_place place;
	struct err *err;

	ret->address = pc.pc;
	if (!symbol_file_place(stacks->symbols, code, pc.generation, &place))
		return NULL;
	ret->address = pc.pc - place.bias;
	err = symbol_file_build_id(&place, &build_id);
	if (err)
		return err;
	return put_strings(stacks, (const char *[]){ place.path, build_id.at },
			   (uint32_t *[]){ &ret->module, &ret->build_id }, 2);
}

static struct err *make_location(struct recorder_stacks *stacks, struct stack_pc pc, uint32_t *ret)
{
	struct stack_functions at = stack_functions(stacks->session, stacks->symbols, pc);
	struct record_function functions[RECORD_FUNCTIONS_MOST];
	struct record_location location = { .functions = functions };
	struct err *err = put_module(stacks, pc, &location);

	if (!err)
		err = record_names_string(stacks->names, at.entry, &location.entry);
	if (!at.entry)
		location.nr = (uint32_t)MIN(at.nr, (size_t)RECORD_FUNCTIONS_MOST);
	for (uint32_t i = 0; !err && i < location.nr; i++)
		err = put_function(stacks, &at.frames[i], &functions[i]);
	return err ? err : record_names_location(stacks->names, &location, ret);
}

static struct err *location_of(struct recorder_stacks *stacks, struct stack_pc pc, uint32_t *ret)
{
	uint32_t number = 0, *known;
	struct err *err = stack_number(&stacks->numbers, pc, &number);

	if (err)
		return err;
	known = vec_slot(&stacks->locations, number);
	if (!known)
		return err_nomem;
	if (!*known)
		err = make_location(stacks, pc, known);
	*ret = stacks->locations.at[number];
	return err;
}

static struct err *make_stack(struct recorder_stacks *stacks, const struct log_stack_view *view,
			      uint32_t *ret)
{
	uint32_t locations[RECORD_STACK_MOST];
	struct record_stack is = { .nr = MIN(view->nr, RECORD_STACK_MOST), .locations = locations };
	const char *end = NULL;
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < is.nr; i++)
		err = location_of(stacks, (struct stack_pc){ view->pcs[i], view->generation, !i },
				  &locations[i]);
	if (!view->nr)
		end = "(no stack)";
	else if (view->end != WALK_COMPLETE)
		end = stack_end_text(&stacks->ends, view->end, view->pcs, view->nr);
	if (!err)
		err = record_names_string(stacks->names, end, &is.end);
	return err ? err : record_names_stack(stacks->names, &is, ret);
}

struct err *recorder_stacks_number(struct recorder_stacks *stacks, uint32_t stack, uint32_t *ret)
{
	const struct log *log = session_log(stacks->session);
	struct log_stack_view view;
	uint32_t *known;
	struct err *err = NULL;

	if (stacks->log != log_clock_begin(log)) {
		recorder_stacks_begin(stacks, stacks->session, stacks->names);
		stacks->log = log_clock_begin(log);
	}
	stack = log_deferred_whole(log, stack);
	known = stack <= reader_stacks(log) ? vec_slot(&stacks->stacks, stack) : NULL;
	if (known && *known) {
		*ret = *known;
		return NULL;
	}
	view = reader_stack(log, stack);
	err = make_stack(stacks, &view, ret);
	/* Of a damaged log nothing is kept. */
	if (!err && stack < stacks->stacks.nr)
		stacks->stacks.at[stack] = *ret;
	return err;
}

void recorder_stacks_free(struct recorder_stacks *stacks)
{
	stack_numbers_free(&stacks->numbers);
	vec_free(&stacks->locations);
	vec_free(&stacks->stacks);
	*stacks = (struct recorder_stacks){ .names = stacks->names, .session = stacks->session };
}
