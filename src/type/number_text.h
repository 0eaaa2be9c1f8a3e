/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers, characters and addresses as gdb shows them, also by a letter (`print/x`). */
#pragma once

#include "base/str.h"
#include "type/value.h"

struct frame;
struct types;

/* Where values are looked at. */
struct value_world {
	struct types *types;
	struct memory *memory;
	uint32_t generation;		/* of the module map, for symbols */
	struct frame *frame;		/* whose local variables have names, too; or NULL */
};

bool number_text_is_format(char letter);
/*
 * By a letter: x hex, d signed, u unsigned, o octal, t binary, c character, a address, f floating
 * point, z hex with all zeros; 0: as its type has it.
 */
struct err *number_text_add(const struct value_world *world, const struct number *number,
			    char format, struct str *to) MUST_CHECK;
/* "97 'a'", "120 L'x'". */
struct err *number_text_char(const struct type *type, const struct number *number,
			     struct str *to) MUST_CHECK;
/* Of 128 bits. */
struct err *number_text_wide(const uint8_t bytes[16], bool is_signed, struct str *to) MUST_CHECK;
/* Add " <symbol+OFFSET>" if the address is in one. */
struct err *number_text_symbol(const struct value_world *world, uint64_t address,
			       struct str *to) MUST_CHECK;
/* "<error: …>", where what is shown ends since nothing can be read there. */
struct err *number_text_unread(uint64_t address, struct str *to) MUST_CHECK;
/* "text" of a string that ends with a NUL; "<error: …>" if nothing of it can be read. */
struct err *number_text_string(struct memory *memory, uint64_t address, struct str *to) MUST_CHECK;
