/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the bytes of a block prove about it, whoever has allocated it. A form is only what cannot
 * well be chance; a block of numbers has none.
 *
 *	text		printable bytes (UTF-8) up to a NUL: 8 that fill the block, as strdup has
 *			them, or at least 16, as in a string with room to grow
 *	sds		a string of redis: a header with its length and its room, which is the
 *			block's, the text of at least 4 letters, and a NUL behind it
 *	pointers	at least four addresses of blocks, and otherwise zeros
 *	zeros		nothing else; of larger ones, see heap/zero_form.h
 *	pool		a block of 128 bytes or more that its owner gives out in parts: it begins with its
 *			end, behind the place up to which it is used (nginx, apr, PostgreSQL's contexts); or
 *			this stands behind a word with the block's own start (a context's first block);
 *			or it has its size behind a header which has it as well (MariaDB's MEM_ROOT,
 *			InnoDB's heaps)
 *	robj, ...	structs of redis (heap/redis_form.h)
 *
 * Of a large block the first BLOCK_FORM_READ bytes are looked at.
 */
#pragma once

#include "heap/packed.h"

#define BLOCK_FORM_READ	4096u

enum block_form {
	BLOCK_FORM_NONE, BLOCK_FORM_TEXT, BLOCK_FORM_SDS, BLOCK_FORM_POINTERS, BLOCK_FORM_ZEROS,
	BLOCK_FORM_POOL, BLOCK_FORM_LISTPACK, BLOCK_FORM_ROBJ, BLOCK_FORM_DICT_ENTRY,
	BLOCK_FORM_SKIP_NODE, BLOCK_FORM_QUICK_NODE, BLOCK_FORM_MOSTLY_ZEROS,
	BLOCK_FORMS,
};

/*
 * The form of a block of the list, but for the structs of redis. The list is sorted; bytes are its
 * first len ones, which is its size or BLOCK_FORM_READ.
 */
enum block_form block_form_of(const struct packed_list *list, const struct packed_block *block,
			      const uint8_t *bytes, size_t len);
/* "text", "sds", "zskiplistNode", ...; "?" for none. */
const char *block_form_name(enum block_form form);
