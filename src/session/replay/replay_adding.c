/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds up what the stacks of several recorded samples have. */

#include "session/replay/replay_adding.h"

#include "base/time_text.h"

struct err *replay_adding_sum(struct replay_adding *adding, uint32_t stack, uint64_t bytes,
			      uint64_t count)
{
	struct moment *moment = &adding->moment;
	size_t at = (size_t)(uintptr_t)map_get(&adding->sums, (uint64_t)stack + 1);
	struct err *err = NULL;

	if (!at) {
		err = vec_push(&moment->vec, ((struct moment_sum){ .stack = stack }));
		at = moment->vec.nr;
		if (!err)
			err = map_put(&adding->sums, (uint64_t)stack + 1, (void *)(uintptr_t)at);
	}
	if (err)
		return err;
	moment->vec.at[at - 1].bytes += bytes;
	moment->vec.at[at - 1].count += count;
	return NULL;
}

COMPARE_BY(by_stack, struct moment_sum, x, x->stack)

struct err *replay_adding_end(struct replay_adding *adding, uint64_t time_ns, const char *what,
			      struct err *err, struct moment *ret)
{
	char time[32];

	map_free(&adding->sums, NULL);
	time_text(time, sizeof(time), time_ns);
	if (!err && !adding->any)
		err = err_create(ERR_NOTFOUND, "%s of %s was not recorded", what, time);
	if (err) {
		moment_free(&adding->moment);
		return err;
	}
	vec_sort(&adding->moment.vec, by_stack);
	adding->moment.time_ns = time_ns;
	*ret = adding->moment;
	return NULL;
}
