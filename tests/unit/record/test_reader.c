/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the writer writes the reader reads, also while it is written, torn, damaged, and of others.
 */

#include "make.h"

#include <sys/resource.h>

#include "base/cancel.h"
#include "record/pack.h"

TEST("what was written is read, by names")
{
	struct made made;
	struct record_reader *reader;
	struct record_cursor *cursor;
	const struct record_sample *sample;
	unsigned n = 0;

	made_begin(&made, 50);
	made_open(&made);
	for (uint64_t t = 0; t < 700; t++)
		made_add(&made, t);
	made_close(&made);
	reader = made_read(&made);
	CU_ASSERT_PTR_NULL_FATAL(record_cursor_open(reader, 0, RECORD_ALL_TABLES, 0, UINT64_MAX, &cursor));
	while (!record_cursor_next(cursor, &sample) && sample) {
		const struct record_target *target = record_reader_target(reader, sample->target);

		CU_ASSERT_EQUAL(sample->time_ns, BEGIN + n * SECOND);
		CU_ASSERT_EQUAL(sample->gap, n == 0);
		CU_ASSERT_FATAL(made_is(reader, sample, 50));
		CU_ASSERT_EQUAL(target->pid, 4711);
		CU_ASSERT_STRING_EQUAL(record_reader_string(reader, target->name), "server");
		n++;
	}
	CU_ASSERT_EQUAL(n, 700);
	record_cursor_close(cursor);
	record_reader_close(reader);
	made_end(&made);
}

