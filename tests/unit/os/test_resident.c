/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pages are in memory. */

#include "os/resident.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/page.h"
#include "os/pagemap.h"
#include "os/procfs.h"
#include "unit.h"

TEST("asks for single pages, and counts")
{
	struct resident is = RESIDENT_INIT;
	uint64_t entry[200] = { 0 };

	for (unsigned i = 0; i < 200; i += 3)
		entry[i] = PAGEMAP_PRESENT;
	entry[1] = PAGEMAP_SWAPPED;
	CU_ASSERT_PTR_NULL_FATAL(resident_add(&is, 0x1000, entry, 200));
	CU_ASSERT_PTR_NULL_FATAL(resident_add(&is, 0x400000, entry, 70));
	CU_ASSERT_TRUE(resident_is(&is, 0x1000) && resident_is(&is, 0x4fff));
	CU_ASSERT_FALSE(resident_is(&is, 0) || resident_is(&is, 0x2000) ||
			resident_is(&is, 201ull << 12) || resident_is(&is, 0x402000) ||
			resident_is(&is, 0x10000000));
	CU_ASSERT_EQUAL(resident_pages(&is, 0, 1ull << 40), 67 + 24);
	CU_ASSERT_EQUAL(resident_pages(&is, 0x2000, 0x4000), 0);
	CU_ASSERT_EQUAL(resident_pages(&is, 0x2000, 0x5000), 1);
	CU_ASSERT_EQUAL(resident_pages(&is, 0x1000, 0x1000 + (199ull << 12)), 67);
	CU_ASSERT_EQUAL(resident_pages(&is, 0x1000 + (63ull << 12), 0x1000 + (130ull << 12)), 23);
	resident_free(&is);
}

TEST("reads its own")
{
	const size_t nr = 10000;
	uint8_t *at = mmap(NULL, nr * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct resident is = RESIDENT_INIT;
	int fd = procfs_open(getpid(), "pagemap", O_RDONLY);

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(at, MAP_FAILED);
	madvise(at, nr * PAGE, MADV_NOHUGEPAGE);
	at[0] = at[5000 * PAGE] = at[9999 * PAGE] = 1;
	CU_ASSERT_PTR_NULL_FATAL(resident_read(fd, (uintptr_t)at, (uintptr_t)at + 4000 * PAGE, &is));
	/* The first page was read. */
	CU_ASSERT_PTR_NULL_FATAL(resident_read(fd, (uintptr_t)at + 3999 * PAGE,
					       (uintptr_t)at + nr * PAGE, &is));
	CU_ASSERT_EQUAL(resident_pages(&is, (uintptr_t)at, (uintptr_t)at + nr * PAGE), 3);
	CU_ASSERT_TRUE(resident_is(&is, (uintptr_t)at + 9999 * PAGE));
	CU_ASSERT_FALSE(resident_is(&is, (uintptr_t)at + 9998 * PAGE));
	resident_free(&is);
	close(fd);
	munmap(at, nr * PAGE);
}
