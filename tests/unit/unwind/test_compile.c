/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows say at every PC of real modules, and of functions written by hand, what libdw says there. */

#include "unwind/compile.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/x86_64/frame.h"
#include "base/compiler.h"
#include "elf/cfi.h"
#include "elf/elf_file.h"
#include "hand.h"
#include "machine.h"
#include "unit.h"
#include "unwind/cfa.h"

void suite_compile(void);

static struct elf_file *open_file(const char *path)
{
	struct elf_file *file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	CU_ASSERT_PTR_NULL_FATAL(elf_file_open(fd, path, &file));
	return file;
}

struct tally {
	unsigned long frames, complex, fp_unknown, bx_unknown, kept_unknown, wrong;
	unsigned long fdes, bad_fdes, rows;
};

static void compare_at(uint64_t pc, const struct row *row, Dwarf_Frame *frame, struct tally *tally)
{
	static const struct row none = { .cfa = ROW_CFA_NONE };
	struct machine machine;
	struct outcome want, got;

	machine_init(&machine, pc);
	want = outcome_of_frame(&machine, frame);
	got = outcome_of_row(&machine, row ? row : &none);
	tally->frames++;
	if (got.kind == OUTCOME_COMPLEX) {
		tally->complex++;
		tally->wrong += want.kind == OUTCOME_NONE || want.kind == OUTCOME_END;
		return;
	}
	tally->wrong += got.kind != want.kind;
	if (got.kind != want.kind || got.kind != OUTCOME_FRAME)
		return;
	tally->wrong += got.cfa != want.cfa || got.pc != want.pc;
	if (got.fp_known)
		tally->wrong += !want.fp_known || got.fp != want.fp;
	else
		tally->fp_unknown += want.fp_known;
	if (got.bx_known)
		tally->wrong += !want.bx_known || got.bx != want.bx;
	else
		tally->bx_unknown += want.bx_known;
	for (unsigned i = 0; i < ROW_KEPT; i++) {
		if (got.kept_known[i])
			tally->wrong += !want.kept_known[i] || got.kept[i] != want.kept[i];
		else
			tally->kept_unknown += want.kept_known[i];
	}
}

/* Walk all PCs in the steps that either side makes. */
static void compare(Dwarf_CFI *cfi, const struct rows *rows, uint64_t start, uint64_t size,
		    struct tally *tally)
{
	uint64_t pc = start;

	while (pc < start + size) {
		const struct row *row = rows_find(rows, (uint32_t)(pc - start));
		uint64_t next = start + size;
		Dwarf_Frame *frame = NULL;
		Dwarf_Addr frame_start, frame_end;
		bool signal;

		if (row && row + 1 < rows->row + rows->nr)
			next = start + row[1].pc;
		else if (!row)
			next = start + rows->row[0].pc;
		if (dwarf_cfi_addrframe(cfi, pc, &frame)) {
			compare_at(pc, row, NULL, tally);
			compare_at(next - 1, row, NULL, tally);
			pc = next;
			continue;
		}
		dwarf_frame_info(frame, &frame_start, &frame_end, &signal);
		CU_ASSERT_FATAL(frame_end > pc);
		next = next < frame_end ? next : frame_end;
		if (row && row->cfa == ROW_CFA_PLT)
			next = pc + 1;	/* it depends on the PC itself */
		compare_at(pc, row, frame, tally);
		compare_at(next - 1, row, frame, tally);
		free(frame);
		pc = next;
	}
}

static struct err *emit_nothing(uint64_t pc UNUSED, const struct cfa_state *state UNUSED,
				void *ctx UNUSED)
{
	return NULL;
}

static void count_fdes(struct elf_file *file, struct tally *tally)
{
	const struct cfi *cfi;

	CU_ASSERT_PTR_NULL_FATAL(cfi_of(file, &cfi));
	tally->fdes += cfi->fdes.nr;
	tally->bad_fdes += cfi->bad;
	for (size_t i = 0; i < cfi->fdes.nr; i++) {
		const struct cfi_fde *fde = &cfi->fdes.at[i];
		const struct cfi_cie *cie = &cfi->cies.at[fde->cie];
		struct cfa_state state;
		bool bad = true;

		if (cie->return_column == FRAME_RA && cfa_run_cie(cie, &state))
			CU_ASSERT_PTR_NULL(cfa_run_fde(cie, &state, fde, emit_nothing, NULL, &bad));
		tally->bad_fdes += bad;
	}
}

