/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The modules of the test program itself, and a library that it loads and changes at will. */

#include "own_modules.h"

#include <dlfcn.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "unit.h"

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

void plugin_copy(struct plugin *plugin, const char *name)
{
	void *libm = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	Dl_info info;

	CU_ASSERT_TRUE_FATAL(libm && dladdr(dlsym(libm, "cbrt"), &info));
	snprintf(plugin->path, sizeof(plugin->path), "/tmp/mdbg-unit-%d-%s.so", getpid(), name);
	copy_file(info.dli_fname, plugin->path);
	dlclose(libm);
}

void plugin_open(struct plugin *plugin)
{
	plugin->handle = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(plugin->handle);
	plugin->addr = (uintptr_t)dlsym(plugin->handle, "cbrt");
}

void plugin_close(struct plugin *plugin)
{
	dlclose(plugin->handle);
	unlink(plugin->path);
}

struct procmem own_memory;

struct err *own_refresh(struct modules *modules, bool *changed_ret)
{
	return modules_refresh(modules, getpid(), &own_memory.bring, changed_ret);
}

int own_memory_open(void)
{
	return procmem_open(getpid(), &own_memory) ? 1 : 0;
}

int own_memory_close(void)
{
	procmem_close(&own_memory);
	return 0;
}

bool modules_are_sound(const struct modules *modules)
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
