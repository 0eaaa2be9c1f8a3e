/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A refresh compares the mappings of a process with the modules that are known.
 *
 * A module begins as an executable mapping of an ELF file. The PT_LOAD segment that holds the
 * mapping's file offset gives the bias, and bias and PT_LOADs give all the rest: which addresses
 * are the module's and which are its code. The mappings alone do not say that: text may have been
 * moved to anonymous huge pages (node), split by mprotect or by RELRO, or made writable for a
 * moment by a program that patches it, and the next mapping of the file may belong to a mere
 * reader. It also keeps the identity of a module while its mappings change.
 *
 * Executable memory that is left over is tried in two ways: as text whose headers are mapped just
 * below it, and as text of the program itself (libhugetlbfs replaces all of it), recognised by
 * AT_ENTRY. The rest is no module: JIT code, trampolines, [vsyscall].
 *
 * It is built aside (struct refresh) and published when nothing can fail any more.
 */

#include <sys/stat.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "tracee/module_new.h"

#define TEXT_BYTES	256u

struct refresh {
	struct modules *old;
	const struct module_world *world;
	struct memory *memory;
	VEC(struct module *) live;	/* old ones that are still there, and fresh */
	VEC(struct module *) fresh;	/* owned until published */
	VEC(struct walk_module) walk;
	uint64_t rows;			/* of all modules, old and fresh */
};

static void refresh_deinit(struct refresh *refresh)
{
	vec_each(module, &refresh->fresh)
		module_free(*module);
	vec_free(&refresh->fresh);
	vec_free(&refresh->live);
	vec_free(&refresh->walk);
}

/* New modules */

static uint64_t rows_of(const struct module *module)
{
	return module->shares ? 0 : module->rows.nr;
}

/* Take module over as a new one. */
static struct err *add_fresh(struct refresh *refresh, struct module **module)
{
	struct modules *old = refresh->old;
	struct err *err = vec_reserve(&refresh->live, 1);

	if (!err)
		err = vec_reserve(&refresh->fresh, 1);
	if (!err && !old->names_only)
		err = module_load_rows(*module, &old->cache,
				       old->rows_most - MIN(refresh->rows, old->rows_most));
	if (err)
		return err;
	refresh->rows += rows_of(*module);
	refresh->fresh.at[refresh->fresh.nr++] = *module;
	refresh->live.at[refresh->live.nr++] = take(*module);
	return NULL;
}

/*
 * Does exec hold the module's text? Headers below executable memory may have been mapped only to be
 * read, with JIT code above them. Not all bytes need to be the file's, since text may have been
 * patched.
 */
static bool holds_text(struct refresh *refresh, struct module *module, const struct proc_map *exec)
{
	uint64_t start = MAX(exec->start, module->exec_start);
	uint8_t memory[TEXT_BYTES], file[TEXT_BYTES];
	size_t i, same = 0;
	struct err *err = memory_read(refresh->memory, start, memory, sizeof(memory));

	if (!err)
		err = elf_file_read(module->elf, start - module->bias, file, sizeof(file));
	for (i = 0; !err && i < sizeof(memory); i++)
		same += memory[i] == file[i];
	return same >= sizeof(memory) / 4 * 3;
}

/* An earlier module that has opened the file of map, if the file is unchanged since; or NULL. */
static const struct module *opened_before(const struct refresh *refresh, const struct proc_map *map)
{
	const struct modules *old = refresh->old;
	struct stat stat;

	for (size_t i = 0; i < old->all.nr; i++) {
		const struct module *module = old->all.at[i];

		if (module->elf && module->fd >= 0 && !module->shares &&
		    module_layout_maps_file(module, map) && module->deleted == map->deleted &&
		    !strcmp(module->path, map->path) && !fstat(module->fd, &stat) &&
		    stat.st_size == module->size &&
		    stat.st_mtim.tv_sec == module->mtime.tv_sec &&
		    stat.st_mtim.tv_nsec == module->mtime.tv_nsec)
			return module;
	}
	return NULL;
}

/* Is the same part of the file its code, so that the same rows hold? */
static bool has_same_code(const struct module *a, const struct module *b)
{
	return a->exec_start - a->bias == b->exec_start - b->bias &&
	       a->exec_end - a->exec_start == b->exec_end - b->exec_start;
}

/* Do its segments put the module where its file is mapped by map, with exec as some of its code? */
static bool fits(struct refresh *refresh, struct module *module, const struct proc_map *map,
		 const struct proc_map *exec)
{
	return module_layout_bias(module->elf, map, &module->bias) &&
	       module_layout(module, refresh->world->maps) && exec->end > module->exec_start &&
	       exec->start < module->exec_end && (map == exec || holds_text(refresh, module, exec));
}

/*
 * add_file for a file that is open already. *added_ret is false, without an error, if it must still
 * be opened.
 */
