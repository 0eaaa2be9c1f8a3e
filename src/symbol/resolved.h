/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names that were found for addresses. They are kept for ever, up to LIMIT_FRAMES and
 * LIMIT_TEXTS (base/limits.h). Results beyond that, and those that may be better the next time, are
 * kept only as one of the last RESOLVED_RECENT.
 */
#pragma once

#include "base/map.h"
#include "symbol/symbol.h"

#define NO_MODULE	UINT32_MAX
#define RESOLVED_RECENT	64u

struct resolved {
	struct resolved *next;		/* with the same key */
	uint64_t pc;
	uint32_t module;		/* NO_MODULE: none */
	bool return_address;
	/* indexed by enum symbol_names; NULL: not needed so far */
	char *text[SYMBOL_NAMES_FULL + 1];
	size_t nr;
	struct symbol_frame frames[];
};

struct resolved_cache {
	struct map kept;
	uint64_t nr_frames, text_bytes;		/* of all that are kept */
	struct resolved *recent[RESOLVED_RECENT];	/* those that are not */
	char *recent_text[RESOLVED_RECENT];
	uint32_t nr_recent, nr_recent_texts;	/* number of all recent ones so far */
};

/* Forget all; the cache may be used again. */
void resolved_free(struct resolved_cache *cache);
/* Returns NULL if it is not kept. */
struct resolved *resolved_find(const struct resolved_cache *cache, uint64_t pc, uint32_t module,
			       bool return_address);
/* Copy nr frames; NULL: there is no memory. */
struct resolved *resolved_create(uint64_t pc, uint32_t module, bool return_address, size_t nr,
				 const struct symbol_frame *frames);
/*
 * Add what resolved_find has not found, among the recent ones unless it is to be kept. Returns NULL,
 * and resolved is freed, if there is no memory.
 */
struct resolved *resolved_add(struct resolved_cache *cache, struct resolved *resolved, bool keep);
/* Take over a text of resolved, and return it; it is valid for the next RESOLVED_RECENT calls. */
const char *resolved_add_text(struct resolved_cache *cache, struct resolved *resolved,
			      enum symbol_names names, char *text);
