/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files of a recording, by whoever can write them. An input is a list of frames: a byte of the kind (its
 * highest bit: compressed), two of the length, and the payload. They get their heads and sums here, behind a head of
 * a segment that is sound, so that what is read is the payloads. Where the kind is 0 the bytes lie there without a head.
 */

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fuzz/writes.h"
#include "record/input.h"

#define NAMES_MOST	(64u << 20)
#define ITEMS_MOST	4096u	/* of one input */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct err *put_head(struct str *file)
{
	/* Main and minor version, number, last number, plain, and a time. */
	static const uint8_t head[] = { 1, 1, 1, 1, 0, 100 };

	return record_frame_put(file, RECORD_FRAME_SEGMENT, false, head, sizeof(head));
}

static struct err *put_frames(struct input *input, struct str *file)
{
	struct err *err = put_head(file);

	while (!err && input->len > 3) {
		uint8_t kind = input_byte(input);
		size_t len = input_byte(input);

		len = MIN(len | (size_t)input_byte(input) << 8, input->len);
		if (kind & 0x7f)
			err = record_frame_put(file, kind & 0x7f, kind & 0x80, input->at, len);
		else
			err = str_add_bytes(file, (const char *)input->at, len);
		input->at += len;
		input->len -= len;
	}
	return err;
}

/* What is read refers to names that there are. */
static void check_string(const struct record_names *names, uint32_t number)
{
	size_t len;
	const char *text = record_names_get_string(names, number, &len);

	if (number && (!text || text[len]))
		abort();
}

static void check_target(const struct record_names *names, uint32_t number)
{
	if (number > record_names_nr(names, RECORD_NAME_TARGET))
		abort();
	if (number)
		check_string(names, record_names_get_target(names, number)->name);
}

static void check_stack(const struct record_names *names, uint64_t number)
{
	struct record_stack stack;

	if (!number || number > record_names_nr(names, RECORD_NAME_STACK))
		abort();
	stack = record_names_get_stack(names, (uint32_t)number);
	for (uint32_t i = 0; i < stack.nr; i++) {
		if (stack.locations[i] > record_names_nr(names, RECORD_NAME_LOCATION))
			abort();
		if (stack.locations[i])
			check_string(names, record_names_get_location(names, stack.locations[i]).module);
	}
}

static void check_sample(const struct record_names *names, const struct record_sample *sample)
{
	const struct record_table *sites = &sample->table[RECORD_SITES];

	check_target(names, sample->target);
	for (size_t i = 0; i < sites->nr; i++)
		check_stack(names, sites->keys[i]);
}

static void read_all(int fd)
{
	struct record_names names;
	struct record_input input;
	struct record_event event;
	struct record_sample sample;
	enum record_item item = RECORD_ITEM_EVENT;
	struct err *err;

	record_names_init(&names, NAMES_MOST);
	err = record_input_begin(&input, &names, fd, RECORD_ALL_TABLES);
	for (unsigned i = 0; !err && item != RECORD_ITEM_NONE && i < ITEMS_MOST; i++) {
		err = record_input_next(&input, &item, &event, &sample);
		if (err || item == RECORD_ITEM_NONE)
			break;
		if (item == RECORD_ITEM_SAMPLE) {
			check_sample(&names, &sample);
			continue;
		}
		check_target(&names, event.target);
		check_string(&names, event.text);
	}
	record_input_free(&input);
	record_names_free(&names);
	err_ignore(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct input input = { bytes, len };
	AUTO_STR struct str file = STR_INIT;
	AUTO_CLOSE int fd = memfd_create("segment", MFD_CLOEXEC);

	if (fd < 0 || put_frames(&input, &file) || write(fd, str_text(&file), file.len) != (ssize_t)file.len)
		return 0;
	read_all(fd);
	return 0;
}
