/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a segment that anybody may have written. */

#include "record/input.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "record/code.h"
#include "record/format.h"

#define LOCAL_MOST	(1u << 22)	/* names of a kind in a segment */
#define COLUMNS_MOST	64u		/* of a later version */
#define STATE_MOST	(256ull << 20)	/* bytes of the tables of all targets of a segment */

static struct err *damaged(const char *what)
{
	return err_create(ERR_FORMAT, "the segment is damaged: %s", what);
}

static struct err *take_head(struct record_input *input, struct record_bytes *from)
{
	uint64_t version = record_code_number(from), minor = record_code_number(from);

	input->number = record_code_number(from);
	input->last = record_code_number(from);
	input->every = record_code_number(from);
	input->begun_ns = record_code_number(from);
	if (from->bad || input->last < input->number)
		return damaged("its head");
	if (version != RECORD_FORMAT_MAIN)
		return err_create(ERR_UNSUPPORTED,
				  "the recording has version %" PRIu64 ".%" PRIu64 " of the format, not %u.%u",
				  version, minor, RECORD_FORMAT_MAIN, RECORD_FORMAT_MINOR);
	input->newer = minor > RECORD_FORMAT_MINOR;
	return NULL;
}

struct err *record_input_begin(struct record_input *input, struct record_names *names, int fd,
			       unsigned tables)
{
	struct record_frame frame;
	struct err *err;
	bool found, lost;

	*input = (struct record_input){
		.names = names, .frames = RECORD_FRAMES_INIT(fd), .tables = tables,
	};
	err = record_frame_next(&input->frames, &frame, &found, &lost);
	if (err)
		return err;
	if (!found || lost || frame.kind != RECORD_FRAME_SEGMENT)
		return damaged("it has no head");
	return take_head(input, &frame.payload);
}

/* A name of this segment as the recording has it. */
static struct err *global_of(struct record_input *input, enum record_name_kind kind,
			     uint64_t local, uint32_t *ret)
{
	struct err *err;
	char text[64];

	*ret = RECORD_NONE;
	if (!local)
		return NULL;
	if (local <= input->global[kind].nr)
		*ret = input->global[kind].at[local - 1];
	if (*ret || kind == RECORD_NAME_TARGET)
		return NULL;
	snprintf(text, sizeof(text), "(lost %" PRIu64 ")", local);
	err = record_names_string(input->names, text, ret);
	if (!err && kind == RECORD_NAME_LOCATION)
		err = record_names_location(input->names, &(struct record_location){ .entry = *ret }, ret);
	else if (!err && kind == RECORD_NAME_STACK)
		err = record_names_stack(input->names, &(struct record_stack){ .end = *ret }, ret);
	return err;
}

static struct err *take_string(struct record_input *input, struct record_bytes *from, uint32_t *ret)
{
	return global_of(input, RECORD_NAME_STRING, record_code_number(from), ret);
}

static struct err *take_strings(struct record_input *input, struct record_bytes *from,
				uint32_t *const *ret, size_t nr)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < nr; i++)
		err = take_string(input, from, ret[i]);
	return err;
}

static struct err *take_function(struct record_input *input, struct record_bytes *from,
				 struct record_function *ret)
{
	struct err *err = take_strings(input, from, (uint32_t *[]){
		&ret->name, &ret->brief, &ret->linkage, &ret->place, &ret->file }, 5);

	ret->line = (uint32_t)record_code_upto(from, INT32_MAX);
	ret->name_bare = (uint32_t)record_code_upto(from, RECORD_STRING_MOST);
	ret->brief_bare = (uint32_t)record_code_upto(from, RECORD_STRING_MOST);
	ret->offset = record_code_number(from);
	ret->inlined = record_code_number(from);
	return err;
}

static struct err *take_location(struct record_input *input, struct record_bytes *from,
				 uint32_t *ret)
{
	struct record_function functions[RECORD_FUNCTIONS_MOST];
	struct record_location is = { .functions = functions };
	struct err *err = take_strings(input, from, (uint32_t *[]){ &is.module, &is.build_id }, 2);

	is.address = record_code_number(from);
	if (!err)
		err = take_string(input, from, &is.entry);
	is.nr = (uint32_t)record_code_upto(from, RECORD_FUNCTIONS_MOST);
	for (uint32_t i = 0; !err && i < is.nr && !from->bad; i++)
		err = take_function(input, from, &functions[i]);
	if (!err && !from->bad)
		err = record_names_location(input->names, &is, ret);
	return err;
}

