/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks for bytes (memory_search.h). */

#include "base/memory_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/page.h"

#define PIECE	(256u << 10)	/* bytes that are read at once */

/* What is in the buffer: the end of the piece before, and a new one. */
struct piece {
	uint8_t *bytes;
	size_t kept;		/* of the piece before, which ends where the next one begins */
};

static struct err *look(struct memory_search *search, const uint8_t *bytes, size_t len,
			uint64_t address)
{
	const uint8_t *at = bytes, *end = bytes + len;
	struct err *err = NULL;

	while (!err && (at = memmem(at, (size_t)(end - at), search->bytes, search->len))) {
		if (search->nr++ < search->limit)
			err = vec_push(&search->places, address + (uint64_t)(at - bytes));
		at++;
	}
	return err;
}

/* Read what follows, and look at it. *at goes behind it, or over a page that cannot be read. */
static struct err *step(struct memory_search *search, struct memory *memory, struct piece *piece,
			uint64_t *at, uint64_t end)
{
	size_t got = 0, have, keep;
	struct err *err = cancel_check();

	if (err)
		return err;
	err = memory_read_some(memory, *at, piece->bytes + piece->kept, MIN(end - *at, PIECE), &got);
	if (err && err->code != ERR_MEMORY)
		return err;
	if (err || !got) {
		piece->kept = 0;
		*at = MIN(end, ALIGN_DOWN(*at, PAGE) + PAGE);
		return NULL;
	}
	have = piece->kept + got;
	err = look(search, piece->bytes, have, *at - piece->kept);
	keep = MIN(search->len - 1, have);
	memmove(piece->bytes, piece->bytes + have - keep, keep);
	piece->kept = keep;
	search->searched += got;
	*at += got;
	return err;
}

struct err *memory_search_range(struct memory_search *search, struct memory *memory, uint64_t start,
				uint64_t end)
{
	AUTO_FREE uint8_t *bytes = malloc(PIECE + search->len);
	struct piece piece = { bytes, 0 };
	struct err *err = bytes ? NULL : err_nomem;
	uint64_t at = start, from, to;

	while (!err && memory_next(memory, at, end, &from, &to)) {
		if (from != at)
			piece.kept = 0;
		for (at = from; at < to && !err;)
			err = step(search, memory, &piece, &at, to);
	}
	return err;
}
