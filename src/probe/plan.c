/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans which functions of which modules are probed, and notes why others are not. */

#include "probe/probe.h"

#include <inttypes.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "probe/choose.h"
#include "probe/growth_functions.h"
#include "probe/patch_watch.h"
#include "probe/plan.h"
#include "probe/probe_slot.h"
#include "probe/references.h"
#include "probe/runtimes/runtimes.h"
#include "probe/user_functions.h"
#include "os/procfs.h"
#include "tracee/target.h"

#define LOADER_HOOK	"_dl_debug_state"

struct finding {
	struct probes *probes;
	struct module *module;
	size_t first;			/* of its probes */
};

/*
 * A module that has gone may come back at the same place, and then it is another one. But if a
 * patch is still in the text (patch_watch.h) there is no room for a second one.
 */
static struct probe *probe_at(struct probes *probes, uint64_t address)
{
	vec_each_value(probe, &probes->all) {
		if (probe->address == address && !probe->gone &&
		    (probe->state == PROBE_ACTIVE || probe->module->died == UINT32_MAX))
			return probe;
	}
	return NULL;
}

/* Is the code that the probe has displaced this module's? */
static bool has_code_of(const struct module *module, const struct probe *probe)
{
	uint8_t code[sizeof(probe->expect)];

	return !elf_file_read(module->elf, probe->address - module->bias, code,
			      probe->expect_len) &&
	       !memcmp(code, probe->expect, probe->expect_len);
}

/*
 * The probe at address, in the finding's module. If a probe is in although its module has gone, it
 * becomes this module's: a new one would have the same patch, slot and trap. (This happens when the
 * process has discarded some pages of its text: the patches in the other pages are still there.)
 */
static struct probe *probe_of(const struct finding *finding, uint64_t address)
{
	struct probe *probe = probe_at(finding->probes, address);

	if (probe && probe->module->died != UINT32_MAX && has_code_of(finding->module, probe))
		probe->module = finding->module;
	return probe;
}

static struct err *add(struct probes *probes, struct module *module,
		       const struct alloc_function *fn, uint64_t address, struct probe **ret)
{
	struct probe *probe = calloc(1, sizeof(*probe));
	struct err *err;

	if (!probe)
		return err_nomem;
	probe->fn = fn;
	probe->module = module;
	probe->address = address;
	probe->state = PROBE_PLANNED;
	err = vec_push(&probes->all, probe);
	if (err)
		free(probe);
	else if (ret)
		*ret = probe;
	return err;
}

/*
 * Names of libc's own functions, for programs in which the linker has made the usual name local: in
 * static-pie programs it does so with `malloc`, and leaves `__malloc`.
 */
static bool is_libcs(struct module *module, const struct elf_symbol *symbol)
{
	uint64_t address, size;
	char name[64];

	snprintf(name, sizeof(name), "__%s", symbol->name);
	return !module_symbol(module, name, &address, &size) &&
		address == symbol->value + module->bias;
}

/* Aliases are probed once, under the name that comes first in the table. */
static struct err *add_function(struct finding *finding, const struct alloc_function *fn,
				uint64_t address)
{
	struct probe *probe = probe_of(finding, address);

	if (!probe)
		return add(finding->probes, finding->module, fn, address, NULL);
	if (probe->state == PROBE_PLANNED && probe->fn && !probe->fn->user &&
	    alloc_function_rank(fn) < alloc_function_rank(probe->fn))
		probe->fn = fn;
	return NULL;
}

/* All functions that the IFUNC may lead to are probed (references.h), or it is a lack. */
static struct err *add_ifunc(struct finding *finding, const struct alloc_function *fn,
			     uint64_t resolver)
{
	struct code_targets targets = { VEC_INIT };
	struct err *err = references_ifunc(finding->probes->target, finding->module, resolver,
					   &targets);
	struct probe *probe = NULL;

	for (size_t i = 0; i < targets.vec.nr && !err; i++)
		err = add_function(finding, fn, targets.vec.at[i]);
	if (!err && !targets.vec.nr && !probe_of(finding, resolver))
		err = add(finding->probes, finding->module, fn, resolver, &probe);
	if (probe)
		choose_refuse(probe, "is chosen when the program is loaded (IFUNC), and the code "
			      "that chooses it does not show what it may be", "");
	vec_free(&targets.vec);
	return err;
}

static struct err *add_symbol(struct finding *finding, const struct elf_symbol *symbol)
{
	const struct alloc_function *fn;
	uint64_t address;

