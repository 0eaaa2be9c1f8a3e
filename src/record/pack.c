/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packs segments.
 *
 * They are read twice: first it is chosen which samples stay, then these are written. Of each
 * target and each time of `every` seconds the sample with the most bytes stays; so do a target's
 * first and last sample, those on both sides of a gap, the one of a mark, and those of the last seconds
 * before its end.
 * All events stay. The end may be in the next segment, so the last seconds of the whole stay, too.
 *
 * The new file has all that it needs before it gets the name of the first of the old ones, and says
 * up to which number it reaches: if mdbg is killed before the others are removed, nobody reads
 * them.
 */

#include "record/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "record/figures.h"
#include "record/folder.h"
#include "record/frame.h"
#include "record/input.h"
#include "record/output.h"

#define BLOCK		(1u << 20)	/* bytes of a block before it is compressed, about */
#define SECOND		1000000000ull
#define END_NS		(10 * SECOND)	/* before the end of a target: all of that stays */

/* The samples of one target while they are chosen. */
struct choice {
	uint64_t slice, most;		/* the time that is under way, and the most bytes in it */
	size_t best, last;		/* by number among all samples, plus 1; 0: none */
	bool marked;			/* the next one is that of a mark */
};

/* A sample, and whether it stays. */
struct chosen {
	uint32_t target;
	uint64_t time_ns;
	bool stays;
};

struct pack {
	int dir_fd;
	const uint64_t *numbers;
	size_t nr;
	uint64_t every;
	const bool *stop;
	struct record_names names;
	VEC(struct choice) choices;	/* by number of the target */
	VEC(struct chosen) chosen;	/* by number of the sample */
	struct record_output output;
	struct str block;		/* frames that are not in the file yet */
	int fd;
	struct record_packed made;
};

/* What is done with each event and each sample, in their order. */
struct visitor {
	struct err *(*event)(struct pack *pack, const struct record_event *event);
	struct err *(*sample)(struct pack *pack, const struct record_sample *sample, size_t at);
};

static struct err *visit_items(struct pack *pack, const struct visitor *visitor,
			       struct record_input *input, size_t *at)
{
	struct record_event event;
	struct record_sample sample;
	enum record_item item;
	struct err *err;

	for (;;) {
		if (__atomic_load_n(pack->stop, __ATOMIC_RELAXED))
			return err_create(ERR_CANCELLED, "packing was stopped");
		err = record_input_next(input, &item, &event, &sample);
		if (err || item == RECORD_ITEM_NONE)
			return err;
		if (item == RECORD_ITEM_SAMPLE)
			err = visitor->sample(pack, &sample, (*at)++);
		else
			err = visitor->event(pack, &event);
		if (err)
			return err;
	}
}

static struct err *visit(struct pack *pack, const struct visitor *visitor)
{
	struct err *err = NULL;
	size_t at = 0;

	for (size_t i = 0; !err && i < pack->nr; i++) {
		AUTO_CLOSE int fd = -1;
		struct record_input input;
		struct stat st;

		err = record_folder_open(pack->dir_fd, pack->numbers[i], &st, &fd);
		if (err)
			return err;
		err = record_input_begin(&input, &pack->names, fd, RECORD_ALL_TABLES);
		if (!err)
			pack->made.last = MAX(pack->made.last, input.last);
		if (!err)
			err = visit_items(pack, visitor, &input, &at);
		record_input_free(&input);
	}
	/* What was left out would be lost with the old files. */
	return !err && pack->names.left_out.vec.nr ? record_names_too_many_targets() : err;
}

static void note_time(struct pack *pack, uint64_t time_ns)
{
	struct record_packed *made = &pack->made;

	made->from_ns = made->from_ns ? MIN(made->from_ns, time_ns) : time_ns;
	made->to_ns = MAX(made->to_ns, time_ns);
}

static void keep(struct pack *pack, size_t at)
{
	if (at)
		pack->chosen.at[at - 1].stays = true;
}

/* Keep what was before a time; target 0: of all. */
static void keep_end(struct pack *pack, uint32_t target, uint64_t time_ns)
{
	for (size_t i = pack->chosen.nr; i-- > 0;) {
		struct chosen *chosen = &pack->chosen.at[i];

		if (chosen->time_ns + END_NS < time_ns)
			break;
		chosen->stays |= !target || chosen->target == target;
	}
}

static struct err *choose_event(struct pack *pack, const struct record_event *event)
{
	struct choice *choice = vec_slot(&pack->choices, event->target);

	if (!choice)
		return err_nomem;
	choice->marked |= event->kind == RECORD_EVENT_MARK;
	if (event->kind == RECORD_EVENT_EXIT)
		keep_end(pack, event->target, event->time_ns);
	return NULL;
}

static uint64_t bytes_of(const struct pack *pack, const struct record_sample *sample)
{
	uint32_t name = record_names_find(&pack->names, RECORD_TOTAL_BYTES);
	const uint64_t *row = record_table_row(&sample->table[RECORD_TOTALS], name);

	return row ? *row : 0;
}

static struct err *choose_sample(struct pack *pack, const struct record_sample *sample, size_t at)
{
	uint64_t slice = sample->time_ns / (pack->every * SECOND), bytes = bytes_of(pack, sample);
	struct choice *choice = vec_slot(&pack->choices, sample->target);
	struct err *err = vec_push(&pack->chosen, ((struct chosen){ sample->target, sample->time_ns, false }));

