/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that the user names as an allocator's (`probe`): pools and arenas of a program's own.
 *
 * Their blocks lie inside of malloc's, and the first one of a pool often has the address of the
 * pool itself. So they are a domain of their own: the log knows them by keys with LOG_DOMAIN_USER,
 * and neither replaces, nests in or frees what is in the other.
 *
 * An entry stays until the list is freed, since probes refer to it; deleted ones are passed over.
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
	struct alloc_function fn;	/* symbol and name are this name */
	char *name;
	char *path;			/* of its module */
	uint64_t value;			/* in the module's file */
	bool deleted;
};

struct user_functions {
	VEC(struct user_function *) vec;
};

/* what: role and arguments. ERR_NOMEM. */
struct err *user_functions_add(struct user_functions *users, const struct alloc_function *what,
			       const char *name, const char *path, uint64_t value,
			       struct user_function **ret) MUST_CHECK;
void user_functions_free(struct user_functions *users);

/*
 * Plan the probe of a function whose module is there; ERR_STATE: its address has one. What cannot
 * be probed is REFUSED, with its reason.
 */
struct err *probes_plan_user(struct probes *probes, const struct user_function *user,
			     struct probe **ret) MUST_CHECK;
/*
 * Take out the patch of one probe. The target is stopped. Its code stays until all is taken out,
 * since a thread may be in it.
 */
struct err *probe_drop(struct probes *probes, struct probe *probe) MUST_CHECK;
