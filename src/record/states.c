/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of each target of a segment. */

#include "record/states.h"

struct err *record_states_of(struct record_states *states, uint32_t target,
			     struct record_state **ret)
{
	struct record_state **slot = vec_slot(&states->vec, target);

	if (slot && !*slot) {
		*slot = calloc(1, sizeof(**slot));
		for (unsigned kind = 0; *slot && kind < RECORD_TABLES; kind++)
			record_table_init(&(*slot)->table[kind], kind);
	}
	if (!slot || !*slot)
		return err_nomem;
	*ret = *slot;
	return NULL;
}

void record_states_lost(struct record_states *states)
{
	vec_each_value(state, &states->vec)
		if (state)
			state->valid = false;
}

void record_states_free(struct record_states *states)
{
	vec_each_value(state, &states->vec) {
		for (unsigned kind = 0; state && kind < RECORD_TABLES; kind++)
			record_table_free(&state->table[kind]);
		if (state)
			record_table_free(&state->changes);
		free(state);
	}
	vec_free(&states->vec);
}