static struct err *add_opened(struct refresh *refresh, const struct proc_map *map,
			      const struct proc_map *exec, bool *added_ret)
{
	CLEANUP(module_cleanup) struct module *module = NULL;
	const struct module *before = opened_before(refresh, map);
	struct err *err = before ? module_create(map, map->path, &module) : NULL;

	*added_ret = false;
	if (err || !before)
		return err;
	module->shares = true;
	module->elf = before->elf;
	module->fd = before->fd;
	module->mtime = before->mtime;
	module->size = before->size;
	module->rows = before->rows;
	if (!fits(refresh, module, map, exec) || !has_same_code(module, before))
		return NULL;
	*added_ret = true;
	return add_fresh(refresh, &module);
}

/*
 * Add the module whose file is mapped by map and whose code is or includes exec (which may be map
 * itself). If there is none, nothing is added, and there is no error.
 */
static struct err *add_file(struct refresh *refresh, const struct proc_map *map,
			    const struct proc_map *exec)
{
	CLEANUP(module_cleanup) struct module *module = NULL;
	AUTO_CLOSE int fd = -1;
	bool added;
	struct err *err = add_opened(refresh, map, exec, &added), *open_err;

	if (err || added)
		return err;
	open_err = refresh->world->open(refresh->world->ctx, refresh->world->maps, map, &fd);
	if (open_err && (open_err->code == ERR_FORMAT || map != exec))
		return module_is_lack(open_err) ? open_err : NULL;
	/* The user is told this (over_limit). */
	if (open_err && open_err->code == ERR_RANGE)
		open_err = err_wrap(open_err, "%s", map->path);
	err = module_create(map, map->path, &module);
	if (!err)
		err = open_err ? module_note(module, open_err) :
				 module_open_elf(module, take_fd(fd));
	if (err)
		return err;
	if (module->elf ? !fits(refresh, module, map, exec) : map != exec)
		return NULL;
	return add_fresh(refresh, &module);
}

static struct err *add_vdso(struct refresh *refresh, const struct proc_map *map)
{
	CLEANUP(module_cleanup) struct module *module = NULL;
	struct err *err = module_create(map, map->path, &module);

	if (!err)
		err = module_read_vdso(module, refresh->memory);
	if (err)
		return err;
	if (module->elf && !fits(refresh, module, map, map))
		return NULL;
	return add_fresh(refresh, &module);
}

/* Modules that are known */

static struct err *keep_old(struct refresh *refresh)
{
	const struct modules *old = refresh->old;
	struct err *err = vec_reserve(&refresh->live, old->live.nr);

	if (err)
		return err;
	vec_each(module, &old->live)
		if (!(*module)->replaced && module_layout_still_mapped(*module,
								       refresh->world->maps))
			refresh->live.at[refresh->live.nr++] = *module;
	vec_each(module, &old->all)
		refresh->rows += rows_of(*module);
	return NULL;
}

/* Is it a mapping of a known module, or has it replaced one? */
static bool is_known(const struct refresh *refresh, const struct proc_map *map)
{
	for (size_t i = 0; i < refresh->live.nr; i++) {
		const struct module *module = refresh->live.at[i];

		if (map->start < module->start || map->start >= module->end)
			continue;
		if (module_layout_maps_file(module, map) ||
		    (!module->inode && module_layout_is_vdso(map)))
			return true;
		if (!map->inode && map->start >= module->exec_start &&
		    map->start < module->exec_end)
			return true;
	}
	return false;
}

/* The passes of a refresh */

static struct err *add_mapped_files(struct refresh *refresh)
{
	vec_each(map, &refresh->world->maps->vec) {
		struct err *err = NULL;

		if (!map->exec || (!map->inode && !module_layout_is_vdso(map)) ||
		    is_known(refresh, map))
			continue;
		if (refresh->old->cancellable)
			err = cancel_check();
		if (!err)
			err = map->inode ? add_file(refresh, map, map) : add_vdso(refresh, map);
		if (err)
			return err;
	}
	return NULL;
}

/* The file mapped below map without a gap, if it is no module yet; or NULL. */
static const struct proc_map *headers_below(const struct refresh *refresh,
					    const struct proc_map *map)
{
	while (map > refresh->world->maps->vec.at && map[-1].end == map->start) {
		map--;
		if (map->inode && !map->exec)
			return is_known(refresh, map) ? NULL : map;
	}
	return NULL;
}

static struct err *add_replaced_text(struct refresh *refresh)
{
	vec_each(map, &refresh->world->maps->vec) {
		const struct proc_map *headers;
		struct err *err;

		if (!map->exec || is_known(refresh, map))
			continue;
		headers = headers_below(refresh, map);
		err = headers ? add_file(refresh, headers, map) : NULL;
		if (err)
			return err;
	}
	return NULL;
}

static bool has_module_at(const struct refresh *refresh, uint64_t addr)
{
	vec_each(module, &refresh->live)
		if (addr >= (*module)->start && addr < (*module)->end)
			return true;
	return false;
}

/*
 * Open the program's file as a module, with the bias that follows from AT_ENTRY. NULL without an
 * error if that is not possible.
 */
