/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variables that lead libraries of mdbg's to files, which they then read by themselves: Tcl's
 * init.tcl, readline's inputrc, terminfo, locales, converters of character sets; and folders for
 * temporary files. A variable that leads to what somebody else could have written (os/trust.h) is
 * taken out of mdbg's own environment. Programs that mdbg starts get it as it was: what they do
 * with it is theirs.
 *
 * A variable that was taken out is kept in the environment under another name, so that nothing
 * else must be kept.
 *
 * Not here: what the loader reads before main() (LD_PRELOAD), and variables that are commands
 * (PAGER, SHELL, PATH). Who sets these for root is root.
 */
#pragma once

#include "base/err.h"

/* main calls this once, before any library reads its environment. */
struct err *environment_clean(void) MUST_CHECK;
/*
 * Why the variable that is the next one after *at (0 at first) was taken out; NULL: there is no
 * other.
 */
struct err *environment_next(unsigned *at) MUST_CHECK;
/* The environment for a program; malloc'ed, its strings are not. NULL without memory. */
char **environment_for_programs(void);
