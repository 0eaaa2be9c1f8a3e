/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A core file as a target (theory in core_target.h). */

#include "tracee/core_target.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/page.h"
#include "os/file.h"
#include "tracee/core_code.h"
#include "tracee/core_maps.h"
#include "tracee/target.h"

#define HEADER_BYTES	PAGE	/* compared */

/* Files */

/* How many bytes of the file's first page the core has. */
static size_t packed_header(const struct core *core, const struct proc_map *map, uint8_t *page)
{
	const struct proc_map *header = core_maps_header(&core->maps, map);
	size_t got;

	if (!header || memory_read_some(&core->file->memory, header->start, page,
					MIN(HEADER_BYTES, header->end - header->start), &got))
		return 0;
	return got;
}

static bool is_elf(const uint8_t *page, size_t got)
{
	return got >= SELFMAG && !memcmp(page, ELFMAG, SELFMAG);
}

/* Is it the file that was mapped? */
static struct err *check_file(struct core *core, const struct proc_map *map, int fd)
{
	uint8_t held[HEADER_BYTES], file[HEADER_BYTES];
	size_t nr = packed_header(core, map, held);
	ssize_t got = pread(fd, file, sizeof(file), 0);
	bool given = core->exe && map->inode == core->program;

	if (got < 0)
		return err_sys("read");
	if (!is_elf(file, (size_t)got))
		return err_create(ERR_FORMAT, "not an ELF file");
	if (nr >= sizeof(Elf64_Ehdr)) {
		if (memcmp(held, file, MIN(nr, (size_t)got)))
			return err_create(ERR_NOTFOUND,
					  "not the file that was mapped, but another build of it");
		return NULL;
	}
	if (map->deleted && !given)
		return err_create(ERR_NOTFOUND, "the file that was mapped is deleted");
	core->unchecked++;
	return NULL;
}

/* Devices and the memory of JIT compilers have paths, too. */
static bool may_be_elf(const char *path)
{
	return *path == '/' && strncmp(path, "/memfd:", 7) && strncmp(path, "/dev/", 5);
}

static struct err *find_file(struct core *core, const struct proc_map *map, int *fd_ret)
{
	bool given = core->exe && map->inode == core->program;
	const char *path = given ? core->exe : map->path;
	AUTO_CLOSE int fd = -1;
	uint8_t page[HEADER_BYTES];
	size_t nr = packed_header(core, map, page);
	struct err *err;

	if ((nr && !is_elf(page, nr)) || (!given && !may_be_elf(path)))
		return err_create(ERR_FORMAT, "not an ELF file");
	err = file_open(AT_FDCWD, path, false, LIMIT_FILE, &fd);
	if (!err)
		err = check_file(core, map, fd);
	if (!err)
		*fd_ret = take_fd(fd);
	/* Another file of this name may not be an ELF file; that says nothing about this one. */
	return err && err->code == ERR_FORMAT && nr ? err_recode(err, ERR_NOTFOUND) : err;
}

/* Each file is looked for once. */
static struct core_image *image_of(struct core *core, const struct proc_map *map)
{
	struct core_image *image = &core->images.at[map->inode - 1];
	struct err *err;

	if (image->tried)
		return image;
	image->tried = true;
	err = find_file(core, map, &image->fd);
	if (err) {
		image->code = err->code;
		snprintf(image->why, sizeof(image->why), "%.*s", (int)sizeof(image->why) - 1,
			 err->msg);
	}
	return image;
}

static struct err *make_images(struct core *core)
{
	uint64_t nr = 0;
	struct err *err = NULL;

	vec_each(map, &core->maps.vec)
		nr = MAX(nr, map->inode);
	for (uint64_t i = 0; i < nr && !err; i++)
		err = vec_push(&core->images, ((struct core_image){ .fd = -1 }));
	return err;
}

/* Protection that the core does not say */

struct file_memory {
	struct memory memory;
	int fd;
};

static struct err *read_file(struct memory *memory, uint64_t offset, void *buf, size_t len,
			     size_t *len_ret)
{
	const struct file_memory *file = (const struct file_memory *)memory;
	ssize_t got = pread(file->fd, buf, len, (off_t)offset);

	if (got <= 0)
		return err_create(ERR_MEMORY, "cannot read at %" PRIu64, offset);
	*len_ret = (size_t)got;
	return NULL;
}

