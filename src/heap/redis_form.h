/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Structs of redis (6.2 to 7.2; object.c, dict.h, server.h, quicklist.h, listpack.c), which are most of a
 * server's memory, by their words. Each is proved by an sds string that it points to, or by a listpack.
 *
 *	robj		type and encoding, a count of references, and an sds string: its own, in the same
 *			block (up to 44 letters), or one that it points to; or a listpack
 *	dictEntry	key, value and next: the key is an sds string, next is 0 or another one
 *	zskiplistNode	the same key; score; the node before, and behind, of which there is one at least
 *	quicklistNode	neighbours; a listpack; and its size
 *	listpack	its size; the number of entries; each entry with its length at both ends; and 0xff
 */
#pragma once

#include "heap/block_form.h"

struct memory;

/* The form of a block of the list; bytes are its first ones, as for block_form_of. */
enum block_form redis_form_of(struct memory *memory, const struct packed_list *list,
			      const struct packed_block *block, const uint8_t *bytes, size_t len);
