/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scope cleanup of mdbg's own resources. It is never used for the state of a target: that goes
 * through the journal (tracee/patch.h).
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn)	__attribute__((cleanup(fn)))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define AUTO_FREE	CLEANUP(cleanup_free)	/* initialise to NULL */
#define AUTO_CLOSE	CLEANUP(cleanup_close)	/* initialise to -1 */
#define AUTO_FCLOSE	CLEANUP(cleanup_fclose)	/* initialise to NULL */

/* Hand a pointer over to an owner that outlives the scope. */
#define take(p)		({ __typeof__(p) taken = (p); (p) = NULL; taken; })
/* Hand a descriptor over. */
#define take_fd(fd)	({ int taken_fd = (fd); (fd) = -1; taken_fd; })
