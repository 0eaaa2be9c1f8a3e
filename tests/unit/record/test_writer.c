/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One writer to a folder, disks that are full, clocks that are set, days in seconds. */

#include "make.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static unsigned count_events(struct record_reader *reader, enum record_event_kind kind)
{
	struct record_events events = { VEC_INIT };
	unsigned n = 0;

	CU_ASSERT_PTR_NULL_FATAL(record_reader_events(reader, 0, 0, UINT64_MAX, &events));
	vec_each(event, &events.vec)
		n += event->kind == kind;
	vec_free(&events.vec);
	return n;
}

static size_t count_moments(struct record_reader *reader, bool gaps)
{
	struct record_moments moments = { VEC_INIT };
	size_t n = 0;

	CU_ASSERT_PTR_NULL_FATAL(record_reader_moments(reader, 0, 0, UINT64_MAX, &moments));
	vec_each(moment, &moments.vec)
		n += !gaps || moment->gap;
	vec_free(&moments.vec);
	return n;
}

TEST("a second recorder is refused, and told who the first one is")
{
	struct made made;
	struct record_writer *other = NULL;
	struct err *err;

	made_begin(&made, 2);
	made_open(&made);
	made_add(&made, 0);
	err = record_writer_open(made.dir, &made.limits, "other", &other);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_BUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, "process "));
	made_close(&made);
	CU_ASSERT_PTR_NULL(record_writer_open(made.dir, &made.limits, "other", &other));
	CU_ASSERT_PTR_NULL(record_writer_close(other, BEGIN, "end"));
	made_end(&made);
}

TEST("a folder that others may write to is refused")
{
	struct made made;
	struct err *err;

	made_begin(&made, 1);
	CU_ASSERT_EQUAL(chmod(made.dir, 0777), 0);
	err = record_writer_open(made.dir, &made.limits, "test", &made.writer);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_PERM);
	made_end(&made);
}

TEST("a full disk loses what does not fit, and says so")
{
	struct rlimit limit = { 12000, RLIM_INFINITY }, before;
	struct made made;
	struct record_reader *reader;
	uint64_t t = 0;

	made_begin(&made, 20);
	made_open(&made);
	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	for (; t < 500 && !record_writer_trouble(made.writer); t++)
		made_add(&made, t);
	CU_ASSERT_PTR_NOT_NULL(record_writer_trouble(made.writer));
	made_add(&made, t++);
	setrlimit(RLIMIT_FSIZE, &before);
	for (uint64_t end = t + 30; t < end; t++)
		made_add(&made, t);
	CU_ASSERT_PTR_NULL(record_writer_trouble(made.writer));
	made_close(&made);
	reader = made_read(&made);
	CU_ASSERT_EQUAL(count_events(reader, RECORD_EVENT_LOST), 1);
	CU_ASSERT_EQUAL(count_moments(reader, true), 2);
	CU_ASSERT(count_moments(reader, false) >= t - 13);
	record_reader_close(reader);
	made_end(&made);
}

TEST("the clock is set back an hour")
{
	struct made made;
	struct record_reader *reader;
	struct record_cursor *cursor;
	const struct record_sample *sample;

	made_begin(&made, 2);
	made_open(&made);
	for (uint64_t t = 0; t < 200; t++) {
		made_sample(&made, t);
		if (t >= 100)
			made.sample.time_ns -= 50 * SECOND;
		for (unsigned kind = 0; kind < RECORD_TABLES; kind++)
			if (made.table[kind].time_ns)
				made.table[kind].time_ns = made.sample.time_ns;
		CU_ASSERT_PTR_NULL_FATAL(record_writer_sample(made.writer, &made.sample));
	}
	reader = made_read(&made);
	CU_ASSERT_EQUAL(count_events(reader, RECORD_EVENT_CLOCK), 1);
	CU_ASSERT_EQUAL(count_moments(reader, false), 200);
	/* A time that has come twice means the second one. */
	CU_ASSERT_PTR_NULL_FATAL(record_cursor_at(reader, 0, RECORD_ALL_TABLES, BEGIN + 60 * SECOND, &cursor, &sample));
	CU_ASSERT_EQUAL(sample->monotonic_ns, (1000 + 110) * SECOND);
	record_cursor_close(cursor);
	record_reader_close(reader);
	made_end(&made);
}

