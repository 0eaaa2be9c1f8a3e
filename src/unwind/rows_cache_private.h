/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the cache of rows have in common. */
#pragma once

#include "unwind/rows_cache.h"
#include "unwind/rows_key.h"

#define ROWS_CACHE_MAGIC	"mdbgrows"
/*
 * A name is TRUSTED or the owner's number and "-", the key in hex, and ".rows"; behind that one
 * which is being written has a dot and a number.
 */
#define ROWS_CACHE_TRUSTED	"trusted-"
#define ROWS_CACHE_NAME		96

/*
 * Remove old files until there is room for one of this key. False: there will be none, since the
 * file is too long or something else is in the way.
 */
bool rows_cache_room_make(struct rows_cache *cache, const struct rows_key *key, uint64_t bytes);
