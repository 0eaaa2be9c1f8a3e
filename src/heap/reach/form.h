/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forms of blocks: what the words of a block prove about a pointer to its inside.
 *
 *	sds		a string of redis: length and room are before it, in the block's first bytes
 *	sized		a header whose word is the size of what is behind it, or of all (MariaDB's
 *			my_malloc, GLib's reference-counted boxes)
 *	counted		two reference counts, and the value behind them: Rust's Arc and Rc, given
 *			out as a raw pointer
 *	table		the control bytes of a hash table of Rust (hashbrown): the entries are
 *			before them, one in each of 2^k buckets
 *	page		a header behind the data, which points back to the start of these, and to
 *			what is behind itself (SQLite's pages)
 *	tagged		an address of memory in the first word, of which it is byte 1, 2 or 3: nobody walks
 *			through such a block byte by byte; so the low bits of the pointer are flags
 *	python		an object of Python's behind the header of its collector: a count of
 *			references, and a type, whose type leads to the one that is its own type
 *
 * The one that proves the contrary: an object of make_shared is pointed to behind its counts, but
 * each of its owners has a pointer to the block's start as well.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct block;
struct memory;

enum form {
	FORM_NONE, FORM_SDS, FORM_SIZED, FORM_COUNTED, FORM_TABLE, FORM_PAGE, FORM_TAGGED, FORM_PYTHON, FORMS
};

/* The form that makes a pointer to this offset, which is not 0, the one that the program keeps. */
enum form form_of(struct memory *memory, const struct block *block, uint64_t offset);
/*
 * How many buckets the table would have whose control bytes begin at this offset, by the block's
 * size alone; 0: there can be none.
 */
uint64_t form_table_buckets(const struct block *block, uint64_t offset);
/* "as sds strings have", for a sentence on pointers to the inside of blocks; "" for FORM_NONE. */
const char *form_text(enum form form);
