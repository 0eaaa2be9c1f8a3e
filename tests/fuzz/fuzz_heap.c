/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Heaps that the program has written over at will. The input is a byte for which image, and a list of
 * changes: 4 bytes of offset, 1 of how, 8 of value (tests/unit/heap/flips.h, which says what must
 * hold).
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/flips.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct image image;
	const char *wrong;

	if (!len)
		return 0;
	flips_make(&image, bytes[0]);
	for (bytes++, len--; len >= 13; bytes += 13, len -= 13) {
		uint32_t offset;
		uint64_t value;

		memcpy(&offset, bytes, sizeof(offset));
		memcpy(&value, bytes + 5, sizeof(value));
		flips_change(&image, offset, bytes[4], value);
	}
	wrong = flips_check(&image);
	image_free(&image);
	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		abort();
	}
	return 0;
}
