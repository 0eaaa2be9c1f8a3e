/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read of each kind of memory, and that nothing of it is changed. */

#include "os/page_rules.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "child.h"
#include "os/procmem.h"
#include "os/smaps.h"
#include "unit.h"

#define LEN	(64 * PAGE)
#define HUGE	(2ull << 20)
#define MARK	0x5a5aa5a5600dull

/* Each mapping has MARK on its second page alone, but for the child's `written` it is untouched. */
enum { ANON, SHARED, FILE_SHARED, FILE_PRIVATE, ZERO_PRIVATE, HUGE_PRIVATE, KINDS };

static struct kinds {
	uint64_t *untouched[KINDS], *written[KINDS];
	uint64_t *forked, *guarded;
} *kinds;

static void *map(int kind)
{
	static const struct {
		const char *path;
		int flags;
	} how[KINDS] = {
		[ANON] = { NULL, MAP_PRIVATE | MAP_ANONYMOUS },
		[SHARED] = { NULL, MAP_SHARED | MAP_ANONYMOUS },
		[FILE_SHARED] = { "", MAP_SHARED },
		[FILE_PRIVATE] = { "", MAP_PRIVATE },
		[ZERO_PRIVATE] = { "/dev/zero", MAP_PRIVATE },
		[HUGE_PRIVATE] = { NULL, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE },
	};
	AUTO_CLOSE int fd = -1;
	void *at;

	if (how[kind].path && !*how[kind].path)
		fd = open("/var/tmp", O_TMPFILE | O_RDWR, 0600);
	else if (how[kind].path)
		fd = open(how[kind].path, O_RDWR);
	if (fd >= 0 && !*how[kind].path && ftruncate(fd, LEN))
		return NULL;
	at = mmap(NULL, kind == HUGE_PRIVATE ? 2 * HUGE : LEN, PROT_READ | PROT_WRITE,
		  how[kind].flags, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

/* A huge page is only taken where one is free: a touch of none is SIGBUS. */
static bool huge_is_free(void)
{
	AUTO_FREE char *text = NULL;
	char *free;

	if (procfs_file(getpid(), "../meminfo", &text, NULL))
		return false;
	free = strstr(text, "HugePages_Free:");
	return free && strtoul(free + 15, NULL, 10) > 2;
}

static void write_mark(uint64_t *at)
{
	if (at)
		at[PAGE / sizeof(*at)] = MARK;
}

static void live(void *arg UNUSED)
{
	pid_t parent = getpid();

	for (int i = 0; i < KINDS; i++) {
		if (i == HUGE_PRIVATE && !huge_is_free())
			continue;
		kinds->untouched[i] = map(i);
		kinds->written[i] = map(i);
		write_mark(kinds->written[i]);
	}
	kinds->forked = map(FILE_PRIVATE);
	write_mark(kinds->forked);
	kinds->guarded = map(ANON);
	madvise(kinds->guarded, LEN, 102);		/* MADV_GUARD_INSTALL, if there is one */
	if (fork()) {
		child_ready(0);
		child_wait();
		return;
	}
	/* It has what was written, too, and ends with its parent, whose own signal a fork does not hand on. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		pause();
	_exit(0);
}

/* What is in memory of the mapping, huge pages and the rest. */
static uint64_t resident(pid_t pid, const void *at)
{
	CLEANUP(smaps_free) struct smaps smaps;
	uint64_t sum = 0;

	CU_ASSERT_PTR_NULL_FATAL(smaps_read(pid, &smaps));
	for (size_t i = 0; i < smaps.figures.nr; i++) {
		const uint64_t *figure = smaps.figures.at[i].figure;

		if (smaps.maps.vec.at[i].start <= (uintptr_t)at &&
		    smaps.maps.vec.at[i].end > (uintptr_t)at)
			sum = figure[SMAPS_RSS] + figure[SMAPS_HUGETLB_SHARED] +
			      figure[SMAPS_HUGETLB_PRIVATE];
	}
	return sum;
}

/* Mappings that are neighbours may be one to the kernel: then the sum is of both. */
static uint64_t all_resident(pid_t pid)
{
	uint64_t sum = resident(pid, kinds->forked) + resident(pid, kinds->guarded);

	for (int i = 0; i < KINDS; i++)
		sum += resident(pid, kinds->untouched[i]) + resident(pid, kinds->written[i]);
	return sum;
}

static bool reads(struct memory *memory, const uint64_t *at, uint64_t *ret)
{
	return !memory_read_u64(memory, (uintptr_t)at, ret);
}

static void look_at_kind(struct procmem *mem, int kind)
{
	uint64_t *written = kinds->written[kind], *untouched = kinds->untouched[kind], word, from, to;
	uint64_t len = kind == HUGE_PRIVATE ? 2 * HUGE : LEN, first = kind == HUGE_PRIVATE ? HUGE : PAGE;
	uint64_t at = (uintptr_t)written;

	if (!written || !untouched)
		return;
	CU_ASSERT_FALSE(reads(&mem->memory, untouched, &word));
	CU_ASSERT_FALSE(memory_next(&mem->memory, (uintptr_t)untouched, (uintptr_t)untouched + len,
				    &from, &to));
	CU_ASSERT_TRUE(reads(&mem->memory, written + PAGE / 8, &word) && word == MARK);
	CU_ASSERT_FALSE(reads(&mem->memory, written + len / 8 - 1, &word));
	CU_ASSERT_TRUE_FATAL(memory_next(&mem->memory, at, at + len, &from, &to));
	CU_ASSERT_EQUAL(from, kind == HUGE_PRIVATE ? at : at + PAGE);
	CU_ASSERT_EQUAL(to, kind == HUGE_PRIVATE ? at + first : at + 2 * PAGE);
	CU_ASSERT_FALSE(memory_next(&mem->memory, to, at + len, &from, &to));
}

TEST("each kind of memory")
{
	AUTO_FREE uint8_t *all = malloc(LEN);
	struct child child;
	struct procmem mem;
	uint64_t word, before, guarded, from, to;
	size_t got;

	CU_ASSERT_PTR_NOT_NULL_FATAL(all);
	CU_ASSERT_TRUE_FATAL(child_start(&child, live, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(child.pid, &mem));
	before = all_resident(child.pid);
	for (int i = 0; i < KINDS; i++)
		look_at_kind(&mem, i);
	CU_ASSERT_TRUE(reads(&mem.memory, kinds->forked + PAGE / 8, &word) && word == MARK);
	CU_ASSERT_FALSE(reads(&mem.memory, kinds->guarded, &word));
	/* Nothing is there that could not be read. */
	guarded = (uintptr_t)kinds->guarded;
	CU_ASSERT_FALSE(memory_next(&mem.memory, guarded, guarded + LEN, &from, &to));
	/* As far as there is a page. */
	CU_ASSERT_PTR_NULL(memory_read_some(&mem.memory, (uintptr_t)kinds->written[SHARED] + PAGE + 5,
					    all, LEN, &got));
	CU_ASSERT_EQUAL(got, PAGE - 5);
	CU_ASSERT_EQUAL(all_resident(child.pid), before);
	if (!kinds->written[HUGE_PRIVATE])
		unit_skip("no huge page is free");
	procmem_close(&mem);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

/* What is about to be written to is brought in, and text; guard pages are not. */
TEST("what is brought in")
{
	struct child child;
	struct procmem mem;
	uint64_t word = 1;

	CU_ASSERT_TRUE_FATAL(child_start(&child, live, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(child.pid, &mem));
	CU_ASSERT_TRUE(reads(&mem.bring, kinds->untouched[ANON], &word) && !word);
	CU_ASSERT_TRUE(reads(&mem.bring, kinds->untouched[FILE_PRIVATE], &word) && !word);
	CU_ASSERT_TRUE(reads(&mem.memory, kinds->untouched[FILE_PRIVATE], &word) && !word);
	CU_ASSERT_PTR_NULL(procmem_write(&mem, (uintptr_t)kinds->untouched[ANON], "abcdefg", 8));
	CU_ASSERT_TRUE(reads(&mem.memory, kinds->untouched[ANON], &word));
	CU_ASSERT_EQUAL(memcmp(&word, "abcdefg", 8), 0);
	procmem_close(&mem);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static void fill_by_nobody(void *arg UNUSED)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int failed = fd < 0 || ioctl(fd, UFFDIO_API, &api);

	for (int i = ANON; i <= SHARED && !failed; i++) {
		kinds->untouched[i] = map(i);
		write_mark(kinds->untouched[i]);
		range.range.start = (uintptr_t)kinds->untouched[i];
		range.range.len = LEN;
		failed |= ioctl(fd, UFFDIO_REGISTER, &range);
	}
	child_ready((uint64_t)failed);
	child_wait();
}

TEST("userfaultfd")
{
	struct child child;
	struct procmem mem;
	uint64_t word, failed;

	CU_ASSERT_TRUE_FATAL(child_start(&child, fill_by_nobody, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &failed));
	if (failed)
		unit_skip("no userfaultfd");
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(child.pid, &mem));
	for (int i = ANON; i <= SHARED && !failed; i++) {
		CU_ASSERT_FALSE(reads(&mem.memory, kinds->untouched[i], &word));
		CU_ASSERT_FALSE(reads(&mem.bring, kinds->untouched[i], &word));
		CU_ASSERT_TRUE(reads(&mem.memory, kinds->untouched[i] + PAGE / 8, &word));
	}
	procmem_close(&mem);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

TEST("file systems")
{
	static const struct {
		const char *type;
		enum file_place place;
	} is[] = {
		{ "ext4", FILE_LOCAL }, { "tmpfs", FILE_LOCAL }, { "overlay", FILE_LAYERED },
		{ "fuse", FILE_UNKNOWN }, { "fuse.sshfs", FILE_UNKNOWN }, { "nfs4", FILE_UNKNOWN },
		{ "cifs", FILE_UNKNOWN }, { "9p", FILE_UNKNOWN }, { "virtiofs", FILE_UNKNOWN },
		{ "sysfs", FILE_UNKNOWN }, { "devtmpfs", FILE_UNKNOWN }, { "", FILE_UNKNOWN },
		{ "ext", FILE_UNKNOWN }, { "ext44", FILE_UNKNOWN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(is); i++)
		CU_ASSERT_EQUAL(local_files_type(is[i].type, strlen(is[i].type)), is[i].place);
}

static int setup(void)
{
	kinds = child_share(sizeof(*kinds));
	return !kinds;
}

static int teardown(void)
{
	return munmap(kinds, sizeof(*kinds));
}

FIXTURE(setup, teardown);

