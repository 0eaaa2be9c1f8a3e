/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The modules of real processes, mostly of the test itself. */

#include "tracee/module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "child.h"
#include "own_modules.h"
#include "unit.h"

FIXTURE(own_memory_open, own_memory_close);

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
TEST("own modules, as the loader has them")
{
	CLEANUP(modules_deinit) struct modules modules;
	struct module *libc;
	uint64_t addr = 0, size = 0;
	bool changed = false;

	modules_init(&modules, NULL);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, &changed));
	CU_ASSERT_TRUE(changed);
	CU_ASSERT_EQUAL(modules.generation, 1);
	CU_ASSERT_TRUE(modules_are_sound(&modules));
	dl_iterate_phdr(compare_phdr, &modules);
	libc = modules_find(&modules, (uintptr_t)dlsym(RTLD_NEXT, "malloc"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(libc);
	CU_ASSERT_PTR_NULL(module_symbol(libc, "malloc", &addr, &size));
	CU_ASSERT_EQUAL(addr, (uintptr_t)dlsym(RTLD_NEXT, "malloc"));
	CU_ASSERT_TRUE(size > 0);
	CU_ASSERT_TRUE(addr >= libc->exec_start && addr + size <= libc->exec_end);
	CU_ASSERT_TRUE(libc->rows.nr > 1000);
	CU_ASSERT_PTR_NOT_NULL(rows_find(&libc->rows, (uint32_t)(addr - libc->exec_start)));
	CU_ASSERT_PTR_NULL(own_refresh(&modules, &changed));
	CU_ASSERT_FALSE(changed);
	CU_ASSERT_EQUAL(modules.generation, 1);
}

/* Of what is too much for all of them together, those that come first have their rows. */
TEST("rows of all")
{
	CLEANUP(modules_deinit) struct modules modules;
	uint64_t rows = 0;
	size_t without = 0;

	modules_init(&modules, NULL);
	modules.rows_most = 30000;
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
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
TEST("cancelled")
{
	CLEANUP(modules_deinit) struct modules modules;
	struct err *err;

	modules_init(&modules, NULL);
	modules.cancellable = true;
	cancel_request();
	err = own_refresh(&modules, NULL);
	CU_ASSERT_FATAL(err && err->code == ERR_CANCELLED);
	err_ignore(err);
	CU_ASSERT_EQUAL(modules.all.nr, 0);
	modules.cancellable = false;
	CU_ASSERT_PTR_NULL(own_refresh(&modules, NULL));
	CU_ASSERT_TRUE(modules.all.nr > 2);
	cancel_clear();
}

TEST("symbols")
{
	CLEANUP(modules_deinit) struct modules modules;
	struct module *libc, bare = { .path = (char *)"x", .why = "reason" };
	uint64_t addr, size;
	struct err *err;

	modules_init(&modules, NULL);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
	/* Not malloc, which may be a sanitizer's. */
	libc = modules_find(&modules, (uintptr_t)dlsym(RTLD_NEXT, "gnu_get_libc_version"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(libc);
	err = module_symbol(libc, "no_such_symbol_here", &addr, &size);
	CU_ASSERT_FATAL(err && err->code == ERR_NOTFOUND);
	err = module_symbol(libc, "strlen", &addr, &size);
	CU_ASSERT_FATAL(err && err->code == ERR_UNSUPPORTED);
	err = module_symbol(&bare, "malloc", &addr, &size);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, "reason"));
}

TEST("dlopen, dlclose")
{
	CLEANUP(modules_deinit) struct modules modules;
	struct module *module, *main_module;
	const struct row *main_rows;
	struct plugin plugin;
	bool changed;
	size_t nr;

	modules_init(&modules, NULL);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
	nr = modules.live.nr;
	main_module = modules_find(&modules, (uintptr_t)unit_skip);
	CU_ASSERT_PTR_NOT_NULL_FATAL(main_module);
	main_rows = main_module->rows.row;
	plugin_copy(&plugin, "comes");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL(own_refresh(&modules, &changed));
	CU_ASSERT_TRUE(changed && modules.generation == 2 && modules.live.nr == nr + 1);
	CU_ASSERT_TRUE(modules_are_sound(&modules));
	module = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(module);
	CU_ASSERT_STRING_EQUAL(module->path, plugin.path);
	CU_ASSERT_EQUAL(module->born, 2);
	CU_ASSERT_EQUAL(main_module->born, 1);
	plugin_close(&plugin);
	CU_ASSERT_PTR_NULL(own_refresh(&modules, &changed));
	CU_ASSERT_TRUE(changed && modules.generation == 3 && modules.live.nr == nr);
	CU_ASSERT_TRUE(modules_are_sound(&modules));
	CU_ASSERT_PTR_NULL(modules_find(&modules, plugin.addr));
	/* It may still name old stacks; what stayed was left alone. */
	CU_ASSERT_EQUAL(module->died, 3);
	CU_ASSERT_PTR_NOT_NULL(module->elf);
	CU_ASSERT_PTR_EQUAL(modules_find(&modules, (uintptr_t)unit_skip), main_module);
	CU_ASSERT_PTR_EQUAL(main_module->rows.row, main_rows);
	CU_ASSERT_EQUAL(main_module->died, UINT32_MAX);
}

TEST("another file at the same place")
{
	CLEANUP(modules_deinit) struct modules modules;
	struct module *first, *second;
	struct plugin old, new;

	modules_init(&modules, NULL);
	plugin_copy(&old, "old");
	plugin_copy(&new, "new");
	plugin_open(&old);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
	first = modules_find(&modules, old.addr);
	plugin_close(&old);
	plugin_open(&new);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
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
TEST("the same file at the same place")
{
	CLEANUP(modules_deinit) struct modules modules;
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct module *first, *second, *third;
	CLEANUP(plugin_close) struct plugin plugin;
	bool changed;
	size_t nr;

	modules_init(&modules, NULL);
	plugin_copy(&plugin, "again");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
	first = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	nr = modules.live.nr;
	first->replaced = true;
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, &changed));
	CU_ASSERT_TRUE(changed && modules.live.nr == nr && modules_are_sound(&modules));
	second = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(second);
	CU_ASSERT_PTR_NOT_EQUAL(first, second);
	CU_ASSERT_EQUAL(first->died, modules.generation);
	CU_ASSERT_EQUAL(second->born, modules.generation);
	CU_ASSERT_EQUAL(second->bias, first->bias);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, &changed));
	CU_ASSERT_FALSE(changed);
	/* It is opened once, ... */
	CU_ASSERT_PTR_EQUAL(second->elf, first->elf);
	CU_ASSERT_EQUAL(second->fd, first->fd);
	CU_ASSERT_PTR_EQUAL(second->rows.row, first->rows.row);
	/* ... unless it was written to since. */
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, plugin.path, times, 0), 0);
	second->replaced = true;
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, &changed));
	third = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(third);
	CU_ASSERT_TRUE(changed && third != second && modules_are_sound(&modules));
	CU_ASSERT_PTR_NOT_EQUAL(third->elf, first->elf);
	CU_ASSERT_NOT_EQUAL(third->fd, first->fd);
}

