/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the symbol tests look at. */

#include "fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>

#include "unit.h"

struct wanted {
	const char *name;
	struct symbol_module *module;
	char path[PATH_MAX];
	bool found;
};

static void own_path(char *path)
{
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);

	path[len < 0 ? 0 : len] = '\0';
}

static int look(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct wanted *wanted = ctx;
	const char *slash = strrchr(info->dlpi_name, '/');
	uint64_t start = UINT64_MAX, end = 0;

	(void)size;
	if (wanted->name[0] ? strncmp(slash ? slash + 1 : "", wanted->name, strlen(wanted->name))
			    : info->dlpi_name[0])
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type != PT_LOAD)
			continue;
		start = MIN(start, info->dlpi_addr + phdr->p_vaddr);
		end = MAX(end, info->dlpi_addr + phdr->p_vaddr + phdr->p_memsz);
	}
	snprintf(wanted->path, sizeof(wanted->path), "%s", info->dlpi_name);
	*wanted->module = (struct symbol_module){
		.start = ALIGN_DOWN(start, 4096),
		.end = ALIGN_UP(end, 4096),
		.bias = info->dlpi_addr,
		.born = 1,
		.died = UINT32_MAX,
	};
	wanted->found = true;
	return 1;
}

bool fixture_module(const char *name, struct symbol_module *ret)
{
	struct wanted wanted = { .name = name, .module = ret };
	static char paths[8][PATH_MAX];
	static int next;
	char *path = paths[next++ % 8];

	dl_iterate_phdr(look, &wanted);
	if (!wanted.found)
		return false;
	strcpy(path, wanted.path);
	if (!name[0])
		own_path(path);
	ret->path = path;
	ret->fd = open(path, O_RDONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(ret->fd >= 0);
	return true;
}

struct symbols *fixture_symbols(const char *name)
{
	struct symbol_module module;
	struct symbols *symbols;

	CU_ASSERT_FATAL(fixture_module(name, &module));
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	close(module.fd);
	return symbols;
}

struct symbol_module fixture_file(const char *path, uint64_t bias)
{
	struct symbol_module module;
	uint64_t own_bias;

	CU_ASSERT_FATAL(fixture_module("", &module));
	close(module.fd);
	own_bias = module.bias;
	module.path = path;
	module.fd = open(path, O_RDONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(module.fd >= 0);
	module.start += bias - own_bias;
	module.end += bias - own_bias;
	module.bias = bias;
	return module;
}

uint64_t fixture_file_address(const void *p)
{
	struct symbol_module module;

	CU_ASSERT_FATAL(fixture_module("", &module));
	close(module.fd);
	return (uint64_t)(uintptr_t)p - module.bias;
}

static char folder[PATH_MAX];

const char *fixture_enter(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/mdbg-symbol-XXXXXX", tmp ? tmp : "/tmp");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	return folder;
}

const char *fixture_folder(void)
{
	return folder;
}

void fixture_leave(void)
{
	CU_ASSERT(fixture_shell("rm -rf \"$PWD\""));
	folder[0] = '\0';
}

bool fixture_shell(const char *fmt, ...)
{
	char path[PATH_MAX], command[2 * PATH_MAX];
	int len = snprintf(command, sizeof(command), "cd '%s' && ", folder);
	va_list ap;

	own_path(path);
	setenv("PROGRAM", path, 1);
	va_start(ap, fmt);
	vsnprintf(command + len, sizeof(command) - (size_t)len, fmt, ap);
	va_end(ap);
	return folder[0] && system(command) == 0;
}

const char *fixture_function(struct symbols *symbols, uint64_t pc)
{
	size_t nr;
	const struct symbol_frame *frames = symbols_resolve(symbols, pc, 1, false, &nr);
	const char *name = frames[nr - 1].function;

	return name ? name : "";
}

int fixture_lines[3];
const char fixture_source[] = "fixture.c";

static __attribute__((noinline)) uint64_t fixture_here(void)
{
	/* Not known to be the same each time. */
	__asm__ volatile("");
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static inline __attribute__((always_inline)) uint64_t fixture_inner(int x)
{
	uint64_t pc = fixture_here(); fixture_lines[0] = __LINE__;

	__asm__ volatile("" : : "r"(x));
	return pc;
}

static inline __attribute__((always_inline)) uint64_t fixture_middle(int x)
{
	uint64_t pc = fixture_inner(x + 1); fixture_lines[1] = __LINE__;

	__asm__ volatile("" : : "r"(x));
	return pc;
}

__attribute__((noinline)) uint64_t fixture_real(int x)
{
	uint64_t pc = fixture_middle(x + 1); fixture_lines[2] = __LINE__;

	__asm__ volatile("" : : "r"(x));
	return pc;
}

bool fixture_has_lines(void)
{
	struct symbols *symbols = fixture_symbols("");
	size_t nr;
	bool has = symbols_resolve(symbols, fixture_real(1), 1, true, &nr)->line != 0;

	symbols_destroy(symbols);
	return has;
}
