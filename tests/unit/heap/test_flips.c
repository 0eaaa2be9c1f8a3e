/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Damaged heaps: random changes to chunks, arenas, bins and caches. HEAP_ROUNDS is how many (`make
 * torture` asks for 10^6).
 */

#include "flips.h"

#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define ROUNDS	3000

/* The pieces as they were, to put back. */
static void keep(const struct image *image, uint8_t *kept[])
{
	for (unsigned i = 0; i < image->nr_pieces; i++) {
		kept[i] = malloc(image->piece[i].len);
		if (!kept[i])
			abort();
		memcpy(kept[i], image->piece[i].bytes, image->piece[i].len);
	}
}

static void put_back(struct image *image, uint8_t *const kept[])
{
	for (unsigned i = 0; i < image->nr_pieces; i++)
		memcpy(image->piece[i].bytes, kept[i], image->piece[i].len);
}

static unsigned damage_image(unsigned n, unsigned rounds, uint64_t *state)
{
	uint8_t *kept[IMAGE_PIECES];
	unsigned bad = 0, nr_kept;
	CLEANUP(image_free) struct image image;

	flips_make(&image, n);
	nr_kept = image.nr_pieces;
	keep(&image, kept);
	CU_ASSERT_PTR_NULL(flips_check(&image));
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t began = *state;
		const char *wrong;

		for (unsigned flips = 1 + unit_random(state) % 4; flips; flips--) {
			uint64_t offset = unit_random(state), value = unit_random(state);

			flips_change(&image, offset, (uint8_t)unit_random(state), value);
		}
		wrong = flips_check(&image);
		if (wrong && bad++ < 10)
			printf("image %u, state 0x%llx: %s\n", n, (unsigned long long)began, wrong);
		put_back(&image, kept);
	}
	for (unsigned i = 0; i < nr_kept; i++)
		free(kept[i]);
	return bad;
}

TEST("survives any damage")
{
	const char *text = getenv("HEAP_ROUNDS");
	unsigned rounds = text ? (unsigned)atol(text) : ROUNDS;
	uint64_t state = 0x9e3779b97f4a7c15;

	for (unsigned n = 0; n < FLIP_IMAGES; n++)
		CU_ASSERT_EQUAL(damage_image(n, rounds / FLIP_IMAGES, &state), 0);
}
