/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of locations (place_list.h). */

#include "type/place_list.h"

#include <string.h>

#include "elf/cfi.h"

#define ENTRIES_MOST	(1u << 18)	/* of a list */
#define LEB_MOST	10u	/* bytes of a number */
#define GNU_VIEW_PAIR	9u	/* DW_LLE_GNU_view_pair: two numbers that say nothing of places */

/* The bytes of a debug section, which libdw has unpacked; in a file of split units it ends in ".dwo". */
static bool find_section(Dwarf *dwarf, const char *name, struct place_list *ret, bool *split_ret)
{
	Elf *elf = dwarf_getelf(dwarf);
	size_t strings, len = strlen(name);
	Elf_Scn *scn = NULL;

	if (elf_getshdrstrndx(elf, &strings))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		const Elf64_Shdr *header = elf64_getshdr(scn);
		const char *is = header ? elf_strptr(elf, strings, header->sh_name) : NULL;
		const Elf_Data *data = NULL;

		if (is && !strncmp(is, name, len) && (!is[len] || !strcmp(is + len, ".dwo")))
			data = elf_getdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		*split_ret = is[len];
		ret->at = data->d_buf;
		ret->end = ret->at + data->d_size;
		return true;
	}
	return false;
}

static bool fixed(struct place_list *list, size_t bytes, uint64_t *ret)
{
	return cfi_fixed(&list->at, list->end, bytes, ret);
}

static bool uleb(struct place_list *list, uint64_t *ret)
{
	return cfi_uleb(&list->at, list->end, ret);
}

static bool indexed(struct place_list *list, uint64_t *ret)
{
	struct operations ops = { .attr = list->attr };
	struct operation op = { .atom = DW_OP_addrx };

	return uleb(list, &op.number) && operations_number(&ops, &op, ret);
}

static bool expression(struct place_list *list, uint64_t len, struct place_range *ret)
{
	if (len > (uint64_t)(list->end - list->at))
		return false;
	ret->ops = (struct operations){
		.attr = list->attr, .start = list->at, .at = list->at, .end = list->at + len,
	};
	list->at += len;
	return true;
}

/* An entry of DWARF 2 to 4. */
static bool next_pair(struct place_list *list, struct place_range *ret, bool *is_ret)
{
	uint64_t len;

	if (!fixed(list, 8, &ret->start) || !fixed(list, 8, &ret->end))
		return false;
	if (ret->start == UINT64_MAX) {
		list->base = ret->end;
		return true;
	}
	if (!ret->start && !ret->end) {
		list->at = NULL;
		return true;
	}
	*is_ret = true;
	if (!fixed(list, 2, &len))
		return false;
	ret->start += list->base;
	ret->end += list->base;
	return expression(list, len, ret);
}

/* An entry of DWARF 4 in a file of split units, by GNU. */
static bool next_split(struct place_list *list, struct place_range *ret, bool *is_ret)
{
	uint64_t kind, len;

	if (!fixed(list, 1, &kind))
		return false;
	if (kind == DW_LLE_GNU_base_address_selection_entry)
		return indexed(list, &list->base);
	if (kind == DW_LLE_GNU_end_of_list_entry) {
		list->at = NULL;
		return true;
	}
	*is_ret = true;
	if (!indexed(list, &ret->start))
		return false;
	if (kind == DW_LLE_GNU_start_end_entry) {
		if (!indexed(list, &ret->end))
			return false;
	} else if (kind == DW_LLE_GNU_start_length_entry) {
		if (!fixed(list, 4, &ret->end))
			return false;
		ret->end += ret->start;
	} else {
		return false;
	}
	return fixed(list, 2, &len) && expression(list, len, ret);
}

/* The start and end, or the length, of an entry of DWARF 5 that has an expression. */
static bool take_range(struct place_list *list, uint64_t kind, struct place_range *ret)
{
	switch (kind) {
	case DW_LLE_startx_endx:
		return indexed(list, &ret->start) && indexed(list, &ret->end);
	case DW_LLE_startx_length:
		return indexed(list, &ret->start) && uleb(list, &ret->end);
	case DW_LLE_offset_pair:
		return uleb(list, &ret->start) && uleb(list, &ret->end);
	case DW_LLE_default_location:
		*ret = (struct place_range){ .end = UINT64_MAX };
		return true;
	case DW_LLE_start_end:
		return fixed(list, 8, &ret->start) && fixed(list, 8, &ret->end);
	case DW_LLE_start_length:
		return fixed(list, 8, &ret->start) && uleb(list, &ret->end);
	default:
		return false;
	}
}

