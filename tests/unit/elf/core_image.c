/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Core files made in memory. */

#include "core_image.h"

#include "arch/arch.h"
#include "elf/core_file.h"
#include "unit.h"

void core_image_init(struct core_image *image)
{
	memset(image, 0, sizeof(*image));
	memcpy(image->header.e_ident, ELFMAG, SELFMAG);
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->header.e_ident[EI_VERSION] = EV_CURRENT;
	image->header.e_type = ET_CORE;
	image->header.e_machine = arch_host()->elf_machine;
	image->header.e_phoff = sizeof(image->header);
	image->header.e_phentsize = sizeof(Elf64_Phdr);
}

void core_image_note(struct core_image *image, const char *name, uint32_t type, const void *bytes,
		     size_t len)
{
	Elf64_Nhdr note = { (uint32_t)strlen(name) + 1, (uint32_t)len, type };
	uint8_t *at = image->notes + image->notes_len;

	memcpy(at, &note, sizeof(note));
	memcpy(at + sizeof(note), name, note.n_namesz);
	memcpy(at + sizeof(note) + ALIGN_UP(note.n_namesz, 4), bytes, len);
	image->notes_len += sizeof(note) + ALIGN_UP(note.n_namesz, 4) + ALIGN_UP(len, 4);
}

void core_image_thread(struct core_image *image, uint32_t tid, uint16_t signal)
{
	uint8_t status[336] = { 0 };
	uint64_t blocked = 1u << 4;

	memcpy(status + 12, &signal, sizeof(signal));
	memcpy(status + 24, &blocked, sizeof(blocked));
	memcpy(status + 32, &tid, sizeof(tid));
	for (unsigned i = 0; i < arch_host()->regs_words; i++) {
		uint64_t word = tid * 1000 + i;

		memcpy(status + 112 + i * sizeof(word), &word, sizeof(word));
	}
	core_image_note(image, "CORE", NT_PRSTATUS, status, sizeof(status));
}

void core_image_files(struct core_image *image, uint64_t start, const char *const *name, size_t nr)
{
	uint64_t words[2 + 3 * 16] = { nr, 4096 };
	uint8_t bytes[2048];
	size_t len = (2 + 3 * nr) * sizeof(uint64_t);

	for (size_t i = 0; i < nr; i++) {
		words[2 + 3 * i] = start + i * 4096;
		words[3 + 3 * i] = start + (i + 1) * 4096;
		words[4 + 3 * i] = i;
	}
	memcpy(bytes, words, len);
	for (size_t i = 0; i < nr; i++) {
		memcpy(bytes + len, name[i], strlen(name[i]) + 1);
		len += strlen(name[i]) + 1;
	}
	core_image_note(image, "CORE", NT_FILE, bytes, len);
}

void core_image_segment(struct core_image *image, uint64_t start, uint64_t memsz, uint64_t len,
			uint32_t flags)
{
	image->segment[image->nr++] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = flags,
		.p_vaddr = start,
		.p_memsz = memsz,
		.p_filesz = len,
	};
}

void core_image_make(struct core_image *image)
{
	Elf64_Phdr notes = { .p_type = PT_NOTE, .p_filesz = image->notes_len };
	size_t at;

	image->header.e_phnum = (uint16_t)(image->nr + 1);
	at = sizeof(image->header) + (image->nr + 1) * sizeof(notes);
	notes.p_offset = at;
	memcpy(image->bytes, &image->header, sizeof(image->header));
	memcpy(image->bytes + sizeof(image->header), &notes, sizeof(notes));
	memcpy(image->bytes + at, image->notes, image->notes_len);
	at += image->notes_len;
	for (size_t i = 0; i < image->nr; i++) {
		Elf64_Phdr *segment = &image->segment[i];

		segment->p_offset = at;
		for (uint64_t j = 0; j < segment->p_filesz; j++)
			image->bytes[at + j] = (uint8_t)(segment->p_vaddr + j);
		at += segment->p_filesz;
		memcpy(image->bytes + sizeof(image->header) + (i + 1) * sizeof(*segment), segment,
		       sizeof(*segment));
	}
	image->len = at;
	memory_array_init(&image->file, image->bytes, 0, image->len);
}

struct core_file *core_image_open(struct core_image *image)
{
	struct core_file *core;

	core_image_make(image);
	CU_ASSERT_PTR_NULL_FATAL(core_file_from(&image->file.memory, image->len, "image", &core));
	return core;
}
