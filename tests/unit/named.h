/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A target that is a few symbols and an array of memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "memory_array.h"
#include "tracee/module.h"
#include "tracee/target.h"

#define NAMED_BASE	0x10000ull	/* where its memory begins */
#define NAMED_SYMBOL	16u		/* bytes from one symbol to the next */
#define NAMED_TLS	0x80u		/* bytes of thread-local data of its one module */

struct named {
	struct target target;
	struct module module;
	struct memory_array memory;
};

/* names, up to a NULL, are symbols one after the other from NAMED_BASE on. It is for as long as the program runs. */
void named_open(struct named *named, const char *const *names);
/*
 * Its memory is a copy of these bytes, until the next. Words behind the symbols whose top byte is 1 are
 * made to point into it.
 */
void named_memory(struct named *named, const uint8_t *bytes, size_t len);
