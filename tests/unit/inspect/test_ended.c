/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who has ended, by glibc's lists of control blocks. */

#include "inspect/ended.h"
#include "named.h"
#include "unit.h"

static const char *const names[] = {
	"_rtld_global",
	"_thread_db_rtld_global__dl_stack_used",
	"_thread_db_rtld_global__dl_stack_user",
	"_thread_db_list_t_next",
	"_thread_db_pthread_list",
	"_thread_db_pthread_tid",
	"_thread_db_pthread_cancelhandling",
	NULL
};

/* Offsets: of the heads in _rtld_global, of the rest in a control block. */
#define GLOBAL		0x200u
#define USED		GLOBAL
#define USER		(GLOBAL + 0x20)
#define LIST		0x40u
#define TIDS		0x60u
#define CANCEL		0x64u
#define EXITING		0x10u
#define BLOCK(i)	(NAMED_BASE + 0x400 + (i) * 0x100ull)

static struct named named;
static uint64_t word[0x1000 / 8];

static void put(uint64_t address, uint64_t value)
{
	word[(address - NAMED_BASE) / 8] = value;
}

/* "const uint32_t NAME[3] = { bits, elements, offset }", one symbol of 16 bytes after another. */
static void describe(unsigned symbol, uint32_t offset)
{
	uint32_t field[3] = { 64, 1, offset };

	memcpy((uint8_t *)word + symbol * NAMED_SYMBOL, field, sizeof(field));
}

static void block(unsigned i, uint64_t next, uint32_t tid, uint32_t cancelhandling)
{
	put(BLOCK(i), BLOCK(i));
	put(BLOCK(i) + LIST, next);
	put(BLOCK(i) + TIDS, tid | (uint64_t)cancelhandling << 32);
}

static int start(void)
{
	named_open(&named, names);
	return 0;
}

static void begin(void)
{
	memset(word, 0, sizeof(word));
	describe(1, USED);
	describe(2, USER);
	describe(3, 0);
	describe(4, LIST);
	describe(5, TIDS);
	describe(6, CANCEL);
	put(NAMED_BASE + USED, BLOCK(0) + LIST);
	put(NAMED_BASE + USER, NAMED_BASE + USER);
	block(0, BLOCK(1) + LIST, 0, EXITING);
	block(1, NAMED_BASE + USED, 77, 0);
}

FIXTURE(start, NULL);
EACH(begin, NULL);

static size_t find(uint64_t *first)
{
	struct ended_threads ended;
	size_t nr;

	memory_array_init(&named.memory, word, NAMED_BASE, sizeof(word));
	CU_ASSERT_PTR_NULL_FATAL(ended_find(&named.target, &ended));
	CU_ASSERT_TRUE(ended.known);
	nr = ended.vec.nr;
	*first = nr ? ended.vec.at[0] : 0;
	vec_free(&ended.vec);
	return nr;
}

TEST("who has the bit and no id has ended")
{
	uint64_t first;

	CU_ASSERT_EQUAL(find(&first), 1);
	CU_ASSERT_EQUAL(first, BLOCK(0));
}

TEST("who is exiting and still has its id, or has neither, has not")
{
	uint64_t first;

	block(0, BLOCK(1) + LIST, 76, EXITING);
	CU_ASSERT_EQUAL(find(&first), 0);
	block(0, BLOCK(1) + LIST, 0, 0);
	CU_ASSERT_EQUAL(find(&first), 0);
}

TEST("a list ends at what is no control block, and at a circle without its head")
{
	uint64_t first;

	put(BLOCK(1), 1);
	block(1, NAMED_BASE + USED, 0, EXITING);
	put(BLOCK(1), 1);
	CU_ASSERT_EQUAL(find(&first), 1);
	block(1, BLOCK(1) + LIST, 77, 0);
	CU_ASSERT_EQUAL(find(&first), 1);
}

TEST("without glibc's descriptions nothing is known")
{
	struct target target = { .memory = &named.memory.memory };
	struct ended_threads ended;

	CU_ASSERT_PTR_NULL_FATAL(ended_find(&target, &ended));
	CU_ASSERT(!ended.known && !ended.vec.nr);
}
