/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of resident pages (page_runs.h). */

#include "os/page_runs.h"

#include <errno.h>
#include <sys/sysinfo.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "os/pagemap.h"
#include "os/pagemap_scan.h"

#define REGIONS	1024u

/* A run that goes on is made longer. */
static struct err *add_run(struct page_runs *to, uint64_t start, uint64_t end, bool swapped)
{
	struct page_run *last = to->vec.nr ? vec_end(&to->vec) - 1 : NULL;

	if (last && last->end == start && last->swapped == swapped) {
		last->end = end;
		return NULL;
	}
	return vec_push(&to->vec, ((struct page_run){ start, end, swapped }));
}

/* To a scan every entry that is not present is swapped: without swap it is something else. */
static bool has_swap(void)
{
	struct sysinfo machine;

	return sysinfo(&machine) || machine.totalswap;
}

/* *known_ret is false if the kernel has no such call, and nothing was added. */
static struct err *add_by_scan(int fd, uint64_t start, uint64_t end, struct page_runs *to,
			       bool *known_ret)
{
	struct pagemap_region region[REGIONS];
	struct pagemap_scan scan = {
		.size = sizeof(scan), .start = start, .end = end,
		.regions = (uintptr_t)region, .nr_regions = REGIONS,
		.category_inverted = SCAN_ZERO_PAGE, .category_mask = SCAN_ZERO_PAGE,
		.category_anyof = SCAN_PRESENT | SCAN_SWAPPED,
		.category_return = SCAN_PRESENT | SCAN_SWAPPED,
	};
	bool swap = has_swap();
	struct err *err = NULL;

	*known_ret = true;
	while (!err && scan.start < end) {
		int got = pagemap_scan_more(fd, &scan);

		*known_ret = got >= 0 || (errno != ENOTTY && errno != EINVAL);
		if (got < 0)
			return *known_ret ? err_sys("PAGEMAP_SCAN") : NULL;
		for (int i = 0; i < got && !err; i++)
			if (region[i].categories & SCAN_PRESENT || swap)
				err = add_run(to, region[i].start, region[i].end,
					      !(region[i].categories & SCAN_PRESENT));
	}
	return err;
}

static struct err *add_by_entry(int fd, uint64_t start, uint64_t end, struct page_runs *to)
{
	uint64_t entry[512];
	struct err *err = NULL;

	while (!err && start < end) {
		size_t nr = pagemap_read(fd, start, entry, MIN(ARRAY_SIZE(entry),
							       (end - start) / PAGE));

		if (!nr)
			return err_sys("read pagemap");
		for (size_t i = 0; i < nr && !err; i++, start += PAGE)
			if (pagemap_has_contents(entry[i]))
				err = add_run(to, start, start + PAGE, !(entry[i] & PAGEMAP_PRESENT));
	}
	return err;
}

struct err *page_runs_add(int pagemap, uint64_t start, uint64_t end, struct page_runs *to)
{
	uint64_t from = ALIGN_DOWN(start, PAGE), behind = ALIGN_UP(end, PAGE);
	bool known;
	struct err *err;

	if (to->vec.nr)
		from = MAX(from, vec_end(&to->vec)[-1].end);
	if (from >= behind)
		return NULL;
	err = add_by_scan(pagemap, from, behind, to, &known);
	return err || known ? err : add_by_entry(pagemap, from, behind, to);
}

struct page_bytes page_runs_between(const struct page_runs *is, size_t *at, uint64_t start,
				       uint64_t end)
{
	struct page_bytes bytes = { 0, 0 };

	while (*at < is->vec.nr && is->vec.at[*at].end <= start)
		(*at)++;
	for (size_t i = *at; i < is->vec.nr && is->vec.at[i].start < end; i++) {
		const struct page_run *run = &is->vec.at[i];
		uint64_t in = MIN(end, run->end) - MAX(start, run->start);

		if (run->swapped)
			bytes.swapped += in;
		else
			bytes.resident += in;
	}
	return bytes;
}

void page_runs_free(struct page_runs *is)
{
	vec_free(&is->vec);
}
