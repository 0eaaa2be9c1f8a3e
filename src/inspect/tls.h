/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Thread-local storage of a target that uses glibc: which memory is the thread-local data of which
 * module, in which thread.
 *
 *	dtv		A thread's table, known by its thread pointer: words in pairs, a pointer to the
 *			thread's data of the module with that number and what to free of it (nothing,
 *			where that lies below the thread pointer). Before the first pair its length, in
 *			pair 0 the generation that it is of.
 *	slotinfo	The loader's list of the same numbers: for each the module (its link map) and
 *			the generation since which it has the number. Where it is and how it is laid
 *			out, glibc tells debuggers (_thread_db_*, nptl_db/structs.def).
 *
 * A number is used again after a dlclose, and a thread updates its table only when it next needs
 * the data: a table that is older than the present use of a number has an entry of a module that is
 * gone. If the loader's list cannot be read (musl, a static program), no module is known.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct target;
struct memory_view;

struct tls_block {
	uint64_t start, end;	/* end is start if the module is not known */
	uint64_t module;	/* address of its dynamic section; 0: not known */
	pid_t tid;
	bool dynamic;		/* in a block, not below the thread pointer */
};

/* The offset of a field, as glibc tells debuggers by a symbol _thread_db_... False: not known. */
bool tls_db_offset(const struct target *target, const char *name, uint32_t *ret);

/* More are not examined, since the target can write to the table. */
#define TLS_BLOCKS_MAX	65536u

struct tls {
	VEC(struct tls_block) blocks;
	/*
	 * for each thread of the view: the lowest address of its data below its thread pointer, or
	 * that
	 */
	VEC(uint64_t) low;
};

/*
 * Tracer thread, with the target stopped. Data that cannot be read stay unknown. Free with
 * tls_free.
 */
void tls_read(const struct memory_view *view, struct tls *ret);
void tls_free(struct tls *tls);
/*
 * How many bytes below a thread pointer are static thread-local memory, in the thread that has the
 * most; 0: not known. This uses the tables alone, so it can be called on any thread, and for a
 * snapshot.
 */
uint64_t tls_static_size(const struct memory_view *view);
/*
 * The lowest address of the data of a thread of the view below its thread pointer, or the thread
 * pointer.
 */
uint64_t tls_low(const struct tls *tls, const struct memory_view *view, size_t thread);
/* The thread-local data that address lies in, or NULL. */
const struct tls_block *tls_at(const struct tls *tls, uint64_t address);