static struct err *take_stack(struct record_input *input, struct record_bytes *from, uint32_t *ret)
{
	uint32_t locations[RECORD_STACK_MOST];
	struct record_stack is = { .locations = locations };
	struct err *err = NULL;

	is.nr = (uint32_t)record_code_upto(from, RECORD_STACK_MOST);
	for (uint32_t i = 0; !err && i < is.nr && !from->bad; i++)
		err = global_of(input, RECORD_NAME_LOCATION, record_code_number(from), &locations[i]);
	if (!err)
		err = take_string(input, from, &is.end);
	if (!err && !from->bad)
		err = record_names_stack(input->names, &is, ret);
	return err;
}

static struct err *take_target(struct record_input *input, struct record_bytes *from, uint32_t *ret)
{
	struct record_target is = { .pid = (pid_t)record_code_upto(from, INT32_MAX) };
	struct err *err;

	is.start = record_code_number(from);
	err = take_strings(input, from, (uint32_t *[]){
		&is.boot, &is.host, &is.name, &is.command, &is.program, &is.build_id, &is.group,
		&is.allocator }, 8);
	if (!err && !from->bad)
		err = record_names_read_target(input->names, &is, ret);
	return err;
}

static struct err *take_text(struct record_input *input, struct record_bytes *from, uint32_t *ret)
{
	size_t len;
	const uint8_t *bytes = record_code_bytes(from, RECORD_STRING_MOST, &len);

	return bytes ? record_names_text(input->names, bytes, len, ret) : NULL;
}

/* Names of one kind, each behind the one before. */
static struct err *take_names(struct record_input *input, enum record_name_kind kind,
			      struct record_bytes *from)
{
	static struct err *(*const take_one[])(struct record_input *input, struct record_bytes *from,
					       uint32_t *ret) = {
		[RECORD_NAME_STRING] = take_text, [RECORD_NAME_LOCATION] = take_location,
		[RECORD_NAME_STACK] = take_stack, [RECORD_NAME_TARGET] = take_target,
	};
	uint64_t at = record_code_upto(from, LOCAL_MOST);
	struct err *err = NULL;

	while (at && from->at < from->end && !from->bad && at <= LOCAL_MOST) {
		uint32_t number = RECORD_NONE, *slot;

		err = take_one[kind](input, from, &number);
		if (err)
			return err;
		if (from->bad)
			break;
		slot = vec_slot(&input->global[kind], at - 1);
		if (!slot)
			return err_nomem;
		*slot = number;
		at++;
	}
	return NULL;
}

/* RECORD_ITEM_NONE: it is damaged, or of a target that is left out. */
static struct err *take_event(struct record_input *input, struct record_bytes *from,
			      struct record_event *ret, enum record_item *item_ret)
{
	struct err *err;

	*ret = (struct record_event){ .time_ns = record_code_number(from) };
	err = global_of(input, RECORD_NAME_TARGET, record_code_number(from), &ret->target);
	ret->kind = (enum record_event_kind)record_code_upto(from, UINT8_MAX);
	if (!err)
		err = take_string(input, from, &ret->text);
	ret->number = record_code_number(from);
	ret->also = record_code_number(from);
	*item_ret = from->bad || ret->kind >= RECORD_EVENT_KINDS || ret->target == RECORD_NAMES_LEFT_OUT ?
		RECORD_ITEM_NONE : RECORD_ITEM_EVENT;
	return err;
}

static struct err *take_key(struct record_input *input, enum record_key is, uint64_t local,
			    uint64_t *ret)
{
	enum record_name_kind kind = is == RECORD_KEY_STRING ? RECORD_NAME_STRING : RECORD_NAME_STACK;
	uint32_t number;
	struct err *err;

	*ret = local;
	if (is == RECORD_KEY_NUMBER)
		return NULL;
	err = global_of(input, kind, is == RECORD_KEY_GROWTH ? local >> 3 : local, &number);
	*ret = is == RECORD_KEY_GROWTH ? (uint64_t)number << 3 | (local & 7) : number;
	return err;
}

