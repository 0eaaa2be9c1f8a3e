/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packs and removes segments.
 *
 * One packing is under way at a time (record/packing.h). Segments that have ended are added behind those
 * that it packs, and none is removed until its result has taken their place.
 *
 * Segments are packed together with their neighbours of the same slice of time, as soon as all of
 * that slice is old enough. So a sample is thinned up to one slice later than the table says.
 */

#include "record/shelf.h"

#include "base/cleanup.h"
#include "base/trace.h"
#include "record/folder.h"
#include "record/input.h"
#include "record/packing.h"

#define SECOND		1000000000ull
#define HOUR		(3600 * SECOND)
#define DAY		(24 * HOUR)

/* docs/record-format.md, "Which samples are kept" */
static const struct tier {
	uint64_t age_ns, slice_ns, every;
} tiers[] = {
	{ 7 * DAY, 7 * DAY, 3600 },
	{ DAY, DAY, 900 },
	{ 6 * HOUR, 6 * HOUR, 180 },
	{ HOUR, HOUR, 60 },
};

/* Read a segment for its times. */
static struct err *examine(int dir_fd, const struct record_file *file,
			   struct record_shelf_segment *ret)
{
	struct record_names names;
	AUTO_CLOSE int fd = -1;
	struct record_input input;
	struct record_event event;
	struct record_sample sample;
	enum record_item item = RECORD_ITEM_EVENT;
	struct stat st;
	struct err *err = record_folder_open(dir_fd, file->number, &st, &fd);

	if (err)
		return err;
	record_names_init(&names, RECORD_NAMES_MOST);
	err = record_input_begin(&input, &names, fd, 0);
	while (!err && item != RECORD_ITEM_NONE) {
		uint64_t time_ns;

		err = record_input_next(&input, &item, &event, &sample);
		if (err || item == RECORD_ITEM_NONE)
			break;
		time_ns = item == RECORD_ITEM_SAMPLE ? sample.time_ns : event.time_ns;
		ret->from_ns = ret->from_ns ? MIN(ret->from_ns, time_ns) : time_ns;
		ret->to_ns = MAX(ret->to_ns, time_ns);
	}
	if (!err) {
		ret->last = MAX(ret->number, input.last);
		ret->every = input.every;
	}
	record_input_free(&input);
	record_names_free(&names);
	return err;
}

static struct err *find(struct record_shelf *shelf, const struct record_file *file)
{
	uint64_t changed_ns = (uint64_t)file->st.st_mtim.tv_sec * SECOND;
	struct record_shelf_segment segment = {
		.number = file->number, .last = file->number, .bytes = (uint64_t)file->st.st_size,
	};
	struct err *err = examine(shelf->dir_fd, file, &segment);

	if (err && (err->code == ERR_UNSUPPORTED || err->code == ERR_NOMEM))
		return err;
	segment.unreadable = err;
	if (!segment.to_ns)
		segment.from_ns = segment.to_ns = changed_ns;
	return vec_push(&shelf->vec, segment);
}

struct err *record_shelf_open(struct record_shelf *shelf, int dir_fd)
{
	struct record_files files = { VEC_INIT };
	struct err *err = record_folder_list(dir_fd, &files);
	uint64_t last = 0;

	*shelf = (struct record_shelf){ .dir_fd = dir_fd, .next = 1 };
	for (size_t i = 0; !err && i < files.vec.nr; i++) {
		uint64_t number = files.vec.at[i].number;

		if (number <= last) {
			unlinkat(dir_fd, record_folder_name(number).text, 0);
			continue;
		}
		err = find(shelf, &files.vec.at[i]);
		if (!err)
			last = shelf->vec.at[shelf->vec.nr - 1].last;
		last = MAX(last, number);
		shelf->next = MAX(shelf->next, last + 1);
	}
	vec_free(&files.vec);
	return err;
}

void record_shelf_close(struct record_shelf *shelf)
{
	record_packing_stop(take(shelf->packing));
	vec_free(&shelf->vec);
}

uint64_t record_shelf_next(const struct record_shelf *shelf)
{
	return shelf->next;
}

void record_shelf_add(struct record_shelf *shelf, const struct record_shelf_segment *segment)
{
	shelf->next = segment->last + 1;
	if (vec_push(&shelf->vec, *segment))
		trace_line("record: no memory to pack segment %llu", (unsigned long long)segment->number);
}

static bool together(const struct record_shelf_segment *a, const struct record_shelf_segment *b,
		     const struct tier *tier)
{
	return !a->unreadable && !b->unreadable && !a->full && !b->full &&
	       a->from_ns / tier->slice_ns == b->from_ns / tier->slice_ns;
}

