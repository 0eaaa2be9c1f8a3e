/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the frames of a segment. */

#include "record/output.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "record/code.h"
#include "record/format.h"
#include "record/frame.h"

#define SMALL		1024u	/* bytes of a frame that is not compressed by itself */
/*
 * A sample is whole after so many that are not, or after differences of so many times its length.
 */
#define WHOLE_AFTER	600u
#define WHOLE_TIMES	4u

static const enum record_frame_kind frame_of[RECORD_NAME_KINDS] = {
	[RECORD_NAME_STRING] = RECORD_FRAME_STRINGS,
	[RECORD_NAME_LOCATION] = RECORD_FRAME_LOCATIONS,
	[RECORD_NAME_STACK] = RECORD_FRAME_STACKS,
	[RECORD_NAME_TARGET] = RECORD_FRAME_TARGET,
};

static struct err *put_frame(struct record_output *output, enum record_frame_kind kind,
			     const struct str *payload)
{
	return record_frame_put(&output->out, kind, !output->packed && payload->len >= SMALL,
				str_text(payload), payload->len);
}

struct err *record_output_begin(struct record_output *output, struct record_names *names,
				const struct record_output_head *head)
{
	AUTO_STR struct str payload = STR_INIT;
	struct err *err = RECORD_CODE_PUT(&payload, RECORD_FORMAT_MAIN, RECORD_FORMAT_MINOR,
					  head->number, head->last, head->every, head->time_ns);

	*output = (struct record_output){ .names = names, .packed = head->every };
	return err ? err : put_frame(output, RECORD_FRAME_SEGMENT, &payload);
}

/* Strings stand before locations, these before stacks, these before targets. */
static struct err *flush_names(struct record_output *output)
{
	struct err *err = NULL;

	for (unsigned kind = 0; !err && kind < RECORD_NAME_KINDS; kind++) {
		AUTO_STR struct str payload = STR_INIT;
		struct str *bytes = &output->pending[kind].bytes;

		if (!bytes->len)
			continue;
		err = record_code_put(&payload, output->pending[kind].first);
		if (!err)
			err = str_add_bytes(&payload, bytes->at, bytes->len);
		if (!err)
			err = put_frame(output, frame_of[kind], &payload);
		str_clear(bytes);
	}
	return err;
}

static struct err *local_of(struct record_output *output, enum record_name_kind kind,
			    uint32_t number, uint64_t *ret);

static struct err *put_local(struct record_output *output, struct str *to,
			     enum record_name_kind kind, uint32_t number)
{
	uint64_t local;
	struct err *err = local_of(output, kind, number, &local);

	return err ? err : record_code_put(to, local);
}

static struct err *put_strings(struct record_output *output, struct str *to,
			       const uint32_t *numbers, size_t nr)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < nr; i++)
		err = put_local(output, to, RECORD_NAME_STRING, numbers[i]);
	return err;
}

static struct err *put_location(struct record_output *output, struct str *to, uint32_t number)
{
	struct record_location is = record_names_get_location(output->names, number);
	struct err *err = put_strings(output, to, (uint32_t[]){ is.module, is.build_id }, 2);

	if (!err)
		err = record_code_put(to, is.address);
	if (!err)
		err = put_local(output, to, RECORD_NAME_STRING, is.entry);
	if (!err)
		err = record_code_put(to, is.nr);
	for (uint32_t i = 0; !err && i < is.nr; i++) {
		const struct record_function *at = &is.functions[i];

		err = put_strings(output, to, (uint32_t[]){ at->name, at->brief, at->linkage,
							    at->place, at->file }, 5);
		if (!err)
			err = RECORD_CODE_PUT(to, at->line, at->name_bare, at->brief_bare, at->offset,
					      at->inlined);
	}
	return err;
}

static struct err *put_stack(struct record_output *output, struct str *to, uint32_t number)
{
	struct record_stack is = record_names_get_stack(output->names, number);
	struct err *err = record_code_put(to, is.nr);

	for (uint32_t i = 0; !err && i < is.nr; i++)
		err = put_local(output, to, RECORD_NAME_LOCATION, is.locations[i]);
	return err ? err : put_local(output, to, RECORD_NAME_STRING, is.end);
}

