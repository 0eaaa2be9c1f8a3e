/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --group: all processes of a control group are recorded, each by a mdbg of its own to a folder of
 * its own.
 *
 * Theory of operation
 *
 * A mdbg has one target. So this one has none, and looks each second which processes are in the
 * group and in those below it. For each that is a second old it starts
 *
 *	mdbg -n -q -i -c {mdbg::attach PID -started START ...; mdbg::on exit exit
 *			  record DIR/PID-START keep AGE size BYTES children off}
 *
 * with the settings of this one. START is the start time of the process, so that an id that is used
 * again is another folder, and is not attached to in place of the process that was seen. The
 * recorder ends with its process, and at the end of its standard input, a pipe: so it ends with this
 * mdbg, however that ends. What could not be attached to is not tried again. GROUP_MOST recorders run
 * at a time; each has its part of the size, and folders of processes that have ended are removed, the
 * oldest first, when they are too old or all together are too large.
 */
#pragma once

#include "cmd/recording/recording.h"

#define GROUP_MOST	64u

/* Until a signal ends mdbg. ERR_PERM and the like: the folder is not to be used. */
struct err *recording_group_serve(struct shell *shell,
				  const struct recording_options *options) MUST_CHECK;
