/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each name is a row of bytes: a struct, with its array behind it, whose padding is zeroed. So one
 * kind of table finds all four by their bytes.
 */

#include "record/names.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"

#define CHUNK	65536u

void record_names_init(struct record_names *names, uint64_t most)
{
	*names = (struct record_names){ .most = most };
}

static void pool_free(struct record_pool *pool)
{
	vec_free(&pool->vec);
	free(pool->slot);
}

void record_names_free(struct record_names *names)
{
	vec_each_value(chunk, &names->chunks)
		free(chunk);
	vec_free(&names->chunks);
	for (unsigned kind = 0; kind < RECORD_NAME_KINDS; kind++)
		pool_free(&names->pool[kind]);
	pool_free(&names->left_out);
	free(names->scratch);
	record_names_init(names, names->most);
}

static struct err *too_many(const struct record_names *names)
{
	return err_create(ERR_RANGE, "the names of the recording take more than %llu MB",
			  (unsigned long long)(names->most >> 20));
}

/* Copy bytes, with a zero behind them, aligned to 8. */
static struct err *copy(struct record_names *names, const void *bytes, size_t len,
			const void **ret)
{
	size_t need = ALIGN_UP(len + 1, (size_t)8);
	struct err *err = NULL;
	char *chunk;

	if (need > names->chunk_len - names->chunk_at) {
		size_t room = MAX(need, (size_t)CHUNK);

		if (names->bytes + room > names->most)
			return too_many(names);
		err = vec_reserve(&names->chunks, 1);
		chunk = err ? NULL : malloc(room);
		if (!chunk)
			return err_nomem;
		names->chunks.at[names->chunks.nr++] = chunk;
		names->chunk_at = 0;
		names->chunk_len = room;
		names->bytes += room;
	}
	chunk = names->chunks.at[names->chunks.nr - 1] + names->chunk_at;
	memcpy(chunk, bytes, len);
	chunk[len] = 0;
	names->chunk_at += need;
	*ret = chunk;
	return NULL;
}

/* The slot of these bytes, or where they would be. */
static uint32_t place(const struct record_pool *pool, uint64_t hash, const void *bytes, size_t len)
{
	uint32_t at = (uint32_t)hash & (pool->slots - 1);

	for (; pool->slot[at]; at = (at + 1) & (pool->slots - 1)) {
		const struct record_name *is = &pool->vec.at[pool->slot[at] - 1];

		if (is->hash == hash && is->len == len && !memcmp(is->bytes, bytes, len))
			break;
	}
	return at;
}

static struct err *grow(struct record_names *names, struct record_pool *pool)
{
	uint32_t slots = pool->slots ? 2 * pool->slots : 256, *slot;

	if (names->bytes + slots * (2 * sizeof(*slot) + sizeof(struct record_name)) > names->most)
		return too_many(names);
	slot = calloc(slots, sizeof(*slot));
	if (!slot)
		return err_nomem;
	free(pool->slot);
	names->bytes += (slots - pool->slots) * (sizeof(*slot) + sizeof(struct record_name));
	pool->slot = slot;
	pool->slots = slots;
	for (uint32_t i = 0; i < pool->vec.nr; i++) {
		uint32_t at = (uint32_t)pool->vec.at[i].hash & (slots - 1);

		while (slot[at])
			at = (at + 1) & (slots - 1);
		slot[at] = i + 1;
	}
	return NULL;
}

static struct err *number_in(struct record_names *names, struct record_pool *pool,
			     const void *bytes, size_t len, uint32_t *ret)
{
	struct record_name name = { .hash = hash_bytes(bytes, len), .len = (uint32_t)len };
	struct err *err = pool->vec.nr >= pool->slots / 2 ? grow(names, pool) : NULL;
	uint32_t at;

	if (err)
		return err;
	at = place(pool, name.hash, bytes, len);
	if (!pool->slot[at]) {
		err = copy(names, bytes, len, &name.bytes);
		if (!err)
			err = vec_push(&pool->vec, name);
		if (err)
			return err;
		pool->slot[at] = (uint32_t)pool->vec.nr;
	}
	*ret = pool->slot[at];
	return NULL;
}

static struct err *number(struct record_names *names, enum record_name_kind kind,
			  const void *bytes, size_t len, uint32_t *ret)
{
	return number_in(names, &names->pool[kind], bytes, len, ret);
}

struct err *record_names_text(struct record_names *names, const void *bytes, size_t len,
			      uint32_t *ret)
{
	return number(names, RECORD_NAME_STRING, bytes, MIN(len, (size_t)RECORD_STRING_MOST), ret);
}

struct err *record_names_string(struct record_names *names, const char *text, uint32_t *ret)
{
	if (text)
		return record_names_text(names, text, strlen(text), ret);
	*ret = RECORD_NONE;
	return NULL;
}

