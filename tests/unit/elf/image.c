/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ELF files made in memory: headers, the text, the sections' bytes, their names, the section
 * headers.
 */

#include "image.h"

#include <elf.h>

#include "elf/elf_file.h"
#include "unit.h"

#define IMAGE_LEN	0x4000
#define SECTIONS_AT	0x3000	/* the header table */
#define NAMES_AT	0x3800

static void header_fill(uint8_t *bytes, size_t sections)
{
	Elf64_Ehdr ehdr = {
		.e_ident = ELFMAG "\2\1\1",	/* 64 bits, little-endian, version 1 */
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_shoff = SECTIONS_AT,
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)sections,
		.e_shstrndx = (uint16_t)(sections - 1),
	};
	Elf64_Phdr phdr = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = IMAGE_TEXT,
		.p_vaddr = IMAGE_TEXT,
		.p_filesz = IMAGE_TEXT_LEN,
		.p_memsz = IMAGE_TEXT_LEN,
	};

	memcpy(bytes, &ehdr, sizeof(ehdr));
	memcpy(bytes + sizeof(ehdr), &phdr, sizeof(phdr));
}

static void section_fill(uint8_t *bytes, size_t index, const struct image_section *section,
			 size_t offset, size_t *names)
{
	Elf64_Shdr shdr = {
		.sh_name = (uint32_t)*names,
		.sh_type = section->type,
		.sh_addr = section->addr,
		.sh_offset = offset,
		.sh_size = section->len,
		.sh_flags = section->flags,
	};

	memcpy(bytes + offset, section->bytes, section->len);
	strcpy((char *)bytes + NAMES_AT + *names, section->name);
	*names += strlen(section->name) + 1;
	memcpy(bytes + SECTIONS_AT + index * sizeof(shdr), &shdr, sizeof(shdr));
}

struct elf_file *image_open(const struct image_section *section, size_t nr)
{
	uint8_t *bytes = calloc(1, IMAGE_LEN);
	size_t names = 1, at = IMAGE_TEXT + IMAGE_TEXT_LEN;
	struct elf_file *file;

	CU_ASSERT_FATAL(bytes != NULL);
	header_fill(bytes, nr + 2);
	for (size_t i = 0; i < nr; i++) {
		CU_ASSERT_FATAL(at + section[i].len <= SECTIONS_AT);
		section_fill(bytes, i + 1, &section[i], at, &names);
		at += (section[i].len + 15) & ~(size_t)15;
	}
	section_fill(bytes, nr + 1, &(struct image_section){
		.name = ".shstrtab", .type = SHT_STRTAB, .bytes = "", .len = 1,
	}, NAMES_AT, &names);
	((Elf64_Shdr *)(bytes + SECTIONS_AT))[nr + 1].sh_size = names;
	CU_ASSERT_PTR_NULL_FATAL(elf_file_from_bytes(bytes, IMAGE_LEN, "image", &file));
	free(bytes);
	return file;
}

uint8_t *image_of_file(const char *path, size_t *len_ret)
{
	FILE *stream = fopen(path, "rb");
	uint8_t *bytes = NULL;
	long len;

	if (!stream)
		return NULL;
	if (!fseek(stream, 0, SEEK_END) && (len = ftell(stream)) > 0) {
		rewind(stream);
		bytes = malloc((size_t)len);
		if (bytes && fread(bytes, 1, (size_t)len, stream) == (size_t)len)
			*len_ret = (size_t)len;
	}
	fclose(stream);
	return bytes;
}

void image_strip_sections(uint8_t *bytes)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)bytes;

	ehdr->e_shoff = 0;
	ehdr->e_shnum = 0;
	ehdr->e_shstrndx = 0;
}
