/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Along a pointer (pointer_step.h). */

#include "type/pointer_step.h"

#include <inttypes.h>

#include "base/cleanup.h"

/* A struct without members still has a size, and may share its place with a member: a base, mostly. */
static bool is_empty(struct type *type, unsigned depth)
{
	struct type *plain = type_plain(type);

	if (!type_is_struct(plain) || depth == TYPE_DEPTH)
		return false;
	vec_each(member, &type_members(plain)->vec) {
		if (!member->is_static && !(member->base && is_empty(member->type, depth + 1)))
			return false;
	}
	return true;
}

/* The member that has the byte; NULL: none, or it is not certain. */
static const struct member *member_at(struct type *plain, uint64_t offset)
{
	if (plain->kind == TYPE_UNION)
		return NULL;
	vec_each(member, &type_members(plain)->vec) {
		uint64_t size;

		if (!member->is_static && !member->bit_size && !(member->base && member->is_virtual) &&
		    offset >= member->offset && !type_size(member->type, &size) &&
		    offset - member->offset < size && !is_empty(member->type, 0))
			return member;
	}
	return NULL;
}

/* One member, or element, inwards. *ret is NULL if there is none. */
static struct err *go_in(struct type *plain, uint64_t *offset, struct str *to, struct type **ret)
{
	const struct member *member = type_is_struct(plain) ? member_at(plain, *offset) : NULL;
	struct type *element;
	uint64_t size, at;

	*ret = NULL;
	if (member) {
		*offset -= member->offset;
		*ret = member->type;
		return member->name && !member->base ? str_addf(to, ".%s", member->name) : NULL;
	}
	element = plain->kind == TYPE_ARRAY ? type_target(plain) : NULL;
	if (!element || type_size(element, &size) || !size)
		return NULL;
	at = *offset / size;
	*offset %= size;
	*ret = element;
	return str_addf(to, "[%" PRIu64 "]", at);
}

/* What a pointer leads to, if it has members or pointers of its own. */
static struct type *leads_to(struct type *pointer)
{
	struct type *to = type_target(pointer), *plain = type_plain(to);
	uint64_t size;

	return (type_is_struct(plain) || plain->kind == TYPE_POINTER) && !type_size(to, &size) ?
		       to : NULL;
}

static bool is_pointer(const struct type *plain)
{
	return plain->kind == TYPE_POINTER || type_is_reference(plain);
}

static struct err *add(struct type *type, uint64_t offset, struct str *to, struct type **ret,
		       bool *pointer_ret)
{
	struct err *err = NULL;

	for (unsigned i = 0; i < TYPE_DEPTH && type && !err; i++) {
		struct type *plain = type_plain(type);

		if (is_pointer(plain)) {
			*pointer_ret = !offset;
			*ret = offset ? NULL : leads_to(plain);
			break;
		}
		err = go_in(plain, &offset, to, &type);
	}
	return err;
}

struct err *pointer_step_add(struct type *type, uint64_t offset, bool alone, struct str *to,
			     struct type **ret, bool *found_ret)
{
	bool several = !alone && is_pointer(type_plain(type)) && offset >= 8;
	AUTO_STR struct str way = STR_INIT;
	struct type *found = NULL;
	bool pointer = false;
	struct err *err;

	*ret = NULL;
	err = several ? str_addf(&way, "[%" PRIu64 "]", offset / 8) : NULL;
	if (!err)
		err = add(type, several ? offset % 8 : offset, &way, &found, &pointer);
	*found_ret = !err && pointer;
	if (!*found_ret)
		return err;
	*ret = found;
	return str_add(to, str_text(&way));
}
