/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of heap/free_space.h that is about allocators whose chunks are bare. */
#pragma once

#include "heap/free_space.h"

/* Add to the sums of ret->arenas, which are there. ERR_NOMEM, or an error of source->pinned. */
struct err *free_slabs_add_up(const struct free_space_source *source,
			      struct free_space *ret) MUST_CHECK;
