/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The private parts of struct elf_file, for the files of this layer only. */
#pragma once

#include <gelf.h>

#include "base/vec.h"
#include "elf/elf_file.h"
#include "elf/elf_view.h"

struct cfi;

struct elf_file {
	char *name;
	int fd;			/* -1: made from bytes */
	struct elf_view view;
	size_t len;		/* length of the file when it was opened */
	Elf *elf;		/* of view */
	char doubt[160];	/* which part was left out, and why; "": none */
	GElf_Ehdr ehdr;
	VEC(struct elf_segment) segments;
	GElf_Phdr dynamic_phdr, eh_frame_hdr_phdr;	/* p_type PT_NULL: absent */
	uint64_t tls_size;	/* of PT_TLS; 0: absent */
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_len;
	struct elf_symtab dynsym, symtab;
	struct cfi *cfi;	/* read at first use */
};

/* Note that a part of the file is left out, if err says so; the first one is kept. */
void elf_file_add_doubt(struct elf_file *file, const struct err *err);
/*
 * Get bytes [offset, offset + size) of the file as libelf data of a type, in the host's byte order
 * if the type has one. NULL if the file has no such bytes. They live as long as the file.
 */
Elf_Data *elf_file_chunk(struct elf_file *file, uint64_t offset, uint64_t size, Elf_Type type);
/* Returns the segment that holds vaddr, or NULL. */
const struct elf_segment *elf_file_segment_at(const struct elf_file *file, uint64_t vaddr);
/*
 * Get the offset in the file of the byte at vaddr, and how many more bytes follow in its segment.
 * False: no segment has it.
 */
bool elf_file_vaddr_to_offset(const struct elf_file *file, uint64_t vaddr, uint64_t *offset_ret,
			      uint64_t *left_ret);

/* Fill dynsym and symtab. This cannot fail: a broken table is absent. */
void elf_symbols_locate(struct elf_file *file);