static bool next_entry(struct place_list *list, struct place_range *ret, bool *is_ret)
{
	uint64_t kind, len;

	if (!fixed(list, 1, &kind))
		return false;
	switch (kind) {
	case DW_LLE_end_of_list:
		list->at = NULL;
		return true;
	case DW_LLE_base_addressx:
		return indexed(list, &list->base);
	case DW_LLE_base_address:
		return fixed(list, 8, &list->base);
	case GNU_VIEW_PAIR:
		return uleb(list, &len) && uleb(list, &len);
	default:
		break;
	}
	*is_ret = true;
	if (!take_range(list, kind, ret) || !uleb(list, &len))
		return false;
	if (kind == DW_LLE_offset_pair)
		ret->start += list->base;
	if (kind == DW_LLE_offset_pair)
		ret->end += list->base;
	else if (kind == DW_LLE_startx_length || kind == DW_LLE_start_length)
		ret->end += ret->start;
	return expression(list, len, ret);
}

/* What a DIE of a unit has itself, or a split one in the other file. */
static bool base_of(Dwarf_Die *unit, uint64_t *ret)
{
	Dwarf_Attribute mem;
	Dwarf_Addr base;

	if (dwarf_formaddr(dwarf_attr_integrate(unit, DW_AT_low_pc, &mem), &base))
		return false;
	*ret = base;
	return true;
}

/* Where the list with this number begins, by the table of the unit. */
static bool take_index(Dwarf_Attribute *attr, Dwarf_Die *unit, uint8_t bytes,
		       const struct place_list *list, uint64_t *ret)
{
	/* A split unit has one table, behind its head: length, version, sizes, and their number. */
	uint64_t base = bytes == 8 ? 20 : 12, index, size = (uint64_t)(list->end - list->at);
	const uint8_t *at = attr->valp, *entry;
	Dwarf_Attribute mem;
	Dwarf_Word stated;

	if (!dwarf_formudata(dwarf_attr(unit, DW_AT_loclists_base, &mem), &stated))
		base = stated;
	if (!cfi_uleb(&at, at + LEB_MOST, &index) || base > size || index >= (size - base) / bytes)
		return false;
	entry = list->at + base + index * bytes;
	if (!cfi_fixed(&entry, list->end, bytes, ret))
		return false;
	*ret += base;
	return true;
}

static bool begin_list(Dwarf_Attribute *attr, struct place_list *ret)
{
	const char *section;
	uint64_t offset;
	bool split;
	Dwarf_Word word;
	Dwarf_Half version;
	uint8_t bytes;
	Dwarf_Die unit;

	if (dwarf_cu_info(attr->cu, &version, NULL, &unit, NULL, NULL, NULL, &bytes))
		return false;
	section = version < 5 ? ".debug_loc" : ".debug_loclists";
	if (!find_section(dwarf_cu_getdwarf(attr->cu), section, ret, &split))
		return false;
	if (dwarf_whatform(attr) == DW_FORM_loclistx) {
		if (!take_index(attr, &unit, bytes, ret, &offset))
			return false;
	} else if (dwarf_formudata(attr, &word)) {
		return false;
	} else {
		offset = word;
	}
	if (offset > (uint64_t)(ret->end - ret->at))
		return false;
	ret->at += offset;
	ret->next = version >= 5 ? next_entry : split ? next_split : next_pair;
	/* A unit of several ranges has no base: its lists have their own. */
	if (!base_of(&unit, &ret->base))
		ret->base = 0;
	return true;
}

bool place_list_begin(Dwarf_Attribute *attr, struct place_list *ret)
{
	*ret = (struct place_list){ .attr = attr, .left = ENTRIES_MOST };
	ret->is_whole = operations_of(attr, &ret->whole);
	return ret->is_whole || (attr && begin_list(attr, ret));
}

bool place_list_next(struct place_list *list, struct place_range *ret)
{
	bool is = false;

	if (list->is_whole) {
		*ret = (struct place_range){ 0, UINT64_MAX, list->whole };
		list->is_whole = false;
		return true;
	}
	while (list->at && !is) {
		if (!list->left || !list->next(list, ret, &is))
			return false;
		list->left--;
	}
	return is;
}

bool place_list_at(Dwarf_Attribute *attr, uint64_t pc, struct operations *ret, bool *damaged_ret)
{
	struct place_list list;
	struct place_range range;

	*damaged_ret = !place_list_begin(attr, &list);
	if (*damaged_ret)
		return false;
	while (place_list_next(&list, &range))
		if (pc >= range.start && pc < range.end) {
			*ret = range.ops;
			return true;
		}
	*damaged_ret = list.at;
	return false;
}
