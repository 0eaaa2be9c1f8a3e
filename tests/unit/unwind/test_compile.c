/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows say at every PC of real modules, and of functions written by hand, what libdw says there. */

#include "unwind/rows_compile.h"

#include <fcntl.h>
#include <link.h>

#include "elf/elf_file.h"
#include "hand.h"
#include "unit.h"
#include "versus.h"

/* At most one place in a thousand may be too much for rows. */
static void check_file(const char *path)
{
	struct tally tally = { 0 };

	if (access(path, R_OK)) {
		unit_skip(path);
		return;
	}
	versus_libdw(path, &tally);
	versus_check(&tally);
	CU_ASSERT(tally.fdes > 0 && tally.rows > tally.fdes);
}

TEST("libc as libdw reads it")
{
	check_file("/lib/x86_64-linux-gnu/libc.so.6");
}

TEST("ld.so as libdw reads it")
{
	check_file("/lib64/ld-linux-x86-64.so.2");
}

TEST("libstdc++ as libdw reads it")
{
	check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
}

TEST("libcrypto as libdw reads it")
{
	check_file("/usr/lib/x86_64-linux-gnu/libcrypto.so.3");
}

TEST("libjemalloc as libdw reads it")
{
	check_file("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2");
}

TEST("redis-server as libdw reads it")
{
	check_file("/usr/bin/redis-server");
}

TEST("python3 as libdw reads it")
{
	check_file("/usr/bin/python3");
}

/* More files, of which it is printed what came out: ROWS_FILES has a path a line, or it is this program. */
TEST("files as libdw reads them")
{
	const char *files = getenv("ROWS_FILES");
	char *paths = strdup(files ? files : "/proc/self/exe"), *rest = paths;
	struct tally all = { 0 };

	CU_ASSERT_PTR_NOT_NULL_FATAL(paths);
	versus_print_head();
	for (const char *path = strsep(&rest, "\n"); path; path = strsep(&rest, "\n")) {
		struct tally tally = { 0 };

		if (!*path)
			continue;
		versus_libdw(path, &tally);
		versus_check(&tally);
		versus_print(path, &tally);
		versus_add(&all, &tally);
	}
	versus_print("all", &all);
	free(paths);
}

/* This program: what is written by hand in it, its PLT, and what the compiler made. */
static struct rows own_rows;
static uint64_t own_start;

static int own_find(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct elf_file *file = ctx;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X))
			continue;
		if (rows_compile(file, phdr->p_vaddr, phdr->p_memsz, &own_rows))
			return 1;
		own_start = info->dlpi_addr + phdr->p_vaddr;
	}
	return 1;
}

static int own_init(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *file;

	if (elf_file_open(fd, "/proc/self/exe", &file))
		return 1;
	dl_iterate_phdr(own_find, file);
	elf_file_close(file);
	return !own_rows.nr;
}

static int own_deinit(void)
{
	rows_free(&own_rows);
	return 0;
}

FIXTURE(own_init, own_deinit);

static struct row at(const char *label, int behind)
{
	uint64_t pc = (uintptr_t)label - own_start + (uint64_t)behind;
	const struct row *row = rows_find(&own_rows, (uint32_t)pc);

	CU_ASSERT_FATAL(row != NULL);
	return *row;
}

#define CHECK_ROW(label, behind, kind, offset) \
	do { \
		struct row found = at(label, behind); \
		CU_ASSERT_EQUAL(found.cfa, kind); \
		CU_ASSERT_EQUAL(found.cfa_offset, offset); \
	} while (0)

/* The restorer without CFI is ours alone to know, so the comparison leaves it out. */
TEST("functions written by hand")
{
	struct tally tally = { 0 };

	versus_libdw("/proc/self/exe", &tally);
	CU_ASSERT_EQUAL(tally.wrong, 0);
	CU_ASSERT(tally.restorers >= 1 && tally.restorers <= 2);
	CU_ASSERT_EQUAL(tally.bad_fdes, 0);
	CHECK_ROW(hand_drap_entry, 0, ROW_CFA_SP, 8);
	CHECK_ROW(hand_drap_r10, 0, ROW_CFA_REG, 0);
	CU_ASSERT_EQUAL(at(hand_drap_r10, 0).cfa_reg, 10);
	CHECK_ROW(hand_drap_rbp, 0, ROW_CFA_REG, 0);
	CU_ASSERT_EQUAL(at(hand_drap_rbp, 0).fp, ROW_FP_FP);
	CHECK_ROW(hand_drap_body, 0, ROW_CFA_FP_MEM, -8);
	CHECK_ROW(hand_drap_ret, 0, ROW_CFA_SP, 8);
	CHECK_ROW(hand_plt, 0, ROW_CFA_PLT, 8);
	CU_ASSERT_EQUAL(at(hand_plt, 0).cfa_reg, 11);
	CHECK_ROW(hand_sp_mem, 0, ROW_CFA_SP_MEM, 40);
	CU_ASSERT_EQUAL(row_add(&(struct row){ .cfa_reg = at(hand_sp_mem, 0).cfa_reg }), 8);
}

