/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of real processes, with holes, and what ends under a reader's hands. */

#include "os/procmem.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "child.h"
#include "unit.h"

#define PAGE	4096
#define BIG	(1u << 20)

/* Shared by test and child through fork: pattern, and after it a page that is not there. */
static uint8_t *area;

static uint8_t pattern(size_t i)
{
	return (uint8_t)(i * 131 + i / 257);
}

static void make_area(void)
{
	size_t i;

	area = mmap(NULL, BIG + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(area, MAP_FAILED);
	for (i = 0; i < BIG; i++)
		area[i] = pattern(i);
	munmap(area + BIG, PAGE);
}

static void live(void *arg UNUSED)
{
	child_ready((uint64_t)gettid());
	child_wait();
}

static void start(struct child *child, struct procmem *mem)
{
	uint64_t word;

	make_area();
	CU_ASSERT_TRUE_FATAL(child_start(child, live, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(child, &word));
	memset(area, 0, BIG);	/* so that only the child has the pattern */
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(child->pid, mem));
}

static void end(struct child *child, struct procmem *mem)
{
	procmem_close(mem);
	CU_ASSERT_EQUAL(child_end(child), 0);
	munmap(area, BIG);
}

/* Does a read of len at offset give want bytes of the pattern? */
static bool gives(struct procmem *mem, size_t offset, size_t len, size_t want)
{
	AUTO_FREE uint8_t *buf = malloc(len);
	size_t got = SIZE_MAX, i;
	struct err *err = memory_read_some(&mem->memory, (uintptr_t)area + offset, buf, len, &got);
	bool good = !err && got == want;

	for (i = 0; good && i < want; i++)
		good = buf[i] == pattern(offset + i);
	return good;
}

TEST("reads of every size")
{
	struct child child;
	struct procmem mem;

	start(&child, &mem);
	CU_ASSERT_TRUE(gives(&mem, 0, 1, 1));
	CU_ASSERT_TRUE(gives(&mem, 5, 0, 0));
	CU_ASSERT_TRUE(gives(&mem, 4090, 100, 100));
	CU_ASSERT_TRUE(gives(&mem, 17, 16384, 16384));
	CU_ASSERT_TRUE(gives(&mem, 17, 16385, 16385));
	CU_ASSERT_TRUE(gives(&mem, 0, BIG, BIG));
	end(&child, &mem);
}

TEST("reads up to a hole, to the byte")
{
	struct child child;
	struct procmem mem;
	struct err *err;
	uint8_t byte;
	size_t got;

	start(&child, &mem);
	CU_ASSERT_TRUE(gives(&mem, BIG - 1, 2, 1));
	CU_ASSERT_TRUE(gives(&mem, BIG - 4097, 8192, 4097));
	CU_ASSERT_TRUE(gives(&mem, 3, BIG, BIG - 3));
	CU_ASSERT_TRUE(gives(&mem, BIG - 20001, 2 * BIG, 20001));
	err = memory_read_some(&mem.memory, (uintptr_t)area + BIG, &byte, 1, &got);
	CU_ASSERT_FATAL(err && err->code == ERR_MEMORY);
	err = memory_read(&mem.memory, (uintptr_t)area + BIG - 1, &got, sizeof(got));
	CU_ASSERT_FATAL(err && err->code == ERR_MEMORY);
	end(&child, &mem);
}

#define MANY	200	/* more than go into one system call */

static bool is_pattern(const uint8_t *buf, size_t offset, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (buf[i] != pattern(offset + i))
			return false;
	return true;
}

/* Every seventh lies in no memory, every eleventh only with its first half. */
TEST("many pieces at once")
{
	static uint8_t buf[MANY][64];
	struct procmem_piece piece[MANY];
	uint64_t base;
	struct child child;
	struct procmem mem;
	struct err *err;

	start(&child, &mem);
	base = (uintptr_t)area;
	for (size_t i = 0; i < MANY; i++)
		piece[i] = (struct procmem_piece){ .addr = base + (i % 7 == 0 ? BIG + i :
								   i % 11 == 0 ? BIG - 32 :
										 i * 4091),
						   .buf = buf[i],
						   .len = sizeof(buf[i]),
						   .got = SIZE_MAX };
	CU_ASSERT_PTR_NULL(procmem_read_pieces(&mem, piece, MANY));
	for (size_t i = 0; i < MANY; i++) {
		CU_ASSERT_EQUAL(piece[i].got, i % 7 == 0 ? 0 : i % 11 == 0 ? 32 : 64);
		CU_ASSERT_TRUE(is_pattern(buf[i], piece[i].addr - base, piece[i].got));
	}
	CU_ASSERT_PTR_NULL(procmem_read_pieces(&mem, piece, 0));
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	err = procmem_read_pieces(&mem, piece, MANY);
	CU_ASSERT_FATAL(err && err->code == ERR_GONE);
	procmem_close(&mem);
	munmap(area, BIG);
}

TEST("reads where nothing can be")
{
	static const uint64_t addrs[] = { 0,
					  0x1000,
					  INT64_MAX,
					  (uint64_t)INT64_MAX + 1,
					  UINT64_MAX - 7,
					  0xffffffffff600000,
					  0x800000000000 };
	AUTO_FREE uint8_t *buf = malloc(BIG);
	CLEANUP(procmem_close) struct procmem mem;
	size_t i, got;

	CU_ASSERT_PTR_NULL_FATAL(procmem_open(getpid(), &mem));
	for (i = 0; i < ARRAY_SIZE(addrs); i++) {
		struct err *small = memory_read_some(&mem.memory, addrs[i], buf, 8, &got);
		struct err *large = memory_read_some(&mem.memory, addrs[i], buf, BIG, &got);

		CU_ASSERT_FATAL(small && small->code == ERR_MEMORY);
		CU_ASSERT_FATAL(large && large->code == ERR_MEMORY);
	}
}

/* process_vm_readv cannot read this page; the way through the descriptor can. */
TEST("reads of a page without rights")
{
	struct child child;
	struct procmem mem;
	uint64_t word;

	make_area();
	mprotect(area + 8 * PAGE, PAGE, PROT_NONE);
	CU_ASSERT_TRUE_FATAL(child_start(&child, live, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(child.pid, &mem));
	CU_ASSERT_TRUE(gives(&mem, 8 * PAGE + 5, 8, 8));
	CU_ASSERT_TRUE(gives(&mem, 0, BIG, BIG));
	end(&child, &mem);
}

TEST("writes, also to text")
{
	static const char text[] = "written";
	struct child child;
	struct procmem mem;
	char got[sizeof(text)];
	/* text is not writable, and nothing runs it in the child */
	uint64_t code = (uintptr_t)unit_skip;

	start(&child, &mem);
	CU_ASSERT_PTR_NULL(procmem_write(&mem, (uintptr_t)area + 4093, text, sizeof(text)));
	CU_ASSERT_PTR_NULL(memory_read(&mem.memory, (uintptr_t)area + 4093, got, sizeof(got)));
	CU_ASSERT_STRING_EQUAL(got, text);
	CU_ASSERT_EQUAL(area[4093], 0);
	CU_ASSERT_PTR_NULL(procmem_write(&mem, code, text, sizeof(text)));
	CU_ASSERT_PTR_NULL(memory_read(&mem.memory, code, got, sizeof(got)));
	CU_ASSERT_STRING_EQUAL(got, text);
	CU_ASSERT_NOT_EQUAL(memcmp((void *)(uintptr_t)code, text, sizeof(text)), 0);
	end(&child, &mem);
}

TEST("a write that meets a hole")
{
	uint8_t bytes[2 * PAGE] = { 0 };
	char addr[32];
	struct child child;
	struct procmem mem;
	struct err *err;

	start(&child, &mem);
	err = procmem_write(&mem, (uintptr_t)area + BIG - 100, bytes, sizeof(bytes));
	CU_ASSERT_FATAL(err && err->code == ERR_MEMORY);
	snprintf(addr, sizeof(addr), "0x%" PRIxPTR, (uintptr_t)area + BIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, addr));
	CU_ASSERT_STRING_EQUAL(err->hint, "");
	err = procmem_write(&mem, UINT64_MAX - 100, bytes, 8);
	CU_ASSERT_FATAL(err && err->code == ERR_MEMORY);
	end(&child, &mem);
}

TEST("a refused write says what would help")
{
	struct procmem mem;
	struct err *err;
	uint8_t byte = 1;
	void *at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(at, MAP_FAILED);
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(getpid(), &mem));
	err = procmem_write(&mem, (uintptr_t)at, &byte, 1);
	CU_ASSERT_FATAL(err && err->code == ERR_MEMORY);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->hint, "proc_mem.force_override"));
	procmem_close(&mem);
	munmap(at, PAGE);
}

