/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A value of the target, of some type: a number that is known, or a place in memory that is read
 * only when its bytes are needed. So `sizeof`, `whatis` and `&` read nothing, and an array of any
 * size costs no more than what is shown of it.
 */
#pragma once

#include "base/memory.h"
#include "type/type.h"

struct value {
	struct type *type;
	bool lvalue;			/* it is at address; else it is in bytes */
	bool nowhere;			/* optimised out, or not known */
	const char *why;		/* it is not known; NULL: it is optimised out */
	uint64_t address;
	uint32_t bit_offset, bit_size;	/* of a bit field; bit_size 0: it is none */
	uint8_t bytes[16];		/* little endian */
	uint16_t lost;			/* a bit for each of them that is optimised out */
};

/* A number for calculation. */
struct number {
	bool is_float, is_signed;
	uint32_t size;			/* bytes of its type */
	uint64_t integer;
	long double real;
};

struct value value_at(struct type *type, uint64_t address);
struct value value_of_integer(struct type *type, uint64_t integer);
struct value value_of_float(struct type *type, long double real);
/* The refusal of a value that is nowhere, for those who need its bytes. */
struct err *value_nowhere(const struct value *value) MUST_CHECK;
/* Is one of the first len bytes of a value that is not in memory optimised out? */
bool value_has_lost(const struct value *value, size_t len);
/* Read at most len bytes, without those of a bit field's neighbours. ERR_MEMORY. */
struct err *value_read(struct memory *memory, const struct value *value, void *buf,
		       size_t len) MUST_CHECK;
/*
 * The number that an integer, a bool, an enum, a pointer or a float is; the type must be plain.
 * ERR_USAGE: it is none.
 */
struct err *value_number(struct memory *memory, const struct value *value,
			 struct number *ret) MUST_CHECK;
/* The address that a pointer has, or an integer; that of an array or a function. */
struct err *value_pointer(struct memory *memory, const struct value *value,
			  uint64_t *ret) MUST_CHECK;
/* What a reference leads to; any other value as it is. */
struct err *value_follow(struct memory *memory, struct value *value) MUST_CHECK;
/* The member of a struct in memory. */
struct err *value_member(struct memory *memory, const struct value *value,
			 const struct member *member, struct value *ret) MUST_CHECK;
/*
 * Find a member by name, also in bases and in what has no name. *found_ret is NULL if there is none
 * and there is no error. A static member is returned as such, with *ret undefined.
 */
struct err *value_find_member(struct memory *memory, const struct value *value, const char *name,
			      struct value *ret, const struct member **found_ret) MUST_CHECK;
/* Memory that is all zeros: what has a type has the same one with any contents. */
struct memory *value_zeros(void);
/* Element i of an array, or of what a pointer points to. */
struct err *value_element(struct memory *memory, const struct value *value, int64_t i,
			  struct value *ret) MUST_CHECK;
