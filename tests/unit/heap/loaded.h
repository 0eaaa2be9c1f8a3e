/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A real allocator, loaded beside the C library, as the source of a walk: its memory is this
 * process's own, as it is, but for words that a test changes in the walk's eyes alone.
 */
#pragma once

#include "base/vec.h"
#include "heap/heap_walk.h"

struct loaded_change {
	uint64_t address, word;
};

struct loaded {
	struct memory memory;
	struct heap_source source;
	void *handle;
	VEC(struct heap_map) maps;	/* private and writable */
	VEC(struct heap_map) data;	/* those of the library */
	struct heap_libc libc;
	/* the walk sees these words instead; each is aligned, and in order of time */
	VEC(struct loaded_change) changes;
	bool note;
	VEC(uint64_t) noted;		/* aligned words that are not 0, of what was read */
};

/* Load one of Debian's libraries; false: it is not installed, or cannot be loaded late. */
bool loaded_open(struct loaded *loaded, const char *file);
/* A function of the library; it ends the test program if there is none. */
void *loaded_function(const struct loaded *loaded, const char *name);
/* Look at the mappings again: after it has got memory. */
void loaded_look(struct loaded *loaded);
/* A word of this process as it is, also one that a sanitizer guards; 0: it cannot be read. */
uint64_t loaded_word(uint64_t address);
void loaded_change(struct loaded *loaded, uint64_t address, uint64_t word);
void loaded_close(struct loaded *loaded);
/*
 * NULL, or what does not hold of a walk over bare chunks, whatever was changed: they lie one
 * behind the other in the spans of their heaps, and the sums are theirs.
 */
const char *loaded_check(const struct heap_walk *walk);
