/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash whose collisions nobody can choose (hash.h). */

#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>

#define PRIME	((1ull << 61) - 1)
#define WORD	7u	/* bytes: fewer bits than PRIME has */

static uint64_t random_key(void)
{
	uint64_t random[2];

	memcpy(random, (const void *)getauxval(AT_RANDOM), sizeof(random));
	return (random[0] ^ random[1]) & PRIME;
}

/* a * b modulo PRIME, below PRIME + 4. a has at most 62 bits, b has 61. */
static uint64_t times(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	uint64_t sum = ((uint64_t)product & PRIME) + (uint64_t)(product >> 61);

	return (sum & PRIME) + (sum >> 61);
}

/* Other numbers give others. The polynomials of keys in a row lie in a row, too, and a table takes the lowest bits. */
static uint64_t spread(uint64_t sum)
{
	sum ^= sum >> 32;
	sum *= 0xd6e8feb86659fd93;
	sum ^= sum >> 32;
	sum *= 0xd6e8feb86659fd93;
	return sum ^ sum >> 32;
}

uint64_t hash_bytes(const void *bytes, size_t len)
{
	uint64_t key = random_key(), sum = times(len & PRIME, key), word;
	const char *at = bytes;

	for (; len >= WORD; at += WORD, len -= WORD) {
		word = 0;
		memcpy(&word, at, WORD);
		sum = times(sum + word, key);
	}
	word = 0;
	memcpy(&word, at, len);
	sum = times(sum + word, key);
	return spread(sum >= PRIME ? sum - PRIME : sum);
}
