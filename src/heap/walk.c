/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a walk gives: its end. */

#include "heap/walk.h"

void heap_walk_free(struct heap_walk *walk)
{
	heap_chunks_free(&walk->chunks);
	vec_free(&walk->arenas);
	vec_free(&walk->spans);
	vec_free(&walk->damage);
	vec_free(&walk->loose);
}
