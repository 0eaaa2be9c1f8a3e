/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames: bytes with a length, a kind and a sum, in a file or in a block (docs/record-format.md,
 * "Frames").
 */
#pragma once

#include "base/str.h"
#include "record/code.h"
#include "record/record.h"

#define RECORD_FRAME_HEAD	16u

/* Their numbers are those of the format. */
enum record_frame_kind {
	RECORD_FRAME_SEGMENT = 1, RECORD_FRAME_BLOCK, RECORD_FRAME_STRINGS, RECORD_FRAME_LOCATIONS,
	RECORD_FRAME_STACKS, RECORD_FRAME_TARGET, RECORD_FRAME_EVENT, RECORD_FRAME_SAMPLE,
	RECORD_FRAME_END,
};

/* Add a frame; packed: compress it, if it gets smaller by that. ERR_RANGE: it is too long. */
struct err *record_frame_put(struct str *to, enum record_frame_kind kind, bool packed,
			     const void *payload, size_t len) MUST_CHECK;

/*
 * Reads the frames of a file one after the other. What is damaged is passed over: the next frame is
 * looked for byte by byte, with a bound for what is summed in vain.
 */
struct record_frames {
	int fd;			/* the caller's */
	uint64_t at;		/* where the next frame is */
	uint64_t damaged;	/* bytes that were passed over, up to the last frame */
	uint64_t torn;		/* bytes at the end of which nothing can be made, or not yet */
	uint64_t look;		/* there is none between `at` and this one */
	uint64_t summed;	/* bytes that were summed in vain */
	uint64_t unpacked;	/* bytes of frames so far */
	uint8_t *file, *bytes;	/* a frame as it lies there, and unpacked */
	size_t file_room, bytes_room;
	uint8_t *inner;		/* of a frame in a block that is compressed itself */
	size_t inner_room;
	struct record_bytes block;	/* what is left of a block */
};

#define RECORD_FRAMES_INIT(file_fd)	{ .fd = (file_fd) }

struct record_frame {
	uint8_t kind;
	struct record_bytes payload;	/* lives until the next frame is read */
};

/*
 * *found_ret is false at the end of the file, or of what is whole of it; it may be called again
 * when the file has grown. lost_ret: something before this frame was passed over. ERR_NOMEM,
 * ERR_SYS.
 */
struct err *record_frame_next(struct record_frames *frames, struct record_frame *ret,
			      bool *found_ret, bool *lost_ret) MUST_CHECK;
void record_frames_free(struct record_frames *frames);
