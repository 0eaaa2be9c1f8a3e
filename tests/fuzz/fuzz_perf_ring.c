/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ring of performance events with any bytes, head and tail, and the records in it. */

#include <stdlib.h>
#include <string.h>

#include "os/perf.h"

#define SIZE	1024

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void take(void *ctx, const struct perf_event_header *record)
{
	/* A copy of its own length, so that a sanitizer sees what reads beyond it. */
	struct perf_event_header *copy = malloc(record->size);
	const uint64_t *mask = ctx;
	struct perf_mapping mapping;
	struct perf_sample sample;

	if (!copy)
		return;
	memcpy(copy, record, record->size);
	if (perf_sample_parse(copy, *mask, &sample) && sample.stack_len &&
	    ((const uint8_t *)sample.stack < (uint8_t *)copy ||
	     (const uint8_t *)sample.stack + sample.stack_len > (uint8_t *)copy + copy->size))
		abort();
	if (perf_mapping_parse(copy, &mapping) && (mapping.end < mapping.start ||
						   strlen(mapping.path) > copy->size))
		abort();
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct perf_event_mmap_page page = { .version = 0 };
	uint8_t data[SIZE] = { 0 };
	uint64_t mask, head[2];
	struct perf_ring ring = { .page = &page, .data = data, .size = SIZE };

	if (len < sizeof(mask) + sizeof(head))
		return 0;
	memcpy(&mask, bytes, sizeof(mask));
	memcpy(head, bytes + sizeof(mask), sizeof(head));
	page.data_head = head[0];
	page.data_tail = head[1];
	if (mask & 1)	/* most heads are far from their tails otherwise */
		page.data_head = head[1] + head[0] % (SIZE + 1);
	memcpy(data, bytes + sizeof(mask) + sizeof(head),
	       len - sizeof(mask) - sizeof(head) < SIZE ? len - sizeof(mask) - sizeof(head) : SIZE);
	ring.copy = malloc(PERF_RECORD_ROOM);
	if (!ring.copy)
		return 0;
	perf_ring_take(&ring, 100000, take, &mask);
	if (page.data_tail != page.data_head)
		abort();
	free(ring.copy);
	return 0;
}