static bool is_it(const struct module *module, void *ctx)
{
	return module == ctx;
}

static struct module *come_back(struct modules *modules, struct module *module, uint64_t addr)
{
	module->replaced = true;
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(modules, NULL));
	module = modules_find(modules, addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(module);
	return module;
}

TEST("merged with itself")
{
	CLEANUP(modules_deinit) struct modules modules;
	struct module *first, *second;
	CLEANUP(plugin_close) struct plugin plugin;
	uint32_t serial, born;
	size_t nr;

	modules_init(&modules, NULL);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
	plugin_copy(&plugin, "merged");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
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
	CU_ASSERT_TRUE(second->serial == serial && second->born == born && modules_are_sound(&modules));
	CU_ASSERT_EQUAL(second->came, modules.generation);
	/* The file is its own now. */
	first = come_back(&modules, second, plugin.addr);
	CU_ASSERT_PTR_EQUAL(first->elf, second->elf);
	modules_merge(&modules, is_it, NULL);
	CU_ASSERT_EQUAL(modules.all.nr, nr);
	CU_ASSERT_TRUE(first->serial == serial && first->born == born && modules_are_sound(&modules));
	CU_ASSERT_PTR_EQUAL(modules_find(&modules, plugin.addr), first);
}

/* What lay there in between has its own names. */
TEST("not with another in between")
{
	CLEANUP(modules_deinit) struct modules modules;
	struct plugin old, other;
	struct module *first, *last;
	size_t nr;

	modules_init(&modules, NULL);
	plugin_copy(&old, "between-old");
	plugin_copy(&other, "between-new");
	plugin_open(&old);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
	first = modules_find(&modules, old.addr);
	dlclose(old.handle);
	plugin_open(&other);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
	plugin_close(&other);
	plugin_open(&old);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
	last = modules_find(&modules, old.addr);
	nr = modules.all.nr;
	CU_ASSERT_TRUE_FATAL(first && last && first != last);
	modules_merge(&modules, is_it, NULL);
	/* The loader takes the hole again, mostly; were it not so, they could be one. */
	if (other.addr == old.addr && first->bias == last->bias)
		CU_ASSERT_EQUAL(modules.all.nr, nr);
	plugin_close(&old);
}

