/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The modules of real processes, mostly of the test itself. */

#include "tracee/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "child.h"
#include "os/procmem.h"
#include "tracee/module_new.h"
#include "unit.h"

#define PAGE	4096

/* A library that nothing else has, so that it may be taken apart: a copy of libm. */
struct plugin {
	char path[64];
	void *handle;
	uint64_t addr;	/* of its function */
};

static void copy_file(const char *from, const char *to)
{
	AUTO_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	char buf[65536];
	ssize_t got;

	CU_ASSERT_TRUE_FATAL(in >= 0 && out >= 0);
	while ((got = read(in, buf, sizeof(buf))) > 0)
		CU_ASSERT_EQUAL_FATAL(write(out, buf, (size_t)got), got);
}

static void plugin_copy(struct plugin *plugin, const char *name)
{
	void *libm = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	Dl_info info;

	CU_ASSERT_TRUE_FATAL(libm && dladdr(dlsym(libm, "cbrt"), &info));
	snprintf(plugin->path, sizeof(plugin->path), "/tmp/mdbg-unit-%d-%s.so", getpid(), name);
	copy_file(info.dli_fname, plugin->path);
	dlclose(libm);
}

static void plugin_open(struct plugin *plugin)
{
	plugin->handle = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(plugin->handle);
	plugin->addr = (uintptr_t)dlsym(plugin->handle, "cbrt");
}

static void plugin_close(struct plugin *plugin)
{
	dlclose(plugin->handle);
	unlink(plugin->path);
}

static struct procmem own_memory;

static struct err *refresh(struct modules *modules, bool *changed_ret)
{
	return modules_refresh(modules, getpid(), &own_memory.memory, changed_ret);
}

static int open_memory(void)
{
	return procmem_open(getpid(), &own_memory) ? 1 : 0;
}

static int close_memory(void)
{
	procmem_close(&own_memory);
	return 0;
}

/* Do the modules' walk map and live list hold together? */
static bool sound(const struct modules *modules)
{
	uint32_t i;

	if (modules->map.nr != modules->live.nr || modules->map.generation != modules->generation)
		return false;
	for (i = 0; i < modules->map.nr; i++) {
		const struct walk_module *walk = &modules->map.module[i];
		const struct module *module = modules_find(modules, walk->start);

		if (walk->start >= walk->end || (i && walk->start < walk[-1].end))
			return false;
		if (!module || module->died != UINT32_MAX || module->exec_start != walk->start ||
		    module->rows.row != walk->rows.row)
			return false;
	}
	return true;
}

static int compare_phdr(struct dl_phdr_info *info, size_t size UNUSED, void *arg)
{
	const struct modules *modules = arg;
	size_t i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		struct module *module;

		if (phdr->p_type != PT_LOAD)
			continue;
		module = modules_find(modules, info->dlpi_addr + phdr->p_vaddr);
		CU_ASSERT_PTR_NOT_NULL_FATAL(module);
		CU_ASSERT_EQUAL(module->bias, info->dlpi_addr);
		CU_ASSERT_PTR_NOT_NULL(module->elf);
		CU_ASSERT_STRING_EQUAL(module->why, "");
		CU_ASSERT_TRUE(!strcmp(module->path, "[vdso]") || module->fd >= 0);
	}
	return 0;
}

