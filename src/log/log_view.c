/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the view of a region that exists. Freestanding, since the agent needs it. */

#include "log/log_layout.h"

#include "log/journal.h"

static bool same(const char *a, const char *b, unsigned len)
{
	char differ = 0;

	for (unsigned i = 0; i < len; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

bool log_view_at(const struct log *mapped, uint64_t base, struct log *ret)
{
	uint64_t header_offset = (uint64_t)((uint8_t *)mapped->header - mapped->base);

	if (!base || base % LOG_PAGE || base + mapped->size < base)
		return false;
	return log_layout((void *)(uintptr_t)base, mapped->size, header_offset, ret);
}

bool log_view(void *base, uint64_t size, struct log *ret)
{
	const struct journal *journal = base;
	uint64_t region_size;

	if (size < LOG_REGION_MIN || !same(journal->magic, JOURNAL_MAGIC, sizeof(journal->magic)))
		return false;
	/* Each number is read once: the target may write to it between two reads. */
	region_size = *(const volatile uint64_t *)&journal->region_size;
	return region_size <= size &&
	       log_layout(base, region_size, *(const volatile uint64_t *)&journal->log_offset,
			  ret) &&
	       same(ret->header->magic, LOG_MAGIC, sizeof(ret->header->magic)) &&
	       ret->header->version == LOG_VERSION && ret->header->size == region_size;
}
