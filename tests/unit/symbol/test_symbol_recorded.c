/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names that were recorded give the answers of the files that they are from. */

#include "fixture.h"
#include "symbol/resolved.h"
#include "symbol/symbol.h"
#include "symbol/symbol_recorded.h"
#include "unit.h"

#define FRAMES	16

/* What a recorder keeps of an address. */
static size_t recorded_of(struct symbols *symbols, uint64_t pc, bool return_address,
		   struct symbol_recorded ret[FRAMES])
{
	size_t nr;
	const struct symbol_frame *frames = symbols_resolve(symbols, pc, 1, return_address, &nr);

	CU_ASSERT_FATAL(nr <= FRAMES);
	for (size_t i = 0; i < nr; i++)
		ret[i] = (struct symbol_recorded){
			.name = frames[i].linkage ? frames[i].linkage : frames[i].function,
			.place = frames[i].place, .file = frames[i].file, .line = frames[i].line,
			.offset = frames[i].offset,
		};
	return nr;
}

/* Symbols that know the module of pc, and none of its files. */
static struct symbols *without_files(struct symbols *like, uint64_t pc, const char *build_id)
{
	struct symbols *symbols;
	struct symbol_place place;

	CU_ASSERT_FATAL(symbol_file_place(like, pc, 1, &place));
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &(const struct symbol_module){
		.path = place.path, .fd = -1, .start = place.start, .end = place.end,
		.bias = place.bias, .build_id = build_id, .born = 1, .died = UINT32_MAX }));
	return symbols;
}

static void compare(struct symbols *x, struct symbols *y, uint64_t pc, bool return_address)
{
	size_t nr, other;
	const struct symbol_frame *a = symbols_resolve(x, pc, 1, return_address, &nr);
	const struct symbol_frame *b = symbols_resolve(y, pc, 1, return_address, &other);

	CU_ASSERT_EQUAL_FATAL(nr, other);
	for (size_t i = 0; i < nr; i++) {
		CU_ASSERT_EQUAL(!a[i].function, !b[i].function);
		if (a[i].function)
			CU_ASSERT_STRING_EQUAL(a[i].brief, b[i].brief);
		CU_ASSERT_EQUAL(!a[i].linkage, !b[i].linkage);
		CU_ASSERT_EQUAL(a[i].brief_bare, b[i].brief_bare);
		CU_ASSERT_EQUAL(a[i].line, b[i].line);
		CU_ASSERT_EQUAL(a[i].inlined, b[i].inlined);
		CU_ASSERT_STRING_EQUAL(a[i].path, b[i].path);
	}
	for (int names = SYMBOL_NAMES_SHORT; names <= SYMBOL_NAMES_FULL; names++)
		CU_ASSERT_STRING_EQUAL(symbols_text(x, pc, 1, return_address, names),
				       symbols_text(y, pc, 1, return_address, names));
}

TEST("recorded names are those of the files")
{
	uint64_t pc = fixture_real(1), start = (uint64_t)(uintptr_t)fixture_real;
	struct symbols *symbols = fixture_symbols("");
	struct symbols *recorded = without_files(symbols, pc, "0123abcd");
	struct symbol_recorded frames[FRAMES];
	struct symbol_place place;
	struct str id = STR_INIT;
	size_t nr = recorded_of(symbols, pc, true, frames);

	CU_ASSERT_PTR_NULL_FATAL(symbol_recorded_add(recorded, pc, 1, true, nr, frames));
	CU_ASSERT_PTR_NULL_FATAL(symbol_recorded_add(recorded, pc, 1, true, nr, frames));
	nr = recorded_of(symbols, start, false, frames);
	CU_ASSERT_PTR_NULL_FATAL(symbol_recorded_add(recorded, start, 1, false, nr, frames));
	compare(symbols, recorded, pc, true);
	compare(symbols, recorded, start, false);
	/* What was not recorded has no name but its place. */
	CU_ASSERT_EQUAL(symbols_text(recorded, pc + 1, 1, true, SYMBOL_NAMES_SHORT)[0], '[');
	CU_ASSERT_FATAL(symbol_file_place(recorded, pc, 1, &place));
	CU_ASSERT_PTR_NULL(symbol_file_build_id(&place, &id));
	CU_ASSERT_STRING_EQUAL(str_text(&id), "0123abcd");
	str_free(&id);
	symbols_destroy(recorded);
	symbols_destroy(symbols);
}

TEST("the same place in two builds is two modules")
{
	struct symbols *symbols;
	struct symbol_module module = { .path = "/bin/server", .fd = -1, .start = 0x1000,
					.end = 0x2000, .build_id = "aa", .born = 1, .died = 2 };
	struct symbol_recorded frame = { .name = "old" };
	size_t nr;

	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	module.build_id = "bb";
	module.born = 2;
	module.died = UINT32_MAX;
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	CU_ASSERT_PTR_NULL(symbol_recorded_add(symbols, 0x1234, 1, true, 1, &frame));
	frame.name = "_ZN3new4codeEv";
	CU_ASSERT_PTR_NULL(symbol_recorded_add(symbols, 0x1234, 2, true, 1, &frame));
	CU_ASSERT_STRING_EQUAL(symbols_resolve(symbols, 0x1234, 1, true, &nr)->function, "old");
	CU_ASSERT_STRING_EQUAL(symbols_resolve(symbols, 0x1234, 2, true, &nr)->function,
			       "new::code()");
	symbols_destroy(symbols);
}

TEST("recorded code of no file, and hostile names")
{
	struct symbols *symbols;
	struct symbol_recorded frame = { .name = "x\033[31m\n", .file = "\033", .line = -1 };
	size_t nr;

	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL(symbol_recorded_add(symbols, 0, 0, true, 1, &frame));
	CU_ASSERT_PTR_NULL(strchr(symbols_resolve(symbols, 0, 0, true, &nr)->function, '\033'));
	CU_ASSERT_PTR_NULL(strchr(symbols_resolve(symbols, 0, 0, true, &nr)->file, '\033'));
	symbols_destroy(symbols);
}
