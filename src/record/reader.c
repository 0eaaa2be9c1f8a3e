/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a recording.
 *
 * Each segment is read twice: once without its tables, for when its samples and events were (its
 * summary), and again by the cursors that give its samples. A summary is of a file as it was: if
 * the recorder has packed the segment since, its file is another one (inode), and the summary is
 * made anew. A plain segment may have grown: its summary goes on where it ended.
 */

#include "record/reader_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "record/folder.h"

#define MOMENTS_MOST	(1u << 22)	/* samples of a recording */
#define EVENTS_MOST	(1u << 20)

static void free_summary(void *value)
{
	struct record_summary *summary = value;

	if (summary->open)
		record_input_free(&summary->input);
	if (summary->fd >= 0)
		close(summary->fd);
	vec_free(&summary->moments.vec);
	vec_free(&summary->events.vec);
	vec_free(&summary->targets);
	vec_free(&summary->noted);
	free(summary);
}

static struct err *note_target(struct record_summary *summary, uint32_t target)
{
	bool *noted = vec_slot(&summary->noted, target);

	if (!noted)
		return err_nomem;
	if (!target || *noted)
		return NULL;
	*noted = true;
	return vec_push(&summary->targets, target);
}

static void note_time(struct record_segment *is, uint64_t time_ns)
{
	is->from_ns = is->from_ns ? MIN(is->from_ns, time_ns) : time_ns;
	is->to_ns = MAX(is->to_ns, time_ns);
}

static struct err *add_item(struct record_reader *reader, struct record_summary *summary,
			    enum record_item item, const struct record_event *event,
			    const struct record_sample *sample)
{
	struct err *err;

	if (reader->moments >= MOMENTS_MOST || reader->events >= EVENTS_MOST)
		return err_create(ERR_RANGE, "the recording has too many samples or events");
	if (item == RECORD_ITEM_EVENT) {
		note_time(&summary->is, event->time_ns);
		reader->events++;
		err = vec_push(&summary->events.vec, *event);
		return err ? err : note_target(summary, event->target);
	}
	note_time(&summary->is, sample->time_ns);
	reader->moments++;
	summary->is.samples++;
	err = vec_push(&summary->moments.vec, ((struct record_moment){
		sample->time_ns, sample->target, summary->is.number, sample->gap }));
	return err ? err : note_target(summary, sample->target);
}

/* Read on what there is of a segment. */
static struct err *read_summary(struct record_reader *reader, struct record_summary *summary, bool *more)
{
	enum record_item item;
	struct record_event event;
	struct record_sample sample;
	struct err *err;

	for (;;) {
		item = RECORD_ITEM_NONE;
		err = cancel_check();
		if (!err)
			err = record_input_next(&summary->input, &item, &event, &sample);
		if (err || item == RECORD_ITEM_NONE)
			break;
		*more = true;
		err = add_item(reader, summary, item, &event, &sample);
		if (err)
			break;
	}
	summary->is.bytes = summary->input.frames.at + summary->input.frames.torn;
	summary->is.damaged = summary->input.frames.damaged;
	summary->is.torn = summary->input.frames.torn;
	return err;
}

static void close_summary(struct record_summary *summary)
{
	record_input_free(&summary->input);
	summary->open = false;
	close(take_fd(summary->fd));
}

static struct err *make_summary(struct record_reader *reader, uint64_t number,
				struct record_summary **ret)
{
	struct record_summary *summary = calloc(1, sizeof(*summary));
	struct stat st;
	struct err *err;
	bool more;

	if (!summary)
		return err_nomem;
	summary->fd = -1;
	err = record_folder_open(reader->dir_fd, number, &st, &summary->fd);
	if (!err) {
		summary->inode = st.st_ino;
		summary->open = true;
		err = record_input_begin(&summary->input, &reader->names, summary->fd, 0);
	}
	if (!err) {
		summary->is = (struct record_segment){
			.number = number, .last = MAX(summary->input.last, number),
			.every = summary->input.every, .newer = summary->input.newer,
		};
		err = read_summary(reader, summary, &more);
	}
	if (err) {
		free_summary(summary);
		return err;
	}
	if (summary->input.ended)
		close_summary(summary);
	*ret = summary;
	return NULL;
}

/* A file that has no head, or not yet, is left out; so is one that was removed meanwhile. */
static bool is_no_segment(const struct err *err)
{
	return err->code == ERR_FORMAT || err->code == ERR_NOTFOUND;
}

static struct record_summary *find_summary(struct record_reader *reader, uint64_t number)
{
	vec_each_value(summary, &reader->summaries)
		if (summary->is.number == number)
			return summary;
	return NULL;
}

static void drop(struct record_reader *reader, struct record_summary *summary)
{
	reader->moments -= summary->moments.vec.nr;
	reader->events -= summary->events.vec.nr;
	free_summary(summary);
}

/* The summary of a file, of before if it is the same still, in the new list. */
static struct err *take_summary(struct record_reader *reader, const struct record_file *file,
				bool *more, struct record_summary **ret)
{
	struct record_summary *old = find_summary(reader, file->number);
	struct err *err = NULL;

	*ret = NULL;
	if (old && old->inode == file->st.st_ino) {
		if (old->open)
			err = read_summary(reader, old, more);
		if (!err && old->open && old->input.ended)
			close_summary(old);
		*ret = err ? NULL : old;
		return err;
	}
	err = make_summary(reader, file->number, ret);
	*more |= !err;
	return err && is_no_segment(err) ? NULL : err;
}

