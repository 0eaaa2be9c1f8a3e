/* SPDX-License-Identifier: GPL-3.0-or-later */
/* x: memory by its address, as gdb's x shows it. */

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "answer/stack_names.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "cmd/expr/expression.h"
#include "cmd/expr/place.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "inspect/heaps.h"
#include "session/heap.h"
#include "type/number_text.h"
#include "type/text_literal.h"

#define COUNT_MOST	(1u << 20)

struct format {
	uint64_t count;
	char letter;
	uint32_t unit;		/* bytes */
};

/* As in gdb: NFU, where a letter may come before or behind another one. */
static struct err *parse_format(const char *text, struct format *ret)
{
	static const char units[] = "bhwg";
	uint32_t unit = 0;

	*ret = (struct format){ .count = 1, .letter = 'x' };
	if (isdigit((unsigned char)*text)) {
		ret->count = 0;
		for (; isdigit((unsigned char)*text) && ret->count <= COUNT_MOST; text++)
			ret->count = 10 * ret->count + (uint64_t)(*text - '0');
	}
	if (!ret->count || ret->count > COUNT_MOST)
		return err_create(ERR_USAGE, "the number of units is from 1 to %u", COUNT_MOST);
	for (; *text; text++) {
		const char *at = strchr(units, *text);

		if (at)
			unit = 1u << (at - units);
		else if (number_text_is_format(*text))
			ret->letter = *text;
		else
			return err_create(ERR_USAGE, "'%c' is neither a letter of xduotcafzs nor a "
					  "unit of bhwg", *text);
	}
	ret->unit = unit ? unit : ret->letter == 'c' ? 1 :
		ret->letter == 'a' || ret->letter == 'f' ? 8 : 4;
	if (ret->letter == 'a')
		ret->unit = 8;
	return NULL;
}

struct dump {
	struct call *call;
	const struct value_world *world;
	struct format format;
	struct places *places;
};

static struct err *begin_line(const struct dump *dump, uint64_t address, struct str *to)
{
	struct err *err = str_addf(to, "0x%" PRIx64, address);

	if (!err)
		err = number_text_symbol(dump->world, address, to);
	return err ? err : str_add(to, ":");
}

static struct err *add_unit(const struct dump *dump, uint64_t address, struct str *to)
{
	const struct format *format = &dump->format;
	struct number number = { .size = format->unit };
	struct err *err = memory_read(dump->world->memory, address, &number.integer,
				      format->unit);
	char letter = format->letter == 'x' ? 'z' : format->letter;

	number.is_signed = letter == 'd' || letter == 'c';
	if (!err)
		err = str_add(to, "\t");
	if (!err && letter == 't') {
		for (int bit = 8 * (int)format->unit; bit-- && !err;)
			err = str_add(to, number.integer >> bit & 1 ? "1" : "0");
		return err;
	}
	return err ? err : number_text_add(dump->world, &number, letter, to);
}

/* What a word points to, if that is more than its symbol says. */
static struct err *add_pointed(const struct dump *dump, uint64_t address, struct str *to)
{
	struct str place AUTO_STR = STR_INIT;
	uint64_t word;
	struct err *err = memory_read_u64(dump->world->memory, address, &word);

	if (!err && word)
		err = place_add(dump->places, word, &place);
	return err || !place.len ? err : str_addf(to, "\t%s", place.at);
}

/* gdb has as many in a line as fit; a pointer has a line of its own, since mdbg says what it is. */
static unsigned in_line(const struct format *format)
{
	if (format->letter == 'a')
		return 1;
	if (format->letter == 't')
		return format->unit == 8 ? 1 : 8 / format->unit;
	if (format->letter == 'c' || format->unit == 1)
		return 8;
	return format->unit == 2 ? 8 : format->unit == 4 ? 4 : 2;
}

static struct err *dump_units(const struct dump *dump, uint64_t address)
{
	unsigned each = in_line(&dump->format);
	struct err *err = NULL;

