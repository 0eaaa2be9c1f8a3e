/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows against libdw (versus.h). */

#include "versus.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <inttypes.h>

#include "arch/host.h"
#include "elf/cfi.h"
#include "elf/elf_file.h"
#include "machine.h"
#include "unit.h"
#include "unwind/cfa.h"
#include "unwind/rows_compile.h"

static struct elf_file *open_file(const char *path)
{
	struct elf_file *file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	CU_ASSERT_PTR_NULL_FATAL(elf_file_open(fd, path, &file));
	return file;
}

static void compare_at(uint64_t pc, const struct row *row, Dwarf_Frame *frame, struct tally *tally)
{
	static const struct row none = { .cfa = ROW_CFA_NONE };
	struct machine machine;
	struct outcome want, got;

	machine_init(&machine, pc);
	want = outcome_of_frame(&machine, frame);
	got = outcome_of_row(&machine, row ? row : &none);
	tally->places++;
	if (want.kind == OUTCOME_INVALID) {
		tally->invalid++;
		return;
	}
	if (got.kind == OUTCOME_COMPLEX) {
		if (tally->complex < TALLY_PLACES)
			tally->complex_at[tally->complex] = pc;
		tally->complex++;
		tally->wrong += want.kind == OUTCOME_NONE || want.kind == OUTCOME_END;
		return;
	}
	if (row && row->cfa == ROW_CFA_SIGNAL && want.kind == OUTCOME_NONE) {
		tally->restorers++;
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

void versus_libdw(const char *path, struct tally *tally)
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

void versus_check(const struct tally *tally)
{
	CU_ASSERT_EQUAL(tally->wrong, 0);
	CU_ASSERT_EQUAL(tally->bad_fdes, 0);
	CU_ASSERT(tally->complex * 1000 <= tally->places);
	CU_ASSERT(tally->fp_unknown * 1000 <= tally->places);
	CU_ASSERT(tally->bx_unknown * 10 <= tally->places);
	CU_ASSERT(tally->kept_unknown * 10 <= tally->places * ROW_KEPT);
}

void versus_add(struct tally *sum, const struct tally *tally)
{
	sum->fdes += tally->fdes;
	sum->bad_fdes += tally->bad_fdes;
	sum->rows += tally->rows;
	sum->places += tally->places;
	sum->wrong += tally->wrong;
	sum->restorers += tally->restorers;
	sum->invalid += tally->invalid;
	sum->complex += tally->complex;
	sum->fp_unknown += tally->fp_unknown;
	sum->bx_unknown += tally->bx_unknown;
	sum->kept_unknown += tally->kept_unknown;
}

void versus_print_head(void)
{
	printf("\nFUNCTIONS      ROWS    PLACES  WRONG  COMPLEX  NO-BP  NO-BX  NO-R12-R15\n");
}

void versus_print(const char *name, const struct tally *tally)
{
	printf("%9lu %9lu %9lu %6lu %8lu %6lu %6lu %11lu  %s\n", tally->fdes, tally->rows,
	       tally->places, tally->wrong, tally->complex, tally->fp_unknown, tally->bx_unknown,
	       tally->kept_unknown, name);
	if (tally->invalid)
		printf("    invalid for libdw at %lu places\n", tally->invalid);
	if (tally->bad_fdes)
		printf("    %lu FDEs that cannot be read\n", tally->bad_fdes);
	for (unsigned i = 0; i < MIN(tally->complex, TALLY_PLACES) && tally->complex_at[i]; i++)
		printf("    too complex at 0x%" PRIx64 "\n", tally->complex_at[i]);
}