/* Begin to pack `nr` segments from number i on into one. */
static void begin_pack(struct record_shelf *shelf, size_t i, size_t nr, uint64_t every,
		       uint64_t now_ns)
{
	uint64_t numbers[RECORD_PACKING_MOST];
	struct err *err;

	for (size_t k = 0; k < nr; k++)
		numbers[k] = shelf->vec.at[i + k].number;
	shelf->packs = i;
	shelf->packs_nr = nr;
	shelf->packs_every = every;
	err = record_packing_begin(shelf->dir_fd, numbers, nr, every, &shelf->packing);
	if (!err)
		return;
	trace_line("record: %s", err->msg);
	shelf->again_ns = now_ns + HOUR;
}

/* What was packed takes the place of the segments that it was made of. */
static void end_pack(struct record_shelf *shelf, uint64_t now_ns)
{
	struct record_shelf_segment *at = &shelf->vec.at[shelf->packs];
	struct record_packed made;
	struct err *err = record_packing_end(take(shelf->packing), &made);
	size_t nr = err ? 0 : made.nr;

	if (err) {
		trace_line("record: pack segment %llu: %s", (unsigned long long)at->number, err->msg);
		/* It stays so. */
		at->unreadable = err->code == ERR_RANGE;
		shelf->again_ns = now_ns + HOUR;
		return;
	}
	*at = (struct record_shelf_segment){
		.number = made.number, .last = MAX(made.last, at[nr - 1].last), .bytes = made.bytes,
		.from_ns = at->from_ns, .to_ns = MAX(made.to_ns, at->to_ns), .every = shelf->packs_every,
		.full = nr < shelf->packs_nr,
	};
	memmove(at + 1, at + nr, (shelf->vec.nr - shelf->packs - nr) * sizeof(*at));
	shelf->vec.nr -= nr - 1;
}

/* Begin with the first that belongs to a tier. */
static void pack_tier(struct record_shelf *shelf, const struct tier *tier, uint64_t now_ns)
{
	for (size_t i = 0; !shelf->packing && i < shelf->vec.nr; i++) {
		const struct record_shelf_segment *at = &shelf->vec.at[i];
		uint64_t end = (at->from_ns / tier->slice_ns + 1) * tier->slice_ns;
		bool due = at->every < tier->every;
		size_t nr = 1;

		if (at->unreadable || now_ns < tier->age_ns || end > now_ns - tier->age_ns)
			continue;
		for (; nr < RECORD_PACKING_MOST && i + nr < shelf->vec.nr && together(at, &at[nr], tier); nr++)
			due |= at[nr].every < tier->every;
		if (due)
			begin_pack(shelf, i, nr, tier->every, now_ns);
	}
}

static void remove_old(struct record_shelf *shelf, const struct record_limits *limits, uint64_t now_ns)
{
	uint64_t bytes, segments, from;

	record_shelf_sums(shelf, &bytes, &segments, &from);
	while (shelf->vec.nr) {
		const struct record_shelf_segment *at = &shelf->vec.at[0];
		bool old = limits->keep_ns && at->to_ns + limits->keep_ns < now_ns;

		if (!old && (!limits->size || bytes <= limits->size))
			break;
		if (unlinkat(shelf->dir_fd, record_folder_name(at->number).text, 0))
			break;
		bytes -= MIN(bytes, at->bytes);
		vec_remove(&shelf->vec, 0);
	}
}

void record_shelf_tidy(struct record_shelf *shelf, const struct record_limits *limits,
		       uint64_t now_ns)
{
	if (shelf->packing && !record_packing_is_done(shelf->packing))
		return;
	if (shelf->packing)
		end_pack(shelf, now_ns);
	remove_old(shelf, limits, now_ns);
	for (size_t i = 0; now_ns >= shelf->again_ns && i < sizeof(tiers) / sizeof(*tiers); i++)
		pack_tier(shelf, &tiers[i], now_ns);
}

void record_shelf_settle(struct record_shelf *shelf, const struct record_limits *limits,
			 uint64_t now_ns)
{
	do {
		if (shelf->packing)
			end_pack(shelf, now_ns);
		record_shelf_tidy(shelf, limits, now_ns);
	} while (shelf->packing);
}

void record_shelf_sums(const struct record_shelf *shelf, uint64_t *bytes_ret,
		       uint64_t *segments_ret, uint64_t *from_ret)
{
	*bytes_ret = 0;
	*segments_ret = shelf->vec.nr;
	*from_ret = shelf->vec.nr ? shelf->vec.at[0].from_ns : 0;
	vec_each(segment, &shelf->vec)
		*bytes_ret += segment->bytes;
}
