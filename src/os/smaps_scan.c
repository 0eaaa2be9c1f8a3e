/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The resident bytes of mappings by PAGEMAP_SCAN (Linux 6.7;
 * Documentation/admin-guide/mm/pagemap.rst). smaps looks at each page to say by how many processes
 * it is shared, which is what takes its time. This only reads page tables.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/sysinfo.h>

#include "base/cleanup.h"
#include "os/pagemap_scan.h"
#include "os/smaps.h"

#define REGIONS		4096u

/* Add a region to the mappings that it lies in; *at is the first that may be. */
static void take_region(struct smaps *smaps, const struct pagemap_region *region, size_t *at)
{
	const struct proc_maps *maps = &smaps->maps;

	while (*at < maps->vec.nr && maps->vec.at[*at].end <= region->start)
		(*at)++;
	for (size_t i = *at; i < maps->vec.nr && maps->vec.at[i].start < region->end; i++) {
		uint64_t start = MAX(maps->vec.at[i].start, region->start);
		uint64_t bytes = MIN(maps->vec.at[i].end, region->end) - start;
		uint64_t *figure = smaps->figures.at[i].figure;

		if (region->categories & SCAN_PRESENT)
			figure[SMAPS_RSS] += bytes;
		if (region->categories & SCAN_SWAPPED)
			figure[SMAPS_SWAP] += bytes;
		if (region->categories & SCAN_PRESENT && region->categories & SCAN_HUGE)
			figure[SMAPS_HUGE_ANONYMOUS] += bytes;
	}
}

/* The kernel does not know the call, or not this form of it. */
static struct err *scan_failed(void)
{
	if (errno == ENOTTY || errno == EINVAL)
		return err_create(ERR_UNSUPPORTED, "the kernel has no PAGEMAP_SCAN");
	return err_sys("PAGEMAP_SCAN");
}

/* Behind it are mappings of the kernel's half, such as [vsyscall], where a scan must not go. */
static uint64_t last_address(const struct proc_maps *maps)
{
	for (size_t i = maps->vec.nr; i-- > 0;)
		if (maps->vec.at[i].end <= INT64_MAX)
			return maps->vec.at[i].end;
	return 0;
}

static struct err *scan_all(int fd, struct smaps *smaps)
{
	AUTO_FREE struct pagemap_region *region = malloc(REGIONS * sizeof(*region));
	struct pagemap_scan scan = {
		.size = sizeof(scan), .end = last_address(&smaps->maps),
		.regions = (uintptr_t)region, .nr_regions = REGIONS,
		.category_inverted = SCAN_ZERO_PAGE, .category_mask = SCAN_ZERO_PAGE,
		.category_anyof = SCAN_PRESENT | SCAN_SWAPPED,
		.category_return = SCAN_PRESENT | SCAN_SWAPPED | SCAN_HUGE,
	};
	size_t at = 0;

	if (!region)
		return err_nomem;
	while (scan.start < scan.end) {
		int got = pagemap_scan_more(fd, &scan);

		if (got < 0)
			return scan_failed();
		for (int i = 0; i < got; i++)
			take_region(smaps, &region[i], &at);
	}
	return NULL;
}

static struct err *no_figures(struct smaps *smaps)
{
	struct smaps_figures none = { .device = false };
	struct err *err = NULL;

	memset(none.figure, 0xff, sizeof(none.figure));
	none.figure[SMAPS_RSS] = none.figure[SMAPS_SWAP] = none.figure[SMAPS_HUGE_ANONYMOUS] = 0;
	for (size_t i = 0; i < smaps->maps.vec.nr && !err; i++)
		err = vec_push(&smaps->figures, none);
	return err;
}

/*
 * To a scan every entry that is not present is swapped, also guard pages (Linux 6.13) and marks of
 * userfaultfd. So where the machine has no swap, no mapping has.
 */
static void correct_swapped(struct smaps *smaps)
{
	struct sysinfo machine;

	if (sysinfo(&machine) || machine.totalswap)
		return;
	vec_each(figures, &smaps->figures)
		figures->figure[SMAPS_SWAP] = 0;
}

struct err *smaps_scan(pid_t tid, struct smaps *ret)
{
	AUTO_CLOSE int fd = procfs_open(tid, "pagemap", O_RDONLY);
	struct smaps smaps = SMAPS_INIT;
	struct err *err = fd < 0 ? err_sys("/proc/%d/pagemap", tid) : procfs_maps(tid, &smaps.maps);

	if (!err)
		err = no_figures(&smaps);
	if (!err)
		err = scan_all(fd, &smaps);
	if (err) {
		smaps_free(&smaps);
		return err;
	}
	correct_swapped(&smaps);
	*ret = smaps;
	return NULL;
}
