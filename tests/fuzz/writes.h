/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs that are lists of writes over something sound. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What is left of an input. */
struct input {
	const uint8_t *at;
	size_t len;
};

/* One byte, or 0 at the end. */
static inline uint8_t input_byte(struct input *input)
{
	if (!input->len)
		return 0;
	input->len--;
	return *input->at++;
}

/* In the input: 1 byte of which area, 3 of offset, 1 of length, the bytes. */
struct write {
	uint8_t area;
	uint32_t offset;
	const uint8_t *bytes;
	size_t len;
};

static inline bool input_write(struct input *input, struct write *ret)
{
	if (input->len < 6)
		return false;
	*ret = (struct write){
		.area = input->at[0],
		.offset = input->at[1] | (uint32_t)input->at[2] << 8 | (uint32_t)input->at[3] << 16,
		.bytes = input->at + 5,
		.len = input->at[4],
	};
	input->at += 5;
	input->len -= 5;
	ret->len = ret->len < input->len ? ret->len : input->len;
	input->at += ret->len;
	input->len -= ret->len;
	return true;
}

/* Do it in room bytes at base. */
static inline void write_apply(const struct write *write, void *base, size_t room)
{
	size_t offset = write->offset % room;
	size_t len = write->len < room - offset ? write->len : room - offset;

	memcpy((uint8_t *)base + offset, write->bytes, len);
}
