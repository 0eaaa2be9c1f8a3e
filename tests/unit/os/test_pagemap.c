/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pages were written to. */

#include "os/pagemap.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "unit.h"

#define PAGE	4096

static bool is_copied(const volatile uint8_t *at)
{
	return pagemap_is_copied(getpid(), (uintptr_t)at);
}

TEST("a page that was written to is told")
{
	AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	volatile uint8_t *text = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	uint8_t first;

	CU_ASSERT_TRUE_FATAL(fd >= 0 && text != MAP_FAILED);
	CU_ASSERT_FALSE(is_copied(text));
	first = text[0];
	if (is_copied(text)) {
		unit_skip("this kernel's pagemap does not tell a file's pages");
		return;
	}
	text[0] = 0;
	CU_ASSERT_TRUE(is_copied(text));
	/* That it is as in the file again makes no difference, ... */
	text[0] = first;
	CU_ASSERT_TRUE(is_copied(text));
	CU_ASSERT_FALSE(is_copied(text + PAGE));
	/* ... and another mapping does. */
	CU_ASSERT_PTR_EQUAL(mmap((void *)(uintptr_t)text, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED,
				 fd, 0), (void *)(uintptr_t)text);
	CU_ASSERT_FALSE(is_copied(text));
	CU_ASSERT_EQUAL(text[0], first);
	CU_ASSERT_FALSE(is_copied(text));
	munmap((void *)(uintptr_t)text, 2 * PAGE);
	CU_ASSERT_FALSE(is_copied(text));
	CU_ASSERT_TRUE(pagemap_is_copied(0, 0));	/* nobody: it cannot be told */
}
