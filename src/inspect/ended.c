/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that have ended and that nobody has joined (ended.h). */

#include "inspect/ended.h"

#include "inspect/tls.h"
#include "tracee/target.h"

#define THREADS_MAX	(1u << 20)
#define EXITING		0x10u		/* EXITING_BITMASK of glibc's nptl/descr.h */

/* Offsets in a control block, and the heads of the lists. */
struct layout {
	uint64_t head[2];
	uint32_t list, next, tid, cancelhandling;
};

static bool read_layout(const struct target *target, struct layout *ret)
{
	uint64_t global = modules_symbol(&target->modules, "_rtld_global");
	uint32_t used, user;

	if (!global || !tls_db_offset(target, "_thread_db_rtld_global__dl_stack_used", &used) ||
	    !tls_db_offset(target, "_thread_db_rtld_global__dl_stack_user", &user) ||
	    !tls_db_offset(target, "_thread_db_list_t_next", &ret->next) ||
	    !tls_db_offset(target, "_thread_db_pthread_list", &ret->list) ||
	    !tls_db_offset(target, "_thread_db_pthread_tid", &ret->tid) ||
	    !tls_db_offset(target, "_thread_db_pthread_cancelhandling", &ret->cancelhandling))
		return false;
	ret->head[0] = global + used;
	ret->head[1] = global + user;
	return true;
}

static bool read_u32(const struct target *target, uint64_t at, uint32_t *ret)
{
	return !memory_read(target->memory, at, ret, sizeof(*ret));
}

/* False: this is no control block, and so the list has changed meanwhile. */
static bool look_at(const struct target *target, const struct layout *layout, uint64_t thread,
		    bool *ended)
{
	uint32_t tid, cancelhandling;
	uint64_t self;

	if (memory_read_u64(target->memory, thread, &self) || self != thread ||
	    !read_u32(target, thread + layout->tid, &tid) ||
	    !read_u32(target, thread + layout->cancelhandling, &cancelhandling))
		return false;
	*ended = !tid && cancelhandling & EXITING;
	return true;
}

static struct err *follow(const struct target *target, const struct layout *layout, uint64_t head,
			  struct ended_threads *ret)
{
	uint64_t node, seen = head;
	struct err *err = NULL;
	unsigned mark = 1;

	if (memory_read_u64(target->memory, head + layout->next, &node))
		return NULL;
	for (unsigned i = 0; !err && node != head && i < THREADS_MAX; i++) {
		bool ended;

		/* A broken list may be a circle without its head (Brent's algorithm). */
		if (node == seen)
			break;
		if (i == mark) {
			seen = node;
			mark *= 2;
		}
		if (!look_at(target, layout, node - layout->list, &ended))
			break;
		if (ended)
			err = vec_push(&ret->vec, node - layout->list);
		if (memory_read_u64(target->memory, node + layout->next, &node))
			break;
	}
	return err;
}

struct err *ended_find(const struct target *target, struct ended_threads *ret)
{
	struct layout layout;
	struct err *err = NULL;

	*ret = (struct ended_threads){ .vec = VEC_INIT };
	ret->known = read_layout(target, &layout);
	for (unsigned i = 0; !err && ret->known && i < ARRAY_SIZE(layout.head); i++)
		err = follow(target, &layout, layout.head[i], ret);
	return err;
}