TEST("functions that need R12 to R15")
{
	CHECK_ROW(hand_r12, 0, ROW_CFA_REG, 16);
	CU_ASSERT_EQUAL(at(hand_r12, 0).cfa_reg, 12);
	CU_ASSERT_EQUAL(at(hand_r12, 0).kept, 0xf002);
	CHECK_ROW(hand_r13_mem, 0, ROW_CFA_REG_MEM, -16);
	CHECK_ROW(hand_ra_r15, 0, ROW_CFA_FP_RA_REG, 16);
	CHECK_ROW(hand_ra_at, 0, ROW_CFA_SP_RA_AT, 32);
	CU_ASSERT_EQUAL((int8_t)at(hand_ra_at, 0).cfa_reg, -3);
	CU_ASSERT_EQUAL(at(hand_fp_r14, 0).fp, ROW_FP_REG);
	CU_ASSERT_EQUAL(at(hand_fp_r14, 0).fp_offset, 14);
}

TEST("more functions written by hand")
{
	CHECK_ROW(hand_register_again, 0, ROW_CFA_FP, 56);
	CHECK_ROW(hand_ra_reg, 0, ROW_CFA_SP_RA_REG, 0);
	CU_ASSERT_EQUAL(at(hand_ra_reg, 0).cfa_reg, 5);
	CHECK_ROW(hand_end, 0, ROW_CFA_END, 0);
	CHECK_ROW(hand_complex, 0, ROW_CFA_COMPLEX, 0);
	CHECK_ROW(hand_far_add, 0, ROW_CFA_COMPLEX, 0);
	CHECK_ROW(hand_far_fp, 0, ROW_CFA_SP, 160016);
	CU_ASSERT_EQUAL(at(hand_far_fp, 0).fp, ROW_FP_UNDEFINED);
	CHECK_ROW(hand_remember, 0, ROW_CFA_SP, 16);
	CHECK_ROW(hand_remembered, 0, ROW_CFA_SP, 16);
	CU_ASSERT_EQUAL(at(hand_remembered, 0).fp, ROW_FP_CFA);
	CHECK_ROW(hand_advance1, -1, ROW_CFA_SP, 8);
	CHECK_ROW(hand_advance1, 0, ROW_CFA_SP, 16);
	CHECK_ROW(hand_advance2, -1, ROW_CFA_SP, 16);
	CHECK_ROW(hand_advance2, 0, ROW_CFA_REG, 16);
	CHECK_ROW(hand_advance4, -1, ROW_CFA_REG, 16);
	CHECK_ROW(hand_advance4, 0, ROW_CFA_SP, 24);
	CHECK_ROW(hand_gap, 0, ROW_CFA_NONE, 0);
	CHECK_ROW(hand_signal, -1, ROW_CFA_SIGNAL, 0);
	CHECK_ROW(hand_signal, 0, ROW_CFA_SIGNAL, 0);
	CHECK_ROW(hand_restorer, -2, ROW_CFA_NONE, 0);
	CHECK_ROW(hand_restorer, -1, ROW_CFA_SIGNAL, 0);
	CHECK_ROW(hand_restorer, 8, ROW_CFA_SIGNAL, 0);
	CHECK_ROW(hand_restorer, 9, ROW_CFA_NONE, 0);
}

/* The index finds what a search without it finds. */
TEST("the index")
{
	struct rows plain = { .row = own_rows.row, .nr = own_rows.nr };
	uint32_t end = own_rows.row[own_rows.nr - 1].pc + 1000;

	CU_ASSERT_PTR_NOT_NULL(own_rows.index);
	for (uint32_t pc = 0; pc < end; pc++) {
		if (rows_find(&plain, pc) != rows_find(&own_rows, pc))
			CU_FAIL_FATAL("the index misleads");
	}
	CU_ASSERT_PTR_EQUAL(rows_find(&own_rows, UINT32_MAX), &own_rows.row[own_rows.nr - 1]);
	plain.nr = 0;
	CU_ASSERT_PTR_NULL(rows_find(&plain, 0));
}

TEST("ranges that are refused")
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *file;
	struct rows rows;
	struct err *err;

	CU_ASSERT_PTR_NULL_FATAL(elf_file_open(fd, "/proc/self/exe", &file));
	err = rows_compile(file, 0x1000, 0, &rows);
	CU_ASSERT(err && err->code == ERR_UNSUPPORTED);
	err = rows_compile(file, 0x1000, 1ull << 32, &rows);
	CU_ASSERT(err && err->code == ERR_UNSUPPORTED);
	err = rows_compile(file, UINT64_MAX - 10, 100, &rows);
	CU_ASSERT(err && err->code == ERR_UNSUPPORTED);
	/* A range that holds no function: one row that says so. */
	CU_ASSERT_PTR_NULL_FATAL(rows_compile(file, 1ull << 40, 4096, &rows));
	CU_ASSERT_EQUAL(rows.nr, 1);
	CU_ASSERT_EQUAL(rows.row[0].cfa, ROW_CFA_NONE);
	rows_free(&rows);
	CU_ASSERT_PTR_NULL(rows.row);
	elf_file_close(file);
}
