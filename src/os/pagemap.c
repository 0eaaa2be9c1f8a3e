/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /proc/TID/pagemap: one word a page (Documentation/admin-guide/mm/pagemap.rst). */

#include "os/pagemap.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "os/procfs.h"

#define PAGE_SHIFT	12
#define PRESENT		(1ull << 63)
#define SWAPPED		(1ull << 62)
#define OF_FILE		(1ull << 61)	/* a page of a file, or a shared one */

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

static bool read_from(struct pagemap *pagemap, uint64_t page)
{
	ssize_t got;

	do
		got = pread(pagemap->fd, pagemap->entry, sizeof(pagemap->entry),
			    (off_t)(page * sizeof(pagemap->entry[0])));
	while (got < 0 && errno == EINTR);
	pagemap->first = page;
	pagemap->nr = got > 0 ? (uint64_t)got / sizeof(pagemap->entry[0]) : 0;
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
	return pagemap->entry[page - pagemap->first] & (PRESENT | SWAPPED);
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

/* One page of each of many mappings: the entries around it are of no use. */
bool pagemap_is_touched(const struct pagemap *pagemap, uint64_t address)
{
	uint64_t entry;

	return pread(pagemap->fd, &entry, sizeof(entry),
		     (off_t)((address >> PAGE_SHIFT) * sizeof(entry))) != sizeof(entry) ||
	       (entry & (PRESENT | SWAPPED));
}

bool pagemap_is_copied(pid_t tid, uint64_t address)
{
	AUTO_CLOSE int fd = procfs_open(tid, "pagemap", O_RDONLY);
	uint64_t entry;
	ssize_t got = pread(fd, &entry, sizeof(entry),
			    (off_t)((address >> PAGE_SHIFT) * sizeof(entry)));

	return got != sizeof(entry) || ((entry & (PRESENT | SWAPPED)) && !(entry & OF_FILE));
}
