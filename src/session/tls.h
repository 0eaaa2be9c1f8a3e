/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Thread-local storage of a target of glibc's: which memory is the thread-local data of which module,
 * in which thread.
 *
 *	dtv		A thread's table, known by its thread pointer: words in pairs, a pointer to the
 *			thread's data of the module with that number and what to free of it (nothing,
 *			where that lies below the thread pointer). Before the first pair its length, in
 *			pair 0 the generation that it is of.
 *	slotinfo	The loader's list of the same numbers: for each the module (its link map) and
 *			the generation since which it has the number. Where it is and how it is laid
 *			out, glibc tells debuggers (_thread_db_*, nptl_db/structs.def).
 *
 * A number is used again after a dlclose, and a thread learns of it when it next looks for its data:
 * an entry of a table that is older than the number's use is of a module that is gone. Where the
 * loader's list cannot be read (musl, a static program), no module is known.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct target;
struct memory_view;

struct tls_block {
	uint64_t start, end;	/* end: start where it is not known of which module it is */
	uint64_t module;	/* where that has its dynamic section; 0: not known */
	pid_t tid;
	bool dynamic;		/* in a block, not below the thread pointer */
};

/* More are not looked at: a table is the target's to write. */
#define TLS_BLOCKS_MAX	65536u

struct tls {
	VEC(struct tls_block) blocks;
	VEC(uint64_t) low;	/* by thread of the view: its lowest address below its thread pointer, or that */
};

/* Tracer thread, the target stopped. What cannot be read is not known; tls_free. */
void tls_read(const struct target *target, const struct memory_view *view, struct tls *ret);
void tls_free(struct tls *tls);
/* The lowest address of a thread of the view that lies below its thread pointer, or that. */
uint64_t tls_low(const struct tls *tls, const struct memory_view *view, size_t thread);
/* The block that address lies in, or NULL. */
const struct tls_block *tls_at(const struct tls *tls, uint64_t address);
