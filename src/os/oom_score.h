/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whom the kernel kills if there is no memory: mdbg, and not its target. Both may be in the same
 * control group (`docker exec` into the target's container), where what mdbg reads is charged to the
 * target. proc(5), /proc/PID/oom_score_adj; everybody may raise his own.
 *
 * Programs that mdbg starts are other people's: they begin with the score that mdbg had.
 */
#pragma once

/* From now on mdbg goes first. Children that are forked do not. May be repeated. */
void oom_score_offer(void);
/* Call these before and after posix_spawn, which runs no handler of pthread_atfork. */
void oom_score_before_spawn(void);
void oom_score_after_spawn(void);
