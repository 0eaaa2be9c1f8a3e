/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names, lines, inlined calls and modules in time, of this very program. */

#include <inttypes.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "fixture.h"
#include "symbol/symbol.h"
#include "unit.h"

static bool ends_with(const char *text, const char *end)
{
	size_t len = text ? strlen(text) : 0;

	return len >= strlen(end) && !strcmp(text + len - strlen(end), end);
}

static const char *text_of(struct symbols *symbols, uint64_t pc, uint32_t generation,
			   bool return_address)
{
	return symbols_text(symbols, pc, generation, return_address, SYMBOL_NAMES_SHORT);
}

TEST("inlined calls and lines")
{
	static const char *const names[] = { "fixture_inner", "fixture_middle", "fixture_real" };
	struct symbols *symbols = fixture_symbols("");
	uint64_t pc = fixture_real(1);
	size_t nr;
	const struct symbol_frame *frames = symbols_resolve(symbols, pc, 1, true, &nr);

	if (!fixture_has_lines()) {
		symbols_destroy(symbols);
		unit_skip("built without -g");
		return;
	}
	CU_ASSERT_EQUAL_FATAL(nr, 3);
	for (size_t i = 0; i < nr; i++) {
		CU_ASSERT_STRING_EQUAL(frames[i].function, names[i]);
		CU_ASSERT(ends_with(frames[i].file, fixture_source));
		CU_ASSERT_EQUAL(frames[i].line, fixture_lines[i]);
		CU_ASSERT_EQUAL(frames[i].inlined, i < 2);
		CU_ASSERT_EQUAL(frames[i].pc, pc);
		CU_ASSERT_EQUAL(frames[i].offset, pc - (uint64_t)(uintptr_t)fixture_real);
		CU_ASSERT(ends_with(frames[i].path, frames[i].module));
		CU_ASSERT_PTR_NULL(frames[i].linkage);
	}
	symbols_destroy(symbols);
}

TEST("text")
{
	struct symbols *symbols = fixture_symbols("");
	uint64_t pc = fixture_real(1), start = (uint64_t)(uintptr_t)fixture_real;
	char expected[128];
	const char *text = text_of(symbols, pc, 1, true);

	if (!fixture_has_lines()) {
		symbols_destroy(symbols);
		unit_skip("built without -g");
		return;
	}
	snprintf(expected, sizeof(expected), "fixture_real+0x%lx (%s:%d)",
		 (unsigned long)(pc - start), fixture_source, fixture_lines[2]);
	CU_ASSERT_STRING_EQUAL(text, expected);
	/* No offset at the start, and the same string each time. */
	CU_ASSERT(!strncmp(text_of(symbols, start, 1, false), "fixture_real (fixture.c:", 24));
	CU_ASSERT_PTR_EQUAL(text_of(symbols, pc, 1, true), text);
	symbols_destroy(symbols);
}

/*
 * A function that ends with a call, and one that does not, each right in front of another one: only in
 * the first case is the address between them a return address, for which the caller is meant.
 */
__asm__(".text\n.type ends_in_call, @function\nends_in_call:\n	nop\n	call ends_in_call\n"
	".size ends_in_call, . - ends_in_call\n"
	".globl behind_call\n.type behind_call, @function\nbehind_call:\n	nop\n	ret\n"
	".size behind_call, . - behind_call\n"
	".globl behind_return\n.type behind_return, @function\nbehind_return:\n	nop\n	ret\n"
	".size behind_return, . - behind_return\n");
extern const char behind_call[], behind_return[];

