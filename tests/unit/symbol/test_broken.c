/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that are no ELF, are cut, or lie: names are unknown or wrong, and mdbg goes on. */

#include <sys/mman.h>
#include <sys/stat.h>

#include "fixture.h"
#include "symbol/symbol.h"
#include "unit.h"

#define BIAS	0x7f0000000000

/* This program's bytes; the caller frees them. */
static unsigned char *own_bytes(size_t *len_ret)
{
	struct symbol_module module;
	unsigned char *bytes;
	struct stat st;

	CU_ASSERT_FATAL(fixture_module("", &module));
	CU_ASSERT_FATAL(!fstat(module.fd, &st));
	*len_ret = (size_t)st.st_size;
	bytes = malloc(*len_ret);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	CU_ASSERT_FATAL(pread(module.fd, bytes, *len_ret, 0) == (ssize_t)*len_ret);
	close(module.fd);
	return bytes;
}

/* Ask everything of these bytes, by a descriptor or as an image. */
static void ask(const unsigned char *bytes, size_t len, bool as_image)
{
	struct symbol_module module = {
		.path = "/broken",
		.fd = -1,
		.bytes = bytes,
		.bytes_len = len,
		.start = BIAS,
		.end = BIAS + (1 << 24),
		.bias = BIAS,
		.born = 1,
		.died = UINT32_MAX,
	};
	uint64_t pc = BIAS + fixture_file_address(fixture_real), addr, size;
	struct symbols *symbols;
	size_t nr;

	if (!as_image) {
		module.fd = memfd_create("broken", MFD_CLOEXEC);
		CU_ASSERT_FATAL(module.fd >= 0 && pwrite(module.fd, bytes, len, 0) == (ssize_t)len);
	}
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	for (int i = -64; i < 64; i++) {
		CU_ASSERT_PTR_NOT_NULL(
			symbols_resolve(symbols, pc + (uint64_t)(i * 61), 1, i & 1, &nr));
		CU_ASSERT(nr >= 1);
		CU_ASSERT(symbols_text(symbols, pc + (uint64_t)(i * 61), 1, i & 1, SYMBOL_NAMES_SHORT)[0] != '\0');
	}
	err_ignore(symbols_find(symbols, "fixture_real", &addr, &size));
	symbols_destroy(symbols);
	if (module.fd >= 0)
		close(module.fd);
}

TEST("no ELF file")
{
	static const unsigned char text[] = "#!/bin/sh\nexit 0\n", magic[] = "\177ELF",
				   archive[] = "!<arch>\n";

	for (int as_image = 0; as_image < 2; as_image++) {
		ask(text, 0, as_image);
		ask(text, sizeof(text), as_image);
		ask(magic, 4, as_image);
		ask(archive, 8, as_image);
	}
}

TEST("cut")
{
	size_t len;
	unsigned char *bytes = own_bytes(&len);

	for (size_t cut = 1; cut < len; cut = cut * 2 + 1)
		ask(bytes, cut, cut & 2);
	for (int i = 1; i < 16; i++)
		ask(bytes, len * (size_t)i / 16, i & 1);
	free(bytes);
}

/*
 * A byte in a thousand is wrong, or one in the headers; each time others, but the same in every
 * run.
 */
TEST("wrong bytes")
{
	size_t len;
	unsigned char *bytes = own_bytes(&len), *copy = malloc(len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	srand(7);
	for (int i = 0; i < 40; i++) {
		memcpy(copy, bytes, len);
		if (i & 1) {
			/* ELF header, program headers, dynamic section names. */
			for (int k = 0; k < 4; k++)
				copy[16 + rand() % 1000] = (unsigned char)rand();
		} else {
			/* Not the first page, else there is nothing to look at. */
			for (size_t at = 4096; at < len; at += 1 + (size_t)(rand() % 2000))
				copy[at] = (unsigned char)rand();
		}
		ask(copy, len, i & 2);
	}
	free(copy);
	free(bytes);
}

/* The file is cut short while it is open, as by a careless update. */
TEST("shrinks")
{
	size_t len, nr;
	unsigned char *bytes = own_bytes(&len);
	int fd = memfd_create("shrinks", MFD_CLOEXEC);
	struct symbol_module module = { .path = "/shrinks",
					.fd = fd,
					.start = BIAS,
					.end = BIAS + (1 << 24),
					.bias = BIAS,
					.born = 1,
					.died = UINT32_MAX };
	uint64_t pc = BIAS + fixture_file_address(fixture_real);
	struct symbols *symbols;

	CU_ASSERT_FATAL(fd >= 0 && pwrite(fd, bytes, len, 0) == (ssize_t)len);
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	CU_ASSERT_STRING_EQUAL(fixture_function(symbols, pc), "fixture_real");
	CU_ASSERT_FATAL(!ftruncate(fd, 100));
	for (uint64_t i = 1; i < 1000; i++)
		CU_ASSERT_PTR_NOT_NULL(symbols_resolve(symbols, pc + 16 * i, 1, true, &nr));
	CU_ASSERT_STRING_EQUAL(fixture_function(symbols, pc), "fixture_real");
	symbols_destroy(symbols);
	close(fd);
	free(bytes);
}