	if (!choice || err)
		return err_nomem;
	at++;
	if (sample->gap)
		keep(pack, choice->last);
	if (sample->gap || !choice->last || choice->marked)
		keep(pack, at);
	choice->marked = false;
	if (slice != choice->slice) {
		keep(pack, choice->best);
		choice->slice = slice;
		choice->best = 0;
	}
	if (!choice->best || bytes > choice->most) {
		choice->best = at;
		choice->most = bytes;
	}
	choice->last = at;
	return NULL;
}

/* Put the frames of the block into the file, compressed. */
static struct err *flush_block(struct pack *pack)
{
	AUTO_STR struct str frame = STR_INIT;
	struct err *err;

	if (!pack->block.len)
		return NULL;
	err = record_frame_put(&frame, RECORD_FRAME_BLOCK, true, pack->block.at, pack->block.len);
	if (err)
		return err;
	str_clear(&pack->block);
	for (size_t done = 0; done < frame.len;) {
		ssize_t n = write(pack->fd, frame.at + done, frame.len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys("write");
		done += (size_t)n;
	}
	pack->made.bytes += frame.len;
	return NULL;
}

/* Take what the output has made. The head of a segment stands in no block. */
static struct err *take_output(struct pack *pack)
{
	struct str *out = &pack->output.out;
	struct err *err = NULL;

	if (pack->block.len + out->len > BLOCK)
		err = flush_block(pack);
	if (!err)
		err = str_add_bytes(&pack->block, str_text(out), out->len);
	str_clear(out);
	return err;
}

static struct err *write_event(struct pack *pack, const struct record_event *event)
{
	struct err *err = record_output_event(&pack->output, event);

	note_time(pack, event->time_ns);
	return err ? err : take_output(pack);
}

static struct err *write_sample(struct pack *pack, const struct record_sample *sample, size_t at)
{
	struct err *err;

	if (at >= pack->chosen.nr || !pack->chosen.at[at].stays)
		return NULL;
	note_time(pack, sample->time_ns);
	err = record_output_sample(&pack->output, sample);
	return err ? err : take_output(pack);
}

static struct err *write_head(struct pack *pack, uint64_t time_ns)
{
	const struct record_output_head head = {
		.number = pack->made.number, .last = pack->made.last, .every = pack->every,
		.time_ns = time_ns,
	};
	struct err *err = record_output_begin(&pack->output, &pack->names, &head);
	struct str *out = &pack->output.out;

	if (!err && write(pack->fd, str_text(out), out->len) != (ssize_t)out->len)
		err = err_sys("write");
	pack->made.bytes = out->len;
	str_clear(out);
	return err;
}

static struct err *write_all(struct pack *pack)
{
	static const struct visitor writer = { write_event, write_sample };
	struct err *err = write_head(pack, 0);

	if (!err)
		err = visit(pack, &writer);
	if (!err)
		err = record_output_end(&pack->output);
	if (!err)
		err = take_output(pack);
	if (!err)
		err = flush_block(pack);
	if (!err && fdatasync(pack->fd))
		err = err_sys("write");
	return err;
}

static struct err *replace(struct pack *pack)
{
	if (renameat(pack->dir_fd, RECORD_FOLDER_NEXT, pack->dir_fd,
		     record_folder_name(pack->made.number).text))
		return err_sys("rename");
	for (size_t i = 1; i < pack->nr; i++)
		unlinkat(pack->dir_fd, record_folder_name(pack->numbers[i]).text, 0);
	return NULL;
}

static struct err *pack_all(struct pack *pack)
{
	static const struct visitor chooser = { choose_event, choose_sample };
	struct err *err = visit(pack, &chooser);

	if (err)
		return err;
	vec_each(choice, &pack->choices) {
		keep(pack, choice->best);
		keep(pack, choice->last);
	}
	if (pack->chosen.nr)
		keep_end(pack, 0, pack->chosen.at[pack->chosen.nr - 1].time_ns);
	unlinkat(pack->dir_fd, RECORD_FOLDER_NEXT, 0);
	pack->fd = openat(pack->dir_fd, RECORD_FOLDER_NEXT,
			  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (pack->fd < 0)
		return err_sys("make %s", RECORD_FOLDER_NEXT);
	err = write_all(pack);
	if (!err)
		err = replace(pack);
	close(pack->fd);
	if (err)
		unlinkat(pack->dir_fd, RECORD_FOLDER_NEXT, 0);
	return err;
}

static struct err *pack_some(int dir_fd, const uint64_t *numbers, size_t nr, uint64_t every,
			     const bool *stop, struct record_packed *ret)
{
	struct pack pack = {
		.dir_fd = dir_fd, .numbers = numbers, .nr = nr, .every = every, .stop = stop, .fd = -1,
		.made = { .number = numbers[0], .nr = nr },
	};
	struct err *err;

	record_names_init(&pack.names, RECORD_NAMES_MOST);
	err = pack_all(&pack);
	if (!err)
		*ret = pack.made;
	record_output_free(&pack.output);
	record_names_free(&pack.names);
	vec_free(&pack.choices);
	vec_free(&pack.chosen);
	str_free(&pack.block);
	return err;
}

struct err *record_pack(int dir_fd, const uint64_t *numbers, size_t nr, uint64_t every,
			const bool *stop, struct record_packed *ret)
{
	struct err *err;

	/* One has fewer names than its writer may have. */
	do
		err = pack_some(dir_fd, numbers, nr, every, stop, ret);
	while (err && err->code == ERR_RANGE && (nr /= 2));
	return err;
}