static void protect(struct core *core, struct proc_map *map)
{
	const struct proc_map *header = core_maps_header(&core->maps, map);
	struct file_memory file = { .memory = { .read = read_file } };
	uint8_t page[HEADER_BYTES];

	if (!header)
		return;
	if (is_elf(page, packed_header(core, map, page))) {
		core_maps_protect(map, header, &core->file->memory, header->start);
		return;
	}
	file.fd = image_of(core, map)->fd;
	if (file.fd >= 0)
		core_maps_protect(map, header, &file.memory, 0);
}

/* Memory */

/* As in a mapping, the rest of the page with the file's end is zero. */
static size_t read_pages(int fd, uint64_t offset, uint8_t *buf, size_t len)
{
	ssize_t got = pread(fd, buf, len, (off_t)offset);
	size_t zeros;

	if (got <= 0)
		return 0;
	zeros = MIN(len - (size_t)got, (PAGE - (offset + (size_t)got) % PAGE) % PAGE);
	memset(buf + got, 0, zeros);
	return (size_t)got + zeros;
}

/* Read from the file if the mapping was never written. */
static size_t read_mapped(struct core *core, uint64_t addr, void *buf, size_t len)
{
	const struct proc_map *map = procparse_maps_find(&core->maps, addr);
	const struct module *module = modules_find(&core->target->modules, addr);

	if (!map || !map->inode || map->unknown_protection ||
	    (map->write && !core->has_written) || !module || !module->elf ||
	    module->inode != map->inode)
		return 0;
	return read_pages(module->fd, map->offset + (addr - map->start), buf,
			  MIN(len, map->end - addr));
}

static struct err *read_memory(struct memory *memory, uint64_t addr, void *buf, size_t len,
			       size_t *len_ret)
{
	struct core *core = (struct core *)memory;
	size_t done = 0;

	while (done < len) {
		size_t got;

		if (memory_read_some(&core->file->memory, addr + done, (char *)buf + done,
				     len - done, &got))
			got = read_mapped(core, addr + done, (char *)buf + done, len - done);
		if (!got)
			break;
		done += got;
	}
	if (!done)
		return err_create(ERR_MEMORY, "the core has no memory at 0x%" PRIx64, addr);
	*len_ret = done;
	return NULL;
}

static bool next_memory(struct memory *memory, uint64_t start, uint64_t end, uint64_t *start_ret,
			uint64_t *end_ret)
{
	return core_file_next(((struct core *)memory)->file, start, end, start_ret, end_ret);
}

/* The program */

static void find_program(struct core *core)
{
	static const uint64_t types[] = { AT_PHDR, AT_ENTRY };

	for (size_t i = 0; i < ARRAY_SIZE(types) && !core->program; i++) {
		const struct proc_map *map;
		uint64_t address;

		if (core_file_auxv(core->file, types[i], &address))
			continue;
		map = procparse_maps_find(&core->maps, address);
		core->program = map ? map->inode : 0;
	}
}

static const struct proc_map *program_map(const struct core *core)
{
	vec_each_while(map, &core->maps.vec, core->program)
		if (map->inode == core->program)
			return map;
	return NULL;
}

const char *core_target_program(const struct core *core)
{
	const struct proc_map *map = program_map(core);

	return core->exe ? core->exe : map ? map->path : core->execfn ? core->execfn : "";
}

/* Use the name by which it was started if no mapping says it. */
static struct err *find_execfn(struct core *core)
{
	char path[PATH_MAX];
	uint64_t address;

	if (core_file_auxv(core->file, AT_EXECFN, &address) ||
	    memory_read_string(&core->file->memory, address, path, sizeof(path)))
		return NULL;
	core->execfn = strdup(path);
	return core->execfn ? NULL : err_nomem;
}

/* Modules */

static struct err *world_open(void *ctx, const struct proc_maps *maps UNUSED,
			      const struct proc_map *map, int *fd_ret)
{
	const struct core_image *image = image_of(ctx, map);

	if (image->fd < 0)
		return err_create(image->code, "%s", image->why);
	*fd_ret = fcntl(image->fd, F_DUPFD_CLOEXEC, 0);
	return *fd_ret < 0 ? err_sys("dup") : NULL;
}

/* There is no NT_FILE: only its place shows whether it is the right file. */
static struct err *open_unmapped(struct core *core, int *fd_ret)
{
	const char *path = core_target_program(core);
	struct err *err;

	if (*path != '/' && !core->exe)
		return err_create(ERR_NOTFOUND, "the core does not say of which program it is");
	err = file_open(AT_FDCWD, path, false, LIMIT_FILE, fd_ret);
	if (!err)
		core->unchecked++;
	return err;
}

/*
 * No mapping has led to the program: it has none of its own, or its text was moved to huge pages,
 * which have no file.
 */
