/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records a session: takes samples and events, and writes them to a folder (record/writer.h). Main
 * thread.
 *
 * Theory of operation
 *
 * recorder_poll is called about every second. It reads what costs nothing (the accounts of the log,
 * the resident size), and whatever of the other tables is due:
 *
 *	sites		at most each second, if anything was allocated or freed since
 *	memory		each 10 s
 *	machine		each 5 s; slab caches, processes and OOM kills each 30 s
 *	account, growth	each 5 minutes: for these the target stands still for a moment
 *	children	each 10 s, if any has ended; the kernel's messages of that are read each time
 *
 * What took T of a processor is not done again for 500 T, so that all together take less than a
 * hundredth of a core; what has stopped the target for T not for 100,000 T; and sites are not
 * written again before their bytes are worth 4,096 a second. If nothing has changed there is no
 * sample, but one each minute.
 *
 * The target is not touched for a sample, but for the account and growth. When it has ended its log
 * still answers, so the last sample is what it held when it died.
 */
#pragma once

#include "base/err.h"
#include "record/writer.h"
#include "session/session.h"

struct recorder;

/* Begin to record; the session may have a target or not. version: of mdbg. */
struct err *recorder_create(struct session *session, const char *dir,
			    const struct record_limits *limits, const char *version,
			    struct recorder **ret) MUST_CHECK;
/*
 * The session has a new target. before: the process of that name that has ended before it; 0: none.
 */
struct err *recorder_attached(struct recorder *recorder, pid_t before) MUST_CHECK;
/* An event of the session. At the end of the target the last sample is taken. */
struct err *recorder_event(struct recorder *recorder, const struct session_event *event) MUST_CHECK;
/*
 * Take a sample if one is due. *ns_ret: after how many nanoseconds this wants to be called again. A
 * part that cannot be read is left out of the sample.
 */
struct err *recorder_poll(struct recorder *recorder, uint64_t *ns_ret) MUST_CHECK;
/* Take a sample with all sites now, whether it is due or not. */
struct err *recorder_now(struct recorder *recorder) MUST_CHECK;
/*
 * Something that has to be said, once: that nothing can be written, or can be again; NULL: there is
 * nothing.
 */
const char *recorder_news(struct recorder *recorder);
struct record_writer_state recorder_state(const struct recorder *recorder);
const char *recorder_trouble(const struct recorder *recorder);
/* Children that end are not listened to: each recorder hears those of the whole machine. */
void recorder_without_children(struct recorder *recorder);
/* End it: a last sample, and the event `close`. recorder is gone, also after an error. */
struct err *recorder_end(struct recorder *recorder, const char *why) MUST_CHECK;