static struct err *take_value(struct record_input *input, struct record_bytes *from, bool string,
			      uint64_t before, uint64_t *ret)
{
	uint32_t number = RECORD_NONE;
	struct err *err = NULL;

	if (string)
		err = take_string(input, from, &number);
	*ret = string ? number : before + record_code_signed(from);
	return err;
}

/* A column of `rows`, which have their keys. old: their rows before, or NULL. */
static struct err *take_column(struct record_input *input, struct record_bytes *from, bool strings,
			       unsigned column, const uint64_t *const *old,
			       struct record_table *rows)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < rows->nr && !from->bad; i++)
		err = take_value(input, from, strings, old[i] ? old[i][column] : 0,
				 &rows->values[i * rows->columns + column]);
	return err;
}

/* The numbers of the rows, column by column. What is behind those of this version is left. */
static struct err *take_columns(struct record_input *input, struct record_bytes *from,
				const struct record_table_form *form, unsigned columns,
				const struct record_table *before, struct record_table *rows)
{
	AUTO_FREE const uint64_t **old = malloc((rows->nr + 1) * sizeof(*old));
	struct err *err = NULL;

	if (!old)
		return err_nomem;
	for (size_t i = 0, at = 0; i < rows->nr; i++, at++) {
		/* Most often it is the one behind that of the last row. */
		bool next = at < before->nr && before->keys[at] == rows->keys[i];

		old[i] = next ? before->values + at * before->columns :
				record_table_row(before, rows->keys[i]);
		if (old[i])
			at = (size_t)(old[i] - before->values) / before->columns;
	}
	for (unsigned column = 0; !err && column < MIN(columns, form->columns); column++)
		err = take_column(input, from, form->strings >> column & 1, column, old, rows);
	for (unsigned column = columns; column < form->columns; column++)
		for (size_t i = 0; i < rows->nr; i++)
			rows->values[i * rows->columns + column] = RECORD_UNKNOWN;
	return err;
}

/* Rows of columns that are not there are gone if all others are 0. */
static void end_rows(const struct record_table_form *form, unsigned columns,
		     struct record_table *rows)
{
	for (size_t i = 0; i < rows->nr; i++) {
		uint64_t *values = rows->values + i * rows->columns, any = 0;

		for (unsigned column = 0; column < MIN(columns, form->columns); column++)
			any |= values[column];
		for (unsigned column = columns; !any && column < form->columns; column++)
			values[column] = 0;
	}
}

static uint64_t bytes_of(const struct record_table *table)
{
	return table->room * (table->columns + 1) * sizeof(uint64_t);
}

/* What the tables of all targets take. */
static struct err *check_room(const struct record_input *input)
{
	if (input->state_bytes <= STATE_MOST)
		return NULL;
	return err_create(ERR_RANGE, "the tables of a segment take more than %llu MB",
			  STATE_MOST >> 20);
}

static struct err *take_rows(struct record_input *input, struct record_bytes *from,
			     enum record_table_kind kind, uint64_t time_ns,
			     struct record_table *table)
{
	static const uint64_t zeros[RECORD_COLUMNS_MOST];
	const struct record_table_form *form = &record_table_forms[kind];
	uint64_t age = record_code_number(from), local = 0, key;
	unsigned columns = (unsigned)record_code_upto(from, COLUMNS_MOST);
	size_t nr = record_code_upto(from, MIN((uint64_t)RECORD_ROWS_MOST,
					       (uint64_t)(from->end - from->at)));
	struct record_table rows;
	struct err *err = NULL;

	input->state_bytes -= bytes_of(table);
	record_table_init(&rows, kind);
	for (size_t i = 0; !err && i < nr && !from->bad; i++) {
		local += record_code_signed(from);
		err = take_key(input, form->key, local, &key);
		if (!err)
			err = record_table_add(&rows, key, zeros);
	}
	if (!err && !from->bad)
		err = take_columns(input, from, form, columns, table, &rows);
	end_rows(form, columns, &rows);
	if (!err && !from->bad)
		err = record_table_sort(&rows, true);
	if (!err && !from->bad)
		err = record_table_merge(table, &rows);
	if (!err && !from->bad)
		table->time_ns = time_ns - MIN(age, time_ns - 1);
	record_table_free(&rows);
	input->state_bytes += bytes_of(table);
	return err ? err : check_room(input);
}

