/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What gives names to code that an answer has shown as `??`: code of no file, which a JIT compiler
 * has made. Such compilers write names to /tmp/perf-PID.map if they are told to (symbol/perf_map.h).
 */
#pragma once

struct out;
struct session;

/*
 * Print a line, if tracebacks since the last call have had such code (session_naming), and
 * something can be done. An address that lies in no executable memory is no code: the walk went
 * wrong there, and nothing is said.
 */
void unnamed_text_print(struct session *session, struct out *out);
