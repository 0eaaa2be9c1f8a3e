/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heaps with chunks of all kinds, for the layouts of glibc's versions (glibc_image.h). */
#pragma once

#include "glibc_image.h"

#define IMAGE_VERSIONS	14u

extern const struct image_spec image_versions[IMAGE_VERSIONS];

/* Add chunks of all kinds to a heap, never two free ones side by side. */
void image_populate(struct image *image, unsigned heap);
/* Make an image of spec, with such chunks in all its heaps. */
void image_fill(struct image *image, const struct image_spec *spec);
/* Assert that the walk has found all chunks of the image, and no others. */
void image_check(const struct image *image, const struct heap_walk *walk);
/* The nth chunk of this kind, from 0; there must be so many. */
const struct image_chunk *image_nth(const struct image *image, enum chunk_kind kind, unsigned n);
