/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds of memory, from texts as the kernel writes them. */

#include "growth/memory_use.h"

#include <inttypes.h>
#include <sys/mman.h>

#include "unit.h"

#define FIGURES(rss, pss)	"Rss: " rss " kB\nPss: " pss " kB\nSwap: 1 kB\n"

/* One mapping of each kind, and some that are easily taken for another. */
static const char text[] =
	"400000-401000 r-xp 00000000 08:01 7                          /bin/program\n"
	FIGURES("4", "2")
	"500000-540000 rw-p 00000000 00:00 0                          [heap]\n"
	FIGURES("64", "64")
	"600000-610000 rw-p 00000000 00:00 0                          [anon:pool]\n"
	FIGURES("8", "8")
	"620000-621000 ---p 00000000 00:00 0 \n"
	FIGURES("0", "0")
	"621000-721000 rw-p 00000000 00:00 0 \n"
	FIGURES("12", "12")
	"800000-810000 rw-s 00000000 00:01 9                          /dev/zero (deleted)\n"
	FIGURES("16", "16")
	"810000-820000 rw-p 00000000 00:01 9                          /dev/zero\n"
	FIGURES("20", "20")
	"820000-830000 rw-s 00000000 00:01 9                          /dev/shm/a\n"
	FIGURES("24", "24")
	"830000-840000 rw-s 00000000 00:05 9                          /dev/dri/card0\n"
	FIGURES("28", "28")
	"840000-850000 rw-s 00000000 00:01 8                          /memfd:mdbg (deleted)\n"
	FIGURES("32", "32")
	"850000-860000 rw-p 00000000 00:00 0 \n"
	FIGURES("36", "36")
	"860000-870000 rw-p 00000000 00:00 0 \n"
	FIGURES("40", "40")
	"880000-890000 r--p 00000000 00:00 0                          [vvar]\n"
	FIGURES("0", "0") "VmFlags: rd mr pf io de dd sd \n"
	"7ffc0000-7ffd0000 rw-p 00000000 00:00 0                      [stack]\n"
	FIGURES("44", "44")
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0      [vsyscall]\n"
	FIGURES("0", "0");

static struct memory_use make(const char *smaps_text, const struct memory_owner *owner, size_t nr)
{
	struct memory_owners owners = { .vec = VEC_INIT };
	struct memory_use use = MEMORY_USE_INIT;
	struct smaps smaps = SMAPS_INIT;

	CU_ASSERT_PTR_NULL_FATAL(smaps_parse(smaps_text, &smaps));
	for (size_t i = 0; i < nr; i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&owners.vec, owner[i]));
	CU_ASSERT_PTR_NULL_FATAL(memory_use_make(&smaps, &owners, NULL, &use));
	smaps_free(&smaps);
	vec_free(&owners.vec);
	return use;
}

static uint64_t kb(const struct memory_use *use, enum memory_kind kind, enum memory_figure figure)
{
	return use->look.kind[kind].at[figure] >> 10;
}