/* The loader's own list is the judge. */
static void own_modules(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	struct module *libc;
	uint64_t addr = 0, size = 0;
	bool changed = false;

	modules_init(&modules, NULL);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, &changed));
	CU_ASSERT_TRUE(changed);
	CU_ASSERT_EQUAL(modules.generation, 1);
	CU_ASSERT_TRUE(sound(&modules));
	dl_iterate_phdr(compare_phdr, &modules);
	libc = modules_find(&modules, (uintptr_t)dlsym(RTLD_NEXT, "malloc"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(libc);
	CU_ASSERT_PTR_NULL(module_symbol(libc, "malloc", &addr, &size));
	CU_ASSERT_EQUAL(addr, (uintptr_t)dlsym(RTLD_NEXT, "malloc"));
	CU_ASSERT_TRUE(size > 0);
	CU_ASSERT_TRUE(addr >= libc->exec_start && addr + size <= libc->exec_end);
	CU_ASSERT_TRUE(libc->rows.nr > 1000);
	CU_ASSERT_PTR_NOT_NULL(rows_find(&libc->rows, (uint32_t)(addr - libc->exec_start)));
	CU_ASSERT_PTR_NULL(refresh(&modules, &changed));
	CU_ASSERT_FALSE(changed);
	CU_ASSERT_EQUAL(modules.generation, 1);
}

/* Of what is too much for all of them together, those that come first have their rows. */
static void rows_of_all(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	uint64_t rows = 0;
	size_t without = 0;

	modules_init(&modules, NULL);
	modules.rows_most = 30000;
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	for (size_t i = 0; i < modules.live.nr; i++) {
		const struct module *module = modules.live.at[i];

		rows += module->rows.nr;
		without += module->over_limit;
		CU_ASSERT_EQUAL(module->over_limit,
				strstr(module->why, "too many rows of CFI in all modules") != NULL);
		CU_ASSERT_EQUAL(module->over_limit, !module->rows.nr);
	}
	CU_ASSERT_TRUE(rows > 0 && rows <= 30000);
	CU_ASSERT_TRUE(without > 0);
}

/* Ctrl-C ends it where that is wanted, and the next one is as if nothing had been. */
static void cancelled(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	struct err *err;

	modules_init(&modules, NULL);
	modules.cancellable = true;
	cancel_request();
	err = refresh(&modules, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_CANCELLED);
	err_ignore(err);
	CU_ASSERT_EQUAL(modules.all.nr, 0);
	modules.cancellable = false;
	CU_ASSERT_PTR_NULL(refresh(&modules, NULL));
	CU_ASSERT_TRUE(modules.all.nr > 2);
	cancel_clear();
}

static void symbols(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	struct module *libc, bare = { .path = (char *)"x", .why = "reason" };
	uint64_t addr, size;
	struct err *err;

	modules_init(&modules, NULL);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	/* Not malloc, which may be a sanitizer's. */
	libc = modules_find(&modules, (uintptr_t)dlsym(RTLD_NEXT, "gnu_get_libc_version"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(libc);
	err = module_symbol(libc, "no_such_symbol_here", &addr, &size);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_NOTFOUND);
	err = module_symbol(libc, "strlen", &addr, &size);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_UNSUPPORTED);
	err = module_symbol(&bare, "malloc", &addr, &size);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, "reason"));
}