TEST("no return address")
{
	struct symbols *symbols = fixture_symbols("");
	uint64_t call = (uint64_t)(uintptr_t)behind_call, plain = (uint64_t)(uintptr_t)behind_return;
	size_t nr;

	CU_ASSERT(!strncmp(text_of(symbols, call, 1, true), "ends_in_call+0x6 ", 17));
	CU_ASSERT(!strncmp(text_of(symbols, call, 1, false), "behind_call ", 12));
	CU_ASSERT(!strncmp(text_of(symbols, plain, 1, true), "behind_return ", 14));
	CU_ASSERT_EQUAL(symbols_resolve(symbols, plain, 1, true, &nr)->offset, 0);
	/* Between its instructions it is itself, in either way. */
	CU_ASSERT(!strncmp(text_of(symbols, plain + 1, 1, true), "behind_return+0x1 ", 18));
	symbols_destroy(symbols);
}

TEST("nothing known")
{
	struct symbols *symbols;
	struct symbol_module module = { .path = "/opt/libfoo.so",
					.fd = -1,
					.start = 0x10000,
					.end = 0x20000,
					.bias = 0xf000,
					.born = 1,
					.died = UINT32_MAX };
	const struct symbol_frame *frames;
	size_t nr;

	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_STRING_EQUAL(text_of(symbols, 0x55d0bfe01149, 1, true),
			       "0x000055d0bfe01149");
	CU_ASSERT_STRING_EQUAL(text_of(symbols, 0, 1, true), "0x0000000000000000");
	CU_ASSERT_STRING_EQUAL(text_of(symbols, UINT64_MAX, 1, false), "0xffffffffffffffff");
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	CU_ASSERT_STRING_EQUAL(text_of(symbols, 0x10234, 1, true), "[libfoo.so+0x1234]");
	frames = symbols_resolve(symbols, 0x10234, 1, true, &nr);
	CU_ASSERT_EQUAL(nr, 1);
	CU_ASSERT_PTR_NULL(frames[0].function);
	CU_ASSERT_STRING_EQUAL(frames[0].module, "libfoo.so");
	CU_ASSERT_STRING_EQUAL(frames[0].path, "/opt/libfoo.so");
	CU_ASSERT_EQUAL(frames[0].offset, 0);
	/* The end of a module is still its own, for a return address only. */
	CU_ASSERT_STRING_EQUAL(text_of(symbols, 0x20000, 1, true), "[libfoo.so+0x11000]");
	CU_ASSERT_STRING_EQUAL(text_of(symbols, 0x20000, 1, false), "0x0000000000020000");
	symbols_destroy(symbols);
}

/*
 * What people call them, not __libc_malloc, __GI___libc_malloc, cfree; with debug information and
 * without.
 */
TEST("public names")
{
	static const char *const names[] = { "malloc",	       "free",	   "calloc", "realloc",
					     "posix_memalign", "memalign", "strtol" };
	struct symbols *symbols = fixture_symbols("libc.so");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t addr, size;
		char part[64];

		CU_ASSERT_PTR_NULL_FATAL(symbols_find(symbols, names[i], &addr, &size));
		CU_ASSERT_STRING_EQUAL(fixture_function(symbols, addr), names[i]);
		snprintf(part, sizeof(part), "%s+0x3 ", names[i]);
		CU_ASSERT(!strncmp(text_of(symbols, addr + 3, 1, false), part, strlen(part)));
	}
	symbols_destroy(symbols);
}

TEST("libc by its debug file, and without")
{
	struct symbols *symbols = fixture_symbols("libc.so");
	uint64_t addr, size;
	size_t nr;
	const struct symbol_frame *frames;

	CU_ASSERT_PTR_NULL_FATAL(symbols_find(symbols, "malloc", &addr, &size));
	frames = symbols_resolve(symbols, addr + 1, 1, false, &nr);
	if (!frames[nr - 1].line)
		unit_skip("no debug file of libc (libc6-dbg)");
	else
		CU_ASSERT(ends_with(frames[nr - 1].file, "malloc.c"));
	CU_ASSERT_STRING_EQUAL(frames[nr - 1].function, "malloc");
	CU_ASSERT_PTR_NULL_FATAL(symbols_set_debug_path(symbols, "/nonexistent"));
	symbols_destroy(symbols);

	/* Without it, by .dynsym, the module in place of the line. */
	symbols = fixture_symbols("libc.so");
	CU_ASSERT_PTR_NULL_FATAL(symbols_set_debug_path(symbols, "/nonexistent"));
	CU_ASSERT_STRING_EQUAL(text_of(symbols, addr, 1, false), "malloc [libc.so.6]");
	CU_ASSERT_STRING_EQUAL(text_of(symbols, addr + 3, 1, true), "malloc+0x3 [libc.so.6]");
	symbols_destroy(symbols);
}

