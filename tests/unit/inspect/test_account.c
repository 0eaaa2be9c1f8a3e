/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts add up, and each byte is in the part that it belongs to. */

#include "inspect/account.h"

#include <sys/mman.h>

#include "base/page.h"
#include "unit.h"

#define MB	(1ull << 20)

static struct memory_use use;
static struct account_heap heap;
static struct account_beside beside;
static struct account account;

static void begin(void)
{
	memset(&use, 0, sizeof(use));
	memset(&heap, 0, sizeof(heap));
	beside = (struct account_beside){ .tables = MEMORY_UNKNOWN };
	heap.asked = UINT64_MAX;
}

static void end(void)
{
	vec_free(&use.vec);
	held_files_free(&beside.files);
}

EACH(begin, end);

static void resident(enum memory_kind kind, uint64_t bytes)
{
	use.look.kind[kind].at[MEMORY_RSIZE] = bytes;
}

static void check(enum account_part part, uint64_t bytes)
{
	CU_ASSERT_EQUAL(account.part[part], bytes);
	if (account.part[part] != bytes)
		printf("%s: %llu, not %llu\n", account_name(part),
		       (unsigned long long)account.part[part], (unsigned long long)bytes);
}

static void make(uint64_t sum)
{
	uint64_t all = 0;

	account_make(&use, &heap, &beside, &account);
	for (unsigned part = 0; part < ACCOUNT_ALL; part++)
		all += account.part[part];
	CU_ASSERT_EQUAL(all, sum);
	check(ACCOUNT_ALL, sum);
}

TEST("heaps that were not walked are one part")
{
	resident(MEMORY_HEAP, 5 * MB);
	resident(MEMORY_MAPPED, MB);
	use.look.kind[MEMORY_HEAP].at[MEMORY_LAZY] = 2 * MB;
	resident(MEMORY_OWN, 3 * MB);
	make(9 * MB);
	check(ACCOUNT_UNDIVIDED, 4 * MB);
	check(ACCOUNT_LAZY, 2 * MB);
	check(ACCOUNT_OWN, 3 * MB);
	check(ACCOUNT_HELD, 0);
	check(ACCOUNT_UNTOUCHED, MEMORY_UNKNOWN);
}

/* 100 blocks of 1000 bytes that the log has, and one from before the attach, half of it touched. */
static void walked(void)
{
	heap.known = true;
	heap.kind[CHUNK_USED].bytes = 100 * 1008 + 4 * MB;
	heap.kind[CHUNK_USED].resident = 100 * 1008 + 2 * MB;
	heap.kind[CHUNK_CACHED].resident = 500;
	heap.kind[CHUNK_FAST].resident = 60;
	heap.kind[CHUNK_FREE].resident = 3 * MB;
	heap.kind[CHUNK_OWN].resident = 640;
	heap.kind[CHUNK_TOP].resident = MB + 70;
	heap.main_top = 70;
	heap.other_top = MB;
	heap.recorded = 100;
	heap.recorded_bytes = 100 * 1008;
	heap.recorded_headers = 100 * 8;
	heap.early = 1;
	heap.early_bytes = 4 * MB;
	heap.early_headers = 8;
	heap.asked = 100 * 1000;
}

TEST("heaps that were walked")
{
	uint64_t chunks;

	walked();
	chunks = 100 * 1008 + 2 * MB + 500 + 60 + 3 * MB + 640 + MB + 70;
	resident(MEMORY_HEAP, chunks + 200);
	make(chunks + 200);
	check(ACCOUNT_HELD, 100 * 1000 + 2 * MB - 8);
	check(ACCOUNT_OVERHEAD, 100 * 8 + 8);
	check(ACCOUNT_CACHED, 500);
	check(ACCOUNT_FREE, 3 * MB + 60);
	check(ACCOUNT_TOP, 70);
	check(ACCOUNT_TOPS, MB);
	check(ACCOUNT_ALLOCATOR, 640 + 200);
	check(ACCOUNT_UNTOUCHED, 2 * MB);
	/* What was asked for is not known: only headers are told from it. */
	heap.asked = UINT64_MAX;
	make(chunks + 200);
	check(ACCOUNT_OVERHEAD, 101 * 8);
	/* Of several allocators' heaps some were walked. */
	strcpy(heap.why, "another one cannot be walked");
	make(chunks + 200);
	check(ACCOUNT_ALLOCATOR, 640);
	check(ACCOUNT_UNDIVIDED, 200);
	/* The process has given some back since it was walked. */
	*heap.why = '\0';
	resident(MEMORY_HEAP, chunks - MB);
	make(chunks - MB);
	check(ACCOUNT_HELD, 100 * 1008 + MB - 101 * 8);
	check(ACCOUNT_ALLOCATOR, 640);
}