static void is_gone(struct procmem *mem, uint64_t addr)
{
	AUTO_FREE uint8_t *buf = malloc(BIG);
	size_t got;
	struct err *err = memory_read_some(&mem->memory, addr, buf, 8, &got);

	CU_ASSERT_FATAL(err && err->code == ERR_GONE);
	err = memory_read_some(&mem->memory, addr, buf, 8 * PAGE, &got);
	CU_ASSERT_FATAL(err && err->code == ERR_GONE);
	err = procmem_write(mem, addr, buf, 8);
	CU_ASSERT_FATAL(err && err->code == ERR_GONE);
}

TEST("the process ends")
{
	struct child child;
	struct procmem mem, again;
	struct err *err;

	start(&child, &mem);
	CU_ASSERT_TRUE(procmem_lives(&mem));
	CU_ASSERT_EQUAL(child_end(&child), 0);
	CU_ASSERT_FALSE(procmem_lives(&mem));
	is_gone(&mem, (uintptr_t)area);
	err = procmem_open(child.pid, &again);
	CU_ASSERT_FATAL(err && err->code == ERR_GONE);
	procmem_close(&mem);
	munmap(area, BIG);
}

static void become_cat(void *arg)
{
	int *in = arg;

	personality(ADDR_NO_RANDOMIZE);
	child_ready(0);
	child_wait();
	dup2(in[0], STDIN_FILENO);
	execl("/bin/cat", "cat", (char *)NULL);
	_exit(127);
}