static void comes_and_goes(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	struct module *module, *main_module;
	const struct row *main_rows;
	struct plugin plugin;
	bool changed;
	size_t nr;

	modules_init(&modules, NULL);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	nr = modules.live.nr;
	main_module = modules_find(&modules, (uintptr_t)comes_and_goes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(main_module);
	main_rows = main_module->rows.row;
	plugin_copy(&plugin, "comes");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL(refresh(&modules, &changed));
	CU_ASSERT_TRUE(changed && modules.generation == 2 && modules.live.nr == nr + 1);
	CU_ASSERT_TRUE(sound(&modules));
	module = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(module);
	CU_ASSERT_STRING_EQUAL(module->path, plugin.path);
	CU_ASSERT_EQUAL(module->born, 2);
	CU_ASSERT_EQUAL(main_module->born, 1);
	plugin_close(&plugin);
	CU_ASSERT_PTR_NULL(refresh(&modules, &changed));
	CU_ASSERT_TRUE(changed && modules.generation == 3 && modules.live.nr == nr);
	CU_ASSERT_TRUE(sound(&modules));
	CU_ASSERT_PTR_NULL(modules_find(&modules, plugin.addr));
	/* It may still name old stacks; what stayed was left alone. */
	CU_ASSERT_EQUAL(module->died, 3);
	CU_ASSERT_PTR_NOT_NULL(module->elf);
	CU_ASSERT_PTR_EQUAL(modules_find(&modules, (uintptr_t)comes_and_goes), main_module);
	CU_ASSERT_PTR_EQUAL(main_module->rows.row, main_rows);
	CU_ASSERT_EQUAL(main_module->died, UINT32_MAX);
}

static void another_file_at_the_same_place(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	struct module *first, *second;
	struct plugin old, new;

	modules_init(&modules, NULL);
	plugin_copy(&old, "old");
	plugin_copy(&new, "new");
	plugin_open(&old);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	first = modules_find(&modules, old.addr);
	plugin_close(&old);
	plugin_open(&new);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	second = modules_find(&modules, new.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	CU_ASSERT_PTR_NOT_NULL_FATAL(second);
	/* The loader takes the hole again; were it not so, the test would show less, not fail. */
	CU_ASSERT_PTR_NOT_EQUAL(first, second);
	CU_ASSERT_EQUAL(first->died, second->born);
	CU_ASSERT_STRING_EQUAL(second->path, new.path);
	plugin_close(&new);
}

/* Nothing of the maps tells: somebody has to. */
static void same_file_at_the_same_place(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct module *first, *second, *third;
	struct plugin plugin;
	bool changed;
	size_t nr;

	modules_init(&modules, NULL);
	plugin_copy(&plugin, "again");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	first = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	nr = modules.live.nr;
	first->replaced = true;
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, &changed));
	CU_ASSERT_TRUE(changed && modules.live.nr == nr && sound(&modules));
	second = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(second);
	CU_ASSERT_PTR_NOT_EQUAL(first, second);
	CU_ASSERT_EQUAL(first->died, modules.generation);
	CU_ASSERT_EQUAL(second->born, modules.generation);
	CU_ASSERT_EQUAL(second->bias, first->bias);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, &changed));
	CU_ASSERT_FALSE(changed);
	/* It is opened once, ... */
	CU_ASSERT_PTR_EQUAL(second->elf, first->elf);
	CU_ASSERT_EQUAL(second->fd, first->fd);
	CU_ASSERT_PTR_EQUAL(second->rows.row, first->rows.row);
	/* ... unless it was written to since. */
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, plugin.path, times, 0), 0);
	second->replaced = true;
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, &changed));
	third = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(third);
	CU_ASSERT_TRUE(changed && third != second && sound(&modules));
	CU_ASSERT_PTR_NOT_EQUAL(third->elf, first->elf);
	CU_ASSERT_NOT_EQUAL(third->fd, first->fd);
	plugin_close(&plugin);
}

static bool is_it(const struct module *module, void *ctx)
{
	return module == ctx;
}