TEST("the sample at a time, and what follows")
{
	struct made made;
	struct record_reader *reader;
	struct record_cursor *cursor;
	const struct record_sample *sample;
	const uint64_t *row;

	made_begin(&made, 5);
	made_open(&made);
	for (uint64_t t = 0; t < 100; t += 2)
		made_add(&made, t);
	reader = made_read(&made);
	CU_ASSERT_PTR_NULL_FATAL(record_cursor_at(reader, 0, RECORD_ALL_TABLES, BEGIN + 41 * SECOND, &cursor, &sample));
	CU_ASSERT_PTR_NOT_NULL_FATAL(sample);
	CU_ASSERT_EQUAL(sample->time_ns, BEGIN + 40 * SECOND);
	CU_ASSERT(made_is(reader, sample, 5));
	row = record_table_row(&sample->table[RECORD_ACCOUNT], record_reader_find_string(reader, "held"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(row);
	CU_ASSERT_STRING_EQUAL(record_reader_string(reader, (uint32_t)row[RECORD_ACCOUNT_NOTE]),
			       "what blocks hold");
	CU_ASSERT_PTR_NULL(record_cursor_next(cursor, &sample));
	CU_ASSERT_EQUAL(sample->time_ns, BEGIN + 42 * SECOND);
	record_cursor_close(cursor);
	CU_ASSERT_PTR_NULL_FATAL(record_cursor_at(reader, 0, RECORD_ALL_TABLES, BEGIN - 1, &cursor, &sample));
	CU_ASSERT_PTR_NULL(sample);
	CU_ASSERT_PTR_NULL(record_cursor_next(cursor, &sample));
	CU_ASSERT_EQUAL(sample->time_ns, BEGIN);
	record_cursor_close(cursor);
	record_reader_close(reader);
	made_end(&made);
}

TEST("it is read while it is written")
{
	struct made made;
	struct record_reader *reader;
	struct record_cursor *cursor;
	const struct record_sample *sample;
	bool more;

	made_begin(&made, 20);
	made_open(&made);
	made_add(&made, 0);
	reader = made_read(&made);
	CU_ASSERT(record_reader_is_written(reader));
	CU_ASSERT_PTR_NULL_FATAL(record_cursor_open(reader, 0, RECORD_ALL_TABLES, 0, UINT64_MAX, &cursor));
	for (uint64_t t = 1; t < 4000; t++) {
		CU_ASSERT_PTR_NULL_FATAL(record_cursor_next(cursor, &sample));
		CU_ASSERT_PTR_NOT_NULL_FATAL(sample);
		CU_ASSERT_EQUAL(sample->time_ns, BEGIN + (t - 1) * SECOND);
		CU_ASSERT_PTR_NULL_FATAL(record_cursor_next(cursor, &sample));
		CU_ASSERT_PTR_NULL_FATAL(sample);
		made_add(&made, t);
		CU_ASSERT_PTR_NULL_FATAL(record_reader_refresh(reader, &more));
		CU_ASSERT(more);
	}
	made_close(&made);
	CU_ASSERT(!record_reader_is_written(reader));
	record_cursor_close(cursor);
	record_reader_close(reader);
	made_end(&made);
}

static char *read_file(const char *path, size_t *len_ret)
{
	FILE *file = fopen(path, "r");
	struct stat st;
	char *bytes;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fstat(fileno(file), &st);
	bytes = malloc((size_t)st.st_size + 1);
	*len_ret = fread(bytes, 1, (size_t)st.st_size, file);
	fclose(file);
	return bytes;
}

static void write_file(const char *path, const char *bytes, size_t len)
{
	FILE *file = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fwrite(bytes, 1, len, file), len);
	fclose(file);
}

/* How many samples there are, which are all right; -1: one is not. */
static int count_samples(const struct made *made)
{
	struct record_reader *reader;
	struct record_cursor *cursor;
	const struct record_sample *sample;
	struct err *err = record_reader_open(made->dir, &reader);
	int n = 0;

	if (err)
		return err->code == ERR_NOTFOUND || err->code == ERR_RANGE ? 0 : -1;
	CU_ASSERT_PTR_NULL_FATAL(record_cursor_open(reader, 0, RECORD_ALL_TABLES, 0, UINT64_MAX, &cursor));
	while (!(err = record_cursor_next(cursor, &sample)) && sample)
		n = n < 0 || !made_is(reader, sample, made->nr_stacks) ? -1 : n + 1;
	record_cursor_close(cursor);
	record_reader_close(reader);
	return n;
}

TEST("torn at every byte it opens, and what was whole is there")
{
	struct made made;
	char path[128], *bytes;
	int before = 0;
	size_t len;

	made_begin(&made, 3);
	made_open(&made);
	for (uint64_t t = 0; t < 12; t++)
		made_add(&made, t);
	made_file(&made, 1, path);
	bytes = read_file(path, &len);
	for (size_t cut = 0; cut <= len; cut++) {
		int n;

		write_file(path, bytes, cut);
		n = count_samples(&made);
		CU_ASSERT_FATAL(n >= before && n <= before + 1);
		before = n;
	}
	CU_ASSERT_EQUAL(before, 12);
	free(bytes);
	made_end(&made);
}

TEST("with any byte changed all samples are right that are there")
{
	struct made made;
	char path[128], *bytes;
	size_t len;

	made_begin(&made, 3);
	made_open(&made);
	for (uint64_t t = 0; t < 12; t++)
		made_add(&made, t);
	made_file(&made, 1, path);
	bytes = read_file(path, &len);
	for (size_t at = 0; at < len; at++) {
		struct record_reader *reader;
		struct record_segments segments = { VEC_INIT };

		bytes[at] ^= 0x41;
		write_file(path, bytes, len);
		bytes[at] ^= 0x41;
		if (record_reader_open(made.dir, &reader))
			continue;
		CU_ASSERT_PTR_NULL(record_reader_segments(reader, &segments));
		CU_ASSERT_EQUAL_FATAL(segments.vec.nr, 1);
		CU_ASSERT(segments.vec.at[0].damaged || segments.vec.at[0].torn);
		CU_ASSERT(count_samples(&made) >= 0);
		vec_free(&segments.vec);
		record_reader_close(reader);
	}
	free(bytes);
	made_end(&made);
}

/* Mutations whose sums are right: what a hostile writer would make. */
TEST("ten thousand mutations, in bounded memory")
{
	struct made made;
	char path[128], *bytes;
	uint64_t random = 88172645463325252ull;
	struct rusage before, after;
	size_t len;

	made_begin(&made, 8);
	made_open(&made);
	for (uint64_t t = 0; t < 8; t++)
		made_add(&made, t);
	made_file(&made, 1, path);
	bytes = read_file(path, &len);
	getrusage(RUSAGE_SELF, &before);
	for (unsigned i = 0; i < 10000; i++) {
		char *mutant = malloc(len);

		memcpy(mutant, bytes, len);
		for (unsigned k = 0; k < 1 + i % 4; k++) {
			unit_random(&random);
			mutant[random % len] = (char)(random >> 40);
		}
		made_resum(mutant, len);
		write_file(path, mutant, len);
		count_samples(&made);
		free(mutant);
	}
	getrusage(RUSAGE_SELF, &after);
	CU_ASSERT(after.ru_maxrss - before.ru_maxrss < 400 << 10);
	free(bytes);
	made_end(&made);
}

TEST("Ctrl-C ends the reading, and nothing is lost of what is read later")
{
	struct made made;
	struct record_moments moments = { VEC_INIT };
	struct record_reader *reader;
	struct err *err;
	bool more;

	made_begin(&made, 5);
	made_open(&made);
	made_add(&made, 0);
	reader = made_read(&made);
	for (uint64_t t = 1; t < 100; t++)
		made_add(&made, t);
	cancel_request();
	err = record_reader_refresh(reader, &more);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_CANCELLED);
	cancel_clear();
	CU_ASSERT_PTR_NULL_FATAL(record_reader_refresh(reader, &more));
	CU_ASSERT_PTR_NULL_FATAL(record_reader_moments(reader, 0, 0, UINT64_MAX, &moments));
	CU_ASSERT_EQUAL(moments.vec.nr, 100);
	vec_free(&moments.vec);
	record_reader_close(reader);
	made_close(&made);
	made_end(&made);
}

