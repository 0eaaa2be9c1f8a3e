/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as the .eh_frame (or, by their first bit, the .debug_frame) of an otherwise sound
 * program: rows from it.
 */

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "unwind/rows_compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define TEXT		0x1000
#define TEXT_LEN	0x10000
#define NAMES		"\0.eh_frame\0.debug_frame\0.shstrtab"
#define EH_FRAME	1	/* offsets in NAMES */
#define DEBUG_FRAME	11
#define SHSTRTAB	24

/* Headers, names, section headers, CFI. The text has no bytes in the file. */
struct image {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	char names[64];
	Elf64_Shdr shdr[3];
	uint8_t cfi[];
};

static void image_fill(struct image *image, const uint8_t *bytes, size_t len, int debug_frame)
{
	static const Elf64_Ehdr ehdr = {
		.e_ident = ELFMAG "\2\1\1",	/* 64 bits, little-endian, version 1 */
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_phoff = offsetof(struct image, phdr), .e_shoff = offsetof(struct image, shdr),
		.e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3, .e_shstrndx = 2,
	};

	image->ehdr = ehdr;
	image->phdr = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = TEXT, .p_memsz = TEXT_LEN,
	};
	memcpy(image->names, NAMES, sizeof(NAMES));
	image->shdr[1] = (Elf64_Shdr){
		.sh_name = debug_frame ? DEBUG_FRAME : EH_FRAME,
		.sh_type = SHT_PROGBITS,
		.sh_addr = debug_frame ? 0 : TEXT + TEXT_LEN,
		.sh_offset = offsetof(struct image, cfi),
		.sh_size = len,
	};
	image->shdr[2] = (Elf64_Shdr){
		.sh_name = SHSTRTAB,
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct image, names),
		.sh_size = sizeof(image->names),
	};
	memcpy(image->cfi, bytes, len);
}

static void check_rows(const struct rows *rows)
{
	for (uint32_t pc = 0; pc < TEXT_LEN; pc += 61) {
		const struct row *row = rows_find(rows, pc);

		if (row && (row->pc > pc || row->cfa >= ROW_CFA_KINDS || row->fp >= ROW_FP_KINDS))
			abort();
		if (row && row + 1 < rows->row + rows->nr && row[1].pc <= pc)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct image *image;
	struct elf_file *file;
	struct rows rows;

	if (!len || len > 1 << 20)
		return 0;
	image = calloc(1, sizeof(*image) + len - 1);
	if (!image)
		return 0;
	image_fill(image, bytes + 1, len - 1, bytes[0] & 1);
	if (!elf_file_from_bytes(image, sizeof(*image) + len - 1, "fuzz", &file)) {
		if (!rows_compile(file, TEXT, TEXT_LEN, &rows)) {
			check_rows(&rows);
			rows_free(&rows);
		}
		elf_file_close(file);
	}
	free(image);
	return 0;
}
