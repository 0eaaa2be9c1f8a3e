/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pages are in memory, against pages that this test has touched. */

#include "os/page_runs.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "unit.h"

#define PAGES	64u

static struct page_bytes between(const struct page_runs *is, uint64_t start, uint64_t end)
{
	size_t at = 0;

	return page_runs_between(is, &at, start, end);
}

TEST("touched pages, and no others")
{
	AUTO_CLOSE int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	volatile uint8_t *map = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t start = (uintptr_t)map;
	struct page_runs is = { VEC_INIT };

	CU_ASSERT_TRUE_FATAL(fd >= 0 && map != MAP_FAILED);
	madvise((void *)(uintptr_t)map, PAGES * PAGE, MADV_NOHUGEPAGE);
	map[0] = map[3 * PAGE] = map[4 * PAGE] = map[(PAGES - 1) * PAGE] = 1;
	CU_ASSERT_PTR_NULL_FATAL(page_runs_add(fd, start, start + 8 * PAGE + 5, &is));
	/* From within a page that was added on. */
	CU_ASSERT_PTR_NULL_FATAL(page_runs_add(fd, start + 8 * PAGE + 5, start + PAGES * PAGE, &is));
	CU_ASSERT_EQUAL(is.vec.nr, 3);
	CU_ASSERT_EQUAL(between(&is, start, start + PAGES * PAGE).resident, 4 * PAGE);
	CU_ASSERT_EQUAL(between(&is, start, start + PAGES * PAGE).swapped, 0);
	CU_ASSERT_EQUAL(between(&is, start + 3 * PAGE + 100, start + 5 * PAGE - 1).resident,
			2 * PAGE - 101);
	CU_ASSERT_EQUAL(between(&is, start + PAGE, start + 3 * PAGE).resident, 0);
	page_runs_free(&is);
	munmap((void *)(uintptr_t)map, PAGES * PAGE);
}

/*
 * As many runs as the kernel scans in several parts, the last of which goes through: each is there
 * once, and in order.
 */
TEST("thousands of runs")
{
	const size_t pages = 6000;
	AUTO_CLOSE int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	volatile uint8_t *map = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t start = (uintptr_t)map, behind = 0;
	struct page_runs is = { VEC_INIT };
	bool wrong = false;

	CU_ASSERT_TRUE_FATAL(fd >= 0 && map != MAP_FAILED);
	madvise((void *)(uintptr_t)map, pages * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i += 3)
		map[i * PAGE] = map[(i + 1) * PAGE] = 1;
	CU_ASSERT_PTR_NULL_FATAL(page_runs_add(fd, start, start + pages * PAGE, &is));
	CU_ASSERT_EQUAL(is.vec.nr, pages / 3);
	vec_each(run, &is.vec) {
		wrong |= run->start < behind || run->end != run->start + 2 * PAGE;
		behind = run->end;
	}
	CU_ASSERT_FALSE(wrong);
	page_runs_free(&is);
	munmap((void *)(uintptr_t)map, pages * PAGE);
}

/* Questions in order of address are answered from where the last one ended. */
TEST("runs and questions")
{
	struct page_runs is = { VEC_INIT };
	size_t at = 0;

	for (uint64_t i = 1; i < 10; i += 2)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&is.vec, ((struct page_run){
			i * PAGE, (i + 1) * PAGE, i == 5 })));
	CU_ASSERT_EQUAL(page_runs_between(&is, &at, 0, PAGE).resident, 0);
	CU_ASSERT_EQUAL(page_runs_between(&is, &at, PAGE + 8, PAGE + 16).resident, 8);
	CU_ASSERT_EQUAL(page_runs_between(&is, &at, PAGE + 16, 4 * PAGE).resident, 2 * PAGE - 16);
	CU_ASSERT_EQUAL(page_runs_between(&is, &at, 4 * PAGE, 20 * PAGE).resident, 2 * PAGE);
	at = 0;
	CU_ASSERT_EQUAL(page_runs_between(&is, &at, 4 * PAGE, 20 * PAGE).swapped, PAGE);
	CU_ASSERT_EQUAL(page_runs_between(&is, &at, 30 * PAGE, 40 * PAGE).resident, 0);
	page_runs_free(&is);
}

TEST("what cannot be read is an error")
{
	struct page_runs is = { VEC_INIT };
	struct err *err = page_runs_add(-1, PAGE, 2 * PAGE, &is);

	CU_ASSERT_TRUE(err && err->code == ERR_SYS);
	CU_ASSERT_EQUAL(is.vec.nr, 0);
}
