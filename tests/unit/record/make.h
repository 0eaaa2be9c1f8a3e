/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording of a process that there is none of: sites with stacks, and totals. */
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include "record/figures.h"
#include "record/reader.h"
#include "record/writer.h"
#include "unit.h"

#define SECOND	1000000000ull
/* The time at which recordings begin: 2026-11-02 00:00, in a slice of every length. */
#define BEGIN	(1793577600ull * SECOND)

struct made {
	char dir[64];
	struct record_writer *writer;
	struct record_limits limits;
	uint64_t epoch;
	uint32_t target, *stack, nr_stacks;
	uint32_t bytes_name, count_name, held_name, note_name;
	struct record_table table[RECORD_TABLES];
	struct record_sample sample;
};

static inline void made_begin(struct made *made, uint32_t stacks)
{
	/* Days are played in seconds: no disk could sync as often. */
	*made = (struct made){ .dir = "/dev/shm/mdbg-record-XXXXXX", .nr_stacks = stacks };
	if (!mkdtemp(made->dir))
		strcpy(made->dir, "/tmp/mdbg-record-XXXXXX");
	CU_ASSERT_FATAL(!access(made->dir, W_OK) || mkdtemp(made->dir));
	made->stack = calloc(stacks + 1, sizeof(*made->stack));
	for (unsigned kind = 0; kind < RECORD_TABLES; kind++)
		record_table_init(&made->table[kind], kind);
}

static inline uint32_t made_string(struct made *made, const char *text)
{
	uint32_t ret = 0;

	CU_ASSERT_PTR_NULL_FATAL(record_names_string(record_writer_names(made->writer), text, &ret));
	return ret;
}

/* A function of its own that main calls. */
static inline uint32_t made_stack(struct made *made, uint32_t i)
{
	struct record_names *names = record_writer_names(made->writer);
	struct record_function function = { .line = i, .offset = 16 };
	struct record_location location = { .nr = 1, .functions = &function, .address = 64ull * i };
	uint32_t locations[2], ret = 0;
	char text[64];

	location.module = made_string(made, "/usr/bin/server");
	location.build_id = made_string(made, "00112233445566778899aabbccddeeff00112233");
	function.file = made_string(made, "server.c");
	snprintf(text, sizeof(text), "load_%u(unsigned long)", i);
	function.name = made_string(made, text);
	snprintf(text, sizeof(text), "load_%u", i);
	function.brief = made_string(made, text);
	function.name_bare = function.brief_bare = (uint32_t)strlen(text);
	CU_ASSERT_PTR_NULL_FATAL(record_names_location(names, &location, &locations[0]));
	function.name = function.brief = made_string(made, "main");
	location.address = 1;
	CU_ASSERT_PTR_NULL_FATAL(record_names_location(names, &location, &locations[1]));
	CU_ASSERT_PTR_NULL_FATAL(record_names_stack(names,
		&(struct record_stack){ .nr = 2, .locations = locations }, &ret));
	return ret;
}

static inline void made_names(struct made *made)
{
	struct record_target target = { .pid = 4711, .start = 12345 };

	target.name = made_string(made, "server");
	target.boot = made_string(made, "f00d");
	CU_ASSERT_PTR_NULL_FATAL(record_names_target(record_writer_names(made->writer), &target,
						     &made->target));
	for (uint32_t i = 0; i < made->nr_stacks; i++)
		made->stack[i] = made_stack(made, i);
	made->bytes_name = made_string(made, RECORD_TOTAL_BYTES);
	made->count_name = made_string(made, RECORD_TOTAL_COUNT);
	made->held_name = made_string(made, "held");
	made->note_name = made_string(made, "what blocks hold");
	made->epoch = record_writer_epoch(made->writer);
}

static inline void made_open(struct made *made)
{
	CU_ASSERT_PTR_NULL_FATAL(record_writer_open(made->dir, &made->limits, "mdbg test", &made->writer));
	made_names(made);
}

/* What site i holds at second t: a leak in site 0, and others that come and go. */
static inline uint64_t made_bytes(uint32_t i, uint64_t t)
{
	return i ? 64 * ((i * 7 + t * (i % 10 == 1)) % 1000) : 1000 + 24 * t;
}

/* The sample of second t. */
static inline void made_sample(struct made *made, uint64_t t)
{
	struct record_table *sites = &made->table[RECORD_SITES], *totals = &made->table[RECORD_TOTALS];
	struct record_table *account = &made->table[RECORD_ACCOUNT];
	uint64_t sum = 0, time_ns = BEGIN + t * SECOND;
	bool failed = false;

	record_table_clear(sites);
	record_table_clear(totals);
	record_table_clear(account);
	for (uint32_t i = 0; i < made->nr_stacks; i++) {
		uint64_t bytes = made_bytes(i, t), count = bytes / 8;

		sum += bytes;
		failed |= record_table_add(sites, made->stack[i], (const uint64_t[]){
			bytes, count, bytes ? count + t : 0, bytes ? bytes + 8 * t : 0 }) != NULL;
	}
	failed |= record_table_add(totals, made->bytes_name, (const uint64_t[]){ sum + 1 }) != NULL;
	failed |= record_table_add(totals, made->count_name, (const uint64_t[]){ sum / 8 + 1 }) != NULL;
	failed |= record_table_add(account, made->held_name,
				   (const uint64_t[]){ sum, 1, made->note_name, 1 }) != NULL;
	CU_ASSERT_FATAL(!failed);
	for (unsigned kind = 0; kind < RECORD_TABLES; kind++)
		if (made->table[kind].nr) {
			CU_ASSERT_PTR_NULL_FATAL(record_table_sort(&made->table[kind], false));
			made->table[kind].time_ns = time_ns;
		}
	made->sample = (struct record_sample){
		.time_ns = time_ns, .monotonic_ns = (1000 + t) * SECOND, .target = made->target,
		.log = 1, .table = made->table,
	};
}

