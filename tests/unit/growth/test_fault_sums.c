/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Page faults by stack and file. */

#include "growth/fault_sums.h"

#include "unit.h"

static void add(struct fault_sums *sums, uint64_t address, uint32_t stack, uint32_t file)
{
	const struct fault fault = { .address = address, .stack = stack, .file = file, .major = stack & 1 };

	fault_sums_add(sums, &fault);
}

TEST("sums")
{
	CLEANUP(fault_sums_free) struct fault_sums sums;

	fault_sums_init(&sums, 1 << 20);
	CU_ASSERT_EQUAL(fault_sums_file(&sums, ""), 0);
	CU_ASSERT_EQUAL(fault_sums_file(&sums, "/a"), 1);
	CU_ASSERT_EQUAL(fault_sums_file(&sums, "/b"), 2);
	CU_ASSERT_EQUAL(fault_sums_file(&sums, "/a"), 1);
	add(&sums, 0x1000, 4, 1);
	add(&sums, 0x1fff, 4, 1);	/* again */
	add(&sums, 0x2000, 4, 2);
	add(&sums, 0x1000, 5, 1);	/* from now on it is of stack 5 */
	CU_ASSERT_EQUAL_FATAL(sums.sums.nr, 3);
	CU_ASSERT_EQUAL(sums.sums.at[0].minor, 2);
	CU_ASSERT_EQUAL(sums.sums.at[0].pages, 0);
	CU_ASSERT_EQUAL(sums.sums.at[1].pages, 1);
	CU_ASSERT_EQUAL(sums.sums.at[2].pages, 1);
	CU_ASSERT_EQUAL(sums.sums.at[2].major, 1);
	CU_ASSERT_EQUAL(sums.nr_pages, 2);
	CU_ASSERT_EQUAL(sums.minor, 3);
	CU_ASSERT_EQUAL(sums.major, 1);
}

/* Names beyond the most have no number; those that are known keep theirs. */
TEST("files")
{
	CLEANUP(fault_sums_free) struct fault_sums sums;
	char name[16];
	unsigned numbered = 0;

	fault_sums_init(&sums, 1 << 20);
	for (unsigned i = 1; i <= 70000; i++) {
		snprintf(name, sizeof(name), "/%u", i);
		numbered += fault_sums_file(&sums, name) == i;
	}
	CU_ASSERT_EQUAL(numbered, 65535);
	CU_ASSERT_EQUAL(fault_sums_file(&sums, "/70000"), 0);
	CU_ASSERT_EQUAL(fault_sums_file(&sums, "/65535"), 65535);
	CU_ASSERT_EQUAL(fault_sums_file(&sums, ""), 0);
	CU_ASSERT_STRING_EQUAL(sums.files.vec.at[7], "/7");
}

/* A huge page is as many pages as it has small ones, each of which counts once. */
TEST("huge pages")
{
	CLEANUP(fault_sums_free) struct fault_sums sums;
	struct fault fault = { .address = 0x40200000 + 0x5123, .stack = 1, .major = true,
			       .page_size = 2u << 20 };

	fault_sums_init(&sums, 1 << 20);
	add(&sums, 0x40201000, 1, 0);
	add(&sums, 0x401ff000, 1, 0);
	fault_sums_add(&sums, &fault);
	CU_ASSERT_EQUAL_FATAL(sums.sums.nr, 1);
	CU_ASSERT_EQUAL(sums.sums.at[0].pages, 513);
	CU_ASSERT_EQUAL(sums.sums.at[0].major, 3);
	CU_ASSERT_EQUAL(sums.sums.at[0].huge, 1);
	add(&sums, 0x403ff000, 2, 0);	/* the last one of it, from another place */
	CU_ASSERT_EQUAL(sums.sums.at[0].pages, 512);
	CU_ASSERT_EQUAL(sums.nr_pages, 513);
	/* Of a file, that is mapped twice. */
	fault = (struct fault){ .address = 0x7f0000205000, .stack = 3, .inode = 9,
				.offset = 0x605000, .page_size = 2u << 20 };
	fault_sums_add(&sums, &fault);
	fault.address += 1ull << 30;
	fault_sums_add(&sums, &fault);
	fault_sums_add(&sums, &(const struct fault){ .address = 0x1000, .stack = 3, .inode = 9,
						     .offset = 0x7ff000, .page_size = 4096 });
	CU_ASSERT_EQUAL(sums.sums.at[2].pages, 512);
	CU_ASSERT_EQUAL(sums.sums.at[2].huge, 2);
	CU_ASSERT_EQUAL(sums.nr_pages, 1025);
}

