/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Access to memory by address, no matter what holds it: a live process, a snapshot, a core file, or
 * an array in a test. The heap walk, the leak search, the unwinder and `print` read a target only
 * through this.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct memory {
	/*
	 * Read up to len bytes at addr. *len_ret is the number of bytes read, without a gap. If it
	 * is less than len, the rest is not readable; if nothing is readable, that is an
	 * ERR_MEMORY.
	 */
	struct err *(*read)(struct memory *memory, uint64_t addr, void *buf, size_t len,
			    size_t *len_ret);
	/*
	 * The next part of [start, end) that may be readable; false: there is none. Memory that was
	 * never written may be left out. NULL: all of it may be.
	 */
	bool (*next)(struct memory *memory, uint64_t start, uint64_t end, uint64_t *start_ret,
		     uint64_t *end_ret);
};

/*
 * Read exactly len bytes. ERR_MEMORY names the address that cannot be read; buf is undefined then.
 */
struct err *memory_read(struct memory *memory, uint64_t addr, void *buf, size_t len) MUST_CHECK;
/* Read as many bytes as are readable. */
struct err *memory_read_some(struct memory *memory, uint64_t addr, void *buf, size_t len,
			     size_t *len_ret) MUST_CHECK;
struct err *memory_read_u64(struct memory *memory, uint64_t addr, uint64_t *ret) MUST_CHECK;
/* Read a NUL-terminated string of at most room - 1 bytes; a longer one is ERR_FORMAT. */
struct err *memory_read_string(struct memory *memory, uint64_t addr, char *buf,
			       size_t room) MUST_CHECK;
/*
 * Read some bytes at *addr, or else at the first address behind it, and before end, where any can
 * be read; *addr is where they are from. A stack has holes where a function has a large array that
 * it has not used yet. False: there are none.
 */
bool memory_read_ahead(struct memory *memory, uint64_t *addr, uint64_t end, void *buf, size_t len,
		       size_t *len_ret) MUST_CHECK;
/* Read what is readable of len bytes; the rest of buf is zeros. False: nothing is. */
bool memory_read_holes(struct memory *memory, uint64_t addr, void *buf, size_t len) MUST_CHECK;
/* Memory in which some bytes are others than in the memory below. */
struct memory_patch {
	struct memory memory;
	struct memory *below;
	uint64_t start;
	size_t len;
	const uint8_t *bytes;
};

void memory_patch_init(struct memory_patch *patch, struct memory *below, uint64_t start,
		       const uint8_t *bytes, size_t len);
/* memory->next, for any memory. */
bool memory_next(struct memory *memory, uint64_t start, uint64_t end, uint64_t *start_ret,
		 uint64_t *end_ret);