static struct err *put_target(struct record_output *output, struct str *to, uint32_t number)
{
	const struct record_target *is = record_names_get_target(output->names, number);
	struct err *err = RECORD_CODE_PUT(to, (uint64_t)is->pid, is->start);

	return err ? err : put_strings(output, to, (uint32_t[]){
		is->boot, is->host, is->name, is->command, is->program, is->build_id, is->group,
		is->allocator }, 8);
}

static struct err *put_name(struct record_output *output, enum record_name_kind kind,
			    uint32_t number, struct str *to)
{
	size_t len;
	const char *text;

	switch (kind) {
	case RECORD_NAME_STRING:
		text = record_names_get_string(output->names, number, &len);
		return record_code_put_bytes(to, text, len);
	case RECORD_NAME_LOCATION:
		return put_location(output, to, number);
	case RECORD_NAME_STACK:
		return put_stack(output, to, number);
	default:
		return put_target(output, to, number);
	}
}

/* The number of a name in this segment; the name is written, if it was not yet. */
static struct err *local_of(struct record_output *output, enum record_name_kind kind,
			    uint32_t number, uint64_t *ret)
{
	AUTO_STR struct str bytes = STR_INIT;
	uint32_t *slot;
	struct err *err;

	*ret = 0;
	if (!number || number > record_names_nr(output->names, kind))
		return NULL;
	slot = vec_slot(&output->local[kind], number - 1);
	if (!slot)
		return err_nomem;
	if (*slot) {
		*ret = *slot;
		return NULL;
	}
	err = put_name(output, kind, number, &bytes);
	if (!err && output->pending[kind].bytes.len + bytes.len > RECORD_OUTPUT_FRAMES)
		err = flush_names(output);
	if (!err && !output->pending[kind].bytes.len)
		output->pending[kind].first = output->nr[kind] + 1;
	if (!err)
		err = str_add_bytes(&output->pending[kind].bytes, bytes.at, bytes.len);
	if (err)
		return err;
	*ret = output->local[kind].at[number - 1] = ++output->nr[kind];
	return NULL;
}

struct err *record_output_event(struct record_output *output, const struct record_event *event)
{
	AUTO_STR struct str payload = STR_INIT;
	struct err *err = record_code_put(&payload, event->time_ns);

	if (!err)
		err = put_local(output, &payload, RECORD_NAME_TARGET, event->target);
	if (!err)
		err = record_code_put(&payload, event->kind);
	if (!err)
		err = put_local(output, &payload, RECORD_NAME_STRING, event->text);
	if (!err)
		err = RECORD_CODE_PUT(&payload, event->number, event->also);
	if (!err)
		err = flush_names(output);
	return err ? err : put_frame(output, RECORD_FRAME_EVENT, &payload);
}

static struct err *local_key(struct record_output *output, enum record_key is, uint64_t key,
			     uint64_t *ret)
{
	struct err *err = NULL;

	*ret = key;
	if (is == RECORD_KEY_STRING)
		return local_of(output, RECORD_NAME_STRING, (uint32_t)key, ret);
	if (is == RECORD_KEY_STACK)
		return local_of(output, RECORD_NAME_STACK, (uint32_t)key, ret);
	if (is == RECORD_KEY_GROWTH) {
		err = local_of(output, RECORD_NAME_STACK, (uint32_t)(key >> 3), ret);
		*ret = *ret << 3 | (key & 7);
	}
	return err;
}

static struct err *put_keys(struct record_output *output, const struct record_table *rows,
			    enum record_key is, struct str *to)
{
	uint64_t before = 0, key;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < rows->nr; i++) {
		err = local_key(output, is, rows->keys[i], &key);
		if (!err)
			err = record_code_put_signed(to, key - before);
		before = key;
	}
	return err;
}

/* One column of the rows, less what they had before. Both are in the order of their keys. */
static struct err *put_column(struct record_output *output, const struct record_table *before,
			      const struct record_table *rows, unsigned column, bool strings,
			      struct str *to)
{
	struct err *err = NULL;
	size_t at = 0;

