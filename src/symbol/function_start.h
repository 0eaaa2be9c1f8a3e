/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the functions of a file begin, by its CFI: a stripped file has lost their names, but not
 * .eh_frame, which it needs to run. The file is opened, and its CFI read, when the first address
 * without a symbol asks for it. A part that the compiler has moved away from its function
 * (foo.cold) has CFI of its own, so that without symbols it is a function of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

struct function_starts {
	struct elf_file *elf;	/* NULL: not opened so far, or it cannot be read */
	bool tried;
};

/*
 * Get the start of the function at addr, both addresses in the file behind fd, which is dup'ed;
 * path is for messages. False: no CFI covers addr, or the file cannot be read.
 */
bool function_start_at(struct function_starts *starts, int fd, const char *path, uint64_t addr,
		       uint64_t *ret);
/* The file; NULL: it cannot be read. */
struct elf_file *function_start_file(struct function_starts *starts, int fd, const char *path);
void function_starts_free(struct function_starts *starts);
