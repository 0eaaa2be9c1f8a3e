/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LEB128, with seven bits in each byte, the lowest first. */

#include "record/code.h"

#define LONGEST	10u	/* bytes of 64 bits */

uint64_t record_code_number(struct record_bytes *from)
{
	uint64_t number = 0;

	for (unsigned shift = 0; from->at < from->end && shift < 7 * LONGEST; shift += 7) {
		uint8_t byte = *from->at++;

		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
	from->bad = true;
	from->at = from->end;
	return 0;
}

uint64_t record_code_upto(struct record_bytes *from, uint64_t most)
{
	uint64_t number = record_code_number(from);

	if (number <= most)
		return number;
	from->bad = true;
	from->at = from->end;
	return 0;
}

uint64_t record_code_signed(struct record_bytes *from)
{
	uint64_t number = record_code_number(from);

	return number >> 1 ^ -(number & 1);
}

const uint8_t *record_code_bytes(struct record_bytes *from, uint64_t most, size_t *len_ret)
{
	size_t len = record_code_upto(from, most);
	const uint8_t *at = from->at;

	if (from->bad || len > (size_t)(from->end - from->at)) {
		from->bad = true;
		from->at = from->end;
		*len_ret = 0;
		return NULL;
	}
	from->at += len;
	*len_ret = len;
	return at;
}

struct err *record_code_put(struct str *to, uint64_t number)
{
	uint8_t bytes[LONGEST];
	size_t len = 0;

	for (; number >= 0x80; number >>= 7)
		bytes[len++] = (uint8_t)(number | 0x80);
	bytes[len++] = (uint8_t)number;
	return str_add_bytes(to, bytes, len);
}

struct err *record_code_put_signed(struct str *to, uint64_t number)
{
	return record_code_put(to, number << 1 ^ -(number >> 63));
}

struct err *record_code_put_all(struct str *to, const uint64_t *numbers, size_t nr)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < nr; i++)
		err = record_code_put(to, numbers[i]);
	return err;
}

struct err *record_code_put_bytes(struct str *to, const void *bytes, size_t len)
{
	struct err *err = record_code_put(to, len);

	return err ? err : str_add_bytes(to, bytes, len);
}
