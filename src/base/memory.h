/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory by address, whatever holds it: a live process, a snapshot, a core file, an array in a
 * test. Heap walk, leak search, unwinder and `print` read a target through this and nothing else.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct memory {
	/*
	 * Read up to len bytes at addr; the number read, from addr on without a gap, goes to
	 * *len_ret. Less than len means that the rest is not readable; none at all is an
	 * ERR_MEMORY.
	 */
	struct err *(*read)(struct memory *memory, uint64_t addr, void *buf, size_t len,
			    size_t *len_ret);
};

/* All len bytes, or ERR_MEMORY naming the address. buf is undefined then. */
struct err *memory_read(struct memory *memory, uint64_t addr, void *buf, size_t len) MUST_CHECK;
/* Read as many bytes as there are. */
struct err *memory_read_some(struct memory *memory, uint64_t addr, void *buf, size_t len,
			     size_t *len_ret) MUST_CHECK;
struct err *memory_read_u64(struct memory *memory, uint64_t addr, uint64_t *ret) MUST_CHECK;
/* A NUL-terminated string of at most room - 1 bytes; a longer one is ERR_FORMAT. */
struct err *memory_read_string(struct memory *memory, uint64_t addr, char *buf,
			       size_t room) MUST_CHECK;
