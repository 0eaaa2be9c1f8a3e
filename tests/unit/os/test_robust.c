/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words that tell of a thread's end. */

#include "os/robust.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "child.h"
#include "unit.h"

#define PAGE	4096
#define OFFSET	28	/* as in the journal, where it is not divisible by 8 */
#define WORDS	3

/* Files with a word each, as another process sees them. */
static int fd[WORDS];
static uint32_t *word[WORDS];

static void add(struct robust *robust, unsigned i, struct robust_word **ret)
{
	struct err *err = robust_add(robust, fd[i], OFFSET, ret);

	if (err)
		printf("%s: ", err->msg);
	CU_ASSERT_PTR_NULL(err);
}

/* It has three, has dropped the one in the middle, and lives. */
static void own_words(void *arg UNUSED)
{
	static struct robust robust;
	struct robust_word *own[WORDS];

	for (unsigned i = 0; i < WORDS; i++)
		add(&robust, i, &own[i]);
	robust_drop(own[1]);
	child_ready((uint64_t)gettid());
	child_wait();
}

TEST("words of a process that is killed")
{
	struct child child;
	uint64_t tid;

	CU_ASSERT_TRUE_FATAL(child_start(&child, own_words, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &tid));
	CU_ASSERT_EQUAL(*word[0], tid);
	CU_ASSERT_EQUAL(*word[1], 0);
	CU_ASSERT_EQUAL(*word[2], tid);
	kill(child.pid, SIGKILL);
	child_end(&child);
	CU_ASSERT_EQUAL(*word[0], FUTEX_OWNER_DIED);
	CU_ASSERT_EQUAL(*word[1], 0);
	CU_ASSERT_EQUAL(*word[2], FUTEX_OWNER_DIED);
}

static struct robust_word *left;

static void *leave_word(void *robust)
{
	struct robust_word *dropped;

	add(robust, 0, &left);
	add(robust, 1, &dropped);
	robust_drop(dropped);
	return NULL;
}

/* A thread alone, in a process that goes on. */
TEST("words of a thread that ends")
{
	struct robust robust = { 0 };
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, leave_word, &robust), 0);
	pthread_join(thread, NULL);
	robust_end(&robust);
	CU_ASSERT_EQUAL(*word[0], FUTEX_OWNER_DIED);
	CU_ASSERT_EQUAL(*word[1], 0);
	robust_drop(left);
	CU_ASSERT_EQUAL(*word[0], 0);
	robust_drop(NULL);
}

static void *add_elsewhere(void *robust)
{
	struct robust_word *own, *none;
	struct err *err;

	add(robust, 0, &own);
	err = robust_add(robust, fd[1], OFFSET + 4, &none);
	CU_ASSERT_FATAL(err && err->code == ERR_RANGE);
	robust_drop(own);
	err = robust_add(robust, -1, OFFSET, &none);
	CU_ASSERT_PTR_NOT_NULL(err);
	return NULL;
}

TEST("what cannot be a word")
{
	struct robust robust = { 0 };
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, add_elsewhere, &robust), 0);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(*word[0], 0);
}

static int setup(void)
{
	for (unsigned i = 0; i < WORDS; i++) {
		char *page;

		fd[i] = memfd_create("word", MFD_CLOEXEC);
		if (fd[i] < 0 || ftruncate(fd[i], PAGE))
			return -1;
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd[i], 0);
		if (page == MAP_FAILED)
			return -1;
		word[i] = (uint32_t *)(page + OFFSET);
	}
	return 0;
}

static int teardown(void)
{
	for (unsigned i = 0; i < WORDS; i++) {
		munmap((char *)word[i] - OFFSET, PAGE);
		close(fd[i]);
	}
	return 0;
}

FIXTURE(setup, teardown);
