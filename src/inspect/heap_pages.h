/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pages of the heaps that were walked are resident, and of the free memory in them. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "heap/free_space.h"
#include "inspect/heaps.h"
#include "os/page_runs.h"

/*
 * Read it for all spans of the walk, with mapped blocks or without them. It must be of the moment of the walk, so call
 * it in the same stop, or while the snapshot is there. pages_of: as in struct memory_view; a
 * snapshot has the same pages as its target. *ret is empty before, and the caller frees it, also
 * after an error. ERR_UNSUPPORTED: a core file does not have it. ERR_SYS, ERR_GONE, ERR_NOMEM.
 */
struct err *heap_pages_read(const struct heap_walk *walk, pid_t pages_of, bool mapped,
			    struct page_runs *ret) MUST_CHECK;
/* Add up the free memory of heaps by their pages, as free_space_add_up does. */
struct err *heap_pages_free_space(const struct heaps *heap, const struct page_runs *pages,
				  struct free_space *ret) MUST_CHECK;
