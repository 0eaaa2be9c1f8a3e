/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as a program (symbols, lines, names of debug files), or, by the first byte, as the debug file
 * and the dwz file of a sound one. Every answer is asked for. Files are made in the current folder.
 */

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define BIAS		0x7f0000000000ull
#define MODULE_LEN	0x100000u
#define DEBUG_FILE	"debug/.build-id/01/23456789abcdef.debug"

static const struct program {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[2];
	uint8_t note[24];
} program = {
	.ehdr = {
		.e_ident = ELFMAG "\2\1\1",	/* 64 bits, little-endian, version 1 */
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_phoff = offsetof(struct program, phdr), .e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
	},
	.phdr = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = 0x1000,
		  .p_filesz = sizeof(struct program), .p_memsz = MODULE_LEN },
		{ .p_type = PT_NOTE, .p_offset = offsetof(struct program, note),
		  .p_vaddr = offsetof(struct program, note), .p_filesz = 24, .p_memsz = 24,
		  .p_align = 4 },
	},
	.note = { 4, 0, 0, 0, 8, 0, 0, 0, NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U', 0,
		  0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef },
};

/*
 * It is the same file for all inputs: a file system may write a file to the disk at once when it is
 * emptied, filled and closed.
 */
static void fill_debug_file(const uint8_t *bytes, size_t len)
{
	static int fd = -1;

	if (fd < 0)
		fd = open(DEBUG_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || pwrite(fd, bytes, len, 0) != (ssize_t)len || ftruncate(fd, (off_t)len))
		abort();
}

static const char *debug_path(void)
{
	static char path[4096];

	if (*path)
		return path;
	if (!getcwd(path, sizeof(path) - 8))
		abort();
	strcat(path, "/debug");
	mkdir("debug", 0700);
	mkdir("debug/.build-id", 0700);
	mkdir("debug/.build-id/01", 0700);
	return path;
}

static bool take(const char *name, void *ctx)
{
	unsigned *left = ctx;

	if (strncmp(name, "m", 1))
		abort();
	return !--*left;
}

static void ask_at(struct symbols *symbols, uint64_t pc)
{
	const struct symbol_frame *frames;
	size_t nr;

	for (int i = 0; i < 2; i++) {
		frames = symbols_resolve(symbols, pc, 1, i, &nr);
		if (!nr || frames[0].pc != pc || !*symbols_text(symbols, pc, 1, i, SYMBOL_NAMES_SHORT))
			abort();
		for (size_t k = 0; k < nr; k++)
			if ((k + 1 < nr) != frames[k].inlined || (frames[k].line && !frames[k].file))
				abort();
	}
}

/* A quarter of the addresses for each input: which one, its length says. */
static void ask(struct symbols *symbols, size_t len)
{
	uint64_t address, size;
	unsigned left = 100;

	for (uint64_t at = len % 4 * 7; at < 512; at += 28)
		ask_at(symbols, BIAS + 0x1000 + at);
	for (uint64_t at = len % 4 * 61 * 256; at < MODULE_LEN; at += 4 * 61 * 256)
		ask_at(symbols, BIAS + at);
	symbol_data_tls(symbols, BIAS + 0x1000, 1, 4);
	err_ignore(symbols_find(symbols, "main", &address, &size));
	symbol_complete(symbols, "m", take, &left);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct symbol_module module = {
		.path = "/fuzz/program", .fd = -1, .bytes = bytes + 1, .bytes_len = len - 1,
		.start = BIAS, .end = BIAS + MODULE_LEN, .bias = BIAS, .died = UINT32_MAX,
	};
	struct symbols *symbols;

	if (!len)
		return 0;
	if (symbols_create(0, &symbols) || symbols_set_debug_path(symbols, debug_path()))
		abort();
	if (bytes[0] & 1) {
		fill_debug_file(bytes + 1, len - 1);
		module.bytes = &program;
		module.bytes_len = sizeof(program);
	}
	if (symbols_add(symbols, &module))
		abort();
	ask(symbols, len);
	symbols_destroy(symbols);
	return 0;
}
