/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A log whose clock is known: one tick is one nanosecond, stamp 0 is EPOCH. */
#pragma once

#include <stdlib.h>
#include <sys/mman.h>

#include "heap/block.h"
#include "log/log_layout.h"
#include "unit.h"

#define SECOND	1000000000ull
#define EPOCH	(1760000000 * SECOND)

static inline void fixture_open(struct log *ret)
{
	/* Room for the records of the longest list. */
	struct log_config config = { .region_size = 4 * LOG_REGION_MIN, .stack_depth = 32 };
	void *base = mmap(NULL, config.region_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);

	if (base == MAP_FAILED || log_format(base, &config, ret))
		abort();
	ret->header->anchors = 1;
	ret->header->anchor[0] = (struct log_anchor){ 0, EPOCH, EPOCH };
	ret->header->rate = 1ull << 48;
	ret->header->origin = ret->header->start = 0;
}

static inline void fixture_close(struct log *log)
{
	munmap(log->base, log->size);
}

static inline void fixture_push(struct blocks *blocks, struct block block)
{
	if (vec_push(&blocks->vec, block))
		abort();
}