TEST("kinds")
{
	static const struct memory_owner owner[] = {
		{ 0x860000, 0x870000, MEMORY_MAPPED, 0 },	/* in any order */
		{ 0x840000, 0x850000, MEMORY_OWN, 0 },
		{ 0x620000, 0x721000, MEMORY_STACKS, 17 },
		{ 0x850000, 0x859000, MEMORY_HEAP, 0 },		/* most of it */
		{ 0x600000, 0x607000, MEMORY_HEAP, 0 },		/* not half of it */
		{ 0x400000, 0x401000, MEMORY_HEAP, 0 },		/* but it is a file */
	};
	CLEANUP(memory_use_free) struct memory_use use = make(text, owner, ARRAY_SIZE(owner));
	uint64_t sum[MEMORY_FIGURES] = { 0 };

	CU_ASSERT_EQUAL(kb(&use, MEMORY_FILES, MEMORY_RSIZE), 4);
	CU_ASSERT_EQUAL(kb(&use, MEMORY_FILES, MEMORY_PSS), 2);
	/* Divided by size: 9 and 7 pages of 16. */
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_HEAP].at[MEMORY_RSIZE],
			(64 << 10) + 9 * (36 << 10) / 16 + 7 * (8 << 10) / 16);
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_ANONYMOUS].at[MEMORY_RSIZE],
			(20 << 10) + 7 * (36 << 10) / 16 + 9 * (8 << 10) / 16);
	CU_ASSERT_EQUAL(kb(&use, MEMORY_ANONYMOUS, MEMORY_VSIZE), 64 + 7 * 4 + 9 * 4);
	CU_ASSERT_EQUAL(use.vec.at[2].kind, MEMORY_ANONYMOUS);
	CU_ASSERT_EQUAL(use.vec.at[9].kind, MEMORY_OWN);
	CU_ASSERT_EQUAL(use.vec.at[10].kind, MEMORY_HEAP);
	CU_ASSERT_EQUAL(kb(&use, MEMORY_STACKS, MEMORY_RSIZE), 12);
	CU_ASSERT_EQUAL(kb(&use, MEMORY_STACKS, MEMORY_VSIZE), 1024 + 4);
	CU_ASSERT_EQUAL(kb(&use, MEMORY_SHARED, MEMORY_RSIZE), 16 + 24);
	CU_ASSERT_EQUAL(kb(&use, MEMORY_DEVICE, MEMORY_RSIZE), 28);
	CU_ASSERT_EQUAL(kb(&use, MEMORY_DEVICE, MEMORY_VSIZE), 64 + 64);
	CU_ASSERT_EQUAL(kb(&use, MEMORY_OWN, MEMORY_RSIZE), 32);
	CU_ASSERT_EQUAL(kb(&use, MEMORY_MAPPED, MEMORY_RSIZE), 40);
	CU_ASSERT_EQUAL(kb(&use, MEMORY_MAIN_STACK, MEMORY_RSIZE), 44);
	/* mdbg's own is no part of the sums. */
	for (unsigned kind = 0; kind < MEMORY_OWN; kind++)
		for (unsigned i = 0; i < MEMORY_FIGURES; i++)
			memory_use_add(&sum[i], use.look.kind[kind].at[i]);
	CU_ASSERT_EQUAL(sum[MEMORY_VSIZE], use.look.all.at[MEMORY_VSIZE]);
	CU_ASSERT_EQUAL(sum[MEMORY_RSIZE], use.look.all.at[MEMORY_RSIZE]);
	CU_ASSERT_EQUAL(sum[MEMORY_PSS], use.look.all.at[MEMORY_PSS]);
	CU_ASSERT_EQUAL(sum[MEMORY_SWAP], use.look.all.at[MEMORY_SWAP]);
	CU_ASSERT_EQUAL(use.look.all.at[MEMORY_SWAP], 13 << 10);	/* without [vsyscall] */
	CU_ASSERT_EQUAL(use.vec.nr, 15);
	CU_ASSERT_EQUAL(use.vec.at[4].thread, 17);
	CU_ASSERT_EQUAL(use.vec.at[3].thread, 17);
	CU_ASSERT_EQUAL(use.vec.at[1].thread, 0);
}

/* What the kernel does not offer is unknown in each kind, and not 0. */
TEST("what is not known")
{
	struct memory_use use = make(text, NULL, 0);

	for (unsigned kind = 0; kind < MEMORY_KERNEL; kind++) {
		CU_ASSERT_EQUAL(use.look.kind[kind].at[MEMORY_LOCKED], MEMORY_UNKNOWN);
		CU_ASSERT_NOT_EQUAL(use.look.kind[kind].at[MEMORY_RSIZE], MEMORY_UNKNOWN);
	}
	CU_ASSERT_EQUAL(use.look.all.at[MEMORY_LOCKED], MEMORY_UNKNOWN);
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_KERNEL].at[MEMORY_RSIZE], MEMORY_UNKNOWN);
	CU_ASSERT_EQUAL(use.min_faults, MEMORY_UNKNOWN);
	memory_use_set_locked(&use, 4096);
	CU_ASSERT_EQUAL(use.look.all.at[MEMORY_LOCKED], MEMORY_UNKNOWN);
	memory_use_set_locked(&use, 0);
	CU_ASSERT_EQUAL(use.look.all.at[MEMORY_LOCKED], 0);
	CU_ASSERT_EQUAL(use.vec.at[0].sum.at[MEMORY_LOCKED], 0);
	memory_use_free(&use);
	/* Maps alone, as of a core file. */
	use = make("1000-5000 rw-p 00000000 00:00 0 \n", NULL, 0);
	CU_ASSERT_EQUAL(use.look.all.at[MEMORY_VSIZE], 0x4000);
	CU_ASSERT_EQUAL(use.look.all.at[MEMORY_RSIZE], MEMORY_UNKNOWN);
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_HEAP].at[MEMORY_RSIZE], MEMORY_UNKNOWN);
	memory_use_free(&use);
}