TEST("what another mdbg goes on with is after a gap")
{
	struct made made;
	struct record_reader *reader;

	made_begin(&made, 3);
	made_open(&made);
	made_add(&made, 0);
	made_close(&made);
	made_open(&made);
	made_add(&made, 31 * 86400);
	reader = made_read(&made);
	CU_ASSERT_EQUAL(count_moments(reader, true), 2);
	CU_ASSERT_EQUAL(count_events(reader, RECORD_EVENT_BEGIN), 2);
	CU_ASSERT_EQUAL(count_events(reader, RECORD_EVENT_CLOSE), 1);
	record_reader_close(reader);
	made_end(&made);
}

/* Change the version in the first frame of a file. */
static void set_version(const char *path, char main, char minor)
{
	char bytes[64];
	int fd = open(path, O_RDWR);
	ssize_t len = pread(fd, bytes, sizeof(bytes), 0);

	bytes[16] = main;
	bytes[17] = minor;
	made_resum(bytes, 16 + (size_t)bytes[4]);
	CU_ASSERT_EQUAL(pwrite(fd, bytes, (size_t)len, 0), len);
	close(fd);
}

TEST("versions before and after")
{
	struct made made;
	struct record_reader *reader;
	struct record_segments segments = { VEC_INIT };
	struct err *err;
	char path[128];

	made_begin(&made, 2);
	made_open(&made);
	made_add(&made, 0);
	made_close(&made);
	made_file(&made, 1, path);
	set_version(path, 1, 9);
	reader = made_read(&made);
	CU_ASSERT_PTR_NULL(record_reader_segments(reader, &segments));
	CU_ASSERT(segments.vec.at[0].newer);
	CU_ASSERT_EQUAL(segments.vec.at[0].samples, 1);
	vec_free(&segments.vec);
	record_reader_close(reader);
	set_version(path, 2, 0);
	err = record_reader_open(made.dir, &reader);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_UNSUPPORTED);
	err = record_writer_open(made.dir, &made.limits, "test", &made.writer);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_UNSUPPORTED);
	made_end(&made);
}

