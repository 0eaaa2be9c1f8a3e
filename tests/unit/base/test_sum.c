/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums: each bit of what is summed up matters, and how much there is. */

#include "base/sum.h"
#include "unit.h"

TEST("each bit matters")
{
	uint8_t bytes[40];
	uint64_t sum;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(7 * i);
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		sum = sum_bytes(0, bytes, len);
		CU_ASSERT_EQUAL(sum, sum_bytes(0, bytes, len));
		CU_ASSERT_NOT_EQUAL(sum, sum_bytes(1, bytes, len));
		for (size_t bit = 0; bit < 8 * len; bit++) {
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			CU_ASSERT_NOT_EQUAL(sum, sum_bytes(0, bytes, len));
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

TEST("zeros count")
{
	static const uint8_t zeros[16];

	for (size_t len = 0; len < sizeof(zeros); len++)
		CU_ASSERT_NOT_EQUAL(sum_bytes(0, zeros, len), sum_bytes(0, zeros, len + 1));
}