/* The pages of all sums are all pages, however many there are. */
TEST("many")
{
	CLEANUP(fault_sums_free) struct fault_sums sums;
	uint64_t pages = 0, faults = 0;

	fault_sums_init(&sums, 64 << 20);
	for (uint64_t i = 0; i < 300000; i++)
		add(&sums, (i * 7919 % 100000) << 12, (uint32_t)(i % 5003), (uint32_t)(i % 3));
	vec_each(sum, &sums.sums) {
		pages += sum->pages;
		faults += sum->minor + sum->major;
	}
	CU_ASSERT_EQUAL(pages, 100000);
	CU_ASSERT_EQUAL(sums.nr_pages, 100000);
	CU_ASSERT_EQUAL(faults, 300000);
	CU_ASSERT_EQUAL(sums.unsummed + sums.unpaged, 0);
}

/* Full is counted, and nothing else is wrong. */
TEST("full")
{
	struct fault_sums sums;
	uint64_t pages = 0, faults = 0;

	fault_sums_init(&sums, 200 << 10);
	for (uint64_t i = 0; i < 100000; i++)
		add(&sums, i << 12, (uint32_t)i, 0);
	vec_each(sum, &sums.sums) {
		pages += sum->pages;
		faults += sum->minor + sum->major;
	}
	CU_ASSERT_TRUE(sums.unsummed > 0);
	CU_ASSERT_EQUAL(faults + sums.unsummed, 100000);
	CU_ASSERT_EQUAL(pages, sums.nr_pages);
	CU_ASSERT_EQUAL(pages + sums.unpaged + sums.unsummed, 100000);
	CU_ASSERT_EQUAL(sums.minor + sums.major, 100000);
	fault_sums_free(&sums);
	fault_sums_init(&sums, 0);
	add(&sums, 0x1000, 1, 0);
	CU_ASSERT_EQUAL(sums.unsummed, 1);
	fault_sums_free(&sums);
}

/* Files that lie at one address in turn have pages of their own; a file in two places has its pages once. */
TEST("pages of files")
{
	struct fault_sums sums;

	fault_sums_init(&sums, 1u << 20);
	for (uint64_t inode = 1; inode <= 200; inode++)
		for (uint64_t page = 0; page < 256; page++)
			fault_sums_add(&sums, &(const struct fault){
				.address = 0x7f0000000000 + page * 4096, .stack = 1, .inode = inode,
				.offset = page * 4096 });
	CU_ASSERT_EQUAL(sums.sums.at[0].pages, 51200);
	for (uint64_t page = 0; page < 256; page++)
		fault_sums_add(&sums, &(const struct fault){
			.address = 0x7e0000000000 + page * 4096, .stack = 1, .inode = 7,
			.offset = page * 4096 + 5 });
	CU_ASSERT(sums.sums.at[0].pages == 51200 && sums.sums.at[0].minor == 51456);
	/* Another device, and memory of no file at these addresses. */
	fault_sums_add(&sums, &(const struct fault){ .address = 0x7f0000000000, .stack = 1,
						     .inode = 7, .dev = 1 });
	fault_sums_add(&sums, &(const struct fault){ .address = 0x7f0000000000, .stack = 1 });
	CU_ASSERT_EQUAL(sums.sums.at[0].pages, 51202);
	fault_sums_free(&sums);
}
