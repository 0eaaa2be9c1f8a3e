/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variants (variant.h): DW_TAG_variant_part, which leads to its discriminant by DW_AT_discr. */

#include "type/variant.h"

#include "type/die.h"

static bool find_part(struct type *plain, Dwarf_Die *ret)
{
	if (!plain->cxx || !plain->die.addr || dwarf_child(&plain->die, ret))
		return false;
	do
		if (dwarf_tag(ret) == DW_TAG_variant_part)
			return true;
	while (die_next(ret));
	return false;
}

/* A part with one variant has no discriminant. */
static struct err *read_discriminant(struct memory *memory, const struct value *value,
				     struct type_pool *pool, Dwarf_Die *part, uint64_t *ret,
				     bool *has_ret)
{
	struct value at = *value;
	struct number number;
	Dwarf_Attribute mem;
	Dwarf_Die die;
	uint64_t offset;
	struct err *err;

	*has_ret = dwarf_attr(part, DW_AT_discr, &mem) && dwarf_formref_die(&mem, &die) &&
		   die_number(&die, DW_AT_data_member_location, &offset);
	if (!*has_ret)
		return NULL;
	at = value_at(type_of(pool, &die), value->address + offset);
	err = value_number(memory, &at, &number);
	if (!err)
		*ret = number.size < 8 ? number.integer & ((1ull << 8 * number.size) - 1) :
					 number.integer;
	return err;
}

/* The variant of that discriminant, else the one for all others. */
static bool find_variant(Dwarf_Die *part, uint64_t discriminant, bool has, Dwarf_Die *ret)
{
	bool found = false;
	Dwarf_Die die;

	if (dwarf_child(part, &die))
		return false;
	do {
		uint64_t is;
		bool says;

		if (dwarf_tag(&die) != DW_TAG_variant)
			continue;
		says = die_number(&die, DW_AT_discr_value, &is);
		if (!says || (has && is == discriminant)) {
			*ret = die;
			found = true;
			if (says)
				return true;
		}
	} while (die_next(&die));
	return found;
}

struct err *variant_of_value(struct memory *memory, const struct value *value, struct type *plain,
			     struct member *ret, bool *is_ret)
{
	uint64_t discriminant = 0;
	Dwarf_Die part, die;
	struct err *err;
	bool has;

	*is_ret = value->lvalue && find_part(plain, &part);
	*ret = (struct member){ .name = NULL };
	if (!*is_ret)
		return NULL;
	err = read_discriminant(memory, value, plain->pool, &part, &discriminant, &has);
	if (err || !find_variant(&part, discriminant, has, &die) || dwarf_child(&die, &die) ||
	    dwarf_tag(&die) != DW_TAG_member)
		return err;
	*ret = (struct member){
		.name = dwarf_diename(&die), .type = type_of(plain->pool, &die), .die = die,
	};
	die_number(&die, DW_AT_data_member_location, &ret->offset);
	return NULL;
}
