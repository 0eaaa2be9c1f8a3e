/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private parts of the core reader. */
#pragma once

#include "elf/core_file.h"

/* Read exactly len bytes at an offset of the file; ERR_MEMORY. */
struct err *core_file_read(const struct core_file *core, uint64_t offset, void *buf,
			   size_t len) MUST_CHECK;
/* Returns an ERR_FORMAT: the file is shorter than its headers say. */
struct err *core_file_cut_off(const struct core_file *core, const char *what) MUST_CHECK;
/* Read the notes of a PT_NOTE. If a note comes twice, the first one counts. */
struct err *core_note_read(struct core_file *core, uint64_t offset, uint64_t len) MUST_CHECK;
/* Sort by address; if two mappings overlap, the first one counts. */
void core_note_sort_mapped(struct core_file *core);