static struct err *world_open_program(void *ctx, struct proc_map *map_ret, int *fd_ret)
{
	struct core *core = ctx;
	const struct proc_map *map = program_map(core);
	AUTO_FREE char *copy = strdup(core_target_program(core));
	struct err *err = !copy ? err_nomem : map ? world_open(core, &core->maps, map, fd_ret) :
						    open_unmapped(core, fd_ret);

	if (!err)
		*map_ret = (struct proc_map){
			.inode = map ? map->inode : UINT64_MAX,
			.path = take(copy),
		};
	return err;
}

/* The program that was named */

/* The file that the user has named must be the program. */
static struct err *check_exe(struct core *core)
{
	const struct proc_map *map = program_map(core);
	const struct core_image *image;

	if (!core->exe || !map)
		return NULL;
	image = image_of(core, map);
	if (image->fd >= 0)
		return NULL;
	return err_hint(err_create(ERR_FORMAT, "%s is not the program of which %s is a core: %s",
				   core->exe, core->file->name, image->why),
			"that was %s%s", map->path, map->deleted ? ", which is deleted" : "");
}

/* check_exe for a core whose mappings do not name files. */
static struct err *check_placed(struct core *core)
{
	uint64_t entry;

	if (!core->exe || core->program || core_file_auxv(core->file, AT_ENTRY, &entry) ||
	    modules_find(&core->target->modules, entry))
		return NULL;
	return err_create(ERR_FORMAT, "%s is not the program of which %s is a core", core->exe,
			  core->file->name);
}

/* Threads */

static struct err *add_thread(struct target *target, const struct core_thread *from)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	struct err *err;

	if (!thread)
		return err_nomem;
	thread->target = target;
	thread->tid = from->tid;
	thread->tgid = target->pid;
	thread->state = THREAD_STOPPED;
	thread->regs = from->regs;
	thread->blocks_sigtrap = from->blocked >> 4 & 1;
	err = thread_find(target, from->tid) ? NULL :
		map_put(&target->threads, (uint64_t)from->tid, thread);
	if (err || thread_find(target, from->tid) != thread)
		free(thread);
	return err;
}

COMPARE_BY(by_tid, struct core_thread *, x, (*x)->tid)

/* Sort the threads as /proc/PID/task does, so that lists have the same order. */
static struct err *add_threads(struct target *target, const struct core_file *file)
{
	size_t nr = file->threads.nr;
	AUTO_FREE const struct core_thread **thread = calloc(nr, sizeof(*thread));
	struct err *err = NULL;

	if (!thread)
		return err_nomem;
	for (size_t i = 0; i < nr; i++)
		thread[i] = &file->threads.at[i];
	qsort(thread, nr, sizeof(*thread), by_tid);
	for (size_t i = 0; i < nr && !err; i++)
		err = add_thread(target, thread[i]);
	return err;
}

/* Opening */

struct brk {
	struct memory *memory;
	uint64_t end;
};

/* True: the module is the libc that calls sbrk. One of another namespace has 0 there. */
static bool find_brk(void *ctx, struct module *module)
{
	struct brk *brk = ctx;
	uint64_t address, size;

	return !module_symbol(module, "__curbrk", &address, &size) &&
	       !memory_read_u64(brk->memory, address, &brk->end) && brk->end;
}

/* [heap] ends at the break, which libc keeps. */
static struct err *name_heap(struct core *core)
{
	struct brk brk = { .memory = &core->memory };

	if (!modules_each_by_size(&core->target->modules, find_brk, &brk))
		return NULL;
	return core_maps_name(&core->maps, brk.end - 1, "[heap]");
}

static bool has_stack(const struct core_file *file)
{
	uint64_t word;

	return !memory_read_u64((struct memory *)&file->memory,
				regs_get(&file->threads.at[0].regs, file->arch->sp), &word);
}

static struct err *load(struct core *core)
{
	struct module_world world = {
		.maps = &core->maps, .open = world_open, .open_program = world_open_program,
		.ctx = core,
	};
	struct err *err = core_maps_build(core->file, &core->maps);

	if (!err)
		err = make_images(core);
	if (err)
		return err;
	core->has_written = has_stack(core->file);
	find_program(core);
	err = find_execfn(core);
	if (!err)
		err = check_exe(core);
	if (err)
		return err;
	vec_each(map, &core->maps.vec)
		if (map->unknown_protection && map->inode)
			protect(core, map);
	world.has_entry = !core_file_auxv(core->file, AT_ENTRY, &world.entry);
	err = module_refresh_from(&core->target->modules, &world, &core->memory, NULL);
	if (!err)
		err = check_placed(core);
	if (!err)
		err = name_heap(core);
	return err ? err : add_threads(core->target, core->file);
}

