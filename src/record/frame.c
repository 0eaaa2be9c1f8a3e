/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes frames, and reads those of a file that anybody may have written. */

#include "record/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define MAGIC		0x4652444du
#define SUMMED_AT_6	10u		/* bytes of a head before its own sum */
#define PACKED		1u		/* flag */
#define LEVEL		3		/* of zstd */
#define LOOK		65536u		/* bytes in which the next frame is looked for at a time */
/* What is summed in vain while a frame is looked for, of one file; and what its frames may have. */
#define SUMMED_MOST	(256ull << 20)
#define UNPACKED_MOST	(2ull << 30)

struct head {
	uint32_t magic, len;
	uint8_t kind, flags;
	uint16_t sum;
	uint32_t payload_sum;
};

_Static_assert(sizeof(struct head) == RECORD_FRAME_HEAD, "the head is as in the format");

static uint32_t sum_of(const void *bytes, size_t len)
{
	return (uint32_t)crc32(crc32(0, Z_NULL, 0), bytes, (uInt)len);
}

static struct err *put(struct str *to, enum record_frame_kind kind, uint8_t flags,
		       const void *payload, size_t len)
{
	struct head head = {
		.magic = MAGIC, .len = (uint32_t)len, .kind = (uint8_t)kind, .flags = flags,
		.payload_sum = sum_of(payload, len),
	};
	size_t before = to->len;
	struct err *err;

	head.sum = (uint16_t)sum_of(&head, SUMMED_AT_6);
	err = str_add_bytes(to, &head, sizeof(head));
	if (!err)
		err = str_add_bytes(to, payload, len);
	if (err)
		to->len = before;
	return err;
}

struct err *record_frame_put(struct str *to, enum record_frame_kind kind, bool packed,
			     const void *payload, size_t len)
{
	size_t room = packed ? ZSTD_compressBound(len) : 0, small;
	AUTO_FREE void *bytes = NULL;

	if (len > RECORD_FRAME_MOST)
		return err_create(ERR_RANGE, "a frame of %zu bytes is too long", len);
	if (!packed)
		return put(to, kind, 0, payload, len);
	bytes = malloc(room);
	if (!bytes)
		return err_nomem;
	small = ZSTD_compress(bytes, room, payload, len, LEVEL);
	if (ZSTD_isError(small) || small >= len)
		return put(to, kind, 0, payload, len);
	return put(to, kind, PACKED, bytes, small);
}

static struct err *make_room(uint8_t **at, size_t *room, size_t len)
{
	uint8_t *more;

	if (len <= *room)
		return NULL;
	more = realloc(*at, len);
	if (!more)
		return err_nomem;
	*at = more;
	*room = len;
	return NULL;
}

static bool head_is_good(const struct head *head)
{
	return head->magic == MAGIC && head->len <= RECORD_FRAME_MOST &&
	       head->sum == (uint16_t)sum_of(head, SUMMED_AT_6);
}

/* Unpack a payload, if it is packed; false: it is damaged. */
static struct err *unpack(struct record_frames *frames, const struct head *head,
			  const uint8_t *payload, uint8_t **at, size_t *room,
			  struct record_frame *ret, bool *good_ret)
{
	unsigned long long len = head->len;
	struct err *err;

	*good_ret = false;
	if (head->flags & ~PACKED)
		return NULL;
	if (head->flags & PACKED) {
		len = ZSTD_getFrameContentSize(payload, head->len);
		if (len > RECORD_FRAME_MOST)	/* also what is no size, or none is known */
			return NULL;
		err = make_room(at, room, (size_t)len + 1);
		if (err)
			return err;
		if (ZSTD_decompress(*at, (size_t)len, payload, head->len) != len)
			return NULL;
		payload = *at;
	}
	frames->unpacked += len;
	*good_ret = frames->unpacked <= UNPACKED_MOST;
	*ret = (struct record_frame){ head->kind, { payload, payload + len, false } };
	return NULL;
}

/*
 * Take the frame at an offset. *len_ret: of all of it in the file; 0: there is none. torn_ret: the
 * file ends in it, so there is none behind it either.
 */
static struct err *take_at(struct record_frames *frames, uint64_t at, bool *torn_ret,
			   struct record_frame *ret, size_t *len_ret)
{
	struct head head;
	struct err *err;
	bool good;

