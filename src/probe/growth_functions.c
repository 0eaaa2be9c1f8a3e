/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the functions of growth_functions.h, and takes their probes out. */

#include "probe/growth_functions.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/path.h"
#include "elf/cfi.h"
#include "log/growth_ring.h"
#include "probe/plan.h"
#include "probe/probe.h"
#include "tracee/module.h"
#include "tracee/target.h"

#define BODY_MAX	512u	/* bytes of the function of a system call in the loader */
#define CALL_WITHIN	32u	/* of which the system call is among the first */

#define ANY	(GROWTH_FUNCTIONS_BRK | GROWTH_FUNCTIONS_MMAP | GROWTH_FUNCTIONS_SHM)

/*
 * A function that maps or unmaps may take away memory of any kind, so it is watched for all kinds.
 */
#define CALL(sym, kinds, growth_call)						\
	{ .symbol = sym, .name = sym, .role = ALLOC_GROWTH, .size = ALLOC_NO_ARG,	\
	  .count = ALLOC_NO_ARG, .ptr = ALLOC_NO_ARG, .nr_args = GROWTH_ARGS,		\
	  .growth = (kinds), .call = GROWTH_CALL_##growth_call }

static const struct growth_function {
	struct alloc_function fn;
	/* number of the system call, for a function that the loader has, too */
	long nr;
} functions[] = {
	{ CALL("brk", GROWTH_FUNCTIONS_BRK, BRK), 0 },
	{ CALL("mmap", ANY, MMAP), SYS_mmap },
	{ CALL("munmap", ANY, MUNMAP), SYS_munmap },
	{ CALL("mremap", ANY, MREMAP), 0 },
	{ CALL("shmat", GROWTH_FUNCTIONS_SHM, SHMAT), 0 },
	{ CALL("shmdt", GROWTH_FUNCTIONS_SHM, SHMDT), 0 },
	{ CALL("shmget", GROWTH_FUNCTIONS_SHM, SHMGET), 0 },
	{ CALL("shmctl", GROWTH_FUNCTIONS_SHM, SHMCTL), 0 },
};

/* The C library, or a static program that contains it. */
static bool is_libc(struct module *module)
{
	uint64_t address, size;

	return !module_symbol(module, "__libc_start_main", &address, &size);
}

bool growth_functions_exist(const struct probes *probes)
{
	vec_each_value(module, &probes->target->modules.live)
		if (module->elf &&
		    (is_libc(module) || alloc_module_is_private(path_base(module->path))))
			return true;
	return false;
}

static struct err *find_named(struct probes *probes, struct module *module,
			      const struct growth_function *function)
{
	uint64_t address, size;

	if (module_symbol(module, function->fn.symbol, &address, &size))
		return NULL;
	return plan_add(probes, module, &function->fn, address);
}

/* Is this the code of a function that makes this system call, and no other? */
static bool calls(const uint8_t *code, size_t len, long nr)
{
	static const uint8_t call[] = { 0x0f, 0x05 };
	const uint8_t *at = memmem(code, len, call, sizeof(call));
	uint8_t before[] = { 0xb8, (uint8_t)nr, 0, 0, 0 };	/* mov $nr, %eax */
	size_t offset = at ? (size_t)(at - code) : 0;

	return offset >= sizeof(before) && offset < CALL_WITHIN &&
	       !memcmp(at - sizeof(before), before, sizeof(before)) &&
	       !memmem(at + sizeof(call), len - offset - sizeof(call), call, sizeof(call));
}

static struct err *find_unnamed(struct probes *probes, struct module *module,
				const struct growth_function *function)
{
	const struct cfi *cfi;
	struct err *err = cfi_of(module->elf, &cfi);
	uint64_t found = 0;
	unsigned nr = 0;

	if (err)
		return NULL;	/* a loader without CFI is not watched */
	vec_each(fde, &cfi->fdes) {
		uint8_t code[BODY_MAX];

		if (fde->size > sizeof(code) ||
		    elf_file_read(module->elf, fde->start, code, fde->size) ||
		    !calls(code, fde->size, function->nr) || found == fde->start)
			continue;
		found = fde->start;
		nr++;
	}
	return nr == 1 ? plan_add(probes, module, &function->fn, found + module->bias) : NULL;
}

struct err *growth_functions_find(struct probes *probes, struct module *module)
{
	bool libc = is_libc(module);
	bool loader = !libc && alloc_module_is_private(path_base(module->path));
	struct err *err = NULL;

	for (size_t i = 0; !err && i < ARRAY_SIZE(functions); i++) {
		if (!(probes->growth & functions[i].fn.growth))
			continue;
		if (libc)
			err = find_named(probes, module, &functions[i]);
		else if (loader && functions[i].nr)
			err = find_unnamed(probes, module, &functions[i]);
	}
	return err;
}

/* Plan again the probes that were taken out. */
static void plan_again(struct probes *probes)
{
	vec_each_value(probe, &probes->all) {
		if (!probe_is_growth(probe) || !probe->paused ||
		    probe->module->died != UINT32_MAX || !(probes->growth & probe->fn->growth))
			continue;
		probe->state = PROBE_PLANNED;
		probe->paused = false;
	}
}

bool growth_functions_wait(const struct probes *probes)
{
	vec_each_value(probe, &probes->all) {
		if (probe_is_growth(probe) && probe->paused && probe->state == PROBE_REFUSED &&
		    probe->module->died == UINT32_MAX && probe->fn->growth & probes->growth)
			return true;
	}
	return false;
}

/* Can every kind be watched in one function at least? */
static struct err *check(const struct probes *probes)
{
	unsigned found = 0, planned = 0;
	const char *why = "";

	vec_each_value(probe, &probes->all) {
		if (!probe_is_growth(probe) || probe->module->died != UINT32_MAX)
			continue;
		found |= probe->fn->growth;
		if (probe->state != PROBE_REFUSED)
			planned |= probe->fn->growth;
		else if (!probe->paused)
			why = probe->why;
	}
	if (probes->growth & ~found)
		return err_hint(err_create(ERR_NOTFOUND,
					   "process %d has no C library whose functions could be watched",
					   probes->target->pid),
				"what a runtime maps by bare system calls is in no function");
	if (probes->growth & ~planned)
		return err_create(ERR_UNSUPPORTED, "no function can have a jump: %s", why);
	return NULL;
}

static void pause_planned(struct probes *probes, unsigned kinds)
{
	probes->growth = kinds;
	vec_each_value(probe, &probes->all) {
		if (!probe_is_growth(probe) || probe->state != PROBE_PLANNED ||
		    probe->fn->growth & kinds)
			continue;
		choose_refuse(probe, "growth of this kind is not recorded", "");
		probe->paused = true;
	}
}

struct err *growth_functions_plan(struct probes *probes, unsigned kinds)
{
	const struct modules *modules = &probes->target->modules;
	unsigned before = probes->growth;
	struct err *err = NULL;

	probes->growth = kinds;
	plan_again(probes);
	for (size_t i = 0; !err && i < modules->all.nr; i++)
		if (modules->all.at[i]->died == UINT32_MAX && modules->all.at[i]->elf)
			err = plan_growth_of(probes, modules->all.at[i]);
	if (!err)
		err = check(probes);
	if (err)
		pause_planned(probes, before);
	return err;
}

struct err *growth_functions_stop(struct probes *probes)
{
	struct err *err = NULL;

	vec_each_value(probe, &probes->all) {
		struct err *one;

		if (!probe_is_growth(probe) || probe->state != PROBE_ACTIVE)
			continue;
		one = patch_text_undo(probes->target, probe->text_entry);
		err = err ? err : one;
		probe->state = PROBE_PLANNED;
		probe->overwritten = false;
	}
	pause_planned(probes, 0);
	return err;
}