static struct module *come_back(struct modules *modules, struct module *module, uint64_t addr)
{
	module->replaced = true;
	CU_ASSERT_PTR_NULL_FATAL(refresh(modules, NULL));
	module = modules_find(modules, addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(module);
	return module;
}

static void merged(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	struct module *first, *second;
	struct plugin plugin;
	uint32_t serial, born;
	size_t nr;

	modules_init(&modules, NULL);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	plugin_copy(&plugin, "merged");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	first = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	nr = modules.all.nr;
	serial = first->serial;
	born = first->born;
	CU_ASSERT_TRUE(born == 2 && serial == modules.serial);
	second = come_back(&modules, first, plugin.addr);
	CU_ASSERT_EQUAL(modules.all.nr, nr + 1);
	modules_merge(&modules, is_it, first);
	CU_ASSERT_EQUAL(modules.all.nr, nr + 1);
	modules_merge(&modules, is_it, NULL);
	CU_ASSERT_EQUAL(modules.all.nr, nr);
	CU_ASSERT_TRUE(second->serial == serial && second->born == born && sound(&modules));
	CU_ASSERT_EQUAL(second->came, modules.generation);
	/* The file is its own now. */
	first = come_back(&modules, second, plugin.addr);
	CU_ASSERT_PTR_EQUAL(first->elf, second->elf);
	modules_merge(&modules, is_it, NULL);
	CU_ASSERT_EQUAL(modules.all.nr, nr);
	CU_ASSERT_TRUE(first->serial == serial && first->born == born && sound(&modules));
	CU_ASSERT_PTR_EQUAL(modules_find(&modules, plugin.addr), first);
	plugin_close(&plugin);
}

/* What lay there in between has its own names. */
static void not_merged(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	struct plugin old, other;
	struct module *first, *last;
	size_t nr;

	modules_init(&modules, NULL);
	plugin_copy(&old, "between-old");
	plugin_copy(&other, "between-new");
	plugin_open(&old);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	first = modules_find(&modules, old.addr);
	dlclose(old.handle);
	plugin_open(&other);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	plugin_close(&other);
	plugin_open(&old);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	last = modules_find(&modules, old.addr);
	nr = modules.all.nr;
	CU_ASSERT_TRUE_FATAL(first && last && first != last);
	modules_merge(&modules, is_it, NULL);
	/* The loader takes the hole again, mostly; were it not so, they could be one. */
	if (other.addr == old.addr && first->bias == last->bias)
		CU_ASSERT_EQUAL(modules.all.nr, nr);
	plugin_close(&old);
}

static void deleted_file(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	struct plugin plugin;
	struct module *module;
	uint64_t addr = 0, size;

	modules_init(&modules, NULL);
	plugin_copy(&plugin, "deleted");
	plugin_open(&plugin);
	unlink(plugin.path);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	module = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(module);
	CU_ASSERT_TRUE(module->deleted);
	CU_ASSERT_STRING_EQUAL(module->path, plugin.path);
	if (module->elf) {
		CU_ASSERT_PTR_NULL(module_symbol(module, "cbrt", &addr, &size));
		CU_ASSERT_EQUAL(addr, plugin.addr);
	} else {
		unit_skip("no right to /proc/PID/map_files");
	}
	plugin_close(&plugin);
}

/* Put anonymous memory with the same bytes where [start, end) is. */
static void replace(uint64_t start, uint64_t end, int prot)
{
	size_t len = end - start;
	void *copy = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		abort();
	memcpy(copy, (void *)(uintptr_t)start, len);
	mprotect(copy, len, prot);
	if (mremap(copy, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)(uintptr_t)start) ==
	    MAP_FAILED)
		abort();
}

static bool same_place(const struct module *a, const struct module *b)
{
	return a && b && a->start == b->start && a->end == b->end && a->bias == b->bias &&
	       a->exec_start == b->exec_start && a->exec_end == b->exec_end;
}

/* As node moves its text to huge pages: seen by one who knew it before, and by one who did not. */
static void text_in_anonymous_memory(void)
{
	CLEANUP(modules_deinit) struct modules before, after;
	struct plugin plugin;
	struct module *module, *fresh;
	bool changed;

	modules_init(&before, NULL);
	modules_init(&after, NULL);
	plugin_copy(&plugin, "anonymous");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&before, NULL));
	module = modules_find(&before, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(module);
	replace(module->exec_start, module->exec_end, PROT_READ | PROT_EXEC);
	CU_ASSERT_PTR_NULL(refresh(&before, &changed));
	CU_ASSERT_FALSE(changed);
	CU_ASSERT_PTR_NULL(refresh(&after, NULL));
	fresh = modules_find(&after, plugin.addr);
	CU_ASSERT_TRUE(same_place(module, fresh));
	CU_ASSERT_PTR_NOT_NULL(fresh && fresh->elf ? fresh->elf : NULL);
	CU_ASSERT_TRUE(sound(&after));
	plugin_close(&plugin);
}

static void text_writable_for_a_moment(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	struct plugin plugin;
	struct module *module;
	bool changed;

	modules_init(&modules, NULL);
	plugin_copy(&plugin, "writable");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	module = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(module);
	mprotect((void *)(uintptr_t)module->exec_start, PAGE, PROT_READ | PROT_WRITE);
	CU_ASSERT_PTR_NULL(refresh(&modules, &changed));
	CU_ASSERT_FALSE(changed);
	mprotect((void *)(uintptr_t)module->exec_start, PAGE, PROT_READ | PROT_EXEC);
	plugin_close(&plugin);
}

