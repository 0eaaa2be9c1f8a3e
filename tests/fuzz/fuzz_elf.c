/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as an ELF file: symbols, CFI, rows compiled from it, and a search in the rows. */

#include <stdlib.h>

#include "elf/elf_file.h"
#include "unwind/rows_compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* At most this many, or a file with a million names would only be slow. */
#define SYMBOLS_MAX	1000

static void look_at_names(struct elf_file *elf)
{
	struct elf_symbols at;
	struct elf_symbol symbol;
	size_t i;

	if (elf_symbols_begin(elf, &at))
		return;
	for (unsigned left = SYMBOLS_MAX; left && elf_symbols_next(&at, &symbol); left--)
		/* The name must end inside what belongs to the file. */
		for (i = 0; symbol.name[i]; i++)
			;
}

/* Rows are sorted, inside the range, and what is found holds for what was looked up. */
static void check_rows(struct elf_file *elf, uint64_t vaddr, uint64_t size)
{
	const struct row *row;
	struct rows rows;
	uint32_t i;

	if (rows_compile(elf, vaddr, size, &rows))
		return;
	for (i = 0; i < rows.nr; i++) {
		if (rows.row[i].pc >= size || (i > 0 && rows.row[i].pc <= rows.row[i - 1].pc))
			abort();
		if (rows.row[i].cfa >= ROW_CFA_KINDS || rows.row[i].fp >= ROW_FP_KINDS)
			abort();
		row = rows_find(&rows, rows.row[i].pc);
		if (row != &rows.row[i])
			abort();
	}
	rows_free(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const struct elf_segment *segments;
	struct elf_symbol symbol;
	struct elf_file *elf;
	uint64_t size;
	size_t nr, i;
	char buf[64];

	if (elf_file_from_bytes(bytes, len, "fuzz", &elf))
		return 0;
	look_at_names(elf);
	/* Every note is passed for an owner that none has. */
	elf_file_has_section(elf, ".go.buildinfo");
	elf_file_has_note(elf, "Go");
	err_ignore(elf_symbol_named(elf, "malloc", &symbol));
	err_ignore(elf_symbol_function_extent(elf, elf_file_entry(elf), &size));
	segments = elf_file_segments(elf, &nr);
	for (i = 0; i < nr && i < 4; i++) {
		err_ignore(elf_file_read(elf, segments[i].vaddr, buf, sizeof(buf)));
		err_ignore(elf_file_read(elf, segments[i].vaddr + segments[i].memsz - 8, buf, sizeof(buf)));
		check_rows(elf, segments[i].vaddr, segments[i].memsz);
	}
	elf_file_close(elf);
	return 0;
}
