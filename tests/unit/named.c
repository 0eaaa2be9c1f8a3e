/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A target that is a few symbols and an array of memory. */

#include "named.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"

#define SYMBOLS_MAX	16
#define MODULE_LEN	0x100000u
#define POINTER		1u	/* the top byte of a word that is made an address in the memory */

/* One section has the names of symbols and sections. */
struct image {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[2];
	Elf64_Shdr shdr[4];
	Elf64_Sym sym[SYMBOLS_MAX];
	char names[1024];
};

static void fill_headers(struct image *image, unsigned nr)
{
	image->ehdr = (Elf64_Ehdr){
		.e_ident = ELFMAG "\2\1\1",	/* 64 bits, little-endian, version 1 */
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_phoff = offsetof(struct image, phdr), .e_shoff = offsetof(struct image, shdr),
		.e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 2,
	};
	image->phdr[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_memsz = MODULE_LEN };
	image->phdr[1] = (Elf64_Phdr){ .p_type = PT_TLS, .p_memsz = NAMED_TLS };
	image->shdr[1] = (Elf64_Shdr){
		.sh_type = SHT_SYMTAB, .sh_link = 2, .sh_info = 1, .sh_entsize = sizeof(Elf64_Sym),
		.sh_offset = offsetof(struct image, sym), .sh_size = nr * sizeof(Elf64_Sym),
	};
	image->shdr[2] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_offset = offsetof(struct image, names),
		.sh_size = sizeof(image->names),
	};
	image->shdr[3] = (Elf64_Shdr){
		.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_WRITE, .sh_size = MODULE_LEN,
	};
}

static struct elf_file *open_image(const char *const *names)
{
	static struct image image;
	struct elf_file *elf;
	size_t name_at = 1;
	unsigned nr = 1;

	for (; names[nr - 1] && nr < SYMBOLS_MAX; nr++) {
		image.sym[nr] = (Elf64_Sym){
			.st_name = (uint32_t)name_at, .st_shndx = 3,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_value = (nr - 1) * NAMED_SYMBOL, .st_size = NAMED_SYMBOL,
		};
		strcpy(image.names + name_at, names[nr - 1]);
		name_at += strlen(names[nr - 1]) + 1;
	}
	fill_headers(&image, nr);
	if (elf_file_from_bytes(&image, sizeof(image), "fuzz", &elf))
		abort();
	return elf;
}

void named_open(struct named *named, const char *const *names)
{
	*named = (struct named){
		.target = { .kind = &target_kind_process, .pid = getpid(), .arch = arch_host(),
			    .memory = &named->memory.memory },
		.module = { .start = NAMED_BASE, .end = NAMED_BASE + MODULE_LEN, .bias = NAMED_BASE,
			    .elf = open_image(names) },
	};
	if (vec_push(&named->target.modules.live, &named->module))
		abort();
	for (size_t i = 0; names[i]; i++)
		if (modules_symbol(&named->target.modules, names[i]) != NAMED_BASE + i * NAMED_SYMBOL)
			abort();
}

void named_memory(struct named *named, const uint8_t *bytes, size_t len)
{
	static uint8_t *copy;
	uint64_t word;

	free(copy);
	copy = malloc(len + 1);
	if (!copy)
		abort();
	memcpy(copy, bytes, len);
	for (size_t i = SYMBOLS_MAX * NAMED_SYMBOL; i + 8 <= len; i += 8) {
		memcpy(&word, bytes + i, 8);
		if (word >> 56 == POINTER)
			word = NAMED_BASE + (word & ((1ull << 56) - 1)) % (len + 64);
		memcpy(copy + i, &word, 8);
	}
	memory_array_init(&named->memory, copy, NAMED_BASE, len);
}
