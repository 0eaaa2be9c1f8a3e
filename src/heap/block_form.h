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
 *	zeros		nothing else
 *
 * Of a large block the first BLOCK_FORM_READ bytes are looked at; it is not known to be of zeros.
 */
#pragma once

#include "heap/packed.h"

#define BLOCK_FORM_READ	4096u

enum block_form {
	BLOCK_FORM_NONE, BLOCK_FORM_TEXT, BLOCK_FORM_SDS, BLOCK_FORM_POINTERS, BLOCK_FORM_ZEROS,
	BLOCK_FORMS,
};

/*
 * The form of a block of the list, which is sorted; bytes are its first len ones, which is its size
 * or BLOCK_FORM_READ.
 */
enum block_form block_form_of(const struct packed_list *list, const struct packed_block *block,
			      const uint8_t *bytes, size_t len);
/* "text", "sds", "pointers", "zeros"; "?" for none. */
const char *block_form_name(enum block_form form);
