/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log's clock: time stamps of the processor <-> CLOCK_REALTIME.
 *
 * The header has anchors, moments that were read in both clocks at once (in a bracket of two
 * stamps, the narrowest of several tries: some 50 ns). Between two anchors time is interpolated;
 * after the last it goes on at the rate seen since the beginning, the longest baseline there is, so
 * that a minute of recording gives the frequency to a part in 10^9. A conversion is thus exact to
 * the bracket for all that lies before the last anchor, and it stays what it was: anchors are
 * added, not moved. Two exceptions, both within what two brackets differ by: the last anchor is
 * replaced while it is less than MERGE_NS after the one before it, and when the array is full the
 * anchor that lies closest to the line between its neighbours is dropped.
 *
 * When CLOCK_REALTIME is far from where the rate says it must be (a millisecond, and 600 parts in
 * 10^6 of the time since, as adjtime may slew it by 500), somebody has set it. Forward: time before
 * the anchor goes on as it was, time after it starts at the new reading. Backward: conversions must
 * not decrease, so the log stays with its own time, ahead of the wall clock by what it was set back
 * by, until that is set forward again.
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
 * The first anchor. The rate comes with the first log_clock_update, for which a millisecond must
 * have gone by: a target may stand still for this one.
 */
void clock_start(struct log *log);
/* Take one reading into account; log_clock_update with the clocks passed in, for tests. */
void clock_note(struct log *log, uint64_t stamp, uint64_t ns);
