/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a recording (docs/record-format.md): one writer to a folder. It knows no process and no
 * clock: whoever takes the samples says when they were.
 *
 * What cannot be written (a full disk) is no error of a sample: record_writer_trouble says what is
 * wrong. Then the writer tries again with a later sample, and begins a new segment with it.
 */
#pragma once

#include "base/err.h"
#include "record/names.h"
#include "record/reader.h"
#include "record/shelf.h"

struct record_writer;

/*
 * Begin to write to a folder, which is made if it is missing. version: of mdbg, for the first
 * event. ERR_BUSY: another recorder writes to it; ERR_PERM: others may write to the folder, or this
 * user may not; ERR_UNSUPPORTED: it has a recording of another main version. The caller calls
 * record_writer_close.
 */
struct err *record_writer_open(const char *dir, const struct record_limits *limits,
			       const char *version, struct record_writer **ret) MUST_CHECK;
void record_writer_set_limits(struct record_writer *writer, const struct record_limits *limits);
/*
 * Where names get their numbers (record_names_string and the like). They are valid until the epoch
 * changes: once in a long while all names are forgotten, so that they do not grow forever.
 */
struct record_names *record_writer_names(struct record_writer *writer);
uint64_t record_writer_epoch(const struct record_writer *writer);

/* ERR_NOMEM, ERR_RANGE: this event, or sample, is missing. */
struct err *record_writer_event(struct record_writer *writer,
				const struct record_event *event) MUST_CHECK;
/*
 * Add a sample. The tables of a sample must be in order (record_table_sort); a table with the time
 * of before is not written again. `segment` is not looked at. The epoch may change by this.
 */
struct err *record_writer_sample(struct record_writer *writer,
				 const struct record_sample *sample) MUST_CHECK;
/* Older segments are packed by a thread: wait until all is packed that is due at the last sample. */
void record_writer_settle(struct record_writer *writer);
/* Why nothing can be written now; NULL: it can. */
const char *record_writer_trouble(const struct record_writer *writer);

struct record_writer_state {
	const char *path;
	uint64_t bytes;			/* of all segments */
	uint64_t written;		/* since the writer began */
	uint64_t samples, lost;		/* since the writer began */
	uint64_t segments;
	uint64_t from_ns;		/* the first sample of the recording; 0: there is none */
	struct record_limits limits;
};

struct record_writer_state record_writer_state(const struct record_writer *writer);
/*
 * End: the last event is `close` with this text. The writer is gone, also after an error. writer
 * may be NULL.
 */
struct err *record_writer_close(struct record_writer *writer, uint64_t time_ns,
				const char *why) MUST_CHECK;
