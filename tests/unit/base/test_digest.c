/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256: FIPS 180-4's examples, and a length that takes more than one of liblzma's chunks. */

#include "base/digest.h"

#include "unit.h"

static bool is(const void *bytes, size_t len, const char *hex)
{
	uint8_t digest[DIGEST_BYTES];
	char text[2 * DIGEST_BYTES + 1];

	CU_ASSERT_PTR_NULL_FATAL(digest_make(bytes, len, digest));
	for (unsigned i = 0; i < DIGEST_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	return !strcmp(text, hex);
}

TEST("the standard's examples")
{
	const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

	CU_ASSERT(is("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
	CU_ASSERT(is("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
	CU_ASSERT(is(two, strlen(two),
		     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
}

TEST("a million letters")
{
	char *bytes = malloc(1000000);

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	memset(bytes, 'a', 1000000);
	CU_ASSERT(is(bytes, 1000000,
		     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
	free(bytes);
}
