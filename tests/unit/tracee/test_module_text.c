/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modules whose file or text is not what it seems: deleted, replaced, mapped twice, found by its path. */

#include "tracee/module.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "child.h"
#include "own_modules.h"
#include "tracee/module_new.h"
#include "unit.h"

FIXTURE(own_memory_open, own_memory_close);

TEST("a deleted file")
{
	CLEANUP(modules_deinit) struct modules modules;
	CLEANUP(plugin_close) struct plugin plugin;
	struct module *module;
	uint64_t addr = 0, size;

	modules_init(&modules, NULL);
	plugin_copy(&plugin, "deleted");
	plugin_open(&plugin);
	unlink(plugin.path);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
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
TEST("text in anonymous memory")
{
	CLEANUP(modules_deinit) struct modules before, after;
	CLEANUP(plugin_close) struct plugin plugin;
	struct module *module, *fresh;
	bool changed;

	modules_init(&before, NULL);
	modules_init(&after, NULL);
	plugin_copy(&plugin, "anonymous");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&before, NULL));
	module = modules_find(&before, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(module);
	replace(module->exec_start, module->exec_end, PROT_READ | PROT_EXEC);
	CU_ASSERT_PTR_NULL(own_refresh(&before, &changed));
	CU_ASSERT_FALSE(changed);
	CU_ASSERT_PTR_NULL(own_refresh(&after, NULL));
	fresh = modules_find(&after, plugin.addr);
	CU_ASSERT_TRUE(same_place(module, fresh));
	CU_ASSERT_PTR_NOT_NULL(fresh && fresh->elf ? fresh->elf : NULL);
	CU_ASSERT_TRUE(modules_are_sound(&after));
}

TEST("text writable for a moment")
{
	CLEANUP(modules_deinit) struct modules modules;
	CLEANUP(plugin_close) struct plugin plugin;
	struct module *module;
	bool changed;

	modules_init(&modules, NULL);
	plugin_copy(&plugin, "writable");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
	module = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(module);
	mprotect((void *)(uintptr_t)module->exec_start, PAGE, PROT_READ | PROT_WRITE);
	CU_ASSERT_PTR_NULL(own_refresh(&modules, &changed));
	CU_ASSERT_FALSE(changed);
	mprotect((void *)(uintptr_t)module->exec_start, PAGE, PROT_READ | PROT_EXEC);
}

static void *map_file(const char *path, int prot)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, PAGE, prot, MAP_PRIVATE, fd, 0);

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(at, MAP_FAILED);
	return at;
}

TEST("what is no module")
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
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		CU_ASSERT_PTR_NULL(modules_find(&modules, (uintptr_t)at[i]));
		munmap(at[i], PAGE);
	}
	CU_ASSERT_TRUE(modules_are_sound(&modules));
	close(memfd);
}

/* Somebody reads an ELF file, and JIT code happens to lie where its text would be. */
TEST("JIT code above a reader's headers")
{
	CLEANUP(modules_deinit) struct modules modules;
	AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t len = 256 * PAGE;
	char *at = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	modules_init(&modules, NULL);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(at, MAP_FAILED);
	CU_ASSERT_PTR_EQUAL_FATAL(mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0), at);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
	CU_ASSERT_PTR_NULL(modules_find(&modules, (uintptr_t)at));
	CU_ASSERT_PTR_NULL(modules_find(&modules, (uintptr_t)at + len / 2));
	munmap(at, len);
}

/* Mapped once more, as dlmopen does. */
TEST("a file mapped twice")
{
	CLEANUP(modules_deinit) struct modules modules;
	AUTO_CLOSE int fd = -1;
	CLEANUP(plugin_close) struct plugin plugin;
	struct module *first, *second;
	size_t len;
	char *at;

	modules_init(&modules, NULL);
	plugin_copy(&plugin, "twice");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&modules, NULL));
	first = modules_find(&modules, plugin.addr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	fd = open(plugin.path, O_RDONLY | O_CLOEXEC);
	len = first->end - first->start;
	at = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(at, MAP_FAILED);
	mprotect(at + (first->exec_start - first->start), first->exec_end - first->exec_start,
		 PROT_READ | PROT_EXEC);
	CU_ASSERT_PTR_NULL(own_refresh(&modules, NULL));
	second = modules_find(&modules, (uintptr_t)at + (first->exec_start - first->start));
	CU_ASSERT_PTR_NOT_NULL_FATAL(second);
	CU_ASSERT_PTR_NOT_EQUAL(first, second);
	CU_ASSERT_EQUAL(second->bias, (uintptr_t)at);
	CU_ASSERT_EQUAL(first->died, UINT32_MAX);
	CU_ASSERT_TRUE(modules_are_sound(&modules));
	munmap(at, len);
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
TEST("a program without its file")
{
	CLEANUP(modules_deinit) struct modules own, modules;
	struct module *program, *module;
	struct procmem mem;
	struct child child;
	uint64_t word;
	bool changed;

	modules_init(&own, NULL);
	modules_init(&modules, NULL);
	CU_ASSERT_PTR_NULL_FATAL(own_refresh(&own, NULL));
	program = modules_find(&own, getauxval(AT_ENTRY));
	CU_ASSERT_PTR_NOT_NULL_FATAL(program);
	CU_ASSERT_TRUE_FATAL(child_start(&child, replace_own_text, program));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(child.pid, &mem));
	CU_ASSERT_PTR_NULL(modules_refresh(&modules, child.pid, &mem.bring, NULL));
	module = modules_find(&modules, getauxval(AT_ENTRY));
	CU_ASSERT_TRUE(same_place(program, module));
	CU_ASSERT_TRUE(modules_are_sound(&modules));
	CU_ASSERT_PTR_NULL(modules_refresh(&modules, child.pid, &mem.bring, &changed));
	CU_ASSERT_FALSE(changed);
	procmem_close(&mem);
	CU_ASSERT_EQUAL(child_end(&child), 0);
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

TEST("a file by its path")
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
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
	map = procparse_maps_find(&maps, plugin.addr);
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
TEST("a file with other numbers")
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct proc_map map[2];
	struct proc_maps two = { { map, 2, 2 } };
	CLEANUP(plugin_close) struct plugin plugin;
	const struct proc_map *text;
	int fd = -1;

	plugin_copy(&plugin, "numbers");
	plugin_open(&plugin);
	CU_ASSERT_PTR_NULL_FATAL(procfs_maps(getpid(), &maps));
	text = procparse_maps_find(&maps, plugin.addr);
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
}