	if (!symbol->func || !symbol->value)
		return NULL;
	fn = alloc_function_find(symbol->name);
	if (!fn || (!symbol->global && !is_libcs(finding->module, symbol)) ||
	    (fn->cxx && alloc_module_is_cxx_library(path_base(finding->module->path))))
		return NULL;
	address = symbol->value + finding->module->bias;
	return symbol->ifunc ? add_ifunc(finding, fn, address) : add_function(finding, fn, address);
}

static void find_nothrow(const struct target *target, struct probe *probe)
{
	uint64_t size;

	if (!probe->fn->nothrow ||
	    !module_symbol(probe->module, probe->fn->nothrow, &probe->nothrow, &size))
		return;
	probe->nothrow = 0;
	probe->elsewhere = references_allocator(target, probe->module, probe->address);
	choose_refuse(probe, probe->elsewhere ?
		      "throws, and its module has no nothrow form to call instead; what it gets "
		      "from "
		      "malloc is recorded there" :
		      "throws, its module has no nothrow form to call instead, and no call of "
		      "malloc "
		      "was found in its code", "");
}

/* Is the code in the module that of an allocator which mdbg knows, or does it only have its names? */
static bool is_of_known_allocator(const struct module *module)
{
	char text[64];

	return allocator_of(module, text, sizeof(text));
}

/* Decide how the functions that were found in a module can be probed, if at all. */
static void decide(struct finding *finding)
{
	struct probes *probes = finding->probes;
	struct map called = MAP_INIT;
	bool known;

	if (finding->first == probes->all.nr)
		return;
	known = is_of_known_allocator(finding->module);
	choose_ways(probes, finding->module, finding->first);
	for (size_t i = finding->first; i < probes->all.nr; i++) {
		struct probe *probe = probes->all.at[i];

		if (probe->state == PROBE_PLANNED && probe->fn)
			find_nothrow(probes->target, probe);
		if (probe->state != PROBE_PLANNED)
			continue;
		if (probe_of_allocator(probe)) {
			/* Nobody returns to the probe of a free, or to a known allocator's. */
			probe->counted = probe->fn->role != ALLOC_FREE &&
					 (!known || probe->fn->user || probe->nothrow);
			tail_call_find(probes->target->arch, probe);
			if (known && !probe->fn->user)
				changed_registers_find(probes->target->arch, probe, &called);
		}
		probe_slot_inherit(probes, probe);
	}
	map_free(&called, NULL);
}

static struct err *add_users(const struct finding *finding)
{
	const struct user_functions *users = finding->probes->users;

	for (size_t i = 0; users && i < users->vec.nr; i++) {
		const struct user_function *user = users->vec.at[i];
		uint64_t address = user->value + finding->module->bias;
		struct err *err = NULL;

		if (!user->deleted && !strcmp(user->path, finding->module->path) &&
		    !probe_of(finding, address))
			err = add(finding->probes, finding->module, &user->fn, address, NULL);
		if (err)
			return err;
	}
	return NULL;
}

/*
 * No jumps, from the first probe of the finding on, if the time stamp counter cannot be read: under
 * strict seccomp a thread that reads it gets a SIGSEGV.
 */
static void check_clock(const struct finding *finding)
{
	struct probes *probes = finding->probes;
	struct proc_tasks tasks = { VEC_INIT };
	struct proc_status status;
	bool may = true;

	if (procfs_tasks(probes->target->mem.tid, &tasks))
		return;		/* it has ended */
	vec_each_value(tid, &tasks.vec) {
		if (procfs_status(tid, &status))
			continue;
		may &= status.seccomp != SECCOMP_MODE_STRICT;
		probes->seccomp |= status.seccomp != SECCOMP_MODE_DISABLED;
	}
	vec_free(&tasks.vec);
	for (size_t i = may ? probes->all.nr : finding->first; i < probes->all.nr; i++) {
		struct probe *probe = probes->all.at[i];

		if (probe->state == PROBE_PLANNED && probe->engine == PROBE_JUMP)
			choose_no_jump(probes, probe,
				       "strict seccomp forbids a thread to read the time stamp "
				       "counter");
	}
}

struct err *plan_add(struct probes *probes, struct module *module, const struct alloc_function *fn,
		     uint64_t address)
{
	const struct finding finding = { .probes = probes, .module = module };

	return probe_of(&finding, address) ? NULL : add(probes, module, fn, address, NULL);
}

