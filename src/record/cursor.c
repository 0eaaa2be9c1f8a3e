/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gives the samples of a recording one after the other.
 *
 * A cursor keeps its file open, so that it ends what it has begun. Where it has come to the end of
 * a file it goes on with the segment of the next number, be it packed or not.
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "record/folder.h"
#include "record/reader_private.h"

#define TRIES		8u		/* if segments are packed while they are read */

struct record_cursor {
	struct record_reader *reader;
	uint32_t target;
	unsigned tables;		/* that are read, 1 << kind */
	uint64_t from_ns, to_ns;
	uint64_t next;			/* number of the segment that is read next */
	int fd;				/* -1: none is open */
	ino_t inode;
	struct record_input input;
	struct record_sample sample;
};

static void close_segment(struct record_cursor *cursor)
{
	if (cursor->fd < 0)
		return;
	record_input_free(&cursor->input);
	close(take_fd(cursor->fd));
}

/* The first segment from that number on that may have samples that the cursor wants; NULL: none. */
static struct record_summary *next_summary(const struct record_cursor *cursor)
{
	vec_each_value(summary, &cursor->reader->summaries)
		if (summary->is.last >= cursor->next && summary->is.samples &&
		    summary->is.to_ns >= cursor->from_ns && summary->is.from_ns <= cursor->to_ns)
			return summary;
	return NULL;
}

/* Open the next segment; *found_ret is false if there is none. */
static struct err *open_segment(struct record_cursor *cursor, bool *found_ret)
{
	struct err *err = NULL;

	*found_ret = false;
	for (unsigned try = 0; try < TRIES; try++) {
		struct record_summary *summary = next_summary(cursor);
		struct stat st;
		bool more;

		if (!summary)
			return NULL;
		err = record_folder_open(cursor->reader->dir_fd, summary->is.number, &st, &cursor->fd);
		if (!err && st.st_ino == summary->inode) {
			*found_ret = true;
			cursor->inode = st.st_ino;
			cursor->next = summary->is.last + 1;
			err = record_input_begin(&cursor->input, &cursor->reader->names, cursor->fd,
						 cursor->tables);
			cursor->input.target = cursor->target;
			return err;
		}
		if (!err)
			close(take_fd(cursor->fd));
		else if (err->code != ERR_NOTFOUND)
			return err;
		/* It was packed, or removed. */
		err = record_reader_refresh(cursor->reader, &more);
		if (err)
			return err;
	}
	return err_create(ERR_BUSY, "the recording changes while it is read");
}

static bool wants(const struct record_cursor *cursor, const struct record_sample *sample)
{
	return (!cursor->target || sample->target == cursor->target) &&
	       sample->time_ns >= cursor->from_ns && sample->time_ns <= cursor->to_ns;
}

/* Is there a segment behind the one that is open, or has it an end? Then nothing is added to it. */
static bool is_over(const struct record_cursor *cursor)
{
	return cursor->input.ended || next_summary(cursor);
}

/* The next sample of the recording, whatever it is of. */
static struct err *next_sample(struct record_cursor *cursor, const struct record_sample **ret)
{
	struct record_event event;
	enum record_item item;
	struct err *err;
	bool found = true;

	*ret = NULL;
	for (;;) {
		if (cursor->fd < 0) {
			err = open_segment(cursor, &found);
			if (err || !found)
				return err;
		}
		err = record_input_next(&cursor->input, &item, &event, &cursor->sample);
		if (err)
			return err;
		if (item == RECORD_ITEM_SAMPLE) {
			*ret = &cursor->sample;
			return NULL;
		}
		if (item == RECORD_ITEM_NONE) {
			if (!is_over(cursor))
				return NULL;
			close_segment(cursor);
		}
	}
}

struct err *record_cursor_open(struct record_reader *reader, uint32_t target, unsigned tables,
			       uint64_t from_ns, uint64_t to_ns, struct record_cursor **ret)
{
	struct record_cursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor)
		return err_nomem;
	*cursor = (struct record_cursor){
		.reader = reader, .target = target, .tables = tables, .from_ns = from_ns, .to_ns = to_ns, .fd = -1,
	};
	*ret = cursor;
	return NULL;
}

struct err *record_cursor_next(struct record_cursor *cursor, const struct record_sample **ret)
{
	struct err *err;

	do
		err = next_sample(cursor, ret);
	while (!err && *ret && !wants(cursor, *ret));
	return err;
}

void record_cursor_close(struct record_cursor *cursor)
{
	if (!cursor)
		return;
	close_segment(cursor);
	free(cursor);
}

/*
 * Where the sample for a time is: the segment, and its number in it among all samples, from 0 on.
 */
static struct record_summary *find_moment(struct record_reader *reader, uint32_t target, uint64_t time_ns,
				   size_t *at_ret)
{
	struct record_summary *found = NULL;

	vec_each_value(summary, &reader->summaries) {
		for (size_t i = 0; i < summary->moments.vec.nr; i++) {
			const struct record_moment *moment = &summary->moments.vec.at[i];

			if ((!target || moment->target == target) && moment->time_ns <= time_ns) {
				found = summary;
				*at_ret = i;
			}
		}
	}
	return found;
}

/* Read the segment of the summary up to that sample. *ret is NULL if the file has changed. */
static struct err *read_to(struct record_cursor *cursor, const struct record_summary *summary, size_t at,
			   const struct record_sample **ret)
{
	ino_t inode = summary->inode;
	struct err *err;

	close_segment(cursor);
	cursor->next = summary->is.number;
	for (size_t i = 0; i <= at; i++) {
		err = next_sample(cursor, ret);
		if (err || !*ret)
			return err;
		if (cursor->inode != inode) {
			*ret = NULL;
			return NULL;
		}
	}
	return NULL;
}

struct err *record_cursor_at(struct record_reader *reader, uint32_t target, unsigned tables,
			     uint64_t time_ns, struct record_cursor **ret,
			     const struct record_sample **sample_ret)
{
	struct record_cursor *cursor;
	struct err *err = record_cursor_open(reader, target, tables, 0, UINT64_MAX, &cursor);

	*sample_ret = NULL;
	if (err)
		return err;
	for (unsigned try = 0; !err && !*sample_ret && try < TRIES; try++) {
		size_t at = 0;
		struct record_summary *summary = find_moment(reader, target, time_ns, &at);

		if (!summary)
			break;
		err = read_to(cursor, summary, at, sample_ret);
		if (!err && !*sample_ret && try + 1 == TRIES)
			err = err_create(ERR_BUSY, "the recording changes while it is read");
	}
	if (err) {
		record_cursor_close(cursor);
		return err;
	}
	*ret = cursor;
	return NULL;
}
