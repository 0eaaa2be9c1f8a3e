/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers as text (number_text.h). */

#include "type/number_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "symbol/symbol.h"
#include "type/text_literal.h"
#include "type/types.h"

bool number_text_is_format(char letter)
{
	return letter && strchr("xduotcafzs", letter);
}

/* What the bytes of a number are without a sign: 0xffffffff of an int -1. */
static uint64_t raw(const struct number *number)
{
	uint64_t word = number->integer;
	double wide = (double)number->real;
	float narrow = (float)number->real;

	if (number->is_float && number->size == sizeof(narrow)) {
		word = 0;
		memcpy(&word, &narrow, sizeof(narrow));
	} else if (number->is_float) {
		memcpy(&word, &wide, sizeof(wide));
	}
	return number->size < 8 ? word & ((1ull << 8 * number->size) - 1) : word;
}

static struct err *add_binary(uint64_t word, struct str *to)
{
	char text[65], *at = text + sizeof(text) - 1;

	*at = '\0';
	do
		*--at = (char)('0' + (word & 1));
	while (word >>= 1);
	return str_add(to, at);
}

static struct err *add_real(const struct number *number, struct str *to)
{
	uint64_t word = number->is_float ? raw(number) : number->integer;
	uint8_t bytes[16] = { 0 };
	struct number as = *number;
	double wide;
	float narrow;

	memcpy(bytes, &word, sizeof(word));
	if (number->is_float && number->size > 8)
		memcpy(bytes, &number->real, 10);
	if (!number->is_float && as.size == 4) {
		memcpy(&narrow, &word, sizeof(narrow));
		as.real = narrow;
	} else if (!number->is_float && as.size == 8) {
		memcpy(&wide, &word, sizeof(wide));
		as.real = wide;
	} else if (!number->is_float) {
		return str_addf(to, "%" PRId64, (int64_t)number->integer);
	}
	return text_literal_float(as.real, as.size, bytes, to);
}

static int64_t as_signed(uint64_t word, uint32_t size)
{
	unsigned shift = size < 8 ? 64 - 8 * size : 0;

	return (int64_t)(word << shift) >> shift;
}

static struct err *add_character(const struct number *number, struct str *to)
{
	int64_t value = number->is_signed ? as_signed(number->integer, 1) :
					    (int64_t)(number->integer & 0xff);
	struct err *err = str_addf(to, "%" PRId64 " ", value);

	return err ? err : text_literal_char((uint32_t)number->integer & 0xff, to);
}

struct err *number_text_add(const struct value_world *world, const struct number *number,
			    char format, struct str *to)
{
	uint64_t word = raw(number);
	struct err *err;

	switch (format) {
	case 'x':
		return str_addf(to, "0x%" PRIx64, word);
	case 'z':
		return str_addf(to, "0x%0*" PRIx64, (int)(2 * MIN(number->size, 8u)), word);
	case 'o':
		return str_addf(to, word ? "0%" PRIo64 : "%" PRIo64, word);
	case 't':
		return add_binary(word, to);
	case 'u':
		return str_addf(to, "%" PRIu64, word);
	case 'd':
		return str_addf(to, "%" PRId64, as_signed(word, number->size));
	case 'c':
		return add_character(number, to);
	case 'f':
		return add_real(number, to);
	case 'a':
		err = str_addf(to, "0x%" PRIx64, word);
		return err ? err : number_text_symbol(world, word, to);
	default:
		if (number->is_float)
			return add_real(number, to);
		return str_addf(to, number->is_signed ? "%" PRId64 : "%" PRIu64, number->integer);
	}
}

struct err *number_text_char(const struct type *type, const struct number *number, struct str *to)
{
	const char *prefix = type->size == 1 ? "" : type->size == 2 ? "u" :
		type->name && !strcmp(type->name, "char32_t") ? "U" : "L";
	uint64_t c = type->size == 1 ? number->integer & 0xff : number->integer;
	struct err *err = str_addf(to, number->is_signed ? "%" PRId64 " %s" : "%" PRIu64 " %s",
				   number->integer, prefix);

	return err ? err : text_literal_char((uint32_t)c, to);
}

struct err *number_text_wide(const uint8_t bytes[16], bool is_signed, struct str *to)
{
	char text[48], *at = text + sizeof(text) - 1;
	unsigned __int128 word;
	bool minus;

	memcpy(&word, bytes, sizeof(word));
	minus = is_signed && (__int128)word < 0;
	if (minus)
		word = -word;
	*at = '\0';
	do
		*--at = (char)('0' + (int)(word % 10));
	while (word /= 10);
	if (minus)
		*--at = '-';
	return str_add(to, at);
}

struct err *number_text_symbol(const struct value_world *world, uint64_t address, struct str *to)
{
	const struct symbol_frame *frame;
	size_t nr;

	if (!world->types || !address)
		return NULL;
	frame = symbols_resolve(types_symbols(world->types), address, world->generation, false,
				&nr);
	frame += nr - 1;
	if (!frame->function || !frame->module)
		return NULL;
	return frame->offset ? str_addf(to, " <%s+%" PRIu64 ">", frame->function, frame->offset) :
			       str_addf(to, " <%s>", frame->function);
}

struct err *number_text_unread(uint64_t address, struct str *to)
{
	return str_addf(to, "<error: Cannot access memory at address 0x%" PRIx64 ">", address);
}

struct err *number_text_string(struct memory *memory, uint64_t address, struct str *to)
{
	uint8_t bytes[LITERAL_MOST + 1];
	const uint8_t *end;
	size_t len = 0;
	struct err *err = memory_read_some(memory, address, bytes, sizeof(bytes), &len);

	if (err)
		return err->code == ERR_MEMORY ? number_text_unread(address, to) : err;
	end = memchr(bytes, 0, len);
	if (end)
		return text_literal_string(bytes, (size_t)(end - bytes), false, to);
	err = text_literal_string(bytes, MIN(len, (size_t)LITERAL_MOST), len > LITERAL_MOST, to);
	if (err || len > LITERAL_MOST)
		return err;
	return number_text_unread(address + len, to);
}
