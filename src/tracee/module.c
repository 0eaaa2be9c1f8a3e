/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of the modules of a process. module_refresh.c reads it. */

#include "tracee/module.h"

#include <elf.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "os/local_files.h"
#include "tracee/module_new.h"

void modules_init(struct modules *modules, const char *cache_dir)
{
	*modules = (struct modules){ .rows_most = LIMIT_ALL_ROWS };
	rows_cache_init(&modules->cache, cache_dir);
}

void modules_deinit(struct modules *modules)
{
	vec_each(module, &modules->all)
		module_free(*module);
	vec_free(&modules->all);
	vec_free(&modules->live);
	vec_free(&modules->walk);
	rows_cache_deinit(&modules->cache);
	modules->map = (struct walk_map){ .module = NULL };
	modules->generation = 0;
}

/* Merging */

static bool is_same(const struct module *a, const struct module *b)
{
	return a->elf && a->elf == b->elf && a->bias == b->bias && a->start == b->start &&
	       a->end == b->end && a->exec_start == b->exec_start && a->exec_end == b->exec_end;
}

/* Was another module there between the end of the one and the beginning of the other? */
static bool other_between(const struct modules *modules, const struct module *dead,
			  const struct module *live)
{
	vec_each(at, &modules->all) {
		const struct module *module = *at;

		if (module != dead && module != live && module->start < dead->end &&
		    dead->start < module->end && module->died > dead->died &&
		    module->born < live->born)
			return true;
	}
	return false;
}

static void merge(struct modules *modules, size_t dead_at, size_t live_at)
{
	struct module *dead = modules->all.at[dead_at], *live = modules->all.at[live_at];

	live->serial = dead->serial;
	live->born = dead->born;
	if (!dead->shares) {
		dead->shares = true;
		live->shares = false;
	}
	modules->all.at[dead_at] = live;
	vec_remove(&modules->all, live_at);
	module_free(dead);
}

/* The last module before it that was the same one; all.nr: there is none. */
static size_t find_earlier(const struct modules *modules, size_t live_at)
{
	for (size_t i = live_at; i-- > 0;)
		if (modules->all.at[i]->died != UINT32_MAX &&
		    is_same(modules->all.at[i], modules->all.at[live_at]))
			return i;
	return modules->all.nr;
}

void modules_merge(struct modules *modules,
		   bool (*needed)(const struct module *module, void *ctx), void *ctx)
{
	for (size_t i = modules->all.nr; i-- > 0;) {
		const struct module *live = modules->all.at[i];
		size_t dead;

		if (live->died != UINT32_MAX)
			continue;
		dead = find_earlier(modules, i);
		if (dead < i && !needed(modules->all.at[dead], ctx) &&
		    !other_between(modules, modules->all.at[dead], live))
			merge(modules, dead, i);
	}
}

/* The source of facts for a live process: /proc. */

struct live {
	pid_t tid;
	struct memory *memory;
	struct local_files *files;	/* NULL: any file is opened */
};

static struct err *live_open(void *ctx, const struct proc_maps *maps, const struct proc_map *map,
			     int *fd_ret)
{
	const struct live *live = ctx;

	if (live->files && local_files_place(live->files, live->tid, map->dev_major,
					     map->dev_minor) != FILE_LOCAL)
		return err_create(ERR_NOTFOUND, "%s is not of this machine", map->path);
	return module_file_open(live->tid, maps, map, live->memory, fd_ret);
}

static struct err *live_open_program(void *ctx, struct proc_map *map_ret, int *fd_ret)
{
	const struct live *live = ctx;
	AUTO_FREE char *path = NULL;
	struct err *err = procfs_link(live->tid, "exe", &path);

	if (!err)
		err = module_file_open_exe(live->tid, map_ret, fd_ret);
	if (!err)
		map_ret->path = take(path);
	return err;
}

struct err *modules_refresh(struct modules *modules, pid_t tid, struct memory *memory,
			    bool *changed_ret)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	CLEANUP(local_files_free) struct local_files files = LOCAL_FILES_INIT;
	struct live live = { tid, memory, modules->names_only ? &files : NULL };
	struct module_world world = {
		.maps = &maps, .open = live_open, .open_program = live_open_program, .ctx = &live,
	};
	struct err *err = procfs_maps(tid, &maps), *entry_err;

	if (err)
		return err;
	if (!maps.vec.nr)
		return err_create(ERR_GONE, "thread %d has no memory (any more)", tid);
	entry_err = procfs_auxv(tid, AT_ENTRY, &world.entry);
	world.has_entry = !entry_err;
	return entry_err && entry_err->code == ERR_NOMEM ? entry_err :
		module_refresh_from(modules, &world, memory, changed_ret);
}

struct module *modules_find(const struct modules *modules, uint64_t addr)
{
	size_t low = LOWER_BOUND(i, 0, modules->live.nr, modules->live.at[i]->start <= addr);

	/* It is mostly the first one; but a module may lie in a hole of another. */
	while (low--) {
		if (addr < modules->live.at[low]->end)
			return modules->live.at[low];
	}
	return NULL;
}

struct err *modules_read_constant(const struct modules *modules, struct memory *memory,
				  uint64_t addr, void *buf, size_t len)
{
	struct module *module = modules_find(modules, addr);
	struct err *err = memory_read(memory, addr, buf, len);

	return err && module && module->elf ?
		       elf_file_read(module->elf, addr - module->bias, buf, len) : err;
}

struct err *module_symbol(struct module *module, const char *name, uint64_t *addr_ret,
			  uint64_t *size_ret)
{
	struct elf_symbol symbol;
	struct err *err;

	if (!module->elf)
		return err_create(ERR_NOTFOUND, "%s: no symbols: %s", module->path, module->why);
	err = elf_symbol_named(module->elf, name, &symbol);
	if (err)
		return err;
	if (symbol.ifunc)
		return err_create(ERR_UNSUPPORTED, "%s: %s is chosen at run time (IFUNC)",
				  module->path, name);
	*addr_ret = symbol.value + module->bias;
	*size_ret = symbol.size;
	return NULL;
}

COMPARE_BY(by_size, struct module *, x, (*x)->exec_end - (*x)->exec_start)

bool modules_each_by_size(const struct modules *modules,
			  bool (*fn)(void *ctx, struct module *module), void *ctx)
{
	size_t nr = modules->live.nr;
	AUTO_FREE struct module **module = malloc((nr + 1) * sizeof(struct module *));
	bool done = false;

	if (!module)
		return false;
	for (size_t i = 0; i < nr; i++)
		module[i] = modules->live.at[i];
	qsort(module, nr, sizeof(module[0]), by_size);
	for (size_t i = 0; i < nr && !done; i++)
		done = fn(ctx, module[i]);
	return done;
}

struct wanted {
	const char *name;
	uint64_t address;
};

static bool find_symbol(void *ctx, struct module *module)
{
	struct wanted *wanted = ctx;
	uint64_t size;

	return !module_symbol(module, wanted->name, &wanted->address, &size) && wanted->address;
}

uint64_t modules_symbol(const struct modules *modules, const char *name)
{
	struct wanted wanted = { .name = name };

	return modules_each_by_size(modules, find_symbol, &wanted) ? wanted.address : 0;
}
