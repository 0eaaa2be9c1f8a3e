/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a recording.
 *
 *	no segment --- a sample or an event ---> plain segment ---- an hour, or 16 MB ----> no segment
 *	    ^                                          |
 *	    +------------- it cannot be written -------+    (cut off; tried again 10 s later)
 *
 * Each sample is written with all that it refers to by one write. Older segments are packed meanwhile,
 * and the oldest removed (shelf.h).
 */

#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/trace.h"
#include "os/procfs.h"
#include "os/trust.h"
#include "record/folder.h"
#include "record/output.h"
#include "record/shelf.h"

#define SECOND		1000000000ull
#define SEGMENT_NS	(3600 * SECOND)
#define SEGMENT_BYTES	(16u << 20)
#define AGAIN_NS	(10 * SECOND)	/* after what could not be written */
#define SYNC_NS		(30 * SECOND)
#define CLOCK_NS	(2 * SECOND)	/* by so much the clock may be off before it counts as set */
#define NAMES_FORGET	(RECORD_NAMES_MOST / 2)
#define LOCK_TRIES	50u		/* and how long between two */
#define LOCK_US		100000u

struct record_writer {
	char *path, *version;
	int dir_fd, lock_fd;
	struct record_limits limits;
	struct record_shelf shelf;
	struct record_names names;
	uint64_t epoch;
	struct record_output output;
	int fd;				/* of the plain segment; -1: there is none */
	struct record_shelf_segment segment;
	bool begun;			/* the event of the beginning is written */
	VEC(uint32_t) seen;		/* targets whose samples have no gap before them */
	size_t renamed;			/* so many of them have other numbers since the epoch began */
	uint64_t time_ns, monotonic_ns;	/* of the last sample; 0: there was none */
	uint64_t synced_ns;		/* monotonic */
	char trouble[512];
	uint64_t trouble_ns, again_ns;	/* since when; monotonic: when it is tried again */
	uint64_t written, samples, lost;
};

/* Who holds the lock, by what it has written into the file; 0: it is not known. */
static pid_t holder(const struct record_writer *writer)
{
	char text[16] = "";
	ssize_t len = pread(writer->lock_fd, text, sizeof(text) - 1, 0);

	return len > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

static bool is_gone(pid_t pid)
{
	struct proc_stat stat;

	return pid <= 0 || procfs_stat(pid, &stat) || stat.state == 'Z' || stat.state == 'X';
}

static struct err *busy(const struct record_writer *writer)
{
	return err_hint(err_create(ERR_BUSY, "another recorder writes to it: process %d", holder(writer)),
			"each recorder has a folder of its own");
}

/*
 * A recorder that was killed may have children that end a moment later, and hold its lock as long:
 * they are waited for.
 */
static struct err *take_lock(struct record_writer *writer)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	for (unsigned tries = 0; fcntl(writer->lock_fd, F_OFD_SETLK, &all); tries++) {
		if (errno != EAGAIN && errno != EACCES)
			return err_sys("lock");
		if (tries == LOCK_TRIES || !is_gone(holder(writer)))
			return busy(writer);
		usleep(LOCK_US);
	}
	return NULL;
}

static struct err *lock(struct record_writer *writer)
{
	struct err *err;

	writer->lock_fd = openat(writer->dir_fd, RECORD_FOLDER_LOCK,
				 O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (writer->lock_fd < 0)
		return err_sys("make %s", RECORD_FOLDER_LOCK);
	err = take_lock(writer);
	if (err)
		return err;
	if (ftruncate(writer->lock_fd, 0) || dprintf(writer->lock_fd, "%d\n", getpid()) < 0)
		return err_sys("write to %s", RECORD_FOLDER_LOCK);
	return NULL;
}

struct err *record_writer_open(const char *dir, const struct record_limits *limits,
			       const char *version, struct record_writer **ret)
{
	struct record_writer *writer = calloc(1, sizeof(*writer));
	struct err *err = NULL;

	if (!writer)
		return err_nomem;
	writer->dir_fd = writer->lock_fd = writer->fd = -1;
	writer->limits = *limits;
	record_names_init(&writer->names, RECORD_NAMES_MOST);
	writer->path = strdup(dir);
	writer->version = strdup(version);
	if (!writer->path || !writer->version)
		err = err_nomem;
	if (!err)
		err = trust_folder(dir, true, &writer->dir_fd);
	if (!err)
		err = lock(writer);
	if (!err)
		err = record_shelf_open(&writer->shelf, writer->dir_fd);
	if (err) {
		err_ignore(record_writer_close(writer, 0, NULL));	/* it has no segment */
		return err_wrap(err, "record to %s", dir);
	}
	*ret = writer;
	return NULL;
}

void record_writer_set_limits(struct record_writer *writer, const struct record_limits *limits)
{
	writer->limits = *limits;
}

struct record_names *record_writer_names(struct record_writer *writer)
{
	return &writer->names;
}

uint64_t record_writer_epoch(const struct record_writer *writer)
{
	return writer->epoch;
}

/* Nothing can be written: the segment ends where it was whole. */
static void set_trouble(struct record_writer *writer, const struct err *err)
{
	if (writer->fd >= 0) {
		if (ftruncate(writer->fd, (off_t)writer->segment.bytes))
			trace_line("record: %s", strerror(errno));
		close(take_fd(writer->fd));
		record_output_free(&writer->output);
		record_shelf_add(&writer->shelf, &writer->segment);
	}
	if (!*writer->trouble)
		writer->trouble_ns = writer->time_ns;
	snprintf(writer->trouble, sizeof(writer->trouble), "%s", err->msg);
	writer->again_ns = writer->monotonic_ns + AGAIN_NS;
	vec_clear(&writer->seen);
	writer->renamed = 0;
}

/* Write what the output has made. */
static struct err *append(struct record_writer *writer)
{
	struct str *out = &writer->output.out;
	size_t done = 0;

