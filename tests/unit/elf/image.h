/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ELF files made in memory, for what no compiler makes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* An executable segment of the image, all zeros. */
#define IMAGE_TEXT	0x1000
#define IMAGE_TEXT_LEN	0x1000

struct image_section {
	const char *name;
	uint32_t type;
	uint64_t addr;
	const void *bytes;
	size_t len;
	uint64_t flags;
};

/* A program for x86-64 with these sections, opened. Fails the test if that cannot be. */
struct elf_file *image_open(const struct image_section *section, size_t nr);

/* The whole of a file; NULL if it cannot be read. free() it. */
uint8_t *image_of_file(const char *path, size_t *len_ret);
/* The same bytes without a section header table. */
void image_strip_sections(uint8_t *bytes);
