/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses by name, and names by their beginning. */

#include <dlfcn.h>
#include <link.h>

#include "fixture.h"
#include "symbol/symbol.h"
#include "unit.h"

extern int fixture_number;
int fixture_number = 17;

extern __thread int fixture_tls[4];
__thread int fixture_tls[4];

static void add(struct symbols *symbols, const char *name)
{
	struct symbol_module module;

	CU_ASSERT_FATAL(fixture_module(name, &module));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	close(module.fd);
}

static bool finds(struct symbols *symbols, const char *name, const void *at)
{
	uint64_t addr, size;
	struct err *err = symbols_find(symbols, name, &addr, &size);

	if (err)
		return !at && err->code == ERR_NOTFOUND;
	return at && addr == (uint64_t)(uintptr_t)at && size != 0;
}

TEST("by name")
{
	struct symbols *symbols = fixture_symbols("");
	uint64_t addr, size;

	add(symbols, "libc.so");
	CU_ASSERT(finds(symbols, "fixture_real", fixture_real));
	CU_ASSERT(finds(symbols, "fixture_number", &fixture_number));
	CU_ASSERT_PTR_NULL_FATAL(symbols_find(symbols, "fixture_number", &addr, &size));
	/* AddressSanitizer adds to it. */
	CU_ASSERT(size >= sizeof(fixture_number));
	CU_ASSERT(finds(symbols, "lfind", dlsym(RTLD_DEFAULT, "lfind")));
	CU_ASSERT(finds(symbols, "libc.so.6`lfind", dlsym(RTLD_DEFAULT, "lfind")));
	CU_ASSERT(finds(symbols, "libc`lfind", dlsym(RTLD_DEFAULT, "lfind")));
	CU_ASSERT(finds(symbols, "libc`fixture_real", NULL));
	CU_ASSERT(finds(symbols, "lib`lfind", NULL));
	CU_ASSERT(finds(symbols, "`lfind", NULL));
	CU_ASSERT(finds(symbols, "lfin", NULL));
	CU_ASSERT(finds(symbols, "", NULL));
	symbols_destroy(symbols);
}

/*
 * Several versions have one name: the one that programs are linked with now, with .symtab and
 * without.
 */
TEST("current versions")
{
	for (int without = 0; without < 2; without++) {
		struct symbols *symbols = fixture_symbols("libc.so");

		if (without)
			CU_ASSERT_PTR_NULL_FATAL(symbols_set_debug_path(symbols, "/nonexistent"));
		CU_ASSERT(
			finds(symbols, "realpath", dlvsym(RTLD_DEFAULT, "realpath", "GLIBC_2.3")));
		CU_ASSERT(
			finds(symbols, "regexec", dlvsym(RTLD_DEFAULT, "regexec", "GLIBC_2.3.4")));
		CU_ASSERT(finds(symbols, "pthread_cond_wait",
				dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.3.2")));
		symbols_destroy(symbols);
	}
}

TEST("C++")
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	struct symbols *symbols;

	if (!library) {
		unit_skip("no libstdc++.so.6");
		return;
	}
	symbols = fixture_symbols("libstdc++.so");
	CU_ASSERT(finds(symbols, "_ZSt9terminatev", dlsym(library, "_ZSt9terminatev")));
	CU_ASSERT(finds(symbols, "std::terminate()", dlsym(library, "_ZSt9terminatev")));
	CU_ASSERT(finds(symbols, "std::terminate", dlsym(library, "_ZSt9terminatev")));
	CU_ASSERT(finds(symbols, "libstdc++`operator new(unsigned long)", dlsym(library, "_Znwm")));
	CU_ASSERT(finds(symbols, "operator new[](unsigned long)", dlsym(library, "_Znam")));
	CU_ASSERT(finds(symbols, "std::terminated", NULL));
	symbols_destroy(symbols);
	dlclose(library);
}

/* What is unmapped is not found any more. */
TEST("unmapped")
{
	struct symbols *symbols = fixture_symbols("");
	struct symbol_module module;

	CU_ASSERT_FATAL(fixture_module("", &module));
	close(module.fd);
	symbols_end(symbols, module.start, 1, 2);
	CU_ASSERT(finds(symbols, "fixture_real", NULL));
	symbols_destroy(symbols);
}

/* The program comes first. */
static int take_tls(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(char **)ctx = info->dlpi_tls_data;
	return 1;
}

TEST("thread-local variables")
{
	struct symbols *symbols = fixture_symbols("");
	uint64_t in_program = (uint64_t)(uintptr_t)&fixture_number, offset;
	struct symbol_tls is;
	char *data = NULL;

	dl_iterate_phdr(take_tls, &data);
	CU_ASSERT_PTR_NOT_NULL_FATAL(data);
	offset = (uint64_t)((char *)&fixture_tls[2] - data);
	is = symbol_data_tls(symbols, in_program, 1, offset);
	CU_ASSERT_PTR_NOT_NULL_FATAL(is.name);
	CU_ASSERT_STRING_EQUAL(is.name, "fixture_tls");
	CU_ASSERT_EQUAL(is.offset, 2 * sizeof(int));
	CU_ASSERT_PTR_NOT_NULL(is.module);
	/* Behind all of it, and in no module. */
	is = symbol_data_tls(symbols, in_program, 1, 1 << 20);
	CU_ASSERT(is.module && !is.name && is.offset == 1 << 20);
	is = symbol_data_tls(symbols, 16, 1, 8);
	CU_ASSERT(!is.module && !is.name && is.offset == 8);
	symbols_destroy(symbols);
}

struct completion {
	char text[512];
	int limit;
};

static bool collect(const char *name, void *ctx)
{
	struct completion *completion = ctx;
	size_t len = strlen(completion->text);

	snprintf(completion->text + len, sizeof(completion->text) - len, "%s ", name);
	return --completion->limit == 0;
}

TEST("completion")
{
	struct symbols *symbols = fixture_symbols("");
	struct completion completion = { .limit = 0 };

	/* Twice the same module: each name once. */
	add(symbols, "");
	add(symbols, "libc.so");
	symbol_complete(symbols, "fixture_r", collect, &completion);
	CU_ASSERT_STRING_EQUAL(completion.text, "fixture_real ");
	completion = (struct completion){ .limit = 0 };
	symbol_complete(symbols, "posix_mem", collect, &completion);
	CU_ASSERT_STRING_EQUAL(completion.text, "posix_memalign ");
	/* Functions only. */
	completion = (struct completion){ .limit = 0 };
	symbol_complete(symbols, "fixture_num", collect, &completion);
	CU_ASSERT_STRING_EQUAL(completion.text, "");
	completion = (struct completion){ .limit = 2 };
	symbol_complete(symbols, "fixture_", collect, &completion);
	CU_ASSERT_STRING_EQUAL(completion.text, "fixture_enter fixture_file ");
	symbols_destroy(symbols);
}