TEST("vDSO from bytes")
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	uint64_t start = (uint64_t)(uintptr_t)image, addr, size;
	struct symbol_module module = {
		.path = "[vdso]",
		.fd = -1,
		.bytes = image,
		.bytes_len = 0x2000,
		.start = start,
		.end = start + 0x2000,
		.bias = start,
		.born = 1,
		.died = UINT32_MAX,
	};
	struct symbols *symbols;

	if (!image) {
		unit_skip("no vDSO");
		return;
	}
	/* Its section headers are behind the text, so take all that is there. */
	while (!msync((void *)(uintptr_t)module.end, 4096, MS_ASYNC) && module.bytes_len < 0x4000) {
		module.bytes_len += 4096;
		module.end += 4096;
	}
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	CU_ASSERT_PTR_NULL_FATAL(symbols_find(symbols, "__vdso_gettimeofday", &addr, &size));
	CU_ASSERT_STRING_EQUAL(text_of(symbols, addr, 1, false), "gettimeofday [vdso]");
	symbols_destroy(symbols);
}

/* Two files at the same addresses, one after the other: in generations 3 to 4, and from 7 on. */
TEST("generations")
{
	const uint64_t bias = 0x7f0000000000;
	uint64_t pc = bias + fixture_file_address(fixture_real), addr, size;
	struct symbol_module first, second;
	struct symbols *symbols;
	const char *text;

	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	first = fixture_file("/proc/self/exe", bias);
	first.born = 3;
	CU_ASSERT_FATAL(fixture_module("libc.so", &second));
	second.end += bias - second.start;
	second.start = second.bias = bias;
	second.born = 7;
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &first));
	text = text_of(symbols, pc, 3, false);
	CU_ASSERT(!strncmp(text, "fixture_real", 12));
	/*
	 * Code that ran before it was noticed that it had been mapped: better its name than none.
	 */
	CU_ASSERT_PTR_EQUAL(text_of(symbols, pc, 2, false), text);
	symbols_end(symbols, bias, 3, 5);
	CU_ASSERT_PTR_EQUAL(text_of(symbols, pc, 4, false), text);
	CU_ASSERT_PTR_NULL(symbols_resolve(symbols, pc, 5, false, &size)->module);
	CU_ASSERT_PTR_NOT_NULL(symbols_find(symbols, "fixture_real", &addr, &size));

	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &second));
	CU_ASSERT_PTR_NULL_FATAL(symbols_find(symbols, "malloc", &addr, &size));
	CU_ASSERT_STRING_EQUAL(symbols_resolve(symbols, addr, 7, false, &size)[size - 1].function,
			       "malloc");
	CU_ASSERT_STRING_EQUAL(symbols_resolve(symbols, pc, UINT32_MAX - 1, false, &size)->module,
			       "libc.so.6");
	CU_ASSERT_PTR_EQUAL(text_of(symbols, pc, 3, false), text);
	symbols_destroy(symbols);
	close(first.fd);
	close(second.fd);
}

/* The same library, unloaded and loaded again and again: one file, and one text. */
TEST("come and go")
{
	const uint64_t bias = 0x7f0000000000;
	uint64_t pc = bias + fixture_file_address(fixture_real);
	struct symbol_module module = fixture_file("/proc/self/exe", bias);
	struct symbols *symbols;
	const char *text = NULL;
	int before, after;

	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	before = dup(0);
	close(before);
	for (uint32_t i = 1; i <= 100; i++) {
		module.born = 2 * i;
		CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
		symbols_end(symbols, bias, module.born, 2 * i + 1);
		if (!text)
			text = text_of(symbols, pc, module.born, false);
		CU_ASSERT_PTR_EQUAL(text_of(symbols, pc, module.born, false), text);
	}
	after = dup(0);
	close(after);
	CU_ASSERT(after - before <= 3);
	symbols_destroy(symbols);
	close(module.fd);
}

