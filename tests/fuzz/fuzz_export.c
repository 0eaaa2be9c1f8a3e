/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes over an export to SQLite, which is then read back and compared with itself. Whatever is read
 * has the sums that the export notes of itself.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "export/compare.h"
#include "export/export_formats.h"
#include "export/sqlite_read.h"
#include "fuzz/writes.h"
#include "unit/export/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define PAGE	4096u

static uint8_t *whole;		/* the export as it was written; NULL: this build has no SQLite */
static uint8_t *damaged;
static size_t size;

static void check(const struct err *err)
{
	if (err)
		abort();
}

/* The fuzzer is in a folder of its own. */
static void begin(void)
{
	const struct export_format *format;
	struct model model;
	struct stat stat;
	struct export_done done;
	int fd;

	if (export_format_find("sqlite", &format))
		return;
	model_make(&model);
	check(export_format_write(format, &model, NULL, "export", &done));
	model_free(&model);
	fd = open("export", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &stat))
		abort();
	size = (size_t)stat.st_size;
	whole = malloc(size);
	damaged = malloc(size);
	if (!whole || !damaged || read(fd, whole, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void compare(const struct model *model)
{
	struct compare compare = { .from = { { .word = "one" }, model, true },
				   .to = { { .word = "other" }, model, true } };

	check(compare_build(&compare));
	if (compare.difference.vec.nr || compare.difference.from.bytes != model->bytes)
		abort();
	difference_free(&compare.difference);
}

/* All inputs are written to one file, as it takes longer to make one than all the rest. */
static void read_back(void)
{
	static int fd = -1;
	struct model model;

	if (fd < 0)
		fd = open("damaged", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || pwrite(fd, damaged, size, 0) != (ssize_t)size)
		abort();
	if (sqlite_read("damaged", &model))
		return;
	compare(&model);
	model_free(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct input input = { bytes, len };
	struct write write;
	static bool begun;

	if (!begun)
		begin();
	begun = true;
	if (!whole)
		return 0;
	memcpy(damaged, whole, size);
	while (input_write(&input, &write)) {
		size_t page = write.area % (size / PAGE) * PAGE;

		write.offset %= PAGE;
		write_apply(&write, damaged + page, PAGE);
	}
	read_back();
	return 0;
}
