/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hashes: they tell texts apart, and nobody outside of this process can choose texts that they do not. */

#include <string.h>
#include <sys/auxv.h>

#include "base/hash.h"
#include "unit.h"

#define NR	20000u

/* The 16 bytes from the kernel, which hashes depend on. */
static uint8_t *secret(void)
{
	return (uint8_t *)getauxval(AT_RANDOM);
}

TEST("each bit and the length matter")
{
	uint8_t bytes[40];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(7 * i);
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		uint64_t hash = hash_bytes(bytes, len);

		for (size_t bit = 0; bit < 8 * len; bit++) {
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			CU_ASSERT_NOT_EQUAL(hash, hash_bytes(bytes, len));
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		CU_ASSERT_EQUAL(hash, hash_bytes(bytes, len));
		if (len)
			CU_ASSERT_NOT_EQUAL(hash, hash_bytes(bytes, len - 1));
	}
	CU_ASSERT_NOT_EQUAL(hash_bytes("\0", 1), hash_bytes("\0\0", 2));
}

TEST("another process has other hashes")
{
	uint64_t hash = hash_bytes("text", 4);

	*secret() ^= 0x56;
	CU_ASSERT_NOT_EQUAL(hash, hash_bytes("text", 4));
	*secret() ^= 0x56;
	CU_ASSERT_EQUAL(hash, hash_bytes("text", 4));
}

/* The lowest bits choose a slot. With random ones some 20,000 - 20,000^2 / 2^21 are alone. */
TEST("the slots of keys in a row, and of multiples, are all over the table")
{
	static uint8_t taken[1u << 20];

	for (unsigned shift = 0; shift < 44; shift += 4) {
		unsigned together = 0;

		memset(taken, 0, sizeof(taken));
		for (uint64_t i = 0; i < NR; i++) {
			uint64_t key = i << shift;

			together += taken[hash_bytes(&key, sizeof(key)) % sizeof(taken)]++ > 0;
		}
		CU_ASSERT(together < 1000);
	}
}