struct err *record_names_location(struct record_names *names,
				  const struct record_location *location, uint32_t *ret)
{
	uint32_t nr = MIN(location->nr, RECORD_FUNCTIONS_MOST);
	size_t len = sizeof(*location) + nr * sizeof(*location->functions);
	struct record_location *to;
	struct record_function *functions;

	if (!names->scratch)
		names->scratch = malloc(sizeof(*names->scratch));
	if (!names->scratch)
		return err_nomem;
	memset(names->scratch, 0, len);
	to = (void *)names->scratch;
	to->module = location->module;
	to->build_id = location->build_id;
	to->address = location->address;
	to->entry = location->entry;
	to->nr = nr;
	functions = (void *)(to + 1);
	for (uint32_t i = 0; i < nr; i++) {
		const struct record_function *from = &location->functions[i];

		functions[i].name = from->name;
		functions[i].brief = from->brief;
		functions[i].linkage = from->linkage;
		functions[i].place = from->place;
		functions[i].file = from->file;
		functions[i].line = from->line;
		functions[i].name_bare = from->name_bare;
		functions[i].brief_bare = from->brief_bare;
		functions[i].offset = from->offset;
		functions[i].inlined = from->inlined;
	}
	return number(names, RECORD_NAME_LOCATION, names->scratch, len, ret);
}

struct err *record_names_stack(struct record_names *names, const struct record_stack *stack,
			       uint32_t *ret)
{
	uint32_t words[RECORD_STACK_MOST + 1];
	uint32_t nr = MIN(stack->nr, RECORD_STACK_MOST);

	words[0] = stack->end;
	if (nr)
		memcpy(words + 1, stack->locations, nr * sizeof(*words));
	return number(names, RECORD_NAME_STACK, words, (nr + 1) * sizeof(*words), ret);
}

/* The bytes of a target; false: there is no room for another one. */
static bool target_of(const struct record_names *names, const struct record_target *target,
		      struct record_target *ret)
{
	const struct record_pool *pool = &names->pool[RECORD_NAME_TARGET];

	memset(ret, 0, sizeof(*ret));
	ret->pid = target->pid;
	ret->start = target->start;
	ret->boot = target->boot;
	ret->host = target->host;
	ret->name = target->name;
	ret->command = target->command;
	ret->program = target->program;
	ret->build_id = target->build_id;
	ret->group = target->group;
	ret->allocator = target->allocator;
	return pool->vec.nr < RECORD_TARGETS_MOST ||
	       pool->slot[place(pool, hash_bytes(ret, sizeof(*ret)), ret, sizeof(*ret))];
}

struct err *record_names_target(struct record_names *names, const struct record_target *target,
				uint32_t *ret)
{
	struct record_target to;

	if (!target_of(names, target, &to))
		return record_names_too_many_targets();
	return number(names, RECORD_NAME_TARGET, &to, sizeof(to), ret);
}

struct err *record_names_read_target(struct record_names *names, const struct record_target *target,
				     uint32_t *ret)
{
	struct record_target to;
	struct err *err;

	if (target_of(names, target, &to))
		return number(names, RECORD_NAME_TARGET, &to, sizeof(to), ret);
	err = number_in(names, &names->left_out, &to, sizeof(to), ret);
	*ret = RECORD_NAMES_LEFT_OUT;
	return err;
}

struct err *record_names_too_many_targets(void)
{
	return err_create(ERR_RANGE, "the recording has more than %u processes", RECORD_TARGETS_MOST);
}

uint32_t record_names_nr(const struct record_names *names, enum record_name_kind kind)
{
	return (uint32_t)names->pool[kind].vec.nr;
}

static const struct record_name *get(const struct record_names *names, enum record_name_kind kind,
				     uint32_t number)
{
	const struct record_pool *pool = &names->pool[kind];

	return number && number <= pool->vec.nr ? &pool->vec.at[number - 1] : NULL;
}

const char *record_names_get_string(const struct record_names *names, uint32_t number,
				    size_t *len_ret)
{
	const struct record_name *name = get(names, RECORD_NAME_STRING, number);

	if (len_ret)
		*len_ret = name ? name->len : 0;
	return name ? name->bytes : NULL;
}

struct record_location record_names_get_location(const struct record_names *names, uint32_t number)
{
	const struct record_name *name = get(names, RECORD_NAME_LOCATION, number);
	struct record_location location = { .module = RECORD_NONE };

	if (name) {
		memcpy(&location, name->bytes, sizeof(location));
		location.functions = (const void *)((const char *)name->bytes + sizeof(location));
	}
	return location;
}

struct record_stack record_names_get_stack(const struct record_names *names, uint32_t number)
{
	const struct record_name *name = get(names, RECORD_NAME_STACK, number);
	const uint32_t *words = name ? name->bytes : NULL;

	if (!words)
		return (struct record_stack){ .nr = 0 };
	return (struct record_stack){ name->len / sizeof(*words) - 1, words + 1, *words };
}

const struct record_target *record_names_get_target(const struct record_names *names,
						    uint32_t number)
{
	const struct record_name *name = get(names, RECORD_NAME_TARGET, number);

	return name ? name->bytes : NULL;
}

uint32_t record_names_find(const struct record_names *names, const char *text)
{
	const struct record_pool *pool = &names->pool[RECORD_NAME_STRING];
	size_t len = strlen(text);

	return pool->slots ? pool->slot[place(pool, hash_bytes(text, len), text, len)] : 0;
}
