/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Planning: which functions of which modules are probed, and which are not and why. */

#include "probe/probe.h"

#include <inttypes.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "probe/lost.h"
#include "probe/place.h"
#include "probe/user.h"
#include "os/procfs.h"
#include "target/target.h"

#define LOADER_HOOK	"_dl_debug_state"

/* Arguments that the agent can be told of. */
#define AGENT_ARGS	3
#define FUNCTION_MAX	(1u << 20)
#define PAGE		4096ull

struct finding {
	struct probes *probes;
	struct module *module;
	size_t first;			/* of its probes */
	struct err *err;
};

/*
 * A module that went may come back at the same place, and is another one then. But where a patch is
 * still in the text (lost.h) there is no room for a second one.
 */
static struct probe *probe_at(struct probes *probes, uint64_t address)
{
	for (size_t i = 0; i < probes->all.nr; i++) {
		struct probe *probe = probes->all.at[i];

		if (probe->address == address && !probe->gone &&
		    (probe->state == PROBE_ACTIVE || probe->module->died == UINT32_MAX))
			return probe;
	}
	return NULL;
}

/* Is what the probe has displaced this module's code? */
static bool has_code_of(const struct module *module, const struct probe *probe)
{
	uint8_t code[sizeof(probe->expect)];

	return !elf_file_read(module->elf, probe->patch - module->bias, code, probe->expect_len) &&
	       !memcmp(code, probe->expect, probe->expect_len);
}

/*
 * The probe at address, where the finding's module is. One that is in, though its module has gone,
 * goes on as this one's: its patch, slot and trap are what a new one's would be. (So it is when the
 * process has thrown away some pages of its text: the patches in its others are where they were.)
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
 * libc's own where the linker has made the name a local one: it has done so with `malloc` in
 * static-pie programs, and left `__malloc`.
 */
static bool is_libcs(struct module *module, const struct elf_symbol *symbol)
{
	uint64_t address, size;
	char name[64];

	snprintf(name, sizeof(name), "__%s", symbol->name);
	return !module_symbol(module, name, &address, &size) &&
		address == symbol->value + module->bias;
}

/* Aliases are probed once, under the name that stands first in the table. */
static bool found(const struct elf_symbol *symbol, void *ctx)
{
	struct finding *finding = ctx;
	const struct alloc_function *fn;
	struct probe *probe;
	uint64_t address;

	if (!symbol->func || symbol->ifunc || !symbol->value)
		return false;
	fn = alloc_function_find(symbol->name);
	if (!fn || (!symbol->global && !is_libcs(finding->module, symbol)) ||
	    (fn->cxx && alloc_module_is_cxx_library(path_base(finding->module->path))))
		return false;
	address = symbol->value + finding->module->bias;
	probe = probe_of(finding, address);
	if (!probe) {
		finding->err = add(finding->probes, finding->module, fn, address, NULL);
		return finding->err != NULL;
	}
	if (probe->state == PROBE_PLANNED && probe->fn && !probe->fn->user &&
	    alloc_function_rank(fn) < alloc_function_rank(probe->fn))
		probe->fn = fn;
	return false;
}

static void refuse(struct probe *probe, const char *why)
{
	probe->state = PROBE_REFUSED;
	snprintf(probe->why, sizeof(probe->why), "%s", why);
}

/*
 * The code at the patch, as the file has it; text is compared with the file before it is believed.
 */
static void read_code(struct probes *probes, struct probe *probe)
{
	const struct arch *arch = probes->target->arch;
	struct module *module = probe->module;
	uint8_t file[sizeof(probe->expect) + 8], now[sizeof(file)];
	uint64_t vaddr = probe->address - module->bias, size;
	uint32_t len = sizeof(file);
	size_t skip;
	struct err *err;

	if (!elf_file_function_extent(module->elf, vaddr, &size) && size && size < len)
		len = (uint32_t)size;
	err = elf_file_read(module->elf, vaddr, file, len);
	if (!err)
		err = memory_read(&probes->target->mem.memory, probe->address, now, len);
	if (err) {
		refuse(probe, err->msg);
		return;
	}
	patch_see_through(probes->target, probe->address, now, len);
	if (memcmp(file, now, len)) {
		char why[sizeof(probe->why)];

		snprintf(why, sizeof(why),
			 "the code at 0x%" PRIx64 " is not as in its file: another tool "
			 "has patched it",
			 probe->address);
		refuse(probe, why);
		return;
	}
	skip = arch->patch_offset(file, len);
	probe->patch = probe->address + skip;
	probe->expect_len = MIN(len - (uint32_t)skip, (uint32_t)sizeof(probe->expect));
	memcpy(probe->expect, file + skip, probe->expect_len);
}

/*
 * Can it be displaced at all? The real place, and so the real code, comes when it is armed. *behind
 * is how many bytes of the function are under the patch.
 */