/* To read all of it would take minutes. */
TEST("a hole of 60 GB behind the last sample is not read")
{
	struct made made;
	struct record_reader *reader;
	struct record_segments segments = { VEC_INIT };
	char path[128];

	made_begin(&made, 5);
	made_open(&made);
	made_add(&made, 0);
	made_close(&made);
	snprintf(path, sizeof(path), "%s/00000001.mrec", made.dir);
	CU_ASSERT_EQUAL_FATAL(truncate(path, 60ll << 30), 0);
	CU_ASSERT_EQUAL(count_samples(&made), 1);
	reader = made_read(&made);
	CU_ASSERT_PTR_NULL_FATAL(record_reader_segments(reader, &segments));
	CU_ASSERT_EQUAL(segments.vec.nr, 1);
	CU_ASSERT(segments.vec.at[0].torn > 50ull << 30);
	vec_free(&segments.vec);
	record_reader_close(reader);
	made_end(&made);
}

static void count_marks(const struct record_reader *reader, const struct record_events *events, uint32_t *ret)
{
	*ret = 0;
	vec_each(event, &events->vec) {
		if (event->kind != RECORD_EVENT_MARK)
			continue;
		CU_ASSERT_FATAL(record_reader_target(reader, event->target)->start == event->number);
		++*ret;
	}
}

static void check_all_but(const struct made *made, uint64_t left_out, uint64_t samples)
{
	struct record_reader *reader = made_read(made);
	struct record_target_list targets = { VEC_INIT };
	struct record_events events = { VEC_INIT };
	uint32_t marks;
	bool more;

	/* Those of the cursor are no others. */
	CU_ASSERT_EQUAL((uint64_t)count_samples(made), samples);
	CU_ASSERT_PTR_NULL_FATAL(record_reader_refresh(reader, &more));
	CU_ASSERT_EQUAL(record_reader_targets_left_out(reader), left_out);
	CU_ASSERT_PTR_NULL_FATAL(record_reader_targets(reader, &targets));
	CU_ASSERT_EQUAL(targets.vec.nr, 70001 - left_out);
	CU_ASSERT_PTR_NULL_FATAL(record_reader_events(reader, 0, 0, UINT64_MAX, &events));
	count_marks(reader, &events, &marks);
	CU_ASSERT_EQUAL(marks, 75000 - left_out);
	vec_free(&targets.vec);
	vec_free(&events.vec);
	record_reader_close(reader);
}

/* Each recorder has fewer than are read, and both together more; 5,000 are in the files of both. */
TEST("of 70,001 processes the later ones are left out, and counted")
{
	static const uint64_t numbers[] = { 1, 2 };
	struct record_packed packed;
	struct made made;
	struct stat st, again;
	bool stop = false;
	int dir_fd;

	made_begin(&made, 3);
	made_open(&made);
	for (uint64_t t = 0; t < 10; t++)
		made_add(&made, t);
	made_marks(&made, 0, 40000);
	made_close(&made);
	made_open(&made);
	made_marks(&made, 35000, 70000);
	for (uint64_t t = 10; t < 20; t++)
		made_add(&made, t);
	made_close(&made);
	check_all_but(&made, 70001 - RECORD_TARGETS_MOST, 20);
	/* One segment would lose them: they are packed into two. */
	dir_fd = open(made.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_PTR_NULL_FATAL(record_pack(dir_fd, numbers, 2, 60, &stop, &packed));
	CU_ASSERT(packed.nr == 1 && packed.number == 1 && packed.last == 1);
	check_all_but(&made, 70001 - RECORD_TARGETS_MOST, 20);
	/* A recorder does so once, though both belong into one by their age. */
	made_open(&made);
	made_add(&made, 200000);
	record_writer_settle(made.writer);
	CU_ASSERT_FATAL(!fstatat(dir_fd, "00000001.mrec", &st, 0) && record_writer_state(made.writer).segments == 3);
	made_add(&made, 207500);
	record_writer_settle(made.writer);
	CU_ASSERT(!fstatat(dir_fd, "00000001.mrec", &again, 0) && again.st_ino == st.st_ino);
	CU_ASSERT(record_writer_state(made.writer).segments == 3);
	made_close(&made);
	close(dir_fd);
	check_all_but(&made, 70001 - RECORD_TARGETS_MOST, 22);
	made_end(&made);
}

TEST("names are forgotten before there are too many processes of a recorder")
{
	struct made made;
	uint64_t epoch;

	made_begin(&made, 3);
	made_open(&made);
	made_add(&made, 0);
	made_marks(&made, 0, 40000);
	epoch = made.epoch;
	for (uint64_t t = 3600; t < 3610; t++)
		made_add(&made, t);
	CU_ASSERT_NOT_EQUAL(made.epoch, epoch);
	made_marks(&made, 40000, 80000);
	made_close(&made);
	CU_ASSERT_EQUAL(count_samples(&made), 11);
	made_end(&made);
}
