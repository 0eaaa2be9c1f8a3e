/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What libelf sees of a file: mdbg's own copy, which nobody changes any more. */

#include "elf/elf_view.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/cancel.h"
#include "base/limits.h"
#include "image.h"
#include "unit.h"

static int fd;
static size_t len;

/* A copy of this program with a tail of its own, of which nothing has a name any more. */
static void begin(size_t tail, char byte)
{
	char path[] = "/tmp/mdbg-view.XXXXXX";
	AUTO_FREE uint8_t *bytes = image_of_file("/proc/self/exe", &len);
	AUTO_FREE char *more = malloc(tail + 1);

	fd = mkstemp(path);
	CU_ASSERT_FATAL(fd >= 0 && bytes && more);
	unlink(path);
	memset(more, byte, tail);
	CU_ASSERT_EQUAL_FATAL(write(fd, bytes, len), (ssize_t)len);
	CU_ASSERT_EQUAL_FATAL(write(fd, more, tail), (ssize_t)tail);
}

/* What was checked stays as it was, whatever becomes of the file; also at a second taking. */
TEST("read once")
{
	struct elf_view view;
	GElf_Ehdr header;

	begin(100000, 'x');
	CU_ASSERT_PTR_NULL_FATAL(elf_view_open(fd, "once", &view));
	CU_ASSERT_EQUAL(view.bytes[len + 50000], 0);	/* not taken: zeros */
	CU_ASSERT_PTR_NULL(elf_view_take(&view, len + 40000, 20000));
	CU_ASSERT_EQUAL(view.bytes[len + 50000], 'x');
	CU_ASSERT_EQUAL(pwrite(fd, "y", 1, (off_t)len + 50000), 1);
	CU_ASSERT_EQUAL(pwrite(fd, "\0\0\0\0", 4, 0), 4);
	CU_ASSERT_PTR_NULL(elf_view_take(&view, 0, len + 100000));
	CU_ASSERT_EQUAL(view.bytes[len + 50000], 'x');
	CU_ASSERT_EQUAL(view.bytes[len + 99999], 'x');
	CU_ASSERT(gelf_getehdr(view.elf, &header) && !memcmp(header.e_ident, ELFMAG, SELFMAG));
	elf_view_close(&view);
	close(fd);
}

TEST("cut short")
{
	struct elf_view view;
	struct err *err;

	begin(3 << 20, 'x');
	CU_ASSERT_PTR_NULL_FATAL(elf_view_open(fd, "short", &view));
	CU_ASSERT_EQUAL(ftruncate(fd, (off_t)len), 0);
	err = elf_view_take(&view, len, 3 << 20);
	CU_ASSERT(err && err->code == ERR_FORMAT && strstr(err->msg, "short: cut short"));
	elf_view_close(&view);
	close(fd);
}

/* The same where it is mapped, in the middle of it: zeros, and no SIGBUS. */
TEST("cut short while it is mapped")
{
	struct elf_view view;
	unsigned sum = 0;

	begin(3 << 20, 1);
	CU_ASSERT_PTR_NULL_FATAL(elf_view_open(fd, "mapped", &view));
	CU_ASSERT_TRUE(view.owned);
	CU_ASSERT_PTR_NULL(elf_view_map(&view, len, 3 << 20));
	CU_ASSERT_EQUAL(view.read < 1 << 20, 1);
	CU_ASSERT_EQUAL(view.bytes[len + (1 << 20)], 1);
	CU_ASSERT_FALSE(view.guard.cut);
	CU_ASSERT_EQUAL(ftruncate(fd, (off_t)len), 0);
	for (size_t i = len + 8192; i < len + (3 << 20); i++)
		sum += view.bytes[i];
	CU_ASSERT_EQUAL(sum, 0);
	CU_ASSERT_TRUE(view.guard.cut);
	elf_view_close(&view);
	close(fd);
}

/* A file that others may write to is never mapped. */
TEST("of somebody else")
{
	struct elf_view view;

	begin(3 << 20, 'x');
	CU_ASSERT_EQUAL(fchmod(fd, 0666), 0);
	CU_ASSERT_PTR_NULL_FATAL(elf_view_open(fd, "shared", &view));
	CU_ASSERT_FALSE(view.owned);
	CU_ASSERT_PTR_NULL(elf_view_map(&view, len, 3 << 20));
	CU_ASSERT(view.read >= 3 << 20);
	elf_view_close(&view);
	close(fd);
}

TEST("limits")
{
	struct elf_view view;
	struct err *err;

	begin(1, 'x');
	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, (off_t)(4 * LIMIT_READ)), 0);
	CU_ASSERT_PTR_NULL_FATAL(elf_view_open(fd, "hole", &view));
	err = elf_view_take(&view, len, 2 * LIMIT_READ);
	CU_ASSERT(err && err->code == ERR_RANGE && strstr(err->msg, "hole: "));
	CU_ASSERT_PTR_NULL(elf_view_take(&view, len, 1 << 20));
	view.cancellable = true;
	cancel_request();
	err = elf_view_take(&view, len + (2 << 20), 100 << 20);
	cancel_clear();
	CU_ASSERT(err && err->code == ERR_CANCELLED);
	CU_ASSERT(view.read < 10 << 20);
	elf_view_close(&view);
	if (!ftruncate(fd, (off_t)(LIMIT_FILE + 1))) {
		err = elf_view_open(fd, "long", &view);
		CU_ASSERT(err && err->code == ERR_RANGE);
	}
	close(fd);
}