static struct err *try_displace(const struct probes *probes, const struct probe *probe,
				size_t min_len, size_t *behind)
{
	struct displaced displaced;
	struct err *err = probes->target->arch->displace(probe->expect, probe->expect_len,
							 probe->patch, probe->patch + 4096,
							 min_len, &displaced);

	if (!err)
		*behind = displaced.consumed;
	return err;
}

void probe_no_jump(const struct probes *probes, struct probe *probe, const char *why)
{
	probe->engine = PROBE_BREAKPOINT;
	if (probes->policy == PROBE_ONLY_JUMP)
		refuse(probe, why);
	else
		snprintf(probe->why, sizeof(probe->why), "no jump: %.400s", why);
}

/* The agent is handed the first arguments only. */
static bool arguments_fit(const struct alloc_function *fn)
{
	return fn->size < AGENT_ARGS && fn->count < AGENT_ARGS && fn->ptr < AGENT_ARGS;
}

/* A function's code behind its patch. */
struct rest {
	uint8_t *code;
	size_t len;
	uint64_t start;
};

static struct err *read_rest(const struct probe *probe, size_t behind, struct rest *ret)
{
	struct elf_file *elf = probe->module->elf;
	uint64_t vaddr = probe->address - probe->module->bias, size;
	struct err *err = elf_file_function_extent(elf, vaddr, &size);

	*ret = (struct rest){ .start = probe->patch + behind };
	if (err)
		return err;
	if (size > FUNCTION_MAX)
		return err_create(ERR_RANGE, "a function of %" PRIu64 " bytes", size);
	if (probe->address + size <= ret->start)
		return NULL;
	ret->len = probe->address + size - ret->start;
	ret->code = malloc(ret->len);
	return ret->code ? elf_file_read(elf, ret->start - probe->module->bias, ret->code, ret->len) :
			   err_nomem;
}

/* Nothing in the rest of the function, as its file has it, may branch to where the jump will lie. */
static void check_branches(const struct probes *probes, struct probe *probe,
			   const struct rest *rest)
{
	const struct arch *arch = probes->target->arch;
	uint64_t to = 0;
	char why[128];

	if (!arch->jumps_into(rest->code, rest->len, rest->start, probe->patch + 1,
			      probe->patch + arch->jump_len, &to))
		return;
	if (to)
		snprintf(why, sizeof(why), "a branch in the function goes into the patch, to 0x%" PRIx64,
			 to);
	else
		snprintf(why, sizeof(why), "not all of the function's code is understood");
	probe_no_jump(probes, probe, why);
}

/*
 * The kernel writes page by page, and stops between two of them if mdbg is killed, or there is no
 * memory for a second copy: half a jump would stay.
 */
static bool in_two_pages(const struct probes *probes, const struct probe *probe)
{
	uint64_t last = probe->patch + probes->target->arch->jump_len - 1;

	return probe->patch / PAGE != last / PAGE;
}

static void try_jump(const struct probes *probes, struct probe *probe, size_t *behind)
{
	struct err *err = try_displace(probes, probe, probes->target->arch->jump_len, behind);

	if (err)
		probe_no_jump(probes, probe, err->msg);
	else if (in_two_pages(probes, probe))
		probe_no_jump(probes, probe, "it would lie in two pages");
	else if (!arguments_fit(probe->fn))
		probe_no_jump(probes, probe, "one of its arguments is beyond the third");
	else
		probe->engine = PROBE_JUMP;
}

/* A jump wherever it is safe. */
static void choose_engine(const struct probes *probes, struct probe *probe)
{
	const struct arch *arch = probes->target->arch;
	struct rest rest = { .code = NULL };
	size_t behind;
	struct err *err = try_displace(probes, probe, arch->trap_len, &behind);

	probe->engine = PROBE_BREAKPOINT;
	if (err) {
		refuse(probe, err->msg);
		return;
	}
	if (!probe->fn)
		return;
	if (probes->policy != PROBE_ONLY_BREAKPOINT)
		try_jump(probes, probe, &behind);
	err = read_rest(probe, behind, &rest);
	if (err && probe->engine == PROBE_JUMP)
		probe_no_jump(probes, probe, err->msg);
	else if (!err && arch->loops_at(rest.code, rest.len, rest.start, probe->patch))
		refuse(probe, "it begins with a loop, whose rounds cannot be told from calls");
	else if (probe->engine == PROBE_JUMP)
		check_branches(probes, probe, &rest);
	free(rest.code);
}

/* Another function that begins inside a jump. */
static bool begins_inside(const struct elf_symbol *symbol, void *ctx)
{
	struct finding *finding = ctx;
	const struct probes *probes = finding->probes;
	uint64_t address = symbol->value + finding->module->bias;

	if (!symbol->func || !symbol->value)
		return false;
	for (size_t i = finding->first; i < probes->all.nr; i++) {
		struct probe *probe = probes->all.at[i];
		char why[256];

		if (probe->state != PROBE_PLANNED || probe->engine != PROBE_JUMP ||
		    address <= probe->patch ||
		    address >= probe->patch + probes->target->arch->jump_len)
			continue;
		snprintf(why, sizeof(why), "%s begins inside the patch", symbol->name);
		probe_no_jump(probes, probe, why);
	}
	return false;
}