/* What a folder takes on the disk. */
static uint64_t folder_bytes(const struct made *made)
{
	DIR *dir = opendir(made->dir);
	struct dirent *entry;
	struct stat st;
	uint64_t bytes = 0;

	while ((entry = readdir(dir)))
		if (!fstatat(dirfd(dir), entry->d_name, &st, 0) && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	closedir(dir);
	return bytes;
}

/* Seconds from `from` to `to`; sites are taken when their bytes are worth 4,096 a second. */
static void play(struct made *made, uint64_t from, uint64_t to)
{
	uint64_t due = from, written;

	for (uint64_t t = from; t < to; t++) {
		if (record_writer_epoch(made->writer) != made->epoch)
			made_names(made);
		if (t >= due)
			made_sample(made, t);
		made->sample.time_ns = BEGIN + t * SECOND;
		made->sample.monotonic_ns = (1000 + t) * SECOND;
		made->table[RECORD_TOTALS].time_ns = made->sample.time_ns;
		made->table[RECORD_TOTALS].values[0] = t + 1;
		written = record_writer_state(made->writer).written;
		CU_ASSERT_PTR_NULL_FATAL(record_writer_sample(made->writer, &made->sample));
		if (t % 60 == 0 || t + 1 == to)
			record_writer_settle(made->writer);
		written = record_writer_state(made->writer).written - written;
		if (t >= due)
			due = t + MAX(written / 4096, 1ull);
	}
}

/* RECORD_HOURS and RECORD_SITES make it longer; 24 and 10,000 are what is promised. */
TEST("hours of many sites are thinned, and stay small")
{
	const char *hours = getenv("RECORD_HOURS"), *sites = getenv("RECORD_SITES");
	uint64_t nr_hours = hours ? (uint64_t)atoi(hours) : 9;
	uint32_t nr_sites = sites ? (uint32_t)atoi(sites) : 200;
	struct made made;
	struct record_reader *reader;
	struct record_segments segments = { VEC_INIT };
	struct timespec begun, ended;

	made_begin(&made, nr_sites);
	made_open(&made);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	play(&made, 0, nr_hours * 3600 + 5);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
	made_close(&made);
	printf("%llu h, %u sites: %llu bytes, %ld s of a processor\n", (unsigned long long)nr_hours,
	       nr_sites, (unsigned long long)folder_bytes(&made), (long)(ended.tv_sec - begun.tv_sec));
	CU_ASSERT(folder_bytes(&made) < 64 << 20);
	reader = made_read(&made);
	CU_ASSERT_PTR_NULL(record_reader_segments(reader, &segments));
	/* The oldest hour is packed, and the last one is whole. */
	CU_ASSERT(segments.vec.at[0].every >= 60);
	CU_ASSERT(segments.vec.at[0].samples < 1000);
	CU_ASSERT_EQUAL(segments.vec.at[segments.vec.nr - 1].every, 0);
	CU_ASSERT_EQUAL(segments.vec.at[0].from_ns, BEGIN);
	vec_free(&segments.vec);
	record_reader_close(reader);
	made_end(&made);
}

TEST("samples that were kept are what they were")
{
	struct made made;
	struct record_reader *reader;
	struct record_cursor *cursor;
	const struct record_sample *sample;
	unsigned n = 0, wrong = 0;

	made_begin(&made, 30);
	made_open(&made);
	for (uint64_t t = 0; t < 4 * 3600; t++)
		made_add(&made, t);
	reader = made_read(&made);
	CU_ASSERT_PTR_NULL_FATAL(record_cursor_open(reader, 0, RECORD_ALL_TABLES, 0, UINT64_MAX, &cursor));
	while (!record_cursor_next(cursor, &sample) && sample) {
		wrong += !made_is(reader, sample, 30);
		n++;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(n > 3600 && n < 4 * 3600);
	record_cursor_close(cursor);
	record_reader_close(reader);
	made_end(&made);
}

/* How many samples there are of the seconds from `from` to `to`. */
static size_t count_samples(const struct made *made, uint64_t from, uint64_t to)
{
	struct record_moments moments = { VEC_INIT };
	struct record_reader *reader = made_read(made);
	size_t nr;

	CU_ASSERT_PTR_NULL(record_reader_moments(reader, 0, BEGIN + from * SECOND, BEGIN + to * SECOND,
						 &moments));
	nr = moments.vec.nr;
	vec_free(&moments.vec);
	record_reader_close(reader);
	return nr;
}

TEST("the last seconds before the end of a process stay whole")
{
	struct made made;

	made_begin(&made, 5);
	made_open(&made);
	play(&made, 0, 1000);
	CU_ASSERT_PTR_NULL(record_writer_event(made.writer, &(const struct record_event){
		.time_ns = BEGIN + 1000 * SECOND, .target = made.target, .kind = RECORD_EVENT_EXIT }));
	play(&made, 1100, 13 * 3600);
	made_close(&made);
	CU_ASSERT_EQUAL(count_samples(&made, 990, 999), 10);
	CU_ASSERT(count_samples(&made, 0, 989) < 20);
	made_end(&made);
}

TEST("the sample of a mark is kept for as long as the mark is")
{
	struct made made;

	made_begin(&made, 5);
	made_open(&made);
	play(&made, 0, 1002);
	CU_ASSERT_PTR_NULL(record_writer_event(made.writer, &(const struct record_event){
		.time_ns = BEGIN + 1002 * SECOND, .target = made.target, .kind = RECORD_EVENT_MARK,
		.text = made_string(&made, "mark") }));
	play(&made, 1002, 13 * 3600);
	made_close(&made);
	CU_ASSERT_EQUAL(count_samples(&made, 1002, 1002), 1);
	CU_ASSERT(count_samples(&made, 1000, 1060) < 4);
	made_end(&made);
}

/* A sample is written while an hour is packed, and what is closed meanwhile is as it was. */
TEST("packing holds no sample up, and is stopped by the end")
{
	struct record_segments segments = { VEC_INIT };
	struct record_reader *reader;
	struct made made;

	made_begin(&made, 200);
	made_open(&made);
	/* An hour that is due as soon as a sample is as late as this one. */
	for (uint64_t t = 0; t < 3700; t++) {
		made_sample(&made, t);
		CU_ASSERT_PTR_NULL_FATAL(record_writer_sample(made.writer, &made.sample));
	}
	made_sample(&made, 3 * 3600);
	CU_ASSERT_PTR_NULL_FATAL(record_writer_sample(made.writer, &made.sample));
	/* The thread has hardly begun: the sample is there, and all of the hour. */
	CU_ASSERT_EQUAL(count_samples(&made, 3 * 3600, 3 * 3600), 1);
	made_close(&made);
	CU_ASSERT(count_samples(&made, 0, 3699) >= 60);
	/* The next recorder packs it, whether it was or not. */
	made_open(&made);
	made_sample(&made, 3 * 3600 + 10);
	CU_ASSERT_PTR_NULL_FATAL(record_writer_sample(made.writer, &made.sample));
	record_writer_settle(made.writer);
	reader = made_read(&made);
	CU_ASSERT_PTR_NULL(record_reader_segments(reader, &segments));
	CU_ASSERT_EQUAL(segments.vec.at[0].every, 60);
	vec_free(&segments.vec);
	record_reader_close(reader);
	made_end(&made);
}

TEST("age and size bound the folder, oldest first")
{
	struct made made;
	struct record_reader *reader;
	struct record_segments segments = { VEC_INIT };

	made_begin(&made, 20);
	made.limits.keep_ns = 3 * 3600 * SECOND;
	made_open(&made);
	play(&made, 0, 6 * 3600 + 10);
	reader = made_read(&made);
	CU_ASSERT_PTR_NULL(record_reader_segments(reader, &segments));
	CU_ASSERT(segments.vec.at[0].to_ns >= BEGIN + 3 * 3600 * SECOND - 60 * SECOND);
	vec_free(&segments.vec);
	record_reader_close(reader);
	made.limits.size = 1;
	record_writer_set_limits(made.writer, &made.limits);
	play(&made, 6 * 3600 + 10, 8 * 3600);
	reader = made_read(&made);
	CU_ASSERT_PTR_NULL(record_reader_segments(reader, &segments));
	CU_ASSERT_EQUAL(segments.vec.nr, 1);
	vec_free(&segments.vec);
	record_reader_close(reader);
	made_end(&made);
}

/* A writer in a process of its own, which is killed at any moment. */
static pid_t begin_writer(struct made *made, int progress, uint64_t step)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	made_open(made);
	for (uint64_t t = 0;; t++) {
		made_add(made, t * step);
		if (write(progress, &t, sizeof(t)) != sizeof(t))
			_exit(1);
	}
}

/* Each moment is there once, in order: what is packed is there, or what it was made of. */
static void check_once(const struct made *made)
{
	struct record_moments moments = { VEC_INIT };
	struct record_reader *reader = made_read(made);
	uint64_t before = 0;

	CU_ASSERT_PTR_NULL(record_reader_moments(reader, 0, 0, UINT64_MAX, &moments));
	CU_ASSERT_FATAL(moments.vec.nr);
	CU_ASSERT_EQUAL(moments.vec.at[0].time_ns, BEGIN);
	vec_each(moment, &moments.vec) {
		CU_ASSERT(moment->time_ns > before);
		before = moment->time_ns;
	}
	vec_free(&moments.vec);
	record_reader_close(reader);
}

TEST("killed while it packs, it has each sample once")
{
	const char *trials = getenv("RECORD_TRIALS");
	unsigned nr = trials ? (unsigned)atoi(trials) : 20;

	for (unsigned trial = 0; trial < nr; trial++) {
		struct made made;
		uint64_t last = 0;
		int progress[2];
		pid_t pid;

		made_begin(&made, 40);
		CU_ASSERT_EQUAL_FATAL(pipe(progress), 0);
		/* A sample a minute: each hour is packed as soon as it is one old. */
		pid = begin_writer(&made, progress[1], 60);
		close(progress[1]);
		while (last < 120 + trial % 61)
			CU_ASSERT_EQUAL_FATAL(read(progress[0], &last, sizeof(last)), sizeof(last));
		usleep(trial * 37 % 2000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		/* On a busy machine it has come far meanwhile. */
		while (read(progress[0], &last, sizeof(last)) == sizeof(last))
			;
		close(progress[0]);
		check_once(&made);
		made_open(&made);
		made_add(&made, (last + 600) * 60);
		check_once(&made);
		made_end(&made);
	}
}

/* RECORD_TRIALS: how often. */
TEST("killed at any moment it opens, has all that was written, and goes on")
{
	const char *trials = getenv("RECORD_TRIALS");
	unsigned nr = trials ? (unsigned)atoi(trials) : 20;

	for (unsigned trial = 0; trial < nr; trial++) {
		struct made made;
		struct record_reader *reader;
		uint64_t last = 0;
		int progress[2];
		pid_t pid;

		made_begin(&made, 40);
		CU_ASSERT_EQUAL_FATAL(pipe(progress), 0);
		pid = begin_writer(&made, progress[1], 1);
		close(progress[1]);
		for (unsigned i = 0; i < 1 + trial * 37 % 400; i++)
			CU_ASSERT_EQUAL(read(progress[0], &last, sizeof(last)), sizeof(last));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(progress[0], &last, sizeof(last)) == sizeof(last))
			;
		close(progress[0]);
		reader = made_read(&made);
		CU_ASSERT(count_moments(reader, false) >= last + 1);
		record_reader_close(reader);
		made_open(&made);
		made_add(&made, last + 10);
		made_close(&made);
		reader = made_read(&made);
		CU_ASSERT(count_moments(reader, false) >= last + 2);
		CU_ASSERT_EQUAL(count_events(reader, RECORD_EVENT_BEGIN), 2);
		record_reader_close(reader);
		made_end(&made);
	}
}