static inline void made_add(struct made *made, uint64_t t)
{
	if (record_writer_epoch(made->writer) != made->epoch)
		made_names(made);
	made_sample(made, t);
	CU_ASSERT_PTR_NULL_FATAL(record_writer_sample(made->writer, &made->sample));
	/* Hours are played in moments: what is packed is to have been packed by then. */
	if (t % 60 == 0)
		record_writer_settle(made->writer);
}

/* A mark of each of the processes from..to - 1. */
static inline void made_marks(struct made *made, uint32_t from, uint32_t to)
{
	struct record_names *names = record_writer_names(made->writer);
	struct record_event event = { .time_ns = BEGIN, .kind = RECORD_EVENT_MARK };

	event.text = made_string(made, "mark");
	for (uint32_t i = from; i < to; i++) {
		struct record_target target = { .pid = (pid_t)(10000 + i), .start = i };
		struct err *err = record_names_target(names, &target, &event.target);

		event.number = i;
		if (!err)
			err = record_writer_event(made->writer, &event);
		CU_ASSERT_PTR_NULL_FATAL(err);
	}
}

static inline void made_close(struct made *made)
{
	CU_ASSERT_PTR_NULL(record_writer_close(made->writer, made->sample.time_ns, "end"));
	made->writer = NULL;
}

static inline void made_end(struct made *made)
{
	char command[128];

	if (made->writer)
		made_close(made);
	for (unsigned kind = 0; kind < RECORD_TABLES; kind++)
		record_table_free(&made->table[kind]);
	free(made->stack);
	snprintf(command, sizeof(command), "rm -rf %s", made->dir);
	CU_ASSERT_EQUAL(system(command), 0);
}

static inline struct record_reader *made_read(const struct made *made)
{
	struct record_reader *reader = NULL;
	struct err *err = record_reader_open(made->dir, &reader);

	if (err)
		fprintf(stderr, "%s\n", err->msg);
	CU_ASSERT_PTR_NULL_FATAL(err);
	return reader;
}

static inline bool made_is_lost(const struct record_reader *reader, uint32_t string)
{
	const char *text = record_reader_string(reader, string);

	return text && !strncmp(text, "(lost ", 6);
}

/* Is this what made_sample has made, by what the names say? Those that are lost say nothing. */
static inline bool made_is(const struct record_reader *reader, const struct record_sample *sample,
			   uint32_t nr_stacks)
{
	uint64_t t = (sample->time_ns - BEGIN) / SECOND, sum = 0;
	const struct record_table *sites = &sample->table[RECORD_SITES];

	for (size_t row = 0; row < sites->nr; row++) {
		struct record_stack stack = record_reader_stack(reader, (uint32_t)sites->keys[row]);
		struct record_location location;
		const char *name;
		unsigned i;

		if (made_is_lost(reader, stack.end))
			return true;
		if (stack.nr != 2)
			return false;
		location = record_reader_location(reader, stack.locations[0]);
		name = location.nr ? record_reader_string(reader, location.functions[0].brief) : NULL;
		if (made_is_lost(reader, location.entry) ||
		    (location.nr && made_is_lost(reader, location.functions[0].brief)))
			return true;
		if (!name || sscanf(name, "load_%u", &i) != 1 || i >= nr_stacks ||
		    sites->values[row * RECORD_SITE_COLUMNS + RECORD_SITE_BYTES] != made_bytes(i, t))
			return false;
		sum += made_bytes(i, t);
	}
	if (!record_reader_find_string(reader, RECORD_TOTAL_BYTES))
		return true;
	return record_table_figure(reader, &sample->table[RECORD_TOTALS], RECORD_TOTAL_BYTES) == sum;
}

/* The names of the files, in order; *ret gets how many there are. */
static inline void made_file(const struct made *made, uint64_t number, char path[128])
{
	snprintf(path, 128, "%s/%08llu.mrec", made->dir, (unsigned long long)number);
}

/* Make the sums of all frames right, as far as their lengths lead from one to the next. */
static inline void made_resum(char *bytes, size_t len)
{
	for (size_t at = 0; at + 16 <= len;) {
		uint32_t magic = 0x4652444d, size, sum;
		uint16_t head;

		memcpy(bytes + at, &magic, sizeof(magic));
		memcpy(&size, bytes + at + 4, sizeof(size));
		if (size > len - at - 16)
			break;
		head = (uint16_t)crc32(0, (const Bytef *)bytes + at, 10);
		memcpy(bytes + at + 10, &head, sizeof(head));
		sum = (uint32_t)crc32(0, (const Bytef *)bytes + at + 16, size);
		memcpy(bytes + at + 12, &sum, sizeof(sum));
		at += 16 + size;
	}
}
