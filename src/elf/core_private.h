/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of the core reader. */
#pragma once

#include "elf/core_file.h"

/* All len bytes at an offset of the file; ERR_MEMORY. */
struct err *core_read(const struct core_file *core, uint64_t offset, void *buf,
		      size_t len) MUST_CHECK;
/* ERR_FORMAT: the file is too short for what it says of itself. */
struct err *core_cut_off(const struct core_file *core, const char *what) MUST_CHECK;
/* Take what a PT_NOTE has. Of a note that comes twice the first counts. */
struct err *core_read_notes(struct core_file *core, uint64_t offset, uint64_t len) MUST_CHECK;
/* In order of address; where two overlap the first counts. */
void core_sort_mapped(struct core_file *core);
