/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What kinds of containers have in common (container_look.h). */

#include "type/container_look.h"

#include <stdio.h>
#include <string.h>

#include "type/die.h"
#include "type/type_name.h"

struct type *container_look_argument(struct type *type, unsigned nr)
{
	Dwarf_Die die;

	if (type->die.addr && dwarf_child(&type->die, &die) == 0)
		do
			if (dwarf_tag(&die) == DW_TAG_template_type_parameter && !nr--)
				return type_of(type->pool, &die);
		while (die_next(&die));
	return NULL;
}

struct value container_look_inner(struct memory *memory, struct value from, bool *is,
				  const char *names)
{
	struct value to = from;
	char name[64];

	while (*is && *names) {
		const struct member *member = NULL;
		size_t len = strcspn(names, ".");

		snprintf(name, sizeof(name), "%.*s", (int)len, names);
		*is = !value_find_member(memory, &from, name, &to, &member) && member &&
		      !member->is_static;
		from = to;
		names += len + (names[len] == '.');
	}
	return to;
}

uint64_t container_look_word(struct memory *memory, struct value from, bool *is, const char *names)
{
	struct value value = container_look_inner(memory, from, is, names);
	struct number number = { .integer = 0 };

	if (*is)
		*is = !value_number(memory, &value, &number);
	return number.integer;
}

void container_look_title(const struct container_look *look, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(look->to->title, sizeof(look->to->title), fmt, ap);
	va_end(ap);
}

void container_look_title_of(const struct container_look *look, const char *what)
{
	struct str text AUTO_STR = STR_INIT;
	struct type *of = container_look_argument(look->type, 0);

	if (of && type_name_add(of, &text))
		of->pool->nomem = true;
	container_look_title(look, "%s<%s>", what, str_text(&text));
}

struct container_bare container_look_bare(const struct type *type)
{
	static const char inner[] = "std::__1::";
	const char *name = type->name;
	struct container_bare bare;
	bool own = !strncmp(name, inner, strlen(inner));

	name += own ? strlen(inner) : 0;
	snprintf(bare.text, sizeof(bare.text), "%s%.*s", own ? "std::" : "",
		 (int)strcspn(name, "<"), name);
	return bare;
}

void container_look_elements(const struct container_look *look)
{
	struct container *to = look->to;
	struct container_bare name = container_look_bare(look->type);

	to->style = strstr(name.text, "map") ? CONTAINER_MAP : CONTAINER_NUMBERED;
	container_look_title(look, "%s with %" PRIu64 " element%s", name.text, to->count,
			     to->count == 1 ? "" : "s");
}

void container_look_pointer(const struct container_look *look, struct value pointer)
{
	look->to->one = pointer;
	look->to->style = CONTAINER_NAMED;
	look->to->item_name = "get()";
	look->to->count = 1;
	container_look_title_of(look, container_look_bare(look->type).text);
}

struct err *container_look_chain(struct memory *memory, struct container *container)
{
	return memory_read_u64(memory, container->at, &container->at);
}

struct err *container_look_blocks(struct memory *memory, struct container *container)
{
	container->at += container->step;
	if (--container->left)
		return NULL;
	container->node += sizeof(uint64_t);
	container->left = container->room;
	return memory_read_u64(memory, container->node, &container->at);
}

bool container_look_vector(const struct container_look *look, uint64_t end, uint64_t room)
{
	struct container *to = look->to;
	uint64_t size = 0;

	if (type_size(to->element, &size) || !size || end < to->at || room < end)
		return false;
	to->count = (end - to->at) / size;
	to->step = size;
	container_look_title(look, "std::vector of length %" PRIu64 ", capacity %" PRIu64, to->count,
			     (room - to->at) / size);
	return true;
}

void container_look_optional(const struct container_look *look, struct value value)
{
	struct container *to = look->to;
	size_t len;

	to->one = value;
	to->style = CONTAINER_NAMED;
	to->item_name = "[contained value]";
	container_look_title_of(look, "std::optional");
	len = strlen(to->title);
	if (!to->count)
		snprintf(to->title + len, sizeof(to->title) - len, " [no contained value]");
}

bool container_look_variant(const struct container_look *look, uint64_t index,
			    const struct value *value)
{
	struct container *to = look->to;
	const char *arguments = strchr(look->type->name, '<');

	to->style = CONTAINER_LIST;
	to->count = value != NULL;
	if (!value) {
		container_look_title(look, "std::variant%s [no contained value]", arguments);
		return true;
	}
	to->at = value->address;
	to->element = value->type;
	container_look_title(look, "std::variant%s [index %" PRIu64 "]", arguments, index);
	return value->lvalue;
}
