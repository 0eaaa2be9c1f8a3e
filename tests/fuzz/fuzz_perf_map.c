/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as this process' own /tmp/perf-PID.map, by which code of no module is named. The first byte
 * says how much of it is there at the first look; the rest comes afterwards, as a compiler appends it.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static char path[64];

static void remove_file(void)
{
	unlink(path);
}

static int open_file(void)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || atexit(remove_file))
		abort();
	return fd;
}

/*
 * The file ends with these bytes, which begin at `at`. It is the same file for all inputs: making and
 * removing one for each would take longer than all the rest.
 */
static void fill_file(const uint8_t *bytes, size_t at, size_t len)
{
	static int fd = -1;

	if (fd < 0)
		fd = open_file();
	if (pwrite(fd, bytes, len, (off_t)at) != (ssize_t)len ||
	    ftruncate(fd, (off_t)(at + len)))
		abort();
}

static void look(struct symbols *symbols, uint64_t pc)
{
	size_t nr;
	const struct symbol_frame *frame = symbols_resolve(symbols, pc, 1, false, &nr);

	if (nr != 1 || frame->pc != pc || frame->module)
		abort();
	if (frame->function && (!*frame->function || frame->offset > pc))
		abort();
	if (!*symbols_text(symbols, pc, 1, false, SYMBOL_NAMES_SHORT))
		abort();
}

/* At what the lines may name, too. */
static void look_around(struct symbols *symbols, const uint8_t *bytes, size_t len)
{
	static const uint64_t fixed[] = { 0, 1, 0x1000, 0x401013, UINT64_MAX };
	char number[17] = "";

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		look(symbols, fixed[i]);
	for (size_t i = 0; i + 16 <= len && i < 256; i += 16) {
		memcpy(number, bytes + i, 16);
		look(symbols, strtoull(number, NULL, 16));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct symbols *symbols;
	size_t first;

	if (!len)
		return 0;
	first = (len - 1) * bytes[0] / 255;
	fill_file(bytes + 1, 0, first);
	if (symbols_create(getpid(), &symbols))
		abort();
	look_around(symbols, bytes + 1, len - 1);
	fill_file(bytes + 1 + first, first, len - 1 - first);
	look_around(symbols, bytes + 1, len - 1);
	symbols_destroy(symbols);
	return 0;
}