static struct err *open_program(struct refresh *refresh, uint64_t entry, struct module **ret)
{
	CLEANUP(module_cleanup) struct module *module = NULL;
	AUTO_CLOSE int fd = -1;
	struct proc_map map;
	struct err *err = refresh->world->open_program(refresh->world->ctx, &map, &fd);

	if (err)
		return err->code == ERR_NOMEM ? err : NULL;
	err = module_create(&map, map.path, &module);
	free(map.path);
	if (!err)
		err = module_open_elf(module, take_fd(fd));
	if (err || !module->elf)
		return err;
	module->bias = entry - elf_file_entry(module->elf);
	if (!module_layout(module, refresh->world->maps) || entry < module->exec_start ||
	    entry >= module->exec_end)
		return NULL;
	*ret = take(module);
	return NULL;
}

/* The program's module, if it was found before, or NULL. */
static struct module *known_program(const struct refresh *refresh, const struct module *program)
{
	for (size_t i = 0; i < refresh->old->live.nr; i++) {
		struct module *module = refresh->old->live.at[i];

		if (!module->replaced && module->inode == program->inode &&
		    module->dev_major == program->dev_major &&
		    module->dev_minor == program->dev_minor && module->bias == program->bias)
			return module;
	}
	return NULL;
}

static struct err *add_program(struct refresh *refresh)
{
	CLEANUP(module_cleanup) struct module *module = NULL;
	struct module *known;
	struct err *err;

	if (!refresh->world->has_entry || has_module_at(refresh, refresh->world->entry))
		return NULL;
	err = open_program(refresh, refresh->world->entry, &module);
	if (err || !module)
		return err;
	known = known_program(refresh, module);
	return known ? vec_push(&refresh->live, known) : add_fresh(refresh, &module);
}

/* Publication */

COMPARE_BY(compare_modules, struct module *, x, (*x)->start)

COMPARE_BY(compare_walk, struct walk_module, x, x->start)

/*
 * Sort them so that none overlap, whatever the files claim: where two overlap, the one that begins
 * later counts.
 */
static struct err *build_walk(struct refresh *refresh)
{
	struct err *err = vec_reserve(&refresh->walk, refresh->live.nr);

	if (err)
		return err;
	for (size_t i = 0; i < refresh->live.nr; i++) {
		const struct module *module = refresh->live.at[i];

		refresh->walk.at[refresh->walk.nr++] = (struct walk_module){
			.start = module->exec_start,
			.end = module->exec_end,
			.rows = module->rows,
		};
	}
	if (!refresh->walk.nr)
		return NULL;
	vec_sort(&refresh->walk, compare_walk);
	for (size_t i = 0; i + 1 < refresh->walk.nr; i++)
		refresh->walk.at[i].end =
			MIN(refresh->walk.at[i].end, refresh->walk.at[i + 1].start);
	return NULL;
}

/* Nothing can fail here, because room was made before. */
static void publish(struct modules *modules, struct refresh *refresh)
{
	modules->generation++;
	vec_each(module, &modules->live)
		(*module)->died = modules->generation;
	vec_each(module, &refresh->fresh) {
		(*module)->born = (*module)->came = modules->generation;
		(*module)->serial = ++modules->serial;
		modules->all.at[modules->all.nr++] = *module;
	}
	vec_each(module, &refresh->live)
		(*module)->died = UINT32_MAX;
	vec_clear(&refresh->fresh);
	free(modules->live.at);
	memcpy(&modules->live, &refresh->live, sizeof(modules->live));
	memset(&refresh->live, 0, sizeof(refresh->live));
	free(modules->walk.at);
	memcpy(&modules->walk, &refresh->walk, sizeof(modules->walk));
	memset(&refresh->walk, 0, sizeof(refresh->walk));
	modules->map = (struct walk_map){
		.module = modules->walk.at,
		.nr = (uint32_t)modules->walk.nr,
		.generation = modules->generation,
	};
}

static struct err *refresh_build(struct refresh *refresh)
{
	struct err *err = keep_old(refresh);

	if (!err)
		err = add_mapped_files(refresh);
	if (!err)
		err = add_replaced_text(refresh);
	if (!err)
		err = add_program(refresh);
	return err;
}

struct err *module_refresh_from(struct modules *modules, const struct module_world *world,
				struct memory *memory, bool *changed_ret)
{
	CLEANUP(refresh_deinit)
	struct refresh refresh = { .old = modules, .world = world, .memory = memory };
	struct err *err = refresh_build(&refresh);
	bool changed;

	if (err)
		return err;
	changed = !modules->generation || refresh.fresh.nr || refresh.live.nr != modules->live.nr;
	if (changed) {
		err = vec_reserve(&modules->all, refresh.fresh.nr);
		if (!err)
			err = build_walk(&refresh);
		if (err)
			return err;
		vec_sort(&refresh.live, compare_modules);
		publish(modules, &refresh);
	}
	if (changed_ret)
		*changed_ret = changed;
	return NULL;
}
