/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log's clock: time stamps of the processor <-> CLOCK_REALTIME.
 *
 * The header has anchors, moments that were read in both clocks at once (in a bracket of two
 * stamps, the narrowest of several tries: some 50 ns). Between two anchors time is interpolated;
 * after the last it goes on at the rate seen since the beginning, the longest baseline there is, so
 * that a minute of recording gives the frequency to a part in 10^9. So before the last anchor a
 * conversion is exact to the width of a bracket, and its result does not change later, because
 * anchors are added and not moved. There are two exceptions, which change a result by no more than
 * two brackets differ: the last anchor is replaced while it is less than MERGE_NS after the one
 * before it; and when the array is full, the anchor that lies closest to the line between its
 * neighbours is dropped.
 *
 * When CLOCK_REALTIME is far from where the rate says it must be (a millisecond, and 600 parts in
 * 10^6 of the time since, as adjtime may slew it by 500), somebody has set it. If it was set
 * forward, times before the anchor stay as they were, and times after it start at the new reading.
 * If it was set back, the log keeps its own time, because conversions must not decrease: it is
 * ahead of the wall clock by that amount until the clock is set forward again.
 *
 * This needs an invariant time stamp counter (constant_tsc and nonstop_tsc in /proc/cpuinfo; all
 * 64-bit processors of Intel since Nehalem and of AMD since Barcelona; always so on aarch64),
 * synchronous on all processors, as the kernel demands of a TSC clock source. On others (the kernel
 * then says `tsc: Marking TSC unstable`) order and times of records are as good as the counter is:
 * the anchors bound the error of clock times, but records of different processors may be in the
 * wrong order.
 */
#pragma once

#include <stdint.h>

struct log;

/*
 * Set the first anchor. The rate is set by the first log_clock_update, which needs a millisecond to
 * have passed: a target may be stopped during this call.
 */
void log_clock_start(struct log *log);
/* Nanoseconds of a tick of log_now, as seen since the beginning; 0: not known yet. */
double log_clock_tick(const struct log *log);
/* Take one reading into account: log_clock_update with the clocks passed in, for tests. */
void log_clock_note(struct log *log, uint64_t stamp, uint64_t ns);
