/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packs segments (record/pack.h) in a thread of its own: an hour of 10,000 sites takes seconds, and no
 * sample waits for that. The thread has names and files of its own; it shares the folder alone, where the
 * recorder neither writes to these segments nor removes them meanwhile.
 */
#pragma once

#include "record/pack.h"

#define RECORD_PACKING_MOST	512u	/* segments at once */

struct record_packing;

/* Begin; dir_fd must stay open until the end. ERR_SYS, ERR_NOMEM: it has not begun. */
struct err *record_packing_begin(int dir_fd, const uint64_t *numbers, size_t nr, uint64_t every,
				 struct record_packing **ret) MUST_CHECK;
/* Has the thread done its work? */
bool record_packing_is_done(const struct record_packing *packing);
/* Wait for it, and get what it has made, or its error. packing is gone. */
struct err *record_packing_end(struct record_packing *packing, struct record_packed *ret) MUST_CHECK;
/* Stop it soon, with all as it was unless it is done already. packing is gone; it may be NULL. */
void record_packing_stop(struct record_packing *packing);
