/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Puts recorded stacks into the log of a session, with their names (theory in replay_stacks.h). */

#include "session/replay/replay_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "log/log.h"
#include "symbol/symbol.h"
#include "symbol/symbol_recorded.h"
#include "unwind/walk.h"

#define FIRST_PLACE	(1ull << 48)	/* above what a process can have mapped */
#define PLACE		(1ull << 36)	/* for the addresses of one module */
#define MODULES_MOST	16384u

static bool is_module(const struct replay_module *module, const char *path, const char *build_id)
{
	return !strcmp(module->path, path) && !strcmp(module->build_id, build_id);
}

/* Find the module of a build, or give it a place. *bias_ret is 0 if there is no place left. */
static struct err *find_module(struct replay_stacks *stacks, const char *path, const char *build_id,
			       uint64_t *bias_ret)
{
	uint64_t start = FIRST_PLACE + stacks->modules.nr * PLACE;
	struct symbol_place place;
	bool another = false;
	struct err *err;

	*bias_ret = 0;
	vec_each(module, &stacks->modules) {
		if (is_module(module, path, build_id)) {
			*bias_ret = module->bias;
			return NULL;
		}
		another |= !strcmp(module->path, path);
	}
	if (stacks->modules.nr == MODULES_MOST)
		return NULL;
	err = symbols_add(stacks->symbols, &(const struct symbol_module){
		.path = path, .fd = -1, .build_id = build_id, .start = start, .end = start + PLACE,
		.bias = start, .born = 0, .died = UINT32_MAX });
	if (err)
		return err;
	if (!symbol_file_place(stacks->symbols, start, REPLAY_GENERATION, &place))
		return err_nomem;
	*bias_ret = start;
	stacks->rebuilt |= another;
	return vec_push(&stacks->modules, ((struct replay_module){ place.path, place.build_id, start }));
}

static struct err *address_of(struct replay_stacks *stacks, const struct record_reader *reader,
			      const struct record_location *location, uint64_t *ret)
{
	const char *path = record_reader_string(reader, location->module);
	const char *build_id = record_reader_string(reader, location->build_id);
	struct err *err = NULL;
	uint64_t bias = 0;

	if (path && location->address < PLACE)
		err = find_module(stacks, path, build_id ? build_id : "", &bias);
	*ret = bias + location->address;
	return err;
}

static struct err *add_entry(struct replay_stacks *stacks, uint64_t pc, const char *name)
{
	char *copy;
	struct err *err;

	if (map_get(stacks->entries, pc))
		return NULL;
	name = symbol_recorded_text(stacks->symbols, name ? name : "");
	copy = name ? strdup(name) : NULL;
	err = copy ? map_put(stacks->entries, pc, copy) : err_nomem;
	if (err)
		free(copy);
	return err;
}

static struct err *add_names(struct replay_stacks *stacks, const struct record_reader *reader,
			     const struct record_location *location, uint64_t pc, bool first)
{
	AUTO_FREE struct symbol_recorded *frames = calloc(location->nr, sizeof(*frames));

	if (!frames)
		return err_nomem;
	for (uint32_t i = 0; i < location->nr; i++) {
		const struct record_function *from = &location->functions[i];

		frames[i] = (struct symbol_recorded){
			.name = record_reader_string(reader, from->linkage ? from->linkage :
									     from->name),
			.place = record_reader_string(reader, from->place),
			.file = record_reader_string(reader, from->file),
			.line = (int)MIN(from->line, (uint32_t)INT32_MAX),
			.offset = from->offset,
		};
	}
	return symbol_recorded_add(stacks->symbols, pc, REPLAY_GENERATION, !first, location->nr,
				   frames);
}

/* More names than are kept are no reason to answer nothing: the addresses have no names then. */
static struct err *unless_full(struct replay_stacks *stacks, struct err *err)
{
	if (!err || err->code != ERR_RANGE)
		return err;
	stacks->full = true;
	return NULL;
}

static struct err *add_location(struct replay_stacks *stacks, const struct record_reader *reader,
				uint32_t number, bool first, uint64_t *ret)
{
	const struct record_location location = record_reader_location(reader, number);
	struct err *err = address_of(stacks, reader, &location, ret);

	if (!err && first && location.entry)
		err = add_entry(stacks, *ret, record_reader_string(reader, location.entry));
	if (!err && location.nr)
		err = unless_full(stacks, add_names(stacks, reader, &location, *ret, first));
	return err;
}

/* Why a stack ends is recorded in words. */
static enum walk_end end_of(const char *text)
{
	if (!text)
		return WALK_COMPLETE;
	for (enum walk_end end = WALK_COMPLETE; end < WALK_ENDS; end++)
		if (!strcmp(walk_end_name(end), text))
			return end;
	return WALK_NO_MODULE;
}

static struct err *add_stack(struct replay_stacks *stacks, const struct record_reader *reader,
			     const struct record_stack *stack, uint32_t *ret)
{
	uint32_t nr = MIN(stack->nr, (uint32_t)LOG_DEPTH_MAX);
	uint64_t pcs[LOG_DEPTH_MAX];
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < nr; i++)
		err = add_location(stacks, reader, stack->locations[i], !i, &pcs[i]);
	if (err)
		return err;
	*ret = stack_table_insert(stacks->log, pcs, nr,
				  (uint8_t)end_of(record_reader_string(reader, stack->end)),
				  REPLAY_GENERATION);
	stacks->full |= *ret == LOG_STACK_NONE;
	return NULL;
}

struct err *replay_stacks_get(struct replay_stacks *stacks, const struct record_reader *reader,
			      struct replay_numbers *numbers, uint32_t number, uint32_t *ret)
{
	const struct record_stack stack = record_reader_stack(reader, number);
	uint32_t *known = stack.nr ? vec_slot(&numbers->vec, number) : NULL;
	struct err *err = NULL;

	*ret = LOG_STACK_NONE;
	if (!stack.nr)
		return NULL;
	if (!known)
		return err_nomem;
	if (!*known)
		err = add_stack(stacks, reader, &stack, known);
	if (!err)
		*ret = *known;
	return err;
}

void replay_stacks_free(struct replay_stacks *stacks)
{
	vec_free(&stacks->modules);
}
