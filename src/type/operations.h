/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The operations of DWARF's expressions, one after the other (DWARF 5, 2.5 and 7.7.1).
 *
 * libdw unpacks an expression as a whole, into some 80 bytes for each of its operations, and keeps
 * what it has unpacked for as long as the file is open. An expression may be as long as the file, so
 * a file of 100 MB would take 8 GB. Here nothing is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

/* An expression, or the rest of one. */
struct operations {
	Dwarf_Attribute *attr;		/* of its unit */
	const uint8_t *start, *at, *end;
	bool damaged;			/* it ended within an operation */
};

struct operation {
	uint8_t atom;
	uint64_t number, other;		/* its operands; those with a sign are sign-extended */
	const uint8_t *bytes;		/* `number` bytes of its own; NULL: it has none */
};

/* The expression that an attribute is; false: it is none, but a list, or a number. attr may be NULL. */
bool operations_of(Dwarf_Attribute *attr, struct operations *ret);
/*
 * Take the next operation; false: there is none, or the expression is damaged. The operands of an
 * operation that mdbg has no use for are not taken: it is not known what comes behind it.
 */
bool operations_next(struct operations *ops, struct operation *ret);
/* Take the operation of an expression that has no other. */
bool operations_only(struct operations ops, struct operation *ret);
/* Go to the operation at a distance from here; one outside of the expression ends it. */
void operations_jump(struct operations *ops, int64_t by);
/* The bytes of an operation as an expression. */
struct operations operations_inside(const struct operations *ops, const struct operation *op);
/* Does it lay an address on the stack, that of the file? */
bool operations_is_address(const struct operation *op);
/* Does it make an address of a place in a thread's data? */
bool operations_is_thread(const struct operation *op);
/* The address or number that an operation lays on the stack, which may be in a table; false: it has none. */
bool operations_number(const struct operations *ops, const struct operation *op, uint64_t *ret);