static void compare_file(const char *path, struct tally *tally)
{
	struct elf_file *file = open_file(path);
	const struct elf_segment *segment;
	Dwarf_CFI *cfi;
	Elf *elf;
	size_t nr;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CU_ASSERT_FATAL(file && fd >= 0);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	cfi = dwarf_getcfi_elf(elf);
	CU_ASSERT_FATAL(cfi != NULL);
	segment = elf_file_segments(file, &nr);
	for (size_t i = 0; i < nr; i++) {
		struct rows rows;

		if (!segment[i].exec)
			continue;
		CU_ASSERT_PTR_NULL_FATAL(rows_compile(file, segment[i].vaddr, segment[i].memsz,
						      &rows));
		tally->rows += rows.nr;
		compare(cfi, &rows, segment[i].vaddr, segment[i].memsz, tally);
		rows_free(&rows);
	}
	count_fdes(file, tally);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	elf_file_close(file);
}

/* At most one frame in a thousand may be too much for rows. */
static void check_file(const char *path)
{
	struct tally tally = { 0 };

	if (access(path, R_OK)) {
		unit_skip(path);
		return;
	}
	compare_file(path, &tally);
	CU_ASSERT_EQUAL(tally.wrong, 0);
	CU_ASSERT_EQUAL(tally.bad_fdes, 0);
	CU_ASSERT(tally.fdes > 0 && tally.rows > tally.fdes);
	CU_ASSERT(tally.complex * 1000 <= tally.frames);
	CU_ASSERT(tally.fp_unknown * 1000 <= tally.frames);
	CU_ASSERT(tally.bx_unknown * 1000 <= tally.frames);
	CU_ASSERT(tally.kept_unknown * 1000 <= tally.frames);
}

static void test_libc(void)
{
	check_file("/lib/x86_64-linux-gnu/libc.so.6");
}

static void test_loader(void)
{
	check_file("/lib64/ld-linux-x86-64.so.2");
}

static void test_libstdcxx(void)
{
	check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
}

static void test_libcrypto(void)
{
	check_file("/usr/lib/x86_64-linux-gnu/libcrypto.so.3");
}

static void test_jemalloc(void)
{
	check_file("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2");
}

static void test_redis(void)
{
	check_file("/usr/bin/redis-server");
}

static void test_python(void)
{
	check_file("/usr/bin/python3");
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
static void test_hand(void)
{
	struct tally tally = { 0 };

	compare_file("/proc/self/exe", &tally);
	CU_ASSERT(tally.wrong <= 2);
	CU_ASSERT(tally.wrong >= 1);
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

static void test_hand_registers(void)
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

static void test_hand_rest(void)
{
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
static void test_index(void)
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

static void test_refused(void)
{
	struct elf_file *file = open_file("/proc/self/exe");
	struct rows rows;
	struct err *err;

	CU_ASSERT_FATAL(file != NULL);
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

void suite_compile(void)
{
	CU_pSuite suite = CU_add_suite("compile", own_init, own_deinit);

	CU_add_test(suite, "libc as libdw reads it", test_libc);
	CU_add_test(suite, "ld.so as libdw reads it", test_loader);
	CU_add_test(suite, "libstdc++ as libdw reads it", test_libstdcxx);
	CU_add_test(suite, "libcrypto as libdw reads it", test_libcrypto);
	CU_add_test(suite, "libjemalloc as libdw reads it", test_jemalloc);
	CU_add_test(suite, "redis-server as libdw reads it", test_redis);
	CU_add_test(suite, "python3 as libdw reads it", test_python);
	CU_add_test(suite, "functions written by hand", test_hand);
	CU_add_test(suite, "functions that need R12 to R15", test_hand_registers);
	CU_add_test(suite, "more functions written by hand", test_hand_rest);
	CU_add_test(suite, "the index", test_index);
	CU_add_test(suite, "ranges that are refused", test_refused);
}
