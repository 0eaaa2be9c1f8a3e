/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of enumerations as text (enum_text.h). */

#include "type/enum_text.h"

#include <inttypes.h>
#include <string.h>

#include "type/die.h"

/* C++ names the scope, which of an enum class is itself: "ns::RED", "Color::RED". */
static struct err *add_name(const struct type *type, const char *name, struct str *to)
{
	Dwarf_Die die = type->die;
	const char *last = type->name, *at;
	int depth = 0;

	if (!type->cxx || !type->name)
		return str_add(to, name);
	if (die_flag(&die, DW_AT_enum_class))
		return str_addf(to, "%s::%s", type->name, name);
	for (at = type->name; *at; at++) {
		depth += (*at == '<') - (*at == '>');
		if (!depth && at[0] == ':' && at[1] == ':')
			last = at + 2;
	}
	return str_addf(to, "%.*s%s", (int)(last - type->name), type->name, name);
}

static struct err *add_flags(const struct type *type, const struct enumerators *list,
			     uint64_t value, struct str *to)
{
	struct err *err = str_add(to, "(");
	const char *sign = "";

	vec_each_while(one, &list->vec, !err) {
		if (!one->value || (value & (uint64_t)one->value) != (uint64_t)one->value)
			continue;
		value &= ~(uint64_t)one->value;
		err = str_add(to, sign);
		if (!err)
			err = add_name(type, one->name, to);
		sign = " | ";
	}
	if (!err && value)
		err = str_addf(to, "%sunknown: 0x%" PRIx64, sign, value);
	return err ? err : str_add(to, ")");
}

struct err *enum_text_add(struct type *plain, int64_t value, struct str *to)
{
	const struct enumerators *list = type_enumerators(plain);

	vec_each(one, &list->vec)
		if (one->value == value)
			return add_name(plain, one->name, to);
	if (!list->flags || !value)
		return str_addf(to, "%" PRId64, value);
	return add_flags(plain, list, plain->size < 8 ?
			 (uint64_t)value & ((1ull << 8 * plain->size) - 1) : (uint64_t)value, to);
}
