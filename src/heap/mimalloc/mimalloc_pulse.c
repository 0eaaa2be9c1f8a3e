/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many blocks mimalloc has, and whether that changes, while the process runs (heap_walk.h). */

#include "heap/mimalloc/mimalloc.h"

static uint64_t stir(uint64_t sum, uint64_t word)
{
	return (sum ^ word) * 0x100000001b3;
}

struct err *mimalloc_pulse(const struct heap_source *source, struct heap_pulse *ret)
{
	struct heap_pulse pulse = { .counted = true, .sum = 0xcbf29ce484222325 };
	struct mimalloc mimalloc;
	struct err *err = mimalloc_walk_open(&mimalloc, source);

	vec_each_while(page, &mimalloc.pages, !err) {
		struct mi_numbers numbers;

		if (!mimalloc_page_in_use(&mimalloc.layout, page))
			continue;
		mimalloc_page_numbers(&mimalloc.layout, page, &numbers);
		pulse.sum = stir(stir(pulse.sum, numbers.free ^ numbers.used),
				 numbers.local ^ numbers.thread << 8);
		pulse.blocks += numbers.used;
		pulse.acquired += page->slices * SLICE;
	}
	mimalloc_walk_close(&mimalloc);
	if (!err)
		*ret = pulse;
	return err;
}
