/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sorting of numbers that carry an index: least significant digit first, 11 bits a pass, stable.
 * Digits that are the same in all keys are skipped, so that a million addresses of one heap take
 * three passes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct radix_item {
	uint64_t key;
	uint32_t index;
};

/*
 * Sort nr items by key, equal keys in the order that they have; in place, with as much memory again
 * while it runs.
 */
struct err *radix_sort(struct radix_item *item, size_t nr) MUST_CHECK;
