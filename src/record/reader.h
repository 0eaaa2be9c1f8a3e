/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a recording (record/record.h, docs/record-format.md), also while it is written. It knows no
 * process and no session.
 *
 * A recording may have been written by anybody: nothing in it is believed before it was checked,
 * and what it takes of memory is bounded (RECORD_NAMES_MOST, and the samples' places). Names in it
 * are text from outside. What is damaged is left out, and counted in the segment.
 *
 *	struct record_reader *reader;
 *	struct record_cursor *cursor;
 *	const struct record_sample *sample;
 *
 *	err = record_reader_open("/var/lib/mdbg/web", &reader);
 *	err = record_cursor_open(reader, 0, RECORD_ALL_TABLES, from_ns, to_ns, &cursor);
 *	while (!(err = record_cursor_next(cursor, &sample)) && sample)
 *		... sample->table[RECORD_SITES] ...
 *	record_cursor_close(cursor);
 *	record_reader_close(reader);
 *
 * Strings, stacks, locations and targets have numbers that are the same for the whole recording, as
 * long as the reader is open: the same stack of the same build in two segments, or in two
 * processes, has one number. They become known as segments are read: a number that a sample has is
 * known.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "record/record.h"
#include "record/table.h"

struct record_reader;
struct record_cursor;

/* Memory of all strings, locations and stacks of a reader; beyond it ERR_RANGE. */
#define RECORD_NAMES_MOST	(256ull << 20)

/* A file of the recording. */
struct record_segment {
	uint64_t number, last;		/* it has what was written as segments number to last */
	uint64_t from_ns, to_ns;	/* of its first and last sample, or event */
	uint64_t bytes;
	uint64_t samples;
	uint64_t damaged;		/* bytes that were left out */
	uint64_t torn;			/* bytes at the end that are no whole frame, or not yet */
	/* Seconds of which one sample was kept; 0: all are there, and more may be added. */
	uint64_t every;
	bool newer;			/* a later mdbg wrote it: what this one does not know is left out */
};

struct record_segments {
	VEC(struct record_segment) vec;		/* in the order in which they were written */
};

struct record_target_list {
	VEC(uint32_t) vec;
};

struct record_events {
	VEC(struct record_event) vec;	/* in the order in which they were written */
};

struct record_sample {
	uint64_t time_ns;	/* since the epoch */
	uint64_t monotonic_ns;	/* since boot; tells a clock that was set from time that has passed */
	uint32_t target;
	uint64_t log;		/* whose sites they are: tells one log of a target from another */
	/* Nothing was recorded between the sample of this target before and this one. */
	bool gap;
	uint64_t segment;	/* number of the file that it is in */
	/* Each as it was taken last. They live until the cursor moves, or is closed. */
	const struct record_table *table;	/* RECORD_TABLES of them */
};

/*
 * Open the recording in a folder. ERR_NOTFOUND: there is none; ERR_UNSUPPORTED: it is of another
 * main version. Nothing is locked, and nothing written.
 */
struct err *record_reader_open(const char *dir, struct record_reader **ret) MUST_CHECK;
void record_reader_close(struct record_reader *reader);	/* NULL is allowed */
/*
 * Look for what was written since. *more_ret: there is something. Cursors that are open go on where
 * they are, and see it.
 */
struct err *record_reader_refresh(struct record_reader *reader, bool *more_ret) MUST_CHECK;
/* Does a recorder write to it now? */
bool record_reader_is_written(const struct record_reader *reader);

/* The segments; each is read once for it. The caller frees the vector, also after an error. */
struct err *record_reader_segments(struct record_reader *reader,
				   struct record_segments *ret) MUST_CHECK;
/* All targets, in the order of their first samples or events. The caller frees the vector. */
struct err *record_reader_targets(struct record_reader *reader,
				  struct record_target_list *ret) MUST_CHECK;
/* How many targets are left out, with their samples and events: those after RECORD_TARGETS_MOST others. */
uint64_t record_reader_targets_left_out(const struct record_reader *reader);
/* From and to: since the epoch; target 0: of all. The caller frees the vector. */
struct err *record_reader_events(struct record_reader *reader, uint32_t target, uint64_t from_ns,
				 uint64_t to_ns, struct record_events *ret) MUST_CHECK;

/*
 * By number; that of none (0), or one that is not known, is NULL, or all zeros. They live as long.
 */
const char *record_reader_string(const struct record_reader *reader, uint32_t number);
const struct record_target *record_reader_target(const struct record_reader *reader,
						 uint32_t number);
struct record_location record_reader_location(const struct record_reader *reader, uint32_t number);
struct record_stack record_reader_stack(const struct record_reader *reader, uint32_t number);
/* The number of a string; 0: no such string has been read. */
uint32_t record_reader_find_string(const struct record_reader *reader, const char *text);

/* When a sample was, and of which target: to look for one without reading it. */
struct record_moment {
	uint64_t time_ns;
	uint32_t target;
	uint64_t segment;
	bool gap;
};

struct record_moments {
	VEC(struct record_moment) vec;
};

/* The samples between two times, in the order in which they were written. */
struct err *record_reader_moments(struct record_reader *reader, uint32_t target, uint64_t from_ns,
				  uint64_t to_ns, struct record_moments *ret) MUST_CHECK;

/*
 * Samples of a target (0: of all) from from_ns to to_ns, both included, in the order in which they
 * were written. tables: those that are wanted, 1 << kind; others are not read, and are empty.
 */
struct err *record_cursor_open(struct record_reader *reader, uint32_t target, unsigned tables,
			       uint64_t from_ns, uint64_t to_ns,
			       struct record_cursor **ret) MUST_CHECK;
/* NULL: there are no more now. The sample lives until the cursor moves. */
struct err *record_cursor_next(struct record_cursor *cursor,
			       const struct record_sample **ret) MUST_CHECK;
void record_cursor_close(struct record_cursor *cursor);	/* NULL is allowed */
/*
 * The last sample at or before a time; if there is none, *sample_ret is NULL, and the cursor is at
 * the first one. Where the clock was set back and a time has come twice, it is that of the second
 * time. *ret goes on behind it, up to UINT64_MAX; the caller closes it.
 */
struct err *record_cursor_at(struct record_reader *reader, uint32_t target, unsigned tables,
			     uint64_t time_ns, struct record_cursor **ret,
			     const struct record_sample **sample_ret) MUST_CHECK;

/*
 * The number of a table of one column by its name ("bytes" of RECORD_TOTALS, "free" of
 * RECORD_MACHINE); RECORD_UNKNOWN, also if that figure is of a later version, or was not taken.
 */
static inline uint64_t record_table_figure(const struct record_reader *reader,
					   const struct record_table *table, const char *name)
{
	const uint64_t *row = record_table_row(table, record_reader_find_string(reader, name));

	return row ? *row - 1 : RECORD_UNKNOWN;
}
