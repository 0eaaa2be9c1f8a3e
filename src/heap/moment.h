/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Moments: sums of the live blocks of each stack, at one time. Growth is the difference of two
 * moments.
 *
 * A moment has all stacks with live blocks. So the difference of two moments has every change
 * between them, also those of small sites. Stacks keep their ids as long as the log exists, so that
 * the sums of two moments can be compared by them. Moments are valid only for their log.
 *
 * A moment that is stored for later is packed. In a packed moment each sum is three numbers: the
 * id of its stack less that of the sum before it, the bytes, the count. A number has seven bits in
 * each byte, the lowest bits first; the eighth bit is set in all bytes of a number but its last one
 * (LEB128). Most sums take five to seven bytes; a struct moment_sum takes 24.
 */
#pragma once

#include "base/vec.h"
#include "heap/block.h"

struct moment_sum {
	uint32_t stack;
	uint64_t bytes, count;		/* the sums that its blocks stand for (block_share) */
};

struct moment {
	uint64_t time_ns;		/* since the epoch, by the log's clock */
	VEC(struct moment_sum) vec;	/* sorted by stack; no count is 0 */
	struct log_older older;		/* up to then; moment_take does not fill it in */
};

#define MOMENT_INIT	{ 0, VEC_INIT, { false, 0, 0, 0 } }

/* The sums of the live blocks at a time. */
struct err *moment_take(const struct live_counts *live, uint64_t time_ns,
			struct moment *ret) MUST_CHECK;
/* The same for the blocks of a log and those in hand, which may be NULL (blocks_each). */
struct err *moment_from_log(const struct log *log, const struct in_hand *in_hand, uint64_t time_ns,
			    struct moment *ret) MUST_CHECK;
/* The same; ERR_CANCELLED soon after *end was set (atomic). */
struct err *moment_from_log_until(const struct log *log, const struct in_hand *in_hand,
				  uint64_t time_ns, const bool *end,
				  struct moment *ret) MUST_CHECK;
void moment_free(struct moment *moment);
/* Returns the sums over all stacks. */
struct sample_share moment_total(const struct moment *moment);

/* It does not contain the time of the moment. All zeros: there was no live block. */
struct packed_moment {
	uint8_t *at;
	size_t len;
	struct log_older older;
};

struct err *moment_pack(const struct moment *moment, struct packed_moment *ret) MUST_CHECK;
struct err *moment_unpack(const struct packed_moment *packed, uint64_t time_ns,
			  struct moment *ret) MUST_CHECK;
void moment_free_packed(struct packed_moment *packed);
