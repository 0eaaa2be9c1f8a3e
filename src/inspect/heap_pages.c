/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads which pages of the heaps are resident (heap_pages.h). */

#include "inspect/heap_pages.h"

#include <fcntl.h>

#include "base/cleanup.h"
#include "os/procfs.h"

struct err *heap_pages_read(const struct heap_walk *walk, pid_t pages_of, bool mapped,
			    struct page_runs *ret)
{
	AUTO_CLOSE int fd = pages_of ? procfs_open(pages_of, "pagemap", O_RDONLY) : -1;
	struct err *err = NULL;

	if (!pages_of)
		return err_create(ERR_UNSUPPORTED, "a core file does not say which pages were resident");
	if (fd < 0)
		return err_sys("open pagemap of process %d", pages_of);
	vec_each_while(span, &walk->spans, !err) {
		if (mapped || span->heap < walk->arenas.nr)
			err = page_runs_add(fd, span->start, span->end, ret);
	}
	return err;
}

struct err *heap_pages_free_space(const struct heaps *heap, const struct page_runs *pages,
				  struct free_space *ret)
{
	const struct free_space_source source = {
		.walk = &heap->walk, .pages = pages, .brk = heap->brk,
	};

	return free_space_add_up(&source, ret);
}