/* The stack of a program without randomisation, which the old program need not have. */
#define NEW_STACK	0x7ffffffe8000

TEST("the process execs")
{
	char bytes[8 * PAGE];
	struct iovec local = { bytes, sizeof(bytes) },
		     remote = { (void *)NEW_STACK, sizeof(bytes) };
	struct child child;
	struct procmem mem;
	uint64_t word;
	int in[2];

	CU_ASSERT_EQUAL_FATAL(pipe(in), 0);
	CU_ASSERT_TRUE_FATAL(child_start(&child, become_cat, in));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(child.pid, &mem));
	close(child.end);
	child.end = -1;
	/* Its end of the pipe closes on exec. */
	CU_ASSERT_FALSE(child_word(&child, &word));
	is_gone(&mem, NEW_STACK);
	/* Else this would have tested nothing. */
	CU_ASSERT_EQUAL(process_vm_readv(child.pid, &local, 1, &remote, 1, 0), sizeof(bytes));
	procmem_close(&mem);
	/* cat in its turn ends when nobody can write to it; but it has the writing end itself. */
	kill(child.pid, SIGKILL);
	child_end(&child);
	close(in[0]);
	close(in[1]);
}

static void leave_leader(void *arg UNUSED)
{
	child_ready(0);
	child_wait();
	child_end_leader();
}

TEST("the first thread ends")
{
	struct child child;
	struct procmem mem;
	uint64_t tid, word;
	int end_fd;

	make_area();
	CU_ASSERT_TRUE_FATAL(child_start(&child, leave_leader, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(child.pid, &mem));
	end_fd = child.end;
	CU_ASSERT_EQUAL(write(end_fd, "", 1), 1);
	CU_ASSERT_TRUE_FATAL(child_word(&child, &tid));
	CU_ASSERT_TRUE(gives(&mem, 0, BIG, BIG));
	CU_ASSERT_TRUE(gives(&mem, 0, 8, 8));
	procmem_set_tid(&mem, (pid_t)tid);
	CU_ASSERT_TRUE(gives(&mem, 0, BIG, BIG));
	end(&child, &mem);
}

