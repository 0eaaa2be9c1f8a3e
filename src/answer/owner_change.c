/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes of what owners keep (owner_change.h). */

#include "answer/owner_change.h"

void owner_change_free(struct owner_change *change)
{
	text_set_free(&change->names);
	vec_free(&change->bytes);
	*change = (struct owner_change)OWNER_CHANGE_INIT;
}

static struct err *bytes_of(struct owner_change *change, const char *name, uint64_t **ret)
{
	uint32_t number;
	struct err *err = text_set_copy(&change->names, name, &number);

	if (err)
		return err;
	*ret = vec_slot(&change->bytes, number);
	return *ret ? NULL : err_nomem;
}

struct err *owner_change_add(struct owner_change *change, const char *name, uint64_t bytes)
{
	uint64_t *sum;
	struct err *err = bytes_of(change, name, &sum);

	if (!err)
		*sum += bytes;
	return err;
}

struct err *owner_change_since(struct owner_change *before, const char *name, uint64_t bytes,
			       int64_t *ret)
{
	uint64_t *was;
	struct err *err = bytes_of(before, name, &was);

	if (!err)
		*ret = (int64_t)(bytes - *was);
	return err;
}