static void leave_leader(void *arg UNUSED)
{
	child_ready(0);
	child_wait();
	child_end_leader();
}

/* A thread without memory tells nothing, and that is no word on the modules. */
TEST("a failure changes nothing")
{
	CLEANUP(modules_deinit) struct modules modules;
	CLEANUP(procmem_close) struct procmem mem;
	struct child child;
	uint64_t tid;
	struct err *err;
	size_t nr;

	modules_init(&modules, NULL);
	CU_ASSERT_TRUE_FATAL(child_start(&child, leave_leader, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &tid));
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(child.pid, &mem));
	CU_ASSERT_PTR_NULL_FATAL(modules_refresh(&modules, child.pid, &mem.bring, NULL));
	nr = modules.live.nr;
	CU_ASSERT_EQUAL(write(child.end, "", 1), 1);
	CU_ASSERT_TRUE_FATAL(child_word(&child, &tid));
	err = modules_refresh(&modules, child.pid, &mem.bring, NULL);
	CU_ASSERT_FATAL(err && err->code == ERR_GONE);
	CU_ASSERT_TRUE(modules.generation == 1 && modules.live.nr == nr && modules_are_sound(&modules));
	/* The thread that goes on has them all, and libgcc_s, which pthread_exit asks for. */
	CU_ASSERT_PTR_NULL(modules_refresh(&modules, (pid_t)tid, &mem.bring, NULL));
	CU_ASSERT_TRUE(modules.live.nr >= nr);
	nr = modules.live.nr;
	CU_ASSERT_EQUAL(child_end(&child), 0);
	err = modules_refresh(&modules, (pid_t)tid, &mem.bring, NULL);
	CU_ASSERT_FATAL(err && err->code == ERR_GONE);
	CU_ASSERT_EQUAL(modules.live.nr, nr);
}

static struct err *read_nomem(struct memory *memory UNUSED, uint64_t addr UNUSED, void *buf UNUSED,
			      size_t len UNUSED, size_t *len_ret UNUSED)
{
	return err_nomem;
}

/*
 * Out of memory when most modules are made already: the vDSO lies high, and is read through this.
 */
TEST("out of memory")
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
	CU_ASSERT_FATAL(err && err->code == ERR_NOMEM);
	CU_ASSERT_TRUE(!modules.generation && !modules.live.nr && !modules.all.nr &&
		       !modules.map.nr);
	CU_ASSERT_PTR_NULL(own_refresh(&modules, NULL));
	CU_ASSERT_TRUE(modules.generation == 1 && modules_are_sound(&modules));
}

