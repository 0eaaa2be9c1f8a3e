/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JIT code by /tmp/perf-PID.map, written here as a JIT compiler would. */

#include <fcntl.h>
#include <sys/stat.h>

#include "symbol/symbol.h"
#include "unit.h"

static char path[64];

static void write_map(const char *mode, const char *text)
{
	FILE *file = fopen(path, mode);

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT(fputs(text, file) >= 0);
	CU_ASSERT(fclose(file) == 0);
}

static struct symbols *start(void)
{
	struct symbols *symbols;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(getpid(), &symbols));
	return symbols;
}

static void end(struct symbols *symbols)
{
	symbols_destroy(symbols);
	unlink(path);
}

/* In the same answer. */
static const char *as_before(struct symbols *symbols, uint64_t pc)
{
	return symbols_text(symbols, pc, 1, false, SYMBOL_NAMES_SHORT);
}

/* One answer each. */
static const char *text(struct symbols *symbols, uint64_t pc)
{
	symbols_begin(symbols);
	return as_before(symbols, pc);
}

/* "Unknown" does not stay: the file comes, and grows. */
TEST("comes and grows")
{
	struct symbols *symbols = start();
	const char *unknown = text(symbols, 0x10010);

	CU_ASSERT_STRING_EQUAL(unknown, "0x0000000000010010");
	write_map("w", "10000 20 LazyCompile:*run app.js:7\n");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10010), "LazyCompile:*run app.js:7+0x10");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10000), "LazyCompile:*run app.js:7");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10020), "0x0000000000010020");
	CU_ASSERT_STRING_EQUAL(symbols_text(symbols, 0x10020, 1, true, SYMBOL_NAMES_SHORT),
			       "LazyCompile:*run app.js:7+0x20");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x20000), "0x0000000000020000");
	/* A line that is being written does not count yet. */
	write_map("a", "20000 8 ha");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x20000), "0x0000000000020000");
	write_map("a", "lf\n");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x20000), "half");
	CU_ASSERT_STRING_EQUAL(unknown, "0x0000000000010010");
	end(symbols);
}

/* The file is looked for, and read, once in an answer. */
TEST("once in an answer")
{
	struct symbols *symbols = start();

	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10010), "0x0000000000010010");
	write_map("w", "10000 20 first\n");
	CU_ASSERT_STRING_EQUAL(as_before(symbols, 0x10011), "0x0000000000010011");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10010), "first+0x10");
	write_map("a", "8000 20 second\n");
	CU_ASSERT_STRING_EQUAL(as_before(symbols, 0x8010), "0x0000000000008010");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x8010), "second+0x10");
	CU_ASSERT_STRING_EQUAL(as_before(symbols, 0x10012), "first+0x12");
	end(symbols);
}

/* Bytes that this process has read from files so far, by the kernel's count. */
static unsigned long long bytes_read(void)
{
	FILE *file = fopen("/proc/self/io", "r");
	unsigned long long nr;

	if (!file)
		return 0;
	if (fscanf(file, "rchar: %llu", &nr) != 1)
		nr = 0;
	fclose(file);
	return nr;
}

/* A line that never ends is not read again for each answer. */
TEST("a line without end")
{
	struct symbols *symbols = start();
	unsigned long long before = bytes_read();
	char line[100001] = "30000 10 ";

	memset(line + 9, 'x', sizeof(line) - 10);
	write_map("w", "10000 20 run\n");
	write_map("a", line);
	for (uint64_t i = 0; i < 100; i++)
		CU_ASSERT_STRING_EQUAL(text(symbols, 0x30000), "0x0000000000030000");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10000), "run");
	if (before)
		CU_ASSERT(bytes_read() - before < 10 * sizeof(line));
	/* Until it ends. */
	write_map("a", "\n20000 8 next\n");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x20000), "next");
	CU_ASSERT_STRING_NOT_EQUAL(text(symbols, 0x30000), "0x0000000000030000");
	end(symbols);
}

/* Code is thrown away and its place used again; what was resolved before keeps its name. */
TEST("addresses used again")
{
	struct symbols *symbols = start();

	write_map("w", "10000 100 first\n10040 40 second\n");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10050), "second+0x10");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10030), "first+0x30");
	write_map("a", "10000 100 third\n");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10051), "third+0x51");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10050), "second+0x10");
	end(symbols);
}

TEST("bad lines")
{
	struct symbols *symbols = start();

	write_map("w", "\n \nnonsense\n10000\n10000 10\n10000 10 \n10000 zz name\n-1 10 name\n"
		       "ffffffffffffffff ffffffffffffffff name\n30000 0 empty\n0x40000 0x10 "
		       "prefixed\n50000 10 a\033[31m b\n");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10000), "0x0000000000010000");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x30000), "0x0000000000030000");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x40000), "prefixed");
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x50004), "a\\x1b[31m b+0x4");
	end(symbols);
}

/* What an earlier process with this number left. */
TEST("of an earlier process")
{
	struct symbols *symbols = start();
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

	write_map("w", "10000 20 stale\n");
	CU_ASSERT_EQUAL_FATAL(utimensat(AT_FDCWD, path, old, 0), 0);
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10000), "0x0000000000010000");
	end(symbols);
}

/* /tmp is everybody's: somebody else's file, a FIFO, a folder, a link. */
TEST("not the target's")
{
	struct symbols *symbols = start();
	char other[64];

	CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10000), "0x0000000000010000");
	unlink(path);
	CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10000), "0x0000000000010000");
	rmdir(path);
	snprintf(other, sizeof(other), "/tmp/mdbg-perf-%d", getpid());
	CU_ASSERT_EQUAL_FATAL(symlink(other, path), 0);
	write_map("w", "10000 20 elsewhere\n");	/* through the link */
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10000), "0x0000000000010000");
	unlink(other);
	unlink(path);
	write_map("w", "10000 20 foreign\n");
	if (chown(path, 12345, 12345)) {
		end(symbols);
		unit_skip("not allowed to give a file away");
		return;
	}
	CU_ASSERT_STRING_EQUAL(text(symbols, 0x10000), "0x0000000000010000");
	end(symbols);
}
