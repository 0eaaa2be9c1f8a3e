/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Damage to a heap's image, and what must hold of a walk over it whatever was damaged: it ends, its
 * chunks lie one behind the other inside its heaps, its sums are those of its chunks. For the unit
 * test and the fuzzer.
 */
#pragma once

#include "glibc_image.h"

#define FLIP_IMAGES	6u

/* One of a few images with chunks of all kinds. */
void flips_make(struct image *image, unsigned n);
/* Change a word: how says to what. */
void flips_change(struct image *image, uint64_t offset, uint8_t how, uint64_t value);
/* NULL, or what does not hold. */
const char *flips_check(struct image *image);