/* Dirty and huge pages have several names in smaps. */
TEST("sums of several figures")
{
	CLEANUP(memory_use_free) struct memory_use use = make(
		"1000-5000 rw-p 00000000 00:00 0 \nShared_Dirty: 1 kB\nPrivate_Dirty: 2 kB\n"
		"AnonHugePages: 4 kB\nShmemPmdMapped: 8 kB\nFilePmdMapped: 16 kB\n"
		"Shared_Hugetlb: 32 kB\nPrivate_Hugetlb: 64 kB\nAnonymous: 128 kB\n", NULL, 0);

	CU_ASSERT_EQUAL(use.look.all.at[MEMORY_DIRTY], 3 << 10);
	CU_ASSERT_EQUAL(use.look.all.at[MEMORY_HUGE], 124 << 10);
	CU_ASSERT_EQUAL(use.look.all.at[MEMORY_RSIZE], MEMORY_UNKNOWN);
}

/* Owners come from the memory of the process, and may say anything. */
TEST("owners that contradict")
{
	static const struct memory_owner owner[] = {
		{ 0, UINT64_MAX, MEMORY_HEAP, 0 },
		{ 0x860000, 0x850000, MEMORY_STACKS, 3 },	/* ends before it begins */
		{ 0x860000, UINT64_MAX, MEMORY_MAPPED, 0 },
		{ 0x860000, 0x868000, MEMORY_STACKS, 4 },
	};
	CLEANUP(memory_use_free) struct memory_use use = make(text, owner, ARRAY_SIZE(owner));

	CU_ASSERT_EQUAL(use.vec.nr, 15);
	CU_ASSERT_EQUAL(use.vec.at[2].kind, MEMORY_HEAP);
	CU_ASSERT_EQUAL(use.vec.at[0].kind, MEMORY_FILES);
	CU_ASSERT_EQUAL(use.vec.at[5].kind, MEMORY_SHARED);
	CU_ASSERT_EQUAL(use.vec.at[13].kind, MEMORY_MAIN_STACK);
}

/* Of one mapping of 64 pages the heap has the last 20. What is touched decides. */
TEST("a mapping of two kinds")
{
	char *at = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	uint64_t start = (uintptr_t)at, end = start + 64 * 4096;
	struct memory_owners owners = { .vec = VEC_INIT };
	struct memory_owner heap = { end - 20 * 4096, end, MEMORY_HEAP, 0 };
	struct memory_use use = MEMORY_USE_INIT;
	struct smaps smaps;
	struct pagemap pagemap;
	char line[256];

	CU_ASSERT_TRUE_FATAL(at != MAP_FAILED);
	madvise(at, 64 * 4096, MADV_NOHUGEPAGE);
	memset(at, 1, 5 * 4096);
	memset(at + 50 * 4096, 1, 10 * 4096);
	snprintf(line, sizeof(line), "%" PRIx64 "-%" PRIx64 " rw-p 00000000 00:00 0 \n"
		 "Rss: 60 kB\nPss: 61 kB\nPrivate_Dirty: 0 kB\n", start, end);
	pagemap_open(getpid(), &pagemap);
	CU_ASSERT_PTR_NULL_FATAL(smaps_parse(line, &smaps));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&owners.vec, heap));
	CU_ASSERT_PTR_NULL_FATAL(memory_use_make(&smaps, &owners, &pagemap, &use));
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_HEAP].at[MEMORY_RSIZE], 40 << 10);
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_ANONYMOUS].at[MEMORY_RSIZE], 20 << 10);
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_HEAP].at[MEMORY_VSIZE], 20 * 4096);
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_ANONYMOUS].at[MEMORY_VSIZE], 44 * 4096);
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_HEAP].at[MEMORY_PSS] +
			use.look.kind[MEMORY_ANONYMOUS].at[MEMORY_PSS], 61 << 10);
	CU_ASSERT_EQUAL(use.vec.at[0].kind, MEMORY_ANONYMOUS);
	memory_use_free(&use);
	smaps_free(&smaps);
	vec_free(&owners.vec);
	pagemap_close(&pagemap);
	munmap(at, 64 * 4096);
}

/* Memory with a name is somebody's, and what nobody may write to holds no blocks. */
TEST("what nobody owns may be the heap")
{
	struct memory_owners owners = { .vec = VEC_INIT, .rest_is_heap = true };
	struct memory_use use = MEMORY_USE_INIT;
	struct smaps smaps = SMAPS_INIT;

	CU_ASSERT_PTR_NULL_FATAL(smaps_parse(text, &smaps));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&owners.vec, ((struct memory_owner){
		0x850000, 0x860000, MEMORY_STACKS, 5 })));
	CU_ASSERT_PTR_NULL_FATAL(memory_use_make(&smaps, &owners, NULL, &use));
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_HEAP].at[MEMORY_RSIZE], (64 + 12 + 40) << 10);
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_STACKS].at[MEMORY_RSIZE], 36 << 10);
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_ANONYMOUS].at[MEMORY_RSIZE], (8 + 20) << 10);
	smaps_free(&smaps);
	vec_free(&owners.vec);
	memory_use_free(&use);
}
