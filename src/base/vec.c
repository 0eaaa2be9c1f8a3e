/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growth of the array behind VEC(): by half, with overflow checked. */

#include "base/vec.h"

#include <stdint.h>

struct err *vec_grow(void **at, size_t *room, size_t want, size_t size)
{
	size_t grown = *room + *room / 2 + 8;
	void *bigger;

	if (grown < want)
		grown = want;
	if (grown > SIZE_MAX / size)
		return err_nomem;
	bigger = realloc(*at, grown * size);
	if (!bigger)
		return err_nomem;
	*at = bigger;
	*room = grown;
	return NULL;
}