	while (done < out->len) {
		ssize_t n = pwrite(writer->fd, out->at + done, out->len - done,
				   (off_t)(writer->segment.bytes + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys("write to %s", record_folder_name(writer->segment.number).text);
		done += (size_t)n;
	}
	writer->segment.bytes += done;
	writer->written += done;
	str_clear(out);
	return NULL;
}

static struct err *put_event(struct record_writer *writer, const struct record_event *event)
{
	struct err *err = record_output_event(&writer->output, event);

	if (!writer->segment.from_ns)
		writer->segment.from_ns = event->time_ns;
	writer->segment.to_ns = MAX(writer->segment.to_ns, event->time_ns);
	return err;
}

/* What a new segment tells of the time before it. */
static struct err *put_begin(struct record_writer *writer, uint64_t time_ns)
{
	struct record_event event = { .time_ns = time_ns, .kind = RECORD_EVENT_BEGIN };
	struct err *err = NULL;

	if (!writer->begun)
		err = record_names_string(&writer->names, writer->version, &event.text);
	if (!err && !writer->begun)
		err = put_event(writer, &event);
	if (err || !*writer->trouble)
		return err;
	event.kind = RECORD_EVENT_LOST;
	event.number = writer->trouble_ns;
	event.also = time_ns;
	err = record_names_string(&writer->names, writer->trouble, &event.text);
	return err ? err : put_event(writer, &event);
}

static struct err *begin_segment(struct record_writer *writer, uint64_t time_ns)
{
	const struct record_output_head head = {
		.number = record_shelf_next(&writer->shelf), .last = record_shelf_next(&writer->shelf),
		.time_ns = time_ns,
	};
	struct err *err;

	writer->segment = (struct record_shelf_segment){ .number = head.number, .last = head.number };
	writer->fd = openat(writer->dir_fd, record_folder_name(head.number).text,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (writer->fd < 0) {
		/* Whatever else has this name: the next one is free. */
		writer->shelf.next += errno == EEXIST;
		return err_sys("make %s", record_folder_name(head.number).text);
	}
	err = record_output_begin(&writer->output, &writer->names, &head);
	if (!err)
		err = put_begin(writer, time_ns);
	if (!err)
		err = append(writer);
	if (err)
		return err;
	writer->begun = true;
	*writer->trouble = '\0';
	return NULL;
}

static struct err *end_segment(struct record_writer *writer)
{
	struct err *err = record_output_end(&writer->output);

	if (!err)
		err = append(writer);
	if (!err && fdatasync(writer->fd))
		err = err_sys("write");
	close(take_fd(writer->fd));
	record_output_free(&writer->output);
	record_shelf_add(&writer->shelf, &writer->segment);
	return err;
}

/* Names are forgotten between two segments, when there are too many. */
static void forget_names(struct record_writer *writer)
{
	if (writer->names.bytes < NAMES_FORGET &&
	    record_names_nr(&writer->names, RECORD_NAME_TARGET) < RECORD_TARGETS_MOST / 2)
		return;
	record_names_free(&writer->names);
	writer->renamed = writer->seen.nr;
	vec_clear(&writer->seen);
	writer->epoch++;
}

/* Is there a segment to write to? false: nothing can be written now. */
static bool is_ready(struct record_writer *writer, uint64_t time_ns)
{
	struct err *err;

	if (writer->fd >= 0)
		return true;
	if (*writer->trouble && writer->monotonic_ns < writer->again_ns)
		return false;
	err = begin_segment(writer, time_ns);
	if (err)
		set_trouble(writer, err);
	return !err;
}

/* Write what was made, if it could be. */
static struct err *finish(struct record_writer *writer, struct err *err)
{
	bool disk;

	if (!err)
		err = append(writer);
	if (!err)
		return NULL;
	disk = err->code != ERR_NOMEM && err->code != ERR_RANGE;
	writer->lost++;
	set_trouble(writer, err);
	return disk ? NULL : err;
}

struct err *record_writer_event(struct record_writer *writer, const struct record_event *event)
{
	if (!is_ready(writer, event->time_ns)) {
		writer->lost++;
		return NULL;
	}
	return finish(writer, put_event(writer, event));
}

/* Was the clock set since the last sample? */
static struct err *check_clock(struct record_writer *writer, const struct record_sample *sample)
{
	uint64_t expected = writer->time_ns + sample->monotonic_ns - writer->monotonic_ns;
	struct record_event event = {
		.time_ns = sample->time_ns, .kind = RECORD_EVENT_CLOCK, .number = expected,
		.also = sample->time_ns,
	};

	if (!writer->time_ns || sample->monotonic_ns < writer->monotonic_ns ||
	    (expected <= sample->time_ns + CLOCK_NS && sample->time_ns <= expected + CLOCK_NS))
		return NULL;
	return put_event(writer, &event);
}

static bool is_seen(const struct record_writer *writer, uint32_t target)
{
	vec_each_value(is, &writer->seen)
		if (is == target)
			return true;
	return false;
}

static struct err *put_sample(struct record_writer *writer, const struct record_sample *sample)
{
	struct record_sample is = *sample;
	struct err *err = check_clock(writer, sample);

	if (!err && !is_seen(writer, sample->target)) {
		is.gap |= !writer->renamed;
		writer->renamed -= writer->renamed > 0;
		err = vec_push(&writer->seen, sample->target);
	}
	if (!err)
		err = record_output_sample(&writer->output, &is);
	if (!writer->segment.from_ns)
		writer->segment.from_ns = sample->time_ns;
	writer->segment.to_ns = MAX(writer->segment.to_ns, sample->time_ns);
	return err;
}

static void sync_segment(struct record_writer *writer)
{
	if (writer->monotonic_ns < writer->synced_ns + SYNC_NS)
		return;
	writer->synced_ns = writer->monotonic_ns;
	if (writer->fd >= 0 && fdatasync(writer->fd))
		set_trouble(writer, err_sys("write"));
}

static bool is_full(const struct record_writer *writer)
{
	const struct record_shelf_segment *segment = &writer->segment;

	return writer->fd >= 0 && (segment->bytes >= SEGMENT_BYTES ||
				   segment->to_ns - segment->from_ns >= SEGMENT_NS);
}

struct err *record_writer_sample(struct record_writer *writer, const struct record_sample *sample)
{
	struct err *err = NULL, *of_end = NULL;
	bool ready;

	record_shelf_tidy(&writer->shelf, &writer->limits, sample->time_ns);
	ready = is_ready(writer, sample->time_ns);
	if (ready)
		err = finish(writer, put_sample(writer, sample));
	else
		writer->lost++;
	writer->time_ns = sample->time_ns;
	writer->monotonic_ns = sample->monotonic_ns;
	writer->samples += ready;
	sync_segment(writer);
	if (!is_full(writer))
		return err;
	of_end = end_segment(writer);
	if (of_end)
		set_trouble(writer, of_end);
	forget_names(writer);
	return err;
}

void record_writer_settle(struct record_writer *writer)
{
	record_shelf_settle(&writer->shelf, &writer->limits, writer->time_ns);
}

const char *record_writer_trouble(const struct record_writer *writer)
{
	return *writer->trouble ? writer->trouble : NULL;
}

struct record_writer_state record_writer_state(const struct record_writer *writer)
{
	struct record_writer_state state = {
		.path = writer->path, .written = writer->written, .samples = writer->samples,
		.lost = writer->lost, .limits = writer->limits,
	};

	record_shelf_sums(&writer->shelf, &state.bytes, &state.segments, &state.from_ns);
	if (writer->fd < 0)
		return state;
	state.bytes += writer->segment.bytes;
	state.segments++;
	if (!state.from_ns)
		state.from_ns = writer->segment.from_ns;
	return state;
}

/* The last event. */
static struct err *put_close(struct record_writer *writer, uint64_t time_ns, const char *why)
{
	struct record_event event = { .time_ns = time_ns, .kind = RECORD_EVENT_CLOSE };
	struct err *err = record_names_string(&writer->names, why, &event.text);

	if (!err)
		err = put_event(writer, &event);
	return err ? err : end_segment(writer);
}

struct err *record_writer_close(struct record_writer *writer, uint64_t time_ns, const char *why)
{
	struct err *err = NULL;

	if (!writer)
		return NULL;
	if (writer->fd >= 0)
		err = put_close(writer, time_ns, why);
	if (writer->fd >= 0) {
		close(writer->fd);
		record_output_free(&writer->output);
	}
	record_shelf_close(&writer->shelf);
	record_names_free(&writer->names);
	vec_free(&writer->seen);
	if (writer->lock_fd >= 0)
		close(writer->lock_fd);
	if (writer->dir_fd >= 0)
		close(writer->dir_fd);
	free(writer->path);
	free(writer->version);
	free(writer);
	return err;
}
