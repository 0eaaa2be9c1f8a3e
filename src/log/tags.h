/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tags of a window (block_table.h): which of its slots may have an address, and which may be
 * free, in a few instructions for all of them. Freestanding.
 */
#pragma once

#include "log/block_table.h"

/* The same bit in all four lanes of a word. */
#define LANES(bits)	((uint64_t)(bits) * 0x0001000100010001ull)
#define LANE_WINDOW	15

/* A set of lanes: lane 4 * w + l is bit 16 * l + w. */
#define LANESET_SLOTS	(~(1ull << 51))
#define LANESET_NEXT(s)	((unsigned)__builtin_ctzll(s))
#define LANE_OF(bit)	(((bit) & 3) * 4 + (bit) / 16)
#define BIT_OF(lane)	((lane) % 4 * 16 + (lane) / 4)

static inline uint64_t laneset(const uint64_t *high_bits)
{
	return (high_bits[0] >> 15 | high_bits[1] >> 14 | high_bits[2] >> 13 | high_bits[3] >> 12) &
	       LANESET_SLOTS;
}

static inline void tags_load(const struct log_window *window, uint64_t *tags)
{
	for (unsigned i = 0; i < 4; i++)
		tags[i] = __atomic_load_n(&window->tags[i], __ATOMIC_RELAXED);
}

/* The slots whose tag has this hash, live or not. */
static inline uint64_t tags_match(const uint64_t *tags, unsigned tag)
{
	uint64_t zero[4];

	for (unsigned i = 0; i < 4; i++) {
		uint64_t differ = (tags[i] ^ LANES(tag)) & LANES(TAG_HASH);

		zero[i] = ~(differ + LANES(TAG_HASH)) & LANES(TAG_LIVE);
	}
	return laneset(zero);
}

static inline uint64_t tags_free(const uint64_t *tags)
{
	uint64_t idle[4];

	for (unsigned i = 0; i < 4; i++)
		idle[i] = ~tags[i] & LANES(TAG_LIVE);
	return laneset(idle);
}

static inline bool tags_overflowed(const uint64_t *tags)
{
	return tags[3] >> 48;
}

static inline uint16_t *tag_of(struct log_window *window, unsigned lane)
{
	return (uint16_t *)window->tags + lane;
}

static inline void tag_store(uint16_t *tag, unsigned value)
{
	uint16_t __attribute__((may_alias)) *at = tag;

	__atomic_store_n(at, (uint16_t)value, __ATOMIC_RELAXED);
}
