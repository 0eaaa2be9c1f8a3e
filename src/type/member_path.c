/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way to a byte (member_path.h). */

#include "type/member_path.h"

#include <inttypes.h>

/* The member that has the byte; NULL: none, or one whose place is not known. */
static const struct member *member_at(struct type *plain, uint64_t offset)
{
	vec_each(member, &type_members(plain)->vec) {
		uint64_t size;

		if (!member->is_static && !(member->base && member->is_virtual) &&
		    offset >= member->offset && !type_size(member->type, &size) &&
		    offset - member->offset < size)
			return member;
	}
	return NULL;
}

struct err *member_path_add(struct type *type, uint64_t offset, struct str *to, struct type **ret)
{
	struct err *err = NULL;

	for (unsigned i = 0; i < TYPE_DEPTH && !err; i++) {
		struct type *plain = type_plain(type);
		const struct member *member = type_is_struct(plain) ? member_at(plain, offset) :
								      NULL;
		uint64_t size;

		if (member) {
			if (member->name && !member->base)
				err = str_addf(to, ".%s", member->name);
			offset -= member->offset;
			type = member->type;
		} else if (plain->kind == TYPE_ARRAY && !type_size(type_target(plain), &size) &&
			   size) {
			err = str_addf(to, "[%" PRIu64 "]", offset / size);
			offset %= size;
			type = type_target(plain);
		} else {
			break;
		}
	}
	if (ret)
		*ret = type;
	return err || !offset ? err : str_addf(to, "+%" PRIu64, offset);
}
