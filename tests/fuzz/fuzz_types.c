/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any text as an expression, or, by the first byte, any bytes as a program whose types and variables are all shown: as a
 * value, behind a pointer, and in a memory in which each word points to itself.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol.h"
#include "type/expr.h"
#include "type/locals.h"
#include "type/result_type.h"
#include "type/member_path.h"
#include "type/type_name.h"
#include "type/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define BIAS		0x7f0000000000ull
#define MODULE_LEN	0x100000u
#define NAMES		24u
#define TEXT_MOST	(2u * VALUE_TEXT_MOST)	/* the last member may be as long as the others together */

static struct err *read_ring(struct memory *memory, uint64_t addr, void *buf, size_t len, size_t *len_ret)
{
	uint8_t *at = buf;

	(void)memory;
	if (addr < 0x1000)
		return err_create(ERR_MEMORY, "cannot read memory at 0x%llx", (unsigned long long)addr);
	for (size_t i = 0; i < len; i++)
		at[i] = (uint8_t)((addr + i & ~7ull) >> 8 * ((addr + i) % 8));
	*len_ret = len;
	return NULL;
}

static struct memory ring = { .read = read_ring };

struct names {
	char at[NAMES][64];
	unsigned nr;
};

static bool keep(void *ctx, const char *name)
{
	struct names *names = ctx;

	if (strlen(name) < sizeof(names->at[0]))
		strcpy(names->at[names->nr++], name);
	return names->nr == NAMES;
}

static void show(const struct value_world *world, const char *text)
{
	struct str to AUTO_STR = STR_INIT;
	struct expr expr;
	struct err *err = expr_evaluate(world, text, &expr);

	if (err && !*err->msg)
		abort();
	if (!err)
		err = type_name_add(expr.value.type, &to);
	if (!err)
		err = member_path_add(expr.value.type, 24, &to, NULL);
	str_clear(&to);
	if (!err && !expr.is_type)
		err = value_text_add(world, &expr.value, 0, &to);
	if (to.len > 64u * TEXT_MOST)
		abort();
	err_ignore(err ? err : expr_type(world, text, &expr));
}

static void show_name(const struct value_world *world, const char *name)
{
	static const char *const forms[] = {
		"%s", "&%s", "*%s", "%s[1]", "sizeof(%s)", "{%s} 0x1000", "{struct %s} 0x1000", "*(struct %s *)0x2008",
		"(enum %s)3",
	};
	char text[128];

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), forms[i], name);
#pragma GCC diagnostic pop
		show(world, text);
	}
}

static struct err *show_local(void *ctx, const struct local *local, bool *end)
{
	const struct value_world *world = ctx;
	struct str to AUTO_STR = STR_INIT;
	struct value value;
	struct err *err = frame_place(world, local->die, &value);

	(void)end;
	if (!err)
		err = value_text_add(world, &value, 0, &to);
	if (to.len > 64u * TEXT_MOST)
		abort();
	err_ignore(err);
	return NULL;
}

/* A frame, and its caller, in which all registers are known, or half of them. */
static void show_frame(struct value_world *world, uint64_t pc)
{
	struct frame frame[2] = { { .at = { .pc = pc, .exact = true, .has_cfa = true, .cfa = 0x9000 } } };

	for (unsigned i = 0; i < FRAME_REGS; i++)
		frame[0].at.regs[i] = 0x8000 + 8 * i;
	frame[1] = frame[0];
	frame[1].at.exact = false;
	frame[0].at.known = UINT32_MAX;
	frame[1].at.known = 0x5555;
	frame[0].caller = &frame[1];
	world->frame = &frame[0];
	err_ignore(locals_each(world, show_local, world));
	world->frame = &frame[1];
	err_ignore(locals_each(world, show_local, world));
	world->frame = NULL;
}

static bool is_inside(const struct type_layouts *layouts)
{
	vec_each(layout, &layouts->vec)
		if (layout->nr > layouts->pointers.nr || layout->first > layouts->pointers.nr - layout->nr)
			return false;
	vec_each(pointer, &layouts->pointers)
		if (pointer->to >= layouts->vec.nr)
			return false;
	return true;
}

/* What variables and the code that returns to any of a few addresses say of blocks. */
static void lay_out(struct types *types)
{
	struct type_layouts to = { .vec = VEC_INIT };
	struct result_globals globals = { .vec = VEC_INIT };
	struct layouts layouts;
	enum result_type is;
	uint32_t layout;
	struct err *err = layouts_begin(types, &to, &layouts);

	if (!err)
		err = layouts_add_variables(&layouts);
	if (!err)
		err = result_type_globals(&layouts, &globals);
	for (uint64_t pc = BIAS + 0x1000; !err && pc < BIAS + 0x1200; pc += 29)
		err = result_type_at(&layouts, &globals, pc, 1, &is, &layout);
	if (!err)
		err = layouts_finish(&layouts);
	if (!is_inside(&to))
		abort();
	err_ignore(err);
	result_type_free_globals(&globals);
	layouts_free(&layouts);
	type_spread_free_layouts(&to);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct symbol_module module = {
		.path = "/fuzz/program", .fd = -1, .bytes = bytes + 1, .bytes_len = len - 1,
		.start = BIAS, .end = BIAS + MODULE_LEN, .bias = BIAS, .died = UINT32_MAX,
	};
	struct value_world world = { .memory = &ring, .generation = 1 };
	struct names names = { .nr = 0 };
	struct symbols *symbols;

	if (!len)
		return 0;
	if (symbols_create(0, &symbols) || types_create(symbols, &world.types))
		abort();
	if (*bytes == 'E') {
		char *text = strndup((const char *)bytes + 1, len - 1);

		if (!text)
			abort();
		show(&world, text);
		free(text);
	} else {
		if (symbols_add(symbols, &module))
			abort();
		show(&world, "nosuch_name");
		types_each_name(world.types, keep, &names);
		for (unsigned i = 0; i < names.nr; i++)
			show_name(&world, names.at[i]);
		for (uint64_t pc = 0x1100; pc < 0x1400; pc += 0x60)
			show_frame(&world, BIAS + pc);
		lay_out(world.types);
	}
	types_destroy(world.types);
	symbols_destroy(symbols);
	return 0;
}
