/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the memory of a range in pieces (scan.h). */

#include "heap/reach/scan.h"

#include "base/cancel.h"
#include "base/page.h"

#define HOLE_MAX	(16ull << 20)

struct err *scan_init(struct scan *scan, const struct reach_source *source, void *ctx)
{
	*scan = (struct scan){ .source = source, .buffer = malloc(SCAN_BUFFER), .ctx = ctx };
	return scan->buffer ? NULL : err_nomem;
}

void scan_free(struct scan *scan)
{
	free(scan->buffer);
	scan->buffer = NULL;
}

const uint64_t *scan_words(const struct scan *scan, uint64_t start, uint64_t end, uint64_t *at_ret,
			   size_t *nr_ret)
{
	start = ALIGN_UP(start, 8ull);
	end = ALIGN_DOWN(end, 8ull);
	*at_ret = start;
	*nr_ret = start < end ? (end - start) / 8 : 0;
	return scan->buffer + (*nr_ret ? (start - scan->start) / 8 : 0);
}

bool scan_is_hole(const struct scan *scan, uint64_t address)
{
	return address - scan->hole.start < scan->hole.end - scan->hole.start;
}

struct err *scan_fill(struct scan *scan, uint64_t start, uint64_t end, uint64_t *got_ret)
{
	size_t got = 0;
	struct err *err;

	*got_ret = 0;
	if (scan_is_hole(scan, start))
		return NULL;
	err = memory_read_some(scan->source->memory, start, scan->buffer, (size_t)(end - start),
			       &got);
	if (err && err->code != ERR_MEMORY)
		return err;
	*got_ret = err ? 0 : got;
	scan->start = start;
	scan->end = start + *got_ret;
	if (scan->end < end)
		scan->hole = (struct reach_range){ scan->end, ALIGN_DOWN(scan->end, PAGE) + PAGE };
	return NULL;
}

/*
 * Returns where to go on if [at, end) cannot be read: one page further. In a hole that is so large
 * that some size must be wrong, the steps grow. The hole is the last range of unread, if that ends
 * at `at`.
 */
static uint64_t behind_hole(const struct reach_unread *unread, uint64_t at, uint64_t end)
{
	uint64_t hole = unread->last.end == at ? at - unread->last.start : 0;
	uint64_t step = hole < HOLE_MAX ? PAGE : ALIGN_DOWN(hole, PAGE), to;

	return __builtin_add_overflow(ALIGN_DOWN(at, PAGE), step, &to) ? end : MIN(to, end);
}

static void note(struct reach_unread *unread, uint64_t start, uint64_t end)
{
	if (unread->last.end != start)
		unread->last.start = start;
	unread->last.end = end;
	unread->bytes += end - start;
}

/* Read from `at` on, which is mapped. */
static struct err *scan_mapped(struct scan *scan, uint64_t at, uint64_t end,
			       struct reach_unread *unread, scan_fn *fn)
{
	struct err *err = NULL;

	while (!err && at < end) {
		uint64_t from = ALIGN_DOWN(at, 8ull), to = MIN(end, from + SCAN_BUFFER), got;

		err = scan_fill(scan, from, to, &got);
		if (!err && from + got > at)
			err = fn(scan->ctx, at, from + got);
		at = MAX(at, from + got);
		if (!err && at < to) {
			to = behind_hole(unread, at, end);
			note(unread, at, to);
			at = to;
		}
		if (!err)
			err = cancel_check();
	}
	return err;
}

struct reach_range scan_next_mapped(const struct reach_source *source, uint64_t at)
{
	return source->next_mapped ? source->next_mapped(source->ctx, at) :
				     (struct reach_range){ at, UINT64_MAX };
}

static struct err *scan_present(struct scan *scan, const struct reach_range *part,
				struct reach_unread *unread, scan_fn *fn)
{
	uint64_t at = part->start;
	struct err *err = NULL;

	while (!err && at < part->end) {
		struct reach_range mapped = scan_next_mapped(scan->source, at);
		uint64_t from = MIN(mapped.start, part->end), to = MIN(mapped.end, part->end);

		if (at < from)
			note(unread, at, from);
		if (from < to)
			err = scan_mapped(scan, from, to, unread, fn);
		at = to;
	}
	return err;
}

struct err *scan_range(struct scan *scan, uint64_t start, uint64_t end, struct reach_unread *unread,
		       scan_fn *fn)
{
	const struct reach_source *source = scan->source;
	struct reach_range part = { start, end };
	struct err *err = NULL;

	while (!err && start < end) {
		if (source->next_present && !source->next_present(source->ctx, start, end, &part))
			break;
		err = scan_present(scan, &part, unread, fn);
		start = part.end;
	}
	return err ? err : cancel_check();
}