static void *map_file(const char *path, int prot)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, PAGE, prot, MAP_PRIVATE, fd, 0);

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(at, MAP_FAILED);
	return at;
}

static void what_is_no_module(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	int exec = PROT_READ | PROT_EXEC, memfd = memfd_create("jit", MFD_CLOEXEC);
	void *at[4];
	size_t i;

	modules_init(&modules, NULL);
	CU_ASSERT_EQUAL_FATAL(ftruncate(memfd, PAGE), 0);
	at[0] = mmap(NULL, PAGE, exec, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	at[1] = mmap(NULL, PAGE, exec, MAP_SHARED, memfd, 0);
	at[2] = map_file("/etc/passwd", exec);
	at[3] = map_file("/proc/self/exe", PROT_READ);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		CU_ASSERT_PTR_NULL(modules_find(&modules, (uintptr_t)at[i]));
		munmap(at[i], PAGE);
	}
	CU_ASSERT_TRUE(sound(&modules));
	close(memfd);
}

/* Somebody reads an ELF file, and JIT code happens to lie where its text would be. */
static void jit_above_a_reader(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t len = 256 * PAGE;
	char *at = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	modules_init(&modules, NULL);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(at, MAP_FAILED);
	CU_ASSERT_PTR_EQUAL_FATAL(mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0), at);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	CU_ASSERT_PTR_NULL(modules_find(&modules, (uintptr_t)at));
	CU_ASSERT_PTR_NULL(modules_find(&modules, (uintptr_t)at + len / 2));
	munmap(at, len);
}

/* Mapped once more, as dlmopen does. */
static void mapped_twice(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	AUTO_CLOSE int fd = -1;
	struct plugin plugin;
	struct module *first, *second;
	size_t len;
	char *at;

	modules_init(&modules, NULL);
	plugin_copy(&plugin, "twice");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&modules, NULL));
	first = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	fd = open(plugin.path, O_RDONLY | O_CLOEXEC);
	len = first->end - first->start;
	at = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(at, MAP_FAILED);
	mprotect(at + (first->exec_start - first->start), first->exec_end - first->exec_start,
		 PROT_READ | PROT_EXEC);
	CU_ASSERT_PTR_NULL(refresh(&modules, NULL));
	second = modules_find(&modules, (uintptr_t)at + (first->exec_start - first->start));
	CU_ASSERT_PTR_NOT_NULL_FATAL(second);
	CU_ASSERT_PTR_NOT_EQUAL(first, second);
	CU_ASSERT_EQUAL(second->bias, (uintptr_t)at);
	CU_ASSERT_EQUAL(first->died, UINT32_MAX);
	CU_ASSERT_TRUE(sound(&modules));
	munmap(at, len);
	plugin_close(&plugin);
}

static void replace_own_text(void *arg)
{
	const struct module *module = arg;

	replace(module->start, module->exec_start, PROT_READ);
	replace(module->exec_start, module->exec_end, PROT_READ | PROT_EXEC);
	child_ready(0);
	child_wait();
}

/* Nothing of the program's text is its file's any more: as libhugetlbfs leaves it. */
static void program_without_its_file(void)
{
	CLEANUP(modules_deinit) struct modules own, modules;
	struct module *program, *module;
	struct procmem mem;
	struct child child;
	uint64_t word;
	bool changed;

	modules_init(&own, NULL);
	modules_init(&modules, NULL);
	CU_ASSERT_PTR_NULL_FATAL(refresh(&own, NULL));
	program = modules_find(&own, getauxval(AT_ENTRY));
	CU_ASSERT_PTR_NOT_NULL_FATAL(program);
	CU_ASSERT_TRUE_FATAL(child_start(&child, replace_own_text, program));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(child.pid, &mem));
	CU_ASSERT_PTR_NULL(modules_refresh(&modules, child.pid, &mem.memory, NULL));
	module = modules_find(&modules, getauxval(AT_ENTRY));
	CU_ASSERT_TRUE(same_place(program, module));
	CU_ASSERT_TRUE(sound(&modules));
	CU_ASSERT_PTR_NULL(modules_refresh(&modules, child.pid, &mem.memory, &changed));
	CU_ASSERT_FALSE(changed);
	procmem_close(&mem);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static void leave_leader(void *arg UNUSED)
{
	child_ready(0);
	child_wait();
	child_end_leader();
}

