/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Raises limits of mdbg's own (own_limits.h). */

#include "os/own_limits.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

#include "base/compiler.h"

/* Twice what an attach, a report and deeply nested Tcl were seen to need. */
#define STACK_LEAST	(512u << 10)

/* glibc takes the size from the limit; a larger one stays, as it is only addresses. */
static struct err *begin_threads(void)
{
	pthread_attr_t attr;
	size_t size;

	errno = pthread_getattr_default_np(&attr);
	if (errno)
		return err_sys("the size of threads' stacks");
	errno = pthread_attr_getstacksize(&attr, &size);
	if (!errno && size < STACK_LEAST) {
		errno = pthread_attr_setstacksize(&attr, STACK_LEAST);
		if (!errno)
			errno = pthread_setattr_default_np(&attr);
	}
	pthread_attr_destroy(&attr);
	return errno ? err_sys("give threads a stack of %u KB", STACK_LEAST >> 10) : NULL;
}

struct err *own_limits_begin(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_max < STACK_LEAST) {
		const rlim_t was = limit.rlim_max;

		limit.rlim_max = STACK_LEAST;
		if (setrlimit(RLIMIT_STACK, &limit))
			return err_hint(err_create(ERR_RANGE, "the stack of mdbg may have %lu KB, and it "
						   "needs %u (RLIMIT_STACK)",
						   (unsigned long)was >> 10, STACK_LEAST >> 10),
					"start it from a shell whose `ulimit -Hs` is larger, or with CAP_SYS_RESOURCE");
	}
	return begin_threads();
}

void own_limits_raise(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < STACK_LEAST) {
		limit.rlim_cur = STACK_LEAST;
		setrlimit(RLIMIT_STACK, &limit);
	}
}