	for (size_t i = 0; !err && i < rows->nr; i++) {
		uint64_t now = rows->values[i * rows->columns + column], old = 0;

		while (at < before->nr && before->keys[at] < rows->keys[i])
			at++;
		if (at < before->nr && before->keys[at] == rows->keys[i])
			old = before->values[at * before->columns + column];
		if (strings)
			err = put_local(output, to, RECORD_NAME_STRING, (uint32_t)now);
		else
			err = record_code_put_signed(to, now - old);
	}
	return err;
}

/* Add a table; what is written of it from now on is this. */
static struct err *put_table(struct record_output *output, struct record_state *state,
			     enum record_table_kind kind, const struct record_sample *sample,
			     struct str *to)
{
	const struct record_table_form *form = &record_table_forms[kind];
	struct record_table *rows = &state->changes, *before = &state->table[kind];
	AUTO_STR struct str body = STR_INIT;
	struct err *err;

	record_table_free(rows);
	record_table_init(rows, kind);
	err = record_table_changes(before, &sample->table[kind], rows);
	if (!err)
		err = RECORD_CODE_PUT(&body, sample->time_ns - rows->time_ns, form->columns, rows->nr);
	if (!err)
		err = put_keys(output, rows, form->key, &body);
	for (unsigned column = 0; !err && column < form->columns; column++)
		err = put_column(output, before, rows, column, form->strings >> column & 1, &body);
	if (!err)
		err = record_code_put(to, kind);
	if (!err)
		err = record_code_put_bytes(to, str_text(&body), body.len);
	if (!err)
		err = record_table_merge(before, rows);
	before->time_ns = rows->time_ns;
	return err;
}

static bool is_due(const struct record_state *state)
{
	return !state->whole_bytes || state->samples >= WHOLE_AFTER ||
	       state->bytes > WHOLE_TIMES * state->whole_bytes;
}

static struct err *put_tables(struct record_output *output, struct record_state *state,
			      const struct record_sample *sample, struct str *to)
{
	struct err *err = NULL;

	for (unsigned kind = 0; !err && kind < RECORD_TABLES; kind++) {
		uint64_t time_ns = sample->table[kind].time_ns;

		if (time_ns && time_ns != state->table[kind].time_ns)
			err = put_table(output, state, kind, sample, to);
	}
	return err;
}

struct err *record_output_sample(struct record_output *output, const struct record_sample *sample)
{
	AUTO_STR struct str payload = STR_INIT;
	struct record_state *state;
	struct err *err = record_states_of(&output->states, sample->target, &state);
	bool whole;

	if (err)
		return err;
	whole = is_due(state);
	for (unsigned kind = 0; whole && kind < RECORD_TABLES; kind++)
		record_table_clear(&state->table[kind]);
	err = RECORD_CODE_PUT(&payload, sample->time_ns, sample->monotonic_ns);
	if (!err)
		err = put_local(output, &payload, RECORD_NAME_TARGET, sample->target);
	if (!err)
		err = RECORD_CODE_PUT(&payload, sample->log,
				      (whole ? RECORD_SAMPLE_WHOLE : 0) |
				      (sample->gap ? RECORD_SAMPLE_GAP : 0));
	if (!err)
		err = put_tables(output, state, sample, &payload);
	if (!err)
		err = flush_names(output);
	if (!err)
		err = put_frame(output, RECORD_FRAME_SAMPLE, &payload);
	if (whole) {
		state->whole_bytes = payload.len + 1;
		state->bytes = state->samples = 0;
	} else {
		state->bytes += payload.len;
		state->samples++;
	}
	return err;
}

struct err *record_output_end(struct record_output *output)
{
	const struct str nothing = STR_INIT;

	return put_frame(output, RECORD_FRAME_END, &nothing);
}

void record_output_free(struct record_output *output)
{
	for (unsigned kind = 0; kind < RECORD_NAME_KINDS; kind++) {
		vec_free(&output->local[kind]);
		str_free(&output->pending[kind].bytes);
	}
	record_states_free(&output->states);
	str_free(&output->out);
}
