/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any events, as a target may write them into the ring, with comparisons in between: pieces stay in
 * order, apart from one another, and their sums are right.
 */

#include <stdlib.h>
#include <string.h>

#include "growth/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct input {
	const uint8_t *at, *end;
};

/* Small numbers are likely, so that ranges meet; a byte says how large the next one is. */
static uint64_t number(struct input *input)
{
	uint64_t value = 0;
	size_t size;

	if (input->at == input->end)
		return 0;
	size = *input->at++ % 9;
	if (size > (size_t)(input->end - input->at))
		size = (size_t)(input->end - input->at);
	memcpy(&value, input->at, size);
	input->at += size;
	return size < 3 ? value << 12 : value;
}

static uint64_t shm_size(void *ctx, uint64_t id, uint64_t address)
{
	return *(const uint64_t *)ctx ^ (id & 1) ^ (address & 4096);
}

static void check(const struct held *held)
{
	uint64_t at = 0, bytes = 0;
	size_t nr = 0;

	held_each(piece, held) {
		if (piece->start < at || piece->start >= piece->end ||
		    (unsigned)piece->kind >= HELD_KINDS)
			abort();
		at = piece->end;
		bytes += piece->end - piece->start;
		nr++;
	}
	if (nr != held->nr || bytes != held_bytes(held))
		abort();
}

static void compare(struct growth_replay *replay, struct input *input)
{
	struct growth_mapping mapping[2];
	uint64_t first = number(input), second = number(input);

	mapping[0] = (struct growth_mapping){ first, first + number(input) % 65536 };
	mapping[1] = (struct growth_mapping){ second, second + number(input) % 65536 };
	err_ignore(growth_replay_compare(replay, mapping, 2, number(input)));
	(void)growth_replay_gone(replay);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct input input = { bytes, bytes + len };
	uint64_t size = number(&input);
	struct growth_world world = { .heap_start = number(&input), .shm_size = shm_size,
				      .ctx = &size };
	struct growth_replay replay = { .kinds = 7 };

	while (input.at < input.end) {
		struct growth_event event = { .call = *input.at++ % (GROWTH_CALLS + 2) };

		if (event.call > GROWTH_CALLS) {
			compare(&replay, &input);
			continue;
		}
		event.entered = number(&input);
		event.left = number(&input);
		event.result = number(&input);
		for (unsigned i = 0; i < GROWTH_ARGS; i++)
			event.arg[i] = number(&input);
		err_ignore(growth_replay_event(&replay, &event, &world));
		check(&replay.held);
	}
	growth_replay_free(&replay);
	return 0;
}
