/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Containers (container.h). */

#include "type/container_look.h"

#include <string.h>

struct err *container_of_value(struct memory *memory, const struct value *value, struct type *plain,
			       struct container *ret, bool *is_ret)
{
	static const struct container_kind *const libraries[] = {
		container_libstdcxx_kinds, container_libcxx_kinds, container_rust_kinds,
	};
	const struct container_look look = { memory, *value, plain, ret };

	*is_ret = false;
	if (!plain->cxx || !plain->name || !value->lvalue)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		for (const struct container_kind *kind = libraries[i]; kind->name && !*is_ret; kind++) {
			if (strncmp(plain->name, kind->name, strlen(kind->name)))
				continue;
			*ret = (struct container){ .key = "first", .mapped = "second", .wraps = "" };
			*is_ret = kind->look(&look);
		}
	return NULL;
}

/* The number of a bit in a vector<bool>. */
static struct err *next_bit(struct memory *memory, struct container *container,
			    struct container_item *ret)
{
	uint64_t bit = container->offset++;
	uint8_t byte;
	struct err *err = memory_read(memory, container->at + bit / 8, &byte, 1);

	if (!err)
		ret->value = value_of_integer(container->element, byte >> (bit % 8) & 1);
	return err;
}

static struct err *unwrap(struct memory *memory, const struct container *container,
			  struct container_item *item)
{
	bool is = true;
	struct value in = container_look_inner(memory, item->value, &is, container->wraps);

	item->value = in;
	if (container->key_type) {
		item->key = value_at(container->key_type, container->key_at);
	} else if (container->style == CONTAINER_MAP) {
		item->key = container_look_inner(memory, in, &is, container->key);
		item->value = container_look_inner(memory, in, &is, container->mapped);
	}
	return is ? NULL : err_create(ERR_FORMAT, "an element without what it must have");
}

struct err *container_next(struct memory *memory, struct container *container,
			   struct container_item *ret)
{
	struct err *err = NULL;

	ret->is = container->done < container->count;
	if (!ret->is)
		return NULL;
	if (container->style == CONTAINER_NAMED) {
		ret->value = container->one;
	} else if (container->bits) {
		err = next_bit(memory, container, ret);
	} else {
		if (container->done && container->advance)
			err = container->advance(memory, container);
		else if (container->done)
			container->at += container->step;
		ret->value = value_at(container->element, container->at + container->offset);
		if (!err)
			err = unwrap(memory, container, ret);
	}
	container->done++;
	return err;
}
