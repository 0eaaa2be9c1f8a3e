/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A region to test with, and records to put in. */
#pragma once

#include <stdlib.h>
#include <sys/mman.h>

#include "log/log.h"
#include "log/log_layout.h"
#include "unit.h"

static inline void *region_map(uint64_t size)
{
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);

	if (base == MAP_FAILED)
		abort();
	return base;
}

static inline void region_open(uint64_t size, struct log *ret)
{
	struct log_config config = { .region_size = size, .stack_depth = 32 };

	if (log_format(region_map(size), &config, ret))
		abort();
}

static inline void region_close(struct log *log)
{
	munmap(log->base, log->size);
}

/* What was recorded is in exactly one place of the accounts. */
static inline void region_check_sums(const struct log *log, uint64_t live)
{
	struct log_accounts accounts = reader_accounts(log);

	CU_ASSERT_EQUAL(accounts.allocs - accounts.frees - accounts.replaced, live);
	CU_ASSERT_EQUAL(reader_live(log), live);
}
