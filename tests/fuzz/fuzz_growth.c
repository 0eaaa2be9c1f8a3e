/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any events, as a target may write them into the ring, with comparisons and looks at the mappings in
 * between: pieces stay in order, apart from one another, and their sums are right; so do the names
 * of files.
 */

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "growth/growth_replay.h"
#include "growth/mapped_files.h"

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
	uint64_t at = 0, bytes[HELD_KINDS] = { 0 };
	size_t nr = 0;

	held_each(piece, held) {
		if (piece->start < at || piece->start >= piece->end ||
		    (unsigned)piece->kind >= HELD_KINDS)
			abort();
		at = piece->end;
		bytes[piece->kind] += piece->end - piece->start;
		nr++;
	}
	if (nr != held->nr || memcmp(bytes, held->bytes, sizeof(bytes)))
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

static void look(const struct growth_replay *replay, struct mapped_files *files,
		 struct input *input)
{
	char path[] = "/file";
	struct proc_map map = { .start = number(input), .offset = number(input), .path = path };
	const struct proc_maps maps = { { &map, 1, 1 } };
	uint64_t last = 0, began = number(input);

	map.end = map.start + MIN(number(input), UINT64_MAX - map.start);
	mapped_files_settle(files);
	mapped_files_look(files, &replay->held, &maps, began, number(input));
	vec_each(file, &files->known.vec) {
		if (file->number <= last || !file->name ||
		    mapped_file_name(&files->known, file->number) != file->name)
			abort();
		last = file->number;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct input input = { bytes, bytes + len };
	uint64_t size = number(&input);
	struct growth_world world = { .heap_start = number(&input), .shm_size = shm_size,
				      .ctx = &size };
	struct growth_replay replay = { .kinds = 7 };
	struct mapped_files files = MAPPED_FILES_INIT;
	uint64_t events = 0;

	while (input.at < input.end) {
		struct growth_event event = { .call = *input.at++ % (GROWTH_CALLS + 3),
					      .number = ++events };

		if (event.call == GROWTH_CALLS + 1)
			compare(&replay, &input);
		if (event.call == GROWTH_CALLS + 2)
			look(&replay, &files, &input);
		if (event.call > GROWTH_CALLS)
			continue;
		event.entered = number(&input);
		event.left = number(&input);
		event.result = number(&input);
		for (unsigned i = 0; i < GROWTH_ARGS; i++)
			event.arg[i] = number(&input);
		mapped_files_event(&files, &event);
		err_ignore(growth_replay_event(&replay, &event, &world));
		check(&replay.held);
	}
	growth_replay_free(&replay);
	mapped_files_free(&files);
	return 0;
}
