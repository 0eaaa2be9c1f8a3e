/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Broken files: a small program with bytes changed at random, cut, or with numbers that mean
 * trouble, goes through all of elf/ and the compiler of rows. Nothing may crash (the sanitizers
 * watch), and what comes out must be sound. `make fuzz` goes deeper; this runs with every check and
 * with any compiler. MUTATE_ROUNDS asks for more.
 */

#include <elf.h>

#include "elf/elf_file.h"
#include "unit.h"
#include "unwind/rows_compile.h"

#define ROUNDS	1500

static uint64_t state;

static uint64_t random_next(void)
{
	return unit_random(&state);
}

struct bytes {
	uint8_t *at;
	size_t len;
};

static struct bytes seed_read(const char *name)
{
	const char *source = getenv("MDBG_SOURCE");
	struct bytes bytes = { NULL, 0 };
	char path[512];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/tests/fuzz/seeds/elf/%s", source ? source : ".", name);
	stream = fopen(path, "rb");
	if (!stream)
		return bytes;
	fseek(stream, 0, SEEK_END);
	bytes.len = (size_t)ftell(stream);
	rewind(stream);
	bytes.at = malloc(bytes.len);
	if (!bytes.at || fread(bytes.at, 1, bytes.len, stream) != bytes.len)
		bytes.len = 0;
	fclose(stream);
	return bytes;
}

static void check_rows(struct elf_file *file, const struct elf_segment *segment)
{
	struct rows rows;

	if (rows_compile(file, segment->vaddr, segment->memsz, &rows))
		return;
	CU_ASSERT_FATAL(rows.nr > 0);
	for (uint32_t i = 0; i < rows.nr; i++) {
		const struct row *row = &rows.row[i];

		if (i)
			CU_ASSERT_FATAL(row->pc > row[-1].pc);
		CU_ASSERT_FATAL(row->pc < segment->memsz);
		CU_ASSERT_FATAL(row->cfa < ROW_CFA_KINDS && row->fp < ROW_FP_KINDS);
		CU_ASSERT_FATAL(rows_find(&rows, row->pc) == row);
	}
	rows_free(&rows);
}

/* Every accessor. True if the file was opened. */
static bool look_at_all(const struct bytes *bytes)
{
	const struct elf_segment *segment;
	struct elf_symbols at;
	struct elf_symbol symbol;
	uint64_t size;
	struct elf_file *file;
	size_t nr;
	uint8_t buf[64];

	if (elf_file_from_bytes(bytes->at, bytes->len, "mutated", &file))
		return false;
	CU_ASSERT(elf_file_build_id(file, &nr) && nr <= BUILD_ID_MAX);
	if (!elf_symbols_begin(file, &at))
		while (elf_symbols_next(&at, &symbol))
			CU_ASSERT(strlen(symbol.name) <= SIZE_MAX / 2);	/* all of it can be read */
	err_ignore(elf_symbol_named(file, "main", &symbol));
	err_ignore(elf_symbol_function_extent(file, elf_file_entry(file), &size));
	segment = elf_file_segments(file, &nr);
	for (size_t i = 0; i < nr && i < 8; i++) {
		err_ignore(elf_file_read(file, segment[i].vaddr, buf, sizeof(buf)));
		err_ignore(elf_file_read(file, segment[i].vaddr + segment[i].memsz - 8, buf,
					 sizeof(buf)));
		check_rows(file, &segment[i]);
	}
	elf_file_close(file);
	return true;
}

/* Numbers that mean trouble, over one to eight bytes. */
static void trouble(struct bytes *bytes, size_t at)
{
	static const uint64_t numbers[] = {
		0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
		0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffff8,
		0x100000000,
	};
	uint64_t number = numbers[random_next() % (sizeof(numbers) / sizeof(*numbers))];
	size_t len = 1u << random_next() % 4;

	if (len > bytes->len - at)
		len = bytes->len - at;
	memcpy(bytes->at + at, &number, len);
}

/* Most of what matters stands in headers: aim there half of the time. */
static size_t aim(const struct bytes *bytes)
{
	uint64_t r = random_next();

	if (r % 4 == 0 && bytes->len > 600)
		return (r >> 8) % 600;
	if (r % 4 == 1 && bytes->len > 2000)
		return bytes->len - 1 - (r >> 8) % 2000;
	return (r >> 8) % bytes->len;
}

static void mutate(struct bytes *bytes)
{
	unsigned changes = 1 + (unsigned)(random_next() % 6);

	if (random_next() % 16 == 0)
		bytes->len = 1 + random_next() % bytes->len;
	while (changes--) {
		size_t at = aim(bytes);

		if (random_next() % 2)
			bytes->at[at] = (uint8_t)random_next();
		else
			trouble(bytes, at);
	}
}

static void rounds(const char *name)
{
	struct bytes seed = seed_read(name), copy;
	const char *asked = getenv("MUTATE_ROUNDS");
	unsigned long nr = asked ? strtoul(asked, NULL, 10) : ROUNDS, opened = 0;

	if (!seed.len) {
		unit_skip("no seeds (MDBG_SOURCE)");
		free(seed.at);
		return;
	}
	copy.at = malloc(seed.len);
	CU_ASSERT_FATAL(copy.at != NULL);
	CU_ASSERT(look_at_all(&seed));
	state = 1;
	for (unsigned long i = 0; i < nr; i++) {
		copy.len = seed.len;
		memcpy(copy.at, seed.at, seed.len);
		mutate(&copy);
		opened += look_at_all(&copy);
	}
	CU_ASSERT(opened > nr / 2 && opened < nr);
	free(copy.at);
	free(seed.at);
}

TEST("a program")
{
	rounds("program");
}

TEST("an object")
{
	rounds("object");
}

/* A file of any length from nothing to all of it. */
TEST("a program that is cut")
{
	struct bytes seed = seed_read("program");

	if (!seed.len) {
		unit_skip("no seeds (MDBG_SOURCE)");
		return;
	}
	for (size_t len = 0; len < seed.len; len += len < 1000 ? 1 : 61) {
		/* An array of its own, so that the sanitizer sees a read past its end. */
		struct bytes part = { malloc(len + 1), len };

		CU_ASSERT_FATAL(part.at != NULL);
		memcpy(part.at, seed.at, len);
		look_at_all(&part);
		free(part.at);
	}
	free(seed.at);
}