/* A thread without memory tells nothing, and that is no word on the modules. */
static void failure_changes_nothing(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	struct procmem mem;
	struct child child;
	uint64_t tid;
	struct err *err;
	size_t nr;

	modules_init(&modules, NULL);
	CU_ASSERT_TRUE_FATAL(child_start(&child, leave_leader, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &tid));
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(child.pid, &mem));
	CU_ASSERT_PTR_NULL_FATAL(modules_refresh(&modules, child.pid, &mem.memory, NULL));
	nr = modules.live.nr;
	CU_ASSERT_EQUAL(write(child.end, "", 1), 1);
	CU_ASSERT_TRUE_FATAL(child_word(&child, &tid));
	err = modules_refresh(&modules, child.pid, &mem.memory, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_GONE);
	CU_ASSERT_TRUE(modules.generation == 1 && modules.live.nr == nr && sound(&modules));
	/* The thread that goes on has them all, and libgcc_s, which pthread_exit asks for. */
	CU_ASSERT_PTR_NULL(modules_refresh(&modules, (pid_t)tid, &mem.memory, NULL));
	CU_ASSERT_TRUE(modules.live.nr >= nr);
	nr = modules.live.nr;
	CU_ASSERT_EQUAL(child_end(&child), 0);
	err = modules_refresh(&modules, (pid_t)tid, &mem.memory, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_GONE);
	CU_ASSERT_EQUAL(modules.live.nr, nr);
	procmem_close(&mem);
}

static struct err *read_nomem(struct memory *memory UNUSED, uint64_t addr UNUSED, void *buf UNUSED,
			      size_t len UNUSED, size_t *len_ret UNUSED)
{
	return err_nomem;
}

/*
 * Out of memory when most modules are made already: the vDSO lies high, and is read through this.
 */
static void out_of_memory(void)
{
	CLEANUP(modules_deinit) struct modules modules;
	struct memory memory = { .read = read_nomem };
	struct err *err;

	modules_init(&modules, NULL);
	err = modules_refresh(&modules, getpid(), &memory, NULL);
	if (!getauxval(AT_SYSINFO_EHDR)) {
		unit_skip("no vDSO here");
		return;
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_NOMEM);
	CU_ASSERT_TRUE(!modules.generation && !modules.live.nr && !modules.all.nr &&
		       !modules.map.nr);
	CU_ASSERT_PTR_NULL(refresh(&modules, NULL));
	CU_ASSERT_TRUE(modules.generation == 1 && sound(&modules));
}

/* The way by path: asked for with a mapping that map_files has not. */
static struct err *open_by_path(const struct proc_map *like, const char *path, int *fd_ret)
{
	struct proc_maps maps = { VEC_INIT };
	struct proc_map map = *like;
	struct err *err;

	map.end += PAGE;
	map.path = (char *)path;
	maps.vec.at = &map;
	maps.vec.nr = 1;
	err = module_file_open(getpid(), &maps, &map, &own_memory.memory, fd_ret);
	return err;
}

static void refuses(const struct proc_map *map, const char *path)
{
	int fd = -1;
	struct err *err = open_by_path(map, path, &fd);

	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_NOT_EQUAL(err->code, ERR_FORMAT);
	CU_ASSERT_EQUAL(fd, -1);
}