/* A block lies in a mapping of other memory, of which it was not known without the walk. */
TEST("what is more than the heaps' share is no other memory's")
{
	heap.known = true;
	heap.kind[CHUNK_MMAPPED].bytes = heap.kind[CHUNK_MMAPPED].resident = 3 * MB;
	resident(MEMORY_MAPPED, 2 * MB);
	resident(MEMORY_ANONYMOUS, 5 * MB);
	make(7 * MB);
	check(ACCOUNT_HELD, 3 * MB);
	check(ACCOUNT_ANONYMOUS, 4 * MB);
	/* There is less of it than that: some blocks have gone since the walk. */
	resident(MEMORY_ANONYMOUS, MB / 2);
	make(5 * MB / 2);
	check(ACCOUNT_HELD, 5 * MB / 2);
	check(ACCOUNT_ANONYMOUS, 0);
}

TEST("files, shared memory, stacks, and what was given back")
{
	struct memory_map ended = { .kind = MEMORY_STACKS, .thread = MEMORY_ENDED };

	resident(MEMORY_FILES, 10 * MB);
	use.look.kind[MEMORY_FILES].at[MEMORY_PRIVATE] = 3 * MB;
	use.look.kind[MEMORY_FILES].at[MEMORY_DIRTY] = 5 * MB;
	resident(MEMORY_SHARED, 7 * MB);
	use.look.kind[MEMORY_SHARED].at[MEMORY_OTHERS] = 4 * MB;
	resident(MEMORY_ANONYMOUS, 6 * MB);
	use.look.kind[MEMORY_ANONYMOUS].at[MEMORY_LAZY] = MB;
	use.look.kind[MEMORY_ANONYMOUS].at[MEMORY_OTHERS] = 2 * MB;
	resident(MEMORY_STACKS, 2 * MB);
	resident(MEMORY_MAIN_STACK, MB);
	ended.sum.at[MEMORY_RSIZE] = MB / 2;
	ended.map = &(const struct proc_map){ .start = PAGE };
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&use.vec, ended));
	make(26 * MB);
	check(ACCOUNT_FILES_COPIED, 3 * MB);
	check(ACCOUNT_FILES_DIRTY, 2 * MB);
	check(ACCOUNT_FILES_CLEAN, 5 * MB);
	check(ACCOUNT_SHARED_OTHERS, 4 * MB);
	check(ACCOUNT_SHARED, 3 * MB);
	check(ACCOUNT_LAZY, MB);
	check(ACCOUNT_ANONYMOUS, 5 * MB);
	check(ACCOUNT_FORKED, 2 * MB);
	check(ACCOUNT_ENDED, MB / 2);
	check(ACCOUNT_STACKS, 2 * MB + MB / 2);
}

/* A file that is mapped in part counts here only with the rest of it. */
TEST("files behind descriptors")
{
	struct memory_map map = {
		.map = &(const struct proc_map){ .start = PAGE, .inode = 7, .dev_minor = 1 },
	};

	make(0);
	check(ACCOUNT_DESCRIPTORS, MEMORY_UNKNOWN);
	beside.files_known = true;
	map.sum.at[MEMORY_RSIZE] = 2 * MB;
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&use.vec, map));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&beside.files.vec, ((struct held_file){
		.id = { .inode = 7, .dev_minor = 1 }, .bytes = 5 * MB })));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&beside.files.vec, ((struct held_file){
		.id = { .inode = 8, .dev_minor = 1 }, .bytes = MB })));
	make(0);
	check(ACCOUNT_DESCRIPTORS, 4 * MB);
	CU_ASSERT_EQUAL(beside.files.vec.at[0].mapped, 2 * MB);
}

/* Two chunks of three pages, of which the first and the last are touched. */
TEST("a page that two chunks have is divided between them")
{
	volatile uint8_t *map = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uintptr_t)map;
	struct heap_chunk used = { .address = at + 16, .size = 2 * PAGE - 512, .kind = CHUNK_USED };
	struct heap_chunk top = { .address = at + 16 + used.size, .kind = CHUNK_TOP,
				  .size = PAGE + 512 - 16 };
	struct heaps heaps = HEAPS_INIT;
	struct account_heap is;
	bool new_run;

	CU_ASSERT_TRUE_FATAL(map != MAP_FAILED);
	map[0] = map[2 * PAGE] = 1;
	CU_ASSERT_PTR_NULL_FATAL(heap_chunks_add(&heaps.walk.chunks, &used, &new_run));
	CU_ASSERT_PTR_NULL_FATAL(heap_chunks_add(&heaps.walk.chunks, &top, &new_run));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&heaps.walk.spans, ((struct heap_span){
		.start = at, .end = at + 3 * PAGE })));
	CU_ASSERT_PTR_NULL_FATAL(account_heap_find(&heaps, getpid(), &is));
	CU_ASSERT_TRUE(is.known);
	CU_ASSERT_EQUAL(is.kind[CHUNK_USED].resident, PAGE - 8);
	CU_ASSERT_EQUAL(is.kind[CHUNK_USED].bytes, used.size);
	CU_ASSERT_EQUAL(is.kind[CHUNK_TOP].resident, PAGE - 8);
	CU_ASSERT_EQUAL(is.main_top, PAGE - 8);
	CU_ASSERT_EQUAL(is.early, 1);
	heap_walk_free(&heaps.walk);
	munmap((void *)(uintptr_t)map, 3 * PAGE);
}
