/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reasons for which a walk ends, in words. They are not in walk.c, which the agent
 * shares, because a table of pointers needs relocations.
 */

#include "base/compiler.h"
#include "unwind/walk.h"

static const char *const names[WALK_ENDS] = {
	[WALK_COMPLETE]		= "complete",
	[WALK_DEPTH]		= "stack depth",
	[WALK_NO_MODULE]	= "code in no module",
	[WALK_NO_ROW]		= "code without unwind information",
	[WALK_COMPLEX]		= "unwind information too complex",
	[WALK_MEMORY]		= "stack memory that cannot be read",
	[WALK_LOOP]		= "corrupt stack",
	[WALK_DEFERRED]		= "a library that had just been loaded",
	[WALK_STACK]		= "a stack whose bounds were not known",
	[WALK_REGISTER]		= "unwind information by a register that is not known here",
	[WALK_COPY]		= "no more of the stack was copied: set fault-stack",
};

const char *walk_end_name(enum walk_end end)
{
	return (unsigned)end < ARRAY_SIZE(names) ? names[end] : "unknown";
}