static void file_by_path(void)
{
	CLEANUP(proc_maps_free) struct proc_maps maps = { VEC_INIT };
	struct plugin plugin, other;
	const struct proc_map *map;
	char fifo[80], link[80];
	int fd = -1;

	plugin_copy(&plugin, "path");
	plugin_copy(&other, "other");
	plugin_open(&plugin);
	snprintf(fifo, sizeof(fifo), "%s.fifo", plugin.path);
	snprintf(link, sizeof(link), "%s.link", plugin.path);
	CU_ASSERT_EQUAL_FATAL(mkfifo(fifo, 0600), 0);
	CU_ASSERT_EQUAL_FATAL(symlink("/proc/self/exe", link), 0);
	CU_ASSERT_PTR_NULL_FATAL(procfs_maps(getpid(), &maps));
	map = proc_maps_find(&maps, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(map);
	CU_ASSERT_PTR_NULL(open_by_path(map, plugin.path, &fd));
	CU_ASSERT_TRUE(fd >= 0);
	close(fd);
	refuses(map, other.path);
	refuses(map, fifo);
	refuses(map, link);
	refuses(map, "/dev/null");
	refuses(map, "/tmp");
	refuses(map, "/no/such/file");
	unlink(fifo);
	unlink(link);
	unlink(other.path);
	plugin_close(&plugin);
}

/* overlayfs and btrfs: stat() has other numbers than maps. Then what memory holds decides. */
static void file_with_other_numbers(void)
{
	CLEANUP(proc_maps_free) struct proc_maps maps = { VEC_INIT };
	struct proc_map map[2];
	struct proc_maps two = { { map, 2, 2 } };
	struct plugin plugin;
	const struct proc_map *text;
	int fd = -1;

	plugin_copy(&plugin, "numbers");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL_FATAL(procfs_maps(getpid(), &maps));
	text = proc_maps_find(&maps, plugin.addr);
	CU_ASSERT_TRUE_FATAL(text && text > maps.vec.at && !text[-1].offset);
	memcpy(map, text - 1, sizeof(map));
	map[0].inode = map[1].inode = text->inode + 1000000;
	CU_ASSERT_PTR_NULL(module_file_open(getpid(), &two, &map[1], &own_memory.memory, &fd));
	CU_ASSERT_TRUE(fd >= 0);
	close(fd);
	/* Memory that holds something else. */
	map[0].start = map[1].start;
	map[1].path = (char *)"/proc/self/exe";
	CU_ASSERT_PTR_NOT_NULL(module_file_open(getpid(), &two, &map[1], &own_memory.memory, &fd));
	plugin_close(&plugin);
}

void suite_module(void);
void suite_module(void)
{
	CU_pSuite suite = CU_add_suite("module", open_memory, close_memory);

	CU_add_test(suite, "own modules, as the loader has them", own_modules);
	CU_add_test(suite, "symbols", symbols);
	CU_add_test(suite, "dlopen, dlclose", comes_and_goes);
	CU_add_test(suite, "another file at the same place", another_file_at_the_same_place);
	CU_add_test(suite, "the same file at the same place", same_file_at_the_same_place);
	CU_add_test(suite, "merged with itself", merged);
	CU_add_test(suite, "not with another in between", not_merged);
	CU_add_test(suite, "a deleted file", deleted_file);
	CU_add_test(suite, "text in anonymous memory", text_in_anonymous_memory);
	CU_add_test(suite, "text writable for a moment", text_writable_for_a_moment);
	CU_add_test(suite, "what is no module", what_is_no_module);
	CU_add_test(suite, "JIT code above a reader's headers", jit_above_a_reader);
	CU_add_test(suite, "a file mapped twice", mapped_twice);
	CU_add_test(suite, "a program without its file", program_without_its_file);
	CU_add_test(suite, "a failure changes nothing", failure_changes_nothing);
	CU_add_test(suite, "out of memory", out_of_memory);
	CU_add_test(suite, "a file by its path", file_by_path);
	CU_add_test(suite, "rows of all", rows_of_all);
	CU_add_test(suite, "cancelled", cancelled);
	CU_add_test(suite, "a file with other numbers", file_with_other_numbers);
}
