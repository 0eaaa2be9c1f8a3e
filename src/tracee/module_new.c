/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes a module from a mapping, its file and its rows (module_new.h). */

#include "tracee/module_new.h"

#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/trace.h"
#include "unwind/rows_compile.h"

#define VDSO_MAX	(1u << 20)

void module_free(struct module *module)
{
	if (!module)
		return;
	if (!module->shares) {
		rows_free(&module->rows);
		elf_file_close(module->elf);
		if (module->fd >= 0)
			close(module->fd);
	}
	free(module->image);
	free(module->path);
	free(module);
}

void module_cleanup(struct module **module)
{
	module_free(*module);
}

struct err *module_create(const struct proc_map *map, const char *path, struct module **ret)
{
	CLEANUP(module_cleanup) struct module *module = calloc(1, sizeof(*module));

	if (!module)
		return err_nomem;
	module->fd = -1;
	module->died = UINT32_MAX;
	module->path = strdup(path);
	if (!module->path)
		return err_nomem;
	module->start = module->exec_start = map->start;
	module->end = module->exec_end = map->end;
	module->bias = map->start - map->offset;
	module->dev_major = map->dev_major;
	module->dev_minor = map->dev_minor;
	module->inode = map->inode;
	module->deleted = map->deleted;
	*ret = take(module);
	return NULL;
}

bool module_is_lack(const struct err *err)
{
	return err->code == ERR_NOMEM || fd_lacking(err);
}

struct err *module_note(struct module *module, struct err *err)
{
	if (!err || module_is_lack(err))
		return err;
	module->over_limit = err->code == ERR_RANGE;
	snprintf(module->why, sizeof(module->why), "%.*s", (int)sizeof(module->why) - 1, err->msg);
	trace_line("module %s: %s", module->path, err->msg);
	return NULL;
}

struct err *module_open_elf(struct module *module, int fd)
{
	AUTO_CLOSE int opened = fd;
	AUTO_CLOSE int elf_fd = fd_keep(opened);
	struct stat stat;
	struct err *err;

	module->fd = fd_keep(opened);
	if (module->fd < 0 || elf_fd < 0 || fstat(module->fd, &stat))
		return module_note(module, err_sys("keep %s open", module->path));
	module->mtime = stat.st_mtim;
	module->size = stat.st_size;
	err = elf_file_open(elf_fd, module->path, &module->elf);
	if (!err)
		elf_fd = -1;
	return module_note(module, err);
}

struct err *module_load_rows(struct module *module, struct rows_cache *cache, uint64_t most)
{
	struct err *err;

	if (!module->elf || module->shares)
		return NULL;
	if (module->exec_end - module->exec_start > UINT32_MAX)
		return module_note(module, err_create(ERR_FORMAT, "code of more than 4G"));
	err = rows_cache_load(cache, module->elf, module->exec_start - module->bias,
			      module->exec_end - module->exec_start, &module->rows);
	if (!err && module->rows.nr > most) {
		rows_free(&module->rows);
		err = limit_err(module->path, "too many rows of CFI in all modules",
				LIMIT_ALL_ROWS);
	}
	err = module_note(module, err);
	/* The file is correct, but mdbg cannot use it. */
	if (err || *module->why || !*elf_file_doubt(module->elf))
		return err;
	return module_note(module, err_create(ERR_RANGE, "%s", elf_file_doubt(module->elf)));
}

struct err *module_read_vdso(struct module *module, struct memory *memory)
{
	size_t len = module->end - module->start;
	struct err *err;

	if (len > VDSO_MAX)
		return module_note(module, err_create(ERR_FORMAT, "vDSO of %zu bytes", len));
	module->image = malloc(len);
	if (!module->image)
		return err_nomem;
	module->image_len = len;
	err = memory_read(memory, module->start, module->image, len);
	if (!err)
		err = elf_file_from_bytes(module->image, len, module->path, &module->elf);
	if (err) {
		free(take(module->image));
		module->image_len = 0;
	}
	return module_note(module, err);
}