struct err *plan_growth_of(struct probes *probes, struct module *module)
{
	struct finding finding = { .probes = probes, .module = module, .first = probes->all.nr };
	struct err *err = growth_functions_find(probes, module);

	if (!err)
		decide(&finding);
	if (!err)
		check_clock(&finding);
	return err;
}

static struct err *plan_module(struct probes *probes, struct module *module)
{
	struct finding finding = { .probes = probes, .module = module, .first = probes->all.nr };
	struct elf_symbols at;
	struct elf_symbol symbol;
	uint64_t hook, size;
	struct err *err;

	if (!module->elf)
		return NULL;
	if (!alloc_module_is_private(path_base(module->path))) {
		if (elf_symbols_begin(module->elf, &at))
			return NULL;	/* no functions are found in a broken file */
		while (elf_symbols_next(&at, &symbol)) {
			err = add_symbol(&finding, &symbol);
			if (err)
				return err;
		}
	}
	if (probes->watch_loader && !module_symbol(module, LOADER_HOOK, &hook, &size) &&
	    !probe_of(&finding, hook)) {
		err = add(probes, module, NULL, hook, NULL);
		if (err)
			return err;
	}
	err = add_users(&finding);
	if (!err && probes->growth)
		err = growth_functions_find(probes, module);
	if (!err)
		decide(&finding);
	return err;
}

struct err *plan_user_probes(struct probes *probes, const struct user_function *user,
			     struct probe **ret)
{
	struct finding finding = { .probes = probes, .first = probes->all.nr };
	const struct modules *modules = &probes->target->modules;
	const struct probe *there;
	uint64_t address;
	struct err *err;

	for (size_t i = 0; i < modules->all.nr; i++)
		if (modules->all.at[i]->died == UINT32_MAX && modules->all.at[i]->elf &&
		    !strcmp(modules->all.at[i]->path, user->path))
			finding.module = modules->all.at[i];
	if (!finding.module)
		return err_create(ERR_NOTFOUND, "%s is not mapped", user->path);
	address = user->value + finding.module->bias;
	there = probe_at(probes, address);
	if (there)
		return err_create(ERR_STATE, "%s is probed already, as %s", user->name,
				  there->fn ? there->fn->name : "the loader's hook");
	err = add(probes, finding.module, &user->fn, address, ret);
	if (err)
		return err;
	decide(&finding);
	check_clock(&finding);
	return NULL;
}

/* Nothing can be watched: is it known what the program has instead? */
static struct err *no_allocator(const struct probes *probes)
{
	static const char none[] = "none of its modules has a symbol such as malloc";
	pid_t pid = probes->target->pid;
	struct runtimes runtimes;

	runtimes_find(&probes->target->modules, &runtimes);
	if (!runtimes.nr)
		return err_hint(err_create(ERR_NOTFOUND, "no allocator found in process %d: %s",
					   pid, none),
				"a static and stripped program has no names to find it by; with "
				"--no-arm the blocks of its C library are listed");
	return err_hint(err_create(ERR_NOTFOUND,
				   "no allocator found in process %d, which runs %s: %s, and mdbg "
				   "does not see %s", pid, runtimes.at[0]->name, none,
				   runtimes.at[0]->heap),
			"%s", runtimes.at[0]->help);
}

/* Blocks that the user's functions give out are not in the directory of the log. */
static void find_spacing(struct probes *probes)
{
	const struct module *known = NULL;

	vec_each_value(probe, &probes->all) {
		if (probe->state != PROBE_PLANNED || !probe_of_allocator(probe) ||
		    probe->fn->user || probe->module == known)
			continue;
		known = probe->module;
		probes->near_size = MAX(probes->near_size, allocator_near_size(known));
	}
}

struct err *plan_probes(struct probes *probes)
{
	struct finding finding = { .probes = probes };
	struct modules *modules = &probes->target->modules;
	bool found = false;

	patch_watch_forget(probes);
	vec_each_value(module, &modules->all) {
		struct err *err;

		if (module->born <= probes->planned_generation || module->died != UINT32_MAX)
			continue;
		err = plan_module(probes, module);
		if (err)
			return err_wrap(err, "%s", module->path);
	}
	probes->planned_generation = modules->generation;
	check_clock(&finding);
	find_spacing(probes);
	vec_each_value(probe, &probes->all)
		found |= probe_of_allocator(probe);
	return found ? NULL : no_allocator(probes);
}