static struct target *create(struct tracer *tracer, const char *cache_dir)
{
	struct target *target = calloc(1, sizeof(*target));
	struct core *core = calloc(1, sizeof(*core));

	if (!target || !core) {
		free(target);
		free(core);
		return NULL;
	}
	core->memory.read = read_memory;
	core->memory.next = next_memory;
	core->target = target;
	*target = (struct target){
		.kind = &target_kind_core, .core = core, .memory = &core->memory, .mem = { .fd = -1 }, .pidfd = -1,
		.tracer = tracer, .state = TARGET_STOPPED,
	};
	modules_init(&target->modules, cache_dir);
	return target;
}

static void cleanup(struct target **target)
{
	target_destroy(*target);
}

struct err *core_target_open(struct tracer *tracer, const char *path, const char *exe,
			     const char *cache_dir, struct target **ret)
{
	CLEANUP(cleanup) struct target *target = create(tracer, cache_dir);
	struct core *core = target ? target->core : NULL;
	struct err *err;

	if (core && exe)
		core->exe = strdup(exe);
	if (!core || (exe && !core->exe))
		return err_nomem;
	err = core_file_open(path, &core->file);
	if (err)
		return err;
	target->arch = core->file->arch;
	target->pid = core->file->process.pid;
	if (!target->pid)
		target->pid = core->file->threads.at[0].tid;
	target->mem.tid = target->pid;
	err = load(core);
	if (!err)
		*ret = take(target);
	return err;
}

/* What a core file is to its target. */

static struct err *core_maps(const struct target *target, struct proc_maps *ret)
{
	struct proc_maps maps = { VEC_INIT };
	struct err *err = vec_reserve(&maps.vec, target->core->maps.vec.nr);

	vec_each_while(from, &target->core->maps.vec, !err) {
		struct proc_map map = *from;

		map.path = strdup(map.path);
		if (map.path)
			maps.vec.at[maps.vec.nr++] = map;
		else
			err = err_nomem;
	}
	if (err)
		procparse_maps_free(&maps);
	else
		*ret = maps;
	return err;
}

/* Nothing of it changes. */
static struct err *core_refresh(struct target *target UNUSED, bool *changed_ret UNUSED)
{
	return NULL;
}

COMPARE_BY(by_id, pid_t, x, *x)

static struct err *core_tasks(const struct target *target, struct proc_tasks *ret)
{
	struct err *err = NULL;

	vec_each_while(thread, &target->core->file->threads, !err)
		err = vec_push(&ret->vec, thread->tid);
	vec_sort(&ret->vec, by_id);
	return err;
}

static struct err *core_status(const struct target *target, pid_t tid, struct proc_status *ret)
{
	*ret = (struct proc_status){ .state = '-' };
	if (tid == target->pid)
		snprintf(ret->name.bytes, sizeof(ret->name.bytes), "%s",
			 target->core->file->process.name);
	return NULL;
}

static struct err *core_target_vector(const struct thread *thread, void *buf, size_t room,
				      size_t *len_ret)
{
	const struct core_file *file = thread->target->core->file;

	vec_each(is, &file->threads)
		if (is->tid == thread->tid)
			return core_file_vector(file, is, buf, room, len_ret);
	return err_create(ERR_NOTFOUND, "the core has no thread %d", thread->tid);
}

/* A core has the ids of the process' own namespace, as the process itself sees them. */
static bool core_same_ids(const struct target *target UNUSED)
{
	return true;
}

static bool core_walk_area(const struct target *target, struct walk_area *ret)
{
	*ret = core_code_area(target->core);
	return true;
}

static void core_walk_start(const struct target *target, const struct regs *regs,
			    struct regs *ret)
{
	core_code_start(target->core, regs, ret);
}

static void core_target_close(struct target *target)
{
	struct core *core = target->core;

	vec_each(image, &core->images)
		if (image->fd >= 0)
			close(image->fd);
	vec_free(&core->images);
	procparse_maps_free(&core->maps);
	core_file_close(core->file);
	free(core->exe);
	free(core->execfn);
	free(core);
}

const struct target_kind target_kind_core = {
	.maps = core_maps,
	.refresh = core_refresh,
	.tasks = core_tasks,
	.status = core_status,
	.vector = core_target_vector,
	.same_ids = core_same_ids,
	.walk_area = core_walk_area,
	.walk_start = core_walk_start,
	.close = core_target_close,
};
