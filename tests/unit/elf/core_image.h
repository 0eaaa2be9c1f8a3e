/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Core files made in memory. */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "memory_array.h"

struct core_file;

#define CORE_IMAGE_ROOM	65536u
#define CORE_IMAGE_SEGMENTS	8u

/* Notes and segments are added, in any order; then it is made. */
struct core_image {
	Elf64_Ehdr header;
	Elf64_Phdr segment[CORE_IMAGE_SEGMENTS];
	size_t nr;
	uint8_t notes[8192];
	size_t notes_len;
	/* Of core_image_make: */
	uint8_t bytes[CORE_IMAGE_ROOM];
	size_t len;
	struct memory_array file;
};

void core_image_init(struct core_image *image);
void core_image_note(struct core_image *image, const char *name, uint32_t type, const void *bytes,
		     size_t len);
/* Each register is tid * 1000 + its number. */
void core_image_thread(struct core_image *image, uint32_t tid, uint16_t signal);
/* Files of one page each, which lie one behind the other from start on. */
void core_image_files(struct core_image *image, uint64_t start, const char *const *name, size_t nr);
/* A segment of which the first len bytes are in the file: each is the low byte of its address. */
void core_image_segment(struct core_image *image, uint64_t start, uint64_t memsz, uint64_t len,
			uint32_t flags);
/* Headers, notes, memory, in this order. */
void core_image_make(struct core_image *image);
/* The same, opened; fails the test if that cannot be. */
struct core_file *core_image_open(struct core_image *image);
