/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A checksum of bytes, computed a word at a time. */

#include "base/sum.h"

#include <string.h>

uint64_t sum_bytes(uint64_t sum, const void *bytes, size_t len)
{
	const char *at = bytes;
	uint64_t word;

	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 29;
	}
	word = len;
	memcpy((char *)&word + 1, at, len);
	sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
	return sum ^ sum >> 32;
}