/* A file without a name: only the descriptor is left. */
TEST("deleted file")
{
	const uint64_t bias = 0x7f0000000000;
	uint64_t pc = bias + fixture_file_address(fixture_real);
	struct symbol_module module;
	struct symbols *symbols;
	char path[4096];

	snprintf(path, sizeof(path), "%s/copy", fixture_enter());
	CU_ASSERT_FATAL(fixture_shell("cp \"$PROGRAM\" copy"));
	module = fixture_file(path, bias);
	fixture_leave();
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	close(module.fd);
	CU_ASSERT_STRING_EQUAL(fixture_function(symbols, pc), "fixture_real");
	symbols_destroy(symbols);
}

/* The first free descriptors: of all, and of those that are kept. */
struct free_fds {
	int any, kept;
};

static struct free_fds free_fds(void)
{
	struct free_fds fds = { dup(0), fd_keep(0) };

	close(fds.any);
	close(fds.kept);
	return fds;
}

/* A module that nobody asks for costs a descriptor; the end gives everything back. */
TEST("lazy")
{
	struct symbol_module module = fixture_file("/proc/self/exe", 0);
	struct free_fds before = free_fds(), added, asked, after;
	struct symbols *symbols;

	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	added = free_fds();
	CU_ASSERT_EQUAL(added.kept, before.kept + 1);
	CU_ASSERT_STRING_EQUAL(fixture_function(symbols, fixture_file_address(fixture_real)),
			       "fixture_real");
	asked = free_fds();
	CU_ASSERT(asked.kept >= added.kept);
	/* None of those that are for a moment is taken for long. */
	CU_ASSERT_EQUAL(asked.any, before.any);
	symbols_destroy(symbols);
	after = free_fds();
	CU_ASSERT_EQUAL(after.any, before.any);
	CU_ASSERT_EQUAL(after.kept, before.kept);
	close(module.fd);
}

/* Without a name a function has its start, by the CFI; the frame's offset is from there. */
TEST("a stripped file")
{
	char path[512], want[64];
	struct symbols *symbols;
	struct symbol_module module;
	const struct symbol_frame *frames;
	uint64_t start = fixture_file_address((const void *)(uintptr_t)fixture_real);
	size_t nr;

	snprintf(path, sizeof(path), "%s/bare", fixture_enter());
	if (!fixture_shell("strip -o bare \"$PROGRAM\"")) {
		fixture_leave();
		unit_skip("no strip");
		return;
	}
	module = fixture_file(path, 0x10000);
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	close(module.fd);
	frames = symbols_resolve(symbols, 0x10000 + start + 5, 1, false, &nr);
	CU_ASSERT_EQUAL_FATAL(nr, 1);
	CU_ASSERT_PTR_NULL(frames[0].function);
	snprintf(want, sizeof(want), "[bare+0x%" PRIx64 "]", start);
	CU_ASSERT_STRING_EQUAL(frames[0].place, want);
	CU_ASSERT_EQUAL(frames[0].offset, 5);
	/* No CFI covers the file's head: it is known by its address alone. */
	frames = symbols_resolve(symbols, 0x10000 + 8, 1, false, &nr);
	CU_ASSERT_STRING_EQUAL(frames[0].place, "[bare+0x8]");
	CU_ASSERT_EQUAL(frames[0].offset, 0);
	frames = symbols_resolve(symbols, 8, 1, false, &nr);
	CU_ASSERT_PTR_NULL(frames[0].place);
	symbols_destroy(symbols);
	fixture_leave();
}
