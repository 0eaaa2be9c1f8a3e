/* SPDX-License-Identifier: GPL-3.0-or-later */
/* glibc's arenas, summed up (heap_walk.h). */

#include "base/cleanup.h"
#include "heap/glibc/glibc.h"

#define FRONT	8u	/* of malloc_state: mutex and flags */

static uint64_t add(uint64_t sum, uint64_t word)
{
	return (sum ^ word) * 0x9e3779b97f4a7c15ull + (sum >> 29);
}

static struct err *add_arena(const struct glibc *glibc, uint64_t address, uint64_t *word,
			     uint64_t *sum)
{
	uint32_t len = glibc->layout.next - FRONT;
	struct err *err = memory_read(glibc->source->memory, address + FRONT, word, len);

	for (uint32_t i = 0; i < len / sizeof(*word) && !err; i++)
		*sum = add(*sum, word[i]);
	return err;
}

struct err *glibc_pulse(const struct heap_source *source, struct heap_pulse *ret)
{
	struct heap_walk walk = HEAP_WALK_INIT;
	struct glibc glibc = { .source = source, .walk = &walk };
	AUTO_FREE uint64_t *word = NULL;
	struct heap_pulse pulse = { .sum = 1 };
	struct err *err = glibc_layout_arenas(&glibc);

	if (!err)
		word = malloc(glibc.layout.next);
	if (!err && !word)
		err = err_nomem;
	for (size_t i = 0; i < walk.arenas.nr && !err; i++) {
		const struct heap_arena *arena = &walk.arenas.at[i];

		if (__builtin_add_overflow(pulse.acquired, arena->system_mem, &pulse.acquired))
			pulse.acquired = UINT64_MAX;
		pulse.sum = add(pulse.sum, arena->system_mem);
		err = add_arena(&glibc, arena->address, word, &pulse.sum);
	}
	heap_walk_free(&walk);
	if (err && err->code == ERR_NOTFOUND) {
		err_ignore(err);
		err = NULL;
		pulse = (struct heap_pulse){ 0 };
	}
	if (!err)
		*ret = pulse;
	return err;
}