	for (uint64_t i = 0; i < dump->format.count && !err && !out_done(dump->call->out);) {
		struct str line AUTO_STR = STR_INIT;

		err = begin_line(dump, address, &line);
		for (unsigned j = 0; j < each && i < dump->format.count && !err; j++, i++) {
			err = add_unit(dump, address, &line);
			if (!err && dump->format.letter == 'a')
				err = add_pointed(dump, address, &line);
			address += err ? 0 : dump->format.unit;
		}
		if (!err || (err->code == ERR_MEMORY && strchr(str_text(&line), '\t')))
			out_f(dump->call->out, "%s\n", line.at);
		if (!err)
			err = cancel_check();
	}
	return err;
}

/* Strings lie one behind the other. */
static struct err *dump_strings(const struct dump *dump, uint64_t address)
{
	struct err *err = NULL;

	for (uint64_t i = 0; i < dump->format.count && !err && !out_done(dump->call->out); i++) {
		struct str line AUTO_STR = STR_INIT;
		uint8_t bytes[LITERAL_MOST];
		size_t len;

		err = memory_read_some(dump->world->memory, address, bytes, sizeof(bytes), &len);
		if (!err)
			err = begin_line(dump, address, &line);
		if (!err)
			err = str_add(&line, "\t");
		if (!err)
			err = number_text_string(dump->world->memory, address, &line);
		if (err)
			break;
		out_f(dump->call->out, "%s\n", line.at);
		address += strnlen((char *)bytes, len) + (strnlen((char *)bytes, len) < len);
		err = cancel_check();
	}
	return err;
}

static struct err *dump_pointers(struct dump *dump, uint64_t address)
{
	CLEANUP(heaps_free) struct heaps heap = HEAPS_INIT;
	CLEANUP(stack_names_free) struct stack_names names;
	struct places places = { dump->call, dump->world, &heap, &names, NULL };
	struct err *err;

	stack_names_init(&names, dump->call->session);
	err = session_heap(dump->call->session, SESSION_HEAP_LOG, NULL, &heap);
	dump->places = &places;
	return err ? err : dump_units(dump, address);
}

/* The address is that of an array or a function, and what a pointer or a number says. */
static struct err *run(struct call *call)
{
	struct str text AUTO_STR = STR_INIT;
	struct dump dump = { .call = call };
	CLEANUP(expression_end) struct expression_at at = { .held.copy = NULL };
	struct expr expr;
	char format[32];
	uint64_t address = 0;
	struct err *err = expression_words(call, true, format, &text);

	if (!err)
		err = parse_format(format, &dump.format);
	if (!err)
		err = expression_begin(call, &at);
	if (!err)
		err = expression_evaluate(call, &at, text.at, &expr);
	if (!err && expr.is_type)
		err = err_create(ERR_FORMAT, "%s is a type, not an address", text.at);
	if (!err)
		err = value_follow(at.world.memory, &expr.value);
	if (!err)
		err = value_pointer(at.world.memory, &expr.value, &address);
	if (err)
		return err;
	dump.world = &at.world;
	if (dump.format.letter == 's')
		return dump_strings(&dump, address);
	return dump.format.letter == 'a' ? dump_pointers(&dump, address) : dump_units(&dump, address);
}

const struct cmd cmd_x = {
	.name		= "x",
	.usage		= "?/NFU? ADDRESS",
	.brief		= "memory at an address, in units",
	.help		= "N is how many, F how they are shown: x d u o t c f, a for pointers, s for\n"
			  "strings; U how large they are: b h w g (1, 2, 4, 8 bytes). Without them it\n"
			  "is /1xw. ADDRESS is an expression as in `print`.\n"
			  "\n"
			  "x/a has a line for each pointer, with what it points to: the block of\n"
			  "memory, if it is recorded, and who has allocated it; the variable with its\n"
			  "member; the function; or the mapping.\n",
	.example	= "x/4gx 0x55d0c0a812a0\nx/16a &server\nx/s name\n",
	.need		= call_need_view,
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_RAW | CMD_FORMAT,
};