static bool among(const struct record_summary *summary, struct record_summary *const *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i] == summary)
			return true;
	return false;
}

/* Segments that a packed one before them has in it are not looked at. */
static struct err *read_all(struct record_reader *reader, bool *more)
{
	struct record_files files = { VEC_INIT };
	struct err *err = record_folder_list(reader->dir_fd, &files);
	VEC(struct record_summary *) now = VEC_INIT;
	uint64_t last = 0;

	if (!err)
		err = vec_reserve(&now, files.vec.nr);
	for (size_t i = 0; !err && i < files.vec.nr; i++) {
		struct record_summary *summary;

		if (files.vec.at[i].number <= last)
			continue;
		err = take_summary(reader, &files.vec.at[i], more, &summary);
		if (err || !summary)
			continue;
		now.at[now.nr++] = summary;
		last = summary->is.last;
	}
	vec_free(&files.vec);
	/* After an error the old list stays, with what is new in it not seen. */
	if (err) {
		vec_each_value(summary, &now)
			if (!among(summary, reader->summaries.at, reader->summaries.nr))
				drop(reader, summary);
		vec_free(&now);
		return err;
	}
	vec_each_value(summary, &reader->summaries)
		if (!among(summary, now.at, now.nr))
			drop(reader, summary);
	vec_free(&reader->summaries);
	reader->summaries.at = now.at;
	reader->summaries.nr = now.nr;
	reader->summaries.room = now.room;
	return NULL;
}

struct err *record_reader_open(const char *dir, struct record_reader **ret)
{
	struct record_reader *reader = calloc(1, sizeof(*reader));
	struct err *err;
	bool more = false;

	if (!reader)
		return err_nomem;
	record_names_init(&reader->names, RECORD_NAMES_MOST);
	reader->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (reader->dir_fd < 0)
		err = errno == ENOENT ? err_create(ERR_NOTFOUND, "there is no such folder") : err_sys("open");
	else
		err = read_all(reader, &more);
	if (!err && !reader->summaries.nr)
		err = err_create(ERR_NOTFOUND, "there is no recording in this folder");
	if (err) {
		record_reader_close(reader);
		return err_wrap(err, "%s", dir);
	}
	*ret = reader;
	return NULL;
}

void record_reader_close(struct record_reader *reader)
{
	if (!reader)
		return;
	vec_each_value(summary, &reader->summaries)
		free_summary(summary);
	vec_free(&reader->summaries);
	record_names_free(&reader->names);
	if (reader->dir_fd >= 0)
		close(reader->dir_fd);
	free(reader);
}

struct err *record_reader_refresh(struct record_reader *reader, bool *more_ret)
{
	*more_ret = false;
	return read_all(reader, more_ret);
}

bool record_reader_is_written(const struct record_reader *reader)
{
	return record_folder_is_locked(reader->dir_fd);
}

struct err *record_reader_segments(struct record_reader *reader, struct record_segments *ret)
{
	struct err *err = NULL;

	vec_each_while(at, &reader->summaries, !err)
		err = vec_push(&ret->vec, (*at)->is);
	return err;
}

struct err *record_reader_targets(struct record_reader *reader, struct record_target_list *ret)
{
	VEC(bool) known = VEC_INIT;
	struct err *err = NULL;

	vec_each_value(summary, &reader->summaries)
		vec_each_while(target, &summary->targets, !err) {
			bool *is = vec_slot(&known, *target);

			if (!is)
				err = err_nomem;
			else if (!*is)
				err = vec_push(&ret->vec, *target);
			if (is)
				*is = true;
		}
	vec_free(&known);
	return err;
}

uint64_t record_reader_targets_left_out(const struct record_reader *reader)
{
	return reader->names.left_out.vec.nr;
}

struct err *record_reader_events(struct record_reader *reader, uint32_t target, uint64_t from_ns,
				 uint64_t to_ns, struct record_events *ret)
{
	struct err *err = NULL;

	vec_each_value(summary, &reader->summaries)
		vec_each_while(event, &summary->events.vec, !err)
			if ((!target || event->target == target) && event->time_ns >= from_ns &&
			    event->time_ns <= to_ns)
				err = vec_push(&ret->vec, *event);
	return err;
}

struct err *record_reader_moments(struct record_reader *reader, uint32_t target, uint64_t from_ns,
				  uint64_t to_ns, struct record_moments *ret)
{
	struct err *err = NULL;

	vec_each_value(summary, &reader->summaries)
		vec_each_while(moment, &summary->moments.vec, !err)
			if ((!target || moment->target == target) && moment->time_ns >= from_ns &&
			    moment->time_ns <= to_ns)
				err = vec_push(&ret->vec, *moment);
	return err;
}

const char *record_reader_string(const struct record_reader *reader, uint32_t number)
{
	return record_names_get_string(&reader->names, number, NULL);
}

const struct record_target *record_reader_target(const struct record_reader *reader,
						 uint32_t number)
{
	return record_names_get_target(&reader->names, number);
}

struct record_location record_reader_location(const struct record_reader *reader, uint32_t number)
{
	return record_names_get_location(&reader->names, number);
}

struct record_stack record_reader_stack(const struct record_reader *reader, uint32_t number)
{
	return record_names_get_stack(&reader->names, number);
}

uint32_t record_reader_find_string(const struct record_reader *reader, const char *text)
{
	return record_names_find(&reader->names, text);
}