/* From the first probe of the finding on. */
static void no_jumps(const struct finding *finding, const char *why)
{
	for (size_t i = finding->first; i < finding->probes->all.nr; i++) {
		struct probe *probe = finding->probes->all.at[i];

		if (probe->state == PROBE_PLANNED && probe->engine == PROBE_JUMP)
			probe_no_jump(finding->probes, probe, why);
	}
}

static void find_nothrow(struct probe *probe)
{
	uint64_t size;

	if (!probe->fn->nothrow)
		return;
	if (module_symbol(probe->module, probe->fn->nothrow, &probe->nothrow, &size)) {
		probe->nothrow = 0;
		refuse(probe,
		       "throws, and its module has no nothrow form to call instead; what it gets from malloc "
		       "is recorded there");
	}
}

/* What was found in a module: can it be probed, and how? */
static void decide(struct finding *finding)
{
	struct probes *probes = finding->probes;
	struct err *err;

	for (size_t i = finding->first; i < probes->all.nr; i++) {
		struct probe *probe = probes->all.at[i];

		read_code(probes, probe);
		if (probe->state == PROBE_PLANNED)
			choose_engine(probes, probe);
		if (probe->state == PROBE_PLANNED && probe->fn)
			find_nothrow(probe);
		if (probe->state == PROBE_PLANNED && probe->fn == probes->plain_free)
			probe_find_tails(probes->target->arch, probe);
	}
	if (finding->first == probes->all.nr)
		return;
	err = elf_file_each_symbol(finding->module->elf, begins_inside, finding);
	/* A file whose symbols cannot be had says nothing of what begins where. */
	if (err)
		no_jumps(finding, err->msg);
	for (size_t i = finding->first; i < probes->all.nr; i++)
		if (probes->all.at[i]->state == PROBE_PLANNED)
			place_inherit(probes, probes->all.at[i]);
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

static struct err *plan_module(struct probes *probes, struct module *module)
{
	struct finding finding = { .probes = probes, .module = module, .first = probes->all.nr };
	struct err *err;
	uint64_t hook, size;

	if (!module->elf)
		return NULL;
	if (!alloc_module_is_private(path_base(module->path))) {
		err = elf_file_each_symbol(module->elf, found, &finding);
		if (err || finding.err)	/* a file that is broken has no functions for us */
			return finding.err;
	}
	if (probes->watch_loader && !module_symbol(module, LOADER_HOOK, &hook, &size) &&
	    !probe_of(&finding, hook)) {
		err = add(probes, module, NULL, hook, NULL);
		if (err)
			return err;
	}
	err = add_users(&finding);
	if (!err)
		decide(&finding);
	return err;
}

static bool has_allocator(const struct probes *probes)
{
	for (size_t i = 0; i < probes->all.nr; i++)
		if (probes->all.at[i]->fn)
			return true;
	return false;
}

/*
 * Strict seccomp takes the time stamp counter away, too: a thread that reads it is sent SIGSEGV.
 */
static bool may_read_clock(const struct probes *probes)
{
	struct proc_tasks tasks = { VEC_INIT };
	struct proc_status status;
	bool may = true;

	if (procfs_tasks(probes->target->mem.tid, &tasks))
		return true;	/* it has ended */
	for (size_t i = 0; i < tasks.vec.nr; i++)
		if (!procfs_status(tasks.vec.at[i], &status) && status.seccomp == SECCOMP_MODE_STRICT)
			may = false;
	vec_free(&tasks.vec);
	return may;
}

/* Jumps read the clock. */
static void check_clock(const struct finding *finding)
{
	if (!may_read_clock(finding->probes))
		no_jumps(finding, "strict seccomp forbids a thread to read the time stamp counter");
}

struct err *probes_plan_user(struct probes *probes, const struct user_function *user,
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

struct err *probes_plan(struct probes *probes)
{
	struct finding finding = { .probes = probes };
	struct modules *modules = &probes->target->modules;

	lost_forget(probes);
	for (size_t i = 0; i < modules->all.nr; i++) {
		struct module *module = modules->all.at[i];
		struct err *err;

		if (module->born <= probes->planned_generation || module->died != UINT32_MAX)
			continue;
		err = plan_module(probes, module);
		if (err)
			return err_wrap(err, "%s", module->path);
	}
	probes->planned_generation = modules->generation;
	check_clock(&finding);
	if (!has_allocator(probes))
		return err_hint(
			err_create(ERR_NOTFOUND,
				   "no allocator found in process %d: none of its modules has a "
				   "symbol such as malloc",
				   probes->target->pid),
			"a static and stripped program has no names to find it by; use one with symbols");
	return NULL;
}
