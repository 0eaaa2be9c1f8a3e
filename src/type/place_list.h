/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a variable is in which part of the code: one expression for all of it, or a list of location
 * (DWARF 4, 2.6.2; DWARF 5, 2.6.2 and 7.7.3). It is read here for the reason that operations.h has.
 */
#pragma once

#include "type/operations.h"

struct place_range;

struct place_list {
	struct operations whole;	/* the expression, if there is no list */
	bool is_whole;
	Dwarf_Attribute *attr;
	/* an entry: false, the list is damaged; *is_ret: it has an expression */
	bool (*next)(struct place_list *list, struct place_range *ret, bool *is_ret);
	const uint8_t *at, *end;	/* of the section; at is NULL at the end of the list */
	uint64_t base;
	unsigned left;			/* entries that it may have */
};

/* Where an expression holds: addresses as in the file. All of the code: 0 to UINT64_MAX. */
struct place_range {
	uint64_t start, end;
	struct operations ops;
};

/* Begin with the places of an attribute, which must stay where it is; false: it has none. */
bool place_list_begin(Dwarf_Attribute *attr, struct place_list *ret);
/* Take the next one; false: there is none, or the list is damaged (its `at` is no NULL). */
bool place_list_next(struct place_list *list, struct place_range *ret);
/* The expression that holds at an address of the file; false: there is none, or it cannot be read. */
bool place_list_at(Dwarf_Attribute *attr, uint64_t pc, struct operations *ret, bool *damaged_ret);
