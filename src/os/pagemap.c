/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /proc/TID/pagemap: one word a page (Documentation/admin-guide/mm/pagemap.rst). */

#include "os/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "os/pagemap_scan.h"
#include "os/procfs.h"

#define PAGE_SHIFT	12

void pagemap_open(pid_t tid, struct pagemap *ret)
{
	ret->fd = procfs_open(tid, "pagemap", O_RDONLY);
	ret->first = ret->nr = 0;
}

void pagemap_close(struct pagemap *pagemap)
{
	if (pagemap->fd >= 0)
		close(pagemap->fd);
	pagemap->fd = -1;
}

size_t pagemap_read(int fd, uint64_t address, uint64_t *entry, size_t nr)
{
	ssize_t got;

	do
		got = pread(fd, entry, nr * sizeof(*entry),
			    (off_t)((address >> PAGE_SHIFT) * sizeof(*entry)));
	while (got < 0 && errno == EINTR);
	return got > 0 ? (size_t)got / sizeof(*entry) : 0;
}

static bool read_from(struct pagemap *pagemap, uint64_t page)
{
	pagemap->first = page;
	pagemap->nr = pagemap_read(pagemap->fd, page << PAGE_SHIFT, pagemap->entry,
				   ARRAY_SIZE(pagemap->entry));
	return pagemap->nr;
}

static bool is_touched(struct pagemap *pagemap, uint64_t page)
{
	if (pagemap->fd < 0)
		return true;
	if (page - pagemap->first >= pagemap->nr && !read_from(pagemap, page)) {
		pagemap_close(pagemap);
		return true;
	}
	return pagemap_has_contents(pagemap->entry[page - pagemap->first]);
}

bool pagemap_next(struct pagemap *pagemap, uint64_t start, uint64_t end, uint64_t *start_ret,
		  uint64_t *end_ret)
{
	uint64_t page = start >> PAGE_SHIFT, last = (end - 1) >> PAGE_SHIFT;

	while (page <= last && !is_touched(pagemap, page))
		page++;
	if (page > last)
		return false;
	*start_ret = MAX(start, page << PAGE_SHIFT);
	if (pagemap->fd < 0)
		page = last + 1;
	while (page <= last && is_touched(pagemap, page))
		page++;
	*end_ret = MIN(end, page << PAGE_SHIFT);
	return true;
}

/* Without the pages of the category `without`. */
static int scan_once(int fd, struct pagemap_scan *scan, uint64_t without)
{
	struct pagemap_scan as = *scan;
	int got;

	as.category_inverted |= without;
	as.category_mask |= without;
	do
		got = ioctl(fd, SCAN, &as);
	while (got < 0 && errno == EINTR);
	scan->walk_end = as.walk_end;
	return got;
}

/*
 * The kernel scans in parts, and sets walk_end where one has filled its buffer: if the last part went
 * through to the end, walk_end is that of the part before it, and lies before regions that were given
 * (Linux 6.18). Whoever went on there would get them twice.
 */
int pagemap_scan_more(int fd, struct pagemap_scan *scan)
{
	const struct pagemap_region *region = (const struct pagemap_region *)(uintptr_t)scan->regions;
	static uint64_t guard = SCAN_GUARD;	/* atomic; 0: this kernel does not know the category */
	uint64_t without = __atomic_load_n(&guard, __ATOMIC_RELAXED);
	int got = scan_once(fd, scan, without);

	if (got < 0 && errno == EINVAL && without) {
		got = scan_once(fd, scan, 0);
		if (got >= 0)
			__atomic_store_n(&guard, 0, __ATOMIC_RELAXED);
	}
	if (got >= 0)
		scan->start = got ? MAX(scan->walk_end, region[got - 1].end) : scan->end;
	return got;
}

int pagemap_scan_next(int fd, uint64_t start, uint64_t end, uint64_t *start_ret,
		      uint64_t *end_ret)
{
	struct pagemap_region region;
	struct pagemap_scan scan = {
		.size = sizeof(scan), .start = ALIGN_DOWN(start, PAGE), .end = ALIGN_UP(end, PAGE),
		.regions = (uintptr_t)&region, .nr_regions = 1,
		.category_anyof = SCAN_PRESENT | SCAN_SWAPPED,
		.category_return = SCAN_PRESENT | SCAN_SWAPPED,
	};
	int got = pagemap_scan_more(fd, &scan);

	if (got <= 0)
		return got;
	*start_ret = MAX(start, region.start);
	*end_ret = MIN(end, region.end);
	return 1;
}

/* One page of each of many mappings: the entries around it are of no use. */
bool pagemap_is_touched(const struct pagemap *pagemap, uint64_t address)
{
	uint64_t entry;

	return !pagemap_read(pagemap->fd, address, &entry, 1) || pagemap_has_contents(entry);
}

bool pagemap_is_copied(pid_t tid, uint64_t address)
{
	AUTO_CLOSE int fd = procfs_open(tid, "pagemap", O_RDONLY);
	uint64_t entry;

	return !pagemap_read(fd, address, &entry, 1) ||
	       (pagemap_has_contents(entry) && !(entry & PAGEMAP_FILE));
}
