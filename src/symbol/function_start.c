/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the functions of a stripped file begin (theory in function_start.h). */

#include "symbol/function_start.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "elf/cfi.h"
#include "elf/elf_file.h"

/* A file that cannot be read has no starts. */
static void open_file(struct function_starts *starts, int fd, const char *path)
{
	AUTO_CLOSE int own = fd < 0 ? -1 : fd_keep(fd);

	starts->tried = true;
	if (own >= 0 && !elf_file_open(own, path, &starts->elf))
		take_fd(own);
}

struct elf_file *function_start_file(struct function_starts *starts, int fd, const char *path)
{
	if (!starts->tried)
		open_file(starts, fd, path);
	return starts->elf;
}

bool function_start_at(struct function_starts *starts, int fd, const char *path, uint64_t addr,
		       uint64_t *ret)
{
	struct elf_file *elf = function_start_file(starts, fd, path);
	uint64_t size;

	return elf && !cfi_function(elf, addr, ret, &size);
}

void function_starts_free(struct function_starts *starts)
{
	elf_file_close(take(starts->elf));
	starts->tried = false;
}
