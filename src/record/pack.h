/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packs segments: of several that stand one behind the other it makes one with fewer samples, which
 * is compressed in large blocks (docs/record-format.md, "The folder").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A segment that was made, and of how many others. */
struct record_packed {
	uint64_t number, last, from_ns, to_ns, bytes;
	size_t nr;
};

/*
 * Keep one sample in so many seconds (1 or more) of these segments, which nobody writes to. The
 * result has the number of the first; the others are removed. Where all have too many processes or names
 * together, only some of the first are packed (ret->nr). After an error all is as it was, but for
 * RECORD_FOLDER_NEXT. ERR_RANGE: the first alone has too many. ERR_CANCELLED: another thread has set *stop (atomic).
 */
struct err *record_pack(int dir_fd, const uint64_t *numbers, size_t nr, uint64_t every,
			const bool *stop, struct record_packed *ret) MUST_CHECK;
