/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that the user names as those of an allocator (`probe`): pools and arenas of a program.
 *
 * Their blocks lie inside of malloc's, and the first one of a pool often has the address of the
 * pool itself. So these blocks are in a domain of their own: their keys in the log have
 * LOG_DOMAIN_USER, and an event in one domain never replaces, contains or frees a block of the
 * other.
 *
 * An entry stays until the list is freed, since probes refer to it; deleted entries are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "probe/allocators.h"

struct probe;
struct probes;

struct user_function {
	struct alloc_function fn;	/* symbol and name are `name` */
	char *name;
	char *path;			/* of its module */
	uint64_t value;			/* in the module's file */
	bool deleted;
};

struct user_functions {
	VEC(struct user_function *) vec;
};

/* Add a function; what has its role and arguments. ERR_NOMEM. */
struct err *user_functions_add(struct user_functions *users, const struct alloc_function *what,
			       const char *name, const char *path, uint64_t value,
			       struct user_function **ret) MUST_CHECK;
void user_functions_free(struct user_functions *users);

/*
 * Plan the probe of a function whose module is mapped. ERR_STATE: its address has one already. A
 * function that cannot be probed is REFUSED, with its reason.
 */
struct err *plan_user_probes(struct probes *probes, const struct user_function *user,
			     struct probe **ret) MUST_CHECK;
/*
 * Take out the patch of one probe. The target is stopped. The probe's slot stays until everything
 * is taken out, since a thread may be in it.
 */
struct err *user_functions_drop(struct probes *probes, struct probe *probe) MUST_CHECK;
