/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any memory as glibc's lists of control blocks. It is read in bounds, lists that end nowhere come
 * to an end, and who is said to have ended is a control block that says so.
 */

#include "inspect/ended.h"

#include <stdlib.h>

#include "named.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define LISTS		2u
#define TIMES		3u	/* a circle is noticed by its third round */

static const char *const names[] = {
	"_rtld_global",
	"_thread_db_rtld_global__dl_stack_used",
	"_thread_db_rtld_global__dl_stack_user",
	"_thread_db_list_t_next",
	"_thread_db_pthread_list",
	"_thread_db_pthread_tid",
	"_thread_db_pthread_cancelhandling",
	NULL
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct named named;
	struct ended_threads ended;

	if (!named.module.elf)
		named_open(&named, names);
	named_memory(&named, bytes, len);
	if (ended_find(&named.target, &ended))
		abort();
	if ((!ended.known && ended.vec.nr) || ended.vec.nr > LISTS * TIMES * len)
		abort();
	vec_each_value(thread, &ended.vec) {
		uint64_t self;

		if (memory_read_u64(named.target.memory, thread, &self) || self != thread)
			abort();
	}
	vec_free(&ended.vec);
	return 0;
}
