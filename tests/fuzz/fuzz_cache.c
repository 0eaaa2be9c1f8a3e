/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file of the cache of unwind rows that somebody else has written: writes over a sound one. The
 * first byte says whether its sum is made right afterwards; the second and third how long the file
 * is. What is read is used to walk a stack. Files are made in the current folder.
 */

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/sum.h"
#include "elf/elf_file.h"
#include "unwind/rows_cache.h"
#include "unwind/rows_compile.h"
#include "unwind/walk.h"
#include "writes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define TEXT		0x1000
#define TEXT_LEN	0x1000
#define ROOM		4096u

/* Of its format (unwind/rows_cache.c): where the sum of the rows lies, and the rows. */
#define ROWS_SUM	48u
#define ROWS		64u

static const uint8_t note[] = {
	4, 0, 0, 0, 8, 0, 0, 0, NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U', 0,
	0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
};

/* A CIE for x86-64, and a function at TEXT + 0x100 that pushes BP. */
static const uint8_t eh_frame[] = {
	0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0x1b,
	0x0c, 7, 8, 0x90, 1, 0, 0,
	0x14, 0, 0, 0, 0x1c, 0, 0, 0, 0xe0, 0xf0, 0xff, 0xff, 0x40, 0, 0, 0, 0,
	0x41, 0x0e, 0x10, 0x86, 2, 0, 0,
	0, 0, 0, 0,
};

#define NAMES	"\0.eh_frame\0.shstrtab"

static const struct image {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[2];
	Elf64_Shdr shdr[3];
	char names[32];
	uint8_t note[sizeof(note)];
	uint8_t eh_frame[sizeof(eh_frame)];
} image = {
	.ehdr = {
		.e_ident = ELFMAG "\2\1\1",	/* 64 bits, little-endian, version 1 */
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_phoff = offsetof(struct image, phdr), .e_shoff = offsetof(struct image, shdr),
		.e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3, .e_shstrndx = 2,
	},
	.phdr = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = TEXT, .p_memsz = TEXT_LEN },
		{ .p_type = PT_NOTE, .p_offset = offsetof(struct image, note),
		  .p_filesz = sizeof(note), .p_align = 4 },
	},
	.shdr = {
		[1] = { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_addr = TEXT + TEXT_LEN,
			.sh_offset = offsetof(struct image, eh_frame), .sh_size = sizeof(eh_frame) },
		[2] = { .sh_name = 11, .sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct image, names), .sh_size = sizeof(NAMES) },
	},
	.names = NAMES,
};

static struct elf_file *file;
static struct rows_cache cache;
static char entry_path[512];
static uint8_t sound[ROOM];
static size_t sound_len;

/* The file that is sound, as it is made where there is none. */
static void make_sound(void)
{
	char folder[] = "rows.XXXXXX";
	struct image copy = image;
	struct rows rows;
	glob_t found;
	ssize_t len;
	int fd;

	memcpy(copy.note, note, sizeof(note));
	memcpy(copy.eh_frame, eh_frame, sizeof(eh_frame));
	if (!mkdtemp(folder))
		abort();
	rows_cache_init(&cache, strdup(folder));
	if (elf_file_from_bytes(&copy, sizeof(copy), "fuzz", &file) ||
	    rows_cache_load(&cache, file, TEXT, TEXT_LEN, &rows))
		abort();
	rows_free(&rows);
	snprintf(entry_path, sizeof(entry_path), "%s/*.rows", folder);
	if (glob(entry_path, 0, NULL, &found) || found.gl_pathc != 1)
		abort();
	snprintf(entry_path, sizeof(entry_path), "%s", found.gl_pathv[0]);
	globfree(&found);
	fd = open(entry_path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, sound, sizeof(sound));
	if (len < (ssize_t)(ROWS + 3 * sizeof(struct row)))
		abort();
	sound_len = (size_t)len;
	close(fd);
}

static void write_entry(const uint8_t *bytes, size_t len)
{
	int fd = open(entry_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void walk_by(const struct rows *rows, uint32_t pc)
{
	uint64_t stack[64], pcs[16], regs[17];
	const struct walk_module module = { .start = TEXT, .end = TEXT + TEXT_LEN, .rows = *rows };
	const struct walk_map map = { .module = &module, .nr = 1, .generation = 1 };
	const struct walk_stack memory = {
		.copy = stack, .low = (uintptr_t)stack, .high = (uintptr_t)(stack + ARRAY_SIZE(stack)),
	};
	const struct walk_regs from = {
		.pc = TEXT + pc, .sp = (uintptr_t)&stack[16], .fp = (uintptr_t)&stack[32],
		.regs = regs, .nr_regs = ARRAY_SIZE(regs),
	};
	const struct walk_start start = { &map, &from, &memory, NULL, false };
	enum walk_end end;

	for (unsigned i = 0; i < ARRAY_SIZE(stack); i++)
		stack[i] = i % 3 ? TEXT + 67 * i : (uintptr_t)&stack[i];
	for (unsigned i = 0; i < ARRAY_SIZE(regs); i++)
		regs[i] = i % 2 ? TEXT + 0x110 : (uintptr_t)&stack[20 + i];
	if (walk(&start, pcs, ARRAY_SIZE(pcs), &end, NULL) > ARRAY_SIZE(pcs) ||
	    end >= WALK_ENDS)
		abort();
}

static void check_rows(const struct rows *rows)
{
	for (uint32_t pc = 0; pc < TEXT_LEN; pc += 61) {
		const struct row *row = rows_find(rows, pc);

		if (row && (row->pc > pc || row->cfa >= ROW_CFA_KINDS || row->fp >= ROW_FP_KINDS))
			abort();
		if (row && row + 1 < rows->row + rows->nr && row[1].pc <= pc)
			abort();
		walk_by(rows, pc);
	}
	for (uint32_t i = 0; i < rows->nr; i++)
		if (rows_find(rows, rows->row[i].pc) != &rows->row[i])
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct input input = { bytes, len };
	uint8_t entry[ROOM] = { 0 };
	struct write write;
	struct rows rows;
	bool right_sum;
	size_t size;
	uint64_t sum;

	if (!file)
		make_sound();
	memcpy(entry, sound, sound_len);
	right_sum = input_byte(&input) & 1;
	size = input_byte(&input);
	size = (sound_len + (size | (size_t)input_byte(&input) << 8)) % ROOM;
	while (input_write(&input, &write))
		write_apply(&write, entry + (write.area & 1 ? ROWS : 0),
			    write.area & 1 ? ROOM - ROWS : ROOM);
	sum = sum_bytes(0, entry + ROWS, size > ROWS ? size - ROWS : 0);
	if (right_sum)
		memcpy(entry + ROWS_SUM, &sum, sizeof(sum));
	write_entry(entry, size);
	if (rows_cache_load(&cache, file, TEXT, TEXT_LEN, &rows))
		abort();
	check_rows(&rows);
	rows_free(&rows);
	return 0;
}
