/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many chunks a walk may find (theory in walk_limit.h). */

#include "inspect/walk_limit.h"

#include <inttypes.h>

#include "os/procfs.h"

#define CHUNK_LEAST	8u	/* jemalloc's, mimalloc's */
/* The kernel's counts lag behind, by up to 64 pages for each thread or processor. */
#define SLACK		(64ull << 20)

static uint64_t chunks_of(pid_t pages_of)
{
	struct proc_status status;
	struct err *err = procfs_status(pages_of, &status);

	if (!err && status.has_vm)
		return (((status.anonymous_kb + status.swap_kb + status.hugetlb_kb) << 10) +
			SLACK) / CHUNK_LEAST;
	err_ignore(err);
	return UINT64_MAX;
}

void walk_limit_find(const struct memory_limit *own, pid_t pages_of, struct walk_limit *ret)
{
	uint64_t most = own->kind && own->left != UINT64_MAX ? own->left / 2 / WALK_LIMIT_COST :
							       UINT64_MAX;

	ret->chunks = pages_of ? chunks_of(pages_of) : UINT64_MAX;
	ret->own = most < ret->chunks ? own : NULL;
	ret->chunks = MIN(ret->chunks, most);
}

struct err *walk_limit_say(const struct walk_limit *limit, struct err *err)
{
	const struct memory_limit *own = limit->own;

	if (!err || err->code != ERR_RANGE)
		return err;
	if (!own)
		return err_create(ERR_FORMAT, "its heaps seem to have more chunks than its memory has "
				  "room for (%" PRIu64 "): they are damaged, or a forgery",
				  limit->chunks);
	return err_hint(err_create(ERR_NOMEM, "its heaps have more than %" PRIu64 " chunks, and for "
				   "a list of more mdbg has no memory: %s, of which %" PRIu64
				   "M were left", limit->chunks, own->name, own->left >> 20),
			"%s", own->hint);
}