	*len_ret = 0;
	*torn_ret = true;
	if (fd_read_at(frames->fd, at, &head, sizeof(head)) != sizeof(head))
		return errno ? err_sys("read") : NULL;
	*torn_ret = false;
	if (!head_is_good(&head))
		return NULL;
	err = make_room(&frames->file, &frames->file_room, (size_t)head.len + 1);
	if (err)
		return err;
	if (fd_read_at(frames->fd, at + sizeof(head), frames->file, head.len) != head.len) {
		*torn_ret = true;
		return errno ? err_sys("read") : NULL;
	}
	if (sum_of(frames->file, head.len) != head.payload_sum) {
		frames->summed += head.len + sizeof(head);
		return NULL;
	}
	err = unpack(frames, &head, frames->file, &frames->bytes, &frames->bytes_room, ret, &good);
	if (!err && good)
		*len_ret = sizeof(head) + head.len;
	return err;
}

/* The next place behind `at` where a frame may begin; the end of the file if there is none. */
static uint64_t next_place(struct record_frames *frames, uint64_t at, uint64_t end)
{
	uint8_t bytes[LOOK + 3];
	const uint32_t magic = MAGIC;
	uint64_t begin = at;

	for (; at < end; at += LOOK) {
		size_t len = fd_read_at(frames->fd, at, bytes, sizeof(bytes));
		const uint8_t *found = memmem(bytes, len, &magic, sizeof(magic));

		/* The file may be a hole of any length. */
		if (frames->summed >= SUMMED_MOST)
			return at;
		frames->summed += len;
		if (found)
			return at + (uint64_t)(found - bytes);
		if (len < sizeof(bytes))
			break;
	}
	/* A head may begin at the end of the file. */
	return MAX(begin, end - MIN(end, (uint64_t)RECORD_FRAME_HEAD - 1));
}

/* The next frame of the file itself. */
static struct err *next_of_file(struct record_frames *frames, struct record_frame *ret,
				bool *found_ret, bool *lost_ret)
{
	uint64_t at = MAX(frames->at, frames->look), end;
	struct stat st;
	struct err *err = NULL;
	size_t len = 0;
	bool torn = false;

	*found_ret = false;
	if (fstat(frames->fd, &st))
		return err_sys("read");
	end = (uint64_t)st.st_size;
	while (at < end && frames->summed < SUMMED_MOST) {
		err = take_at(frames, at, &torn, ret, &len);
		if (err || len || torn)
			break;
		at = next_place(frames, at + 1, end);
	}
	frames->look = at;
	frames->torn = end - MIN(frames->at, end);
	if (err || !len)
		return err;
	*lost_ret |= at > frames->at;
	frames->damaged += at - frames->at;
	frames->torn = 0;
	frames->at = at + len;
	*found_ret = true;
	return NULL;
}

/* The next frame of a block: what is damaged in it was damaged when its sum was made. */
static struct err *next_of_block(struct record_frames *frames, struct record_frame *ret,
				 bool *found_ret)
{
	struct record_bytes *block = &frames->block;
	struct head head;
	struct err *err = NULL;
	size_t left = (size_t)(block->end - block->at);
	bool good = false;

	*found_ret = false;
	if (left >= sizeof(head)) {
		memcpy(&head, block->at, sizeof(head));
		good = head_is_good(&head) && head.len <= left - sizeof(head) &&
		       head.kind != RECORD_FRAME_BLOCK &&
		       sum_of(block->at + sizeof(head), head.len) == head.payload_sum;
	}
	if (good)
		err = unpack(frames, &head, block->at + sizeof(head), &frames->inner,
			     &frames->inner_room, ret, &good);
	if (!good) {
		frames->damaged += left;
		block->at = block->end;
		return err;
	}
	block->at += sizeof(head) + head.len;
	*found_ret = true;
	return NULL;
}

struct err *record_frame_next(struct record_frames *frames, struct record_frame *ret,
			      bool *found_ret, bool *lost_ret)
{
	struct err *err = NULL;

	*lost_ret = false;
	for (;;) {
		if (frames->block.at < frames->block.end) {
			err = next_of_block(frames, ret, found_ret);
			if (err || *found_ret)
				return err;
			*lost_ret = true;
		}
		err = next_of_file(frames, ret, found_ret, lost_ret);
		if (err || !*found_ret || ret->kind != RECORD_FRAME_BLOCK)
			return err;
		frames->block = ret->payload;
	}
}

void record_frames_free(struct record_frames *frames)
{
	free(frames->file);
	free(frames->bytes);
	free(frames->inner);
}