static struct err *take_tables(struct record_input *input, struct record_bytes *from,
			       uint64_t time_ns, struct record_state *state)
{
	struct err *err = NULL;

	while (!err && from->at < from->end) {
		uint64_t kind = record_code_number(from);
		size_t len;
		const uint8_t *at = record_code_bytes(from, RECORD_FRAME_MOST, &len);
		struct record_bytes body = { at, from->at, false };

		if (!at || kind >= RECORD_TABLES || !(input->tables & 1u << kind))
			continue;
		err = take_rows(input, &body, kind, time_ns, &state->table[kind]);
		from->bad |= body.bad;
	}
	return err;
}

/* RECORD_ITEM_NONE: it is damaged, based on one that was lost, or of a target that is left out. */
static struct err *take_sample(struct record_input *input, struct record_bytes *from,
			       struct record_sample *ret, enum record_item *item_ret)
{
	struct record_state *state;
	struct err *err;
	uint64_t flags;

	*ret = (struct record_sample){ .time_ns = MAX(record_code_number(from), 1ull) };
	ret->monotonic_ns = record_code_number(from);
	err = global_of(input, RECORD_NAME_TARGET, record_code_number(from), &ret->target);
	ret->log = record_code_number(from);
	flags = record_code_number(from);
	ret->gap = flags & RECORD_SAMPLE_GAP;
	ret->segment = input->number;
	if (ret->target == RECORD_NAMES_LEFT_OUT) {
		*item_ret = RECORD_ITEM_NONE;
		return err;
	}
	if (!err)
		err = record_states_of(&input->states, ret->target, &state);
	if (err)
		return err;
	if (!ret->target || from->bad || !(state->valid || flags & RECORD_SAMPLE_WHOLE)) {
		input->lost_samples++;
		*item_ret = RECORD_ITEM_NONE;
		return NULL;
	}
	if (flags & RECORD_SAMPLE_WHOLE)
		for (unsigned kind = 0; kind < RECORD_TABLES; kind++)
			record_table_clear(&state->table[kind]);
	if (input->tables && (!input->target || ret->target == input->target))
		err = take_tables(input, from, ret->time_ns, state);
	state->valid = !err && !from->bad;
	input->lost_samples += !state->valid;
	ret->table = state->table;
	*item_ret = state->valid ? RECORD_ITEM_SAMPLE : RECORD_ITEM_NONE;
	return err;
}

static struct err *take_frame(struct record_input *input, struct record_frame *frame,
			      enum record_item *item_ret, struct record_event *event_ret,
			      struct record_sample *sample_ret)
{
	switch (frame->kind) {
	case RECORD_FRAME_STRINGS:
		return take_names(input, RECORD_NAME_STRING, &frame->payload);
	case RECORD_FRAME_LOCATIONS:
		return take_names(input, RECORD_NAME_LOCATION, &frame->payload);
	case RECORD_FRAME_STACKS:
		return take_names(input, RECORD_NAME_STACK, &frame->payload);
	case RECORD_FRAME_TARGET:
		return take_names(input, RECORD_NAME_TARGET, &frame->payload);
	case RECORD_FRAME_EVENT:
		return take_event(input, &frame->payload, event_ret, item_ret);
	case RECORD_FRAME_SAMPLE:
		return take_sample(input, &frame->payload, sample_ret, item_ret);
	case RECORD_FRAME_END:
		input->ended = true;
		return NULL;
	default:
		return NULL;
	}
}

struct err *record_input_next(struct record_input *input, enum record_item *item_ret,
			      struct record_event *event_ret, struct record_sample *sample_ret)
{
	struct record_frame frame;
	struct err *err;
	bool found, lost;

	for (;;) {
		*item_ret = RECORD_ITEM_NONE;
		err = record_frame_next(&input->frames, &frame, &found, &lost);
		if (err || !found)
			return err;
		if (lost)
			record_states_lost(&input->states);
		err = take_frame(input, &frame, item_ret, event_ret, sample_ret);
		if (err || *item_ret != RECORD_ITEM_NONE)
			return err;
	}
}

void record_input_free(struct record_input *input)
{
	record_frames_free(&input->frames);
	for (unsigned kind = 0; kind < RECORD_NAME_KINDS; kind++)
		vec_free(&input->global[kind]);
	record_states_free(&input->states);
}
