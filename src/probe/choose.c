/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides where a patch goes, and for which engine (theory in choose.h). */

#include "probe/choose.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/page.h"
#include "probe/probe.h"
#include "tracee/target.h"

/* The agent is given at most so many arguments. */
#define AGENT_ARGS	3
#define FUNCTION_MAX	(1u << 20)

enum way { JUMP_BEHIND, JUMP_AT_ENTRY, TRAP_BEHIND, TRAP_AT_ENTRY, NO_WAY };

static enum probe_engine engine_of(enum way way)
{
	return way <= JUMP_AT_ENTRY ? PROBE_JUMP : PROBE_BREAKPOINT;
}

static bool is_behind(enum way way)
{
	return way == JUMP_BEHIND || way == TRAP_BEHIND;
}

/* The state of a probe while mdbg chooses how to patch it (its way). */
struct choice {
	const struct probes *probes;
	struct probe *probe;
	enum way way;			/* the way that is tried, or was chosen */
	struct entry_insn first;	/* len is 0: the first instruction cannot stay */
	bool trapped;			/* somebody's trap stands on the first byte */
	char no_jump[300];		/* why it has no jump, at either place */
	char at_entry[200];		/* why the patch is not behind the first instruction */
};

void choose_refuse(struct probe *probe, const char *why, const char *hint)
{
	probe->state = PROBE_REFUSED;
	snprintf(probe->why, sizeof(probe->why), "%s", why);
	snprintf(probe->hint, sizeof(probe->hint), "%.159s", hint);
}

void choose_no_jump(const struct probes *probes, struct probe *probe, const char *why)
{
	probe->engine = PROBE_BREAKPOINT;
	if (probes->policy == PROBE_ONLY_JUMP || probe_is_growth(probe))
		choose_refuse(probe, why, "");
	else
		snprintf(probe->why, sizeof(probe->why), "no jump: %.400s", why);
}

static size_t patch_len(const struct choice *choice)
{
	const struct arch *arch = choice->probes->target->arch;

	return engine_of(choice->way) == PROBE_JUMP ? arch->jump_len : arch->trap_len;
}

/* The number of the function's bytes in front of the patch. */
static size_t stays_len(const struct choice *choice)
{
	return is_behind(choice->way) ? choice->first.len : 0;
}

/* The agent gets only the first arguments. */
static bool arguments_fit(const struct alloc_function *fn)
{
	return fn->size < AGENT_ARGS && fn->count < AGENT_ARGS && fn->ptr < AGENT_ARGS;
}

/* Is a trap of another tool on the first byte the only difference? */
static bool is_trapped(const struct arch *arch, const uint8_t *file, const uint8_t *now, size_t len)
{
	return arch->trap_len <= len && memcmp(file, now, len) &&
	       !memcmp(now, arch->trap, arch->trap_len) &&
	       !memcmp(file + arch->trap_len, now + arch->trap_len, len - arch->trap_len);
}

/* Read the function's code from the file; text is compared with it before it is believed. */
static void read_code(struct choice *choice)
{
	const struct probes *probes = choice->probes;
	struct probe *probe = choice->probe;
	uint64_t vaddr = probe->address - probe->module->bias, size;
	uint8_t now[sizeof(probe->expect)];
	uint32_t len = sizeof(now);
	struct err *err;

	if (!elf_symbol_function_extent(probe->module->elf, vaddr, &size) && size && size < len)
		len = (uint32_t)size;
	err = elf_file_read(probe->module->elf, vaddr, probe->expect, len);
	if (!err) {
		err = memory_read(&probes->target->mem.bring, probe->address, now, len);
		probe->unread = err != NULL;
	}
	if (err) {
		choose_refuse(probe, err->msg, "");
		return;
	}
	probe->expect_len = len;
	patch_see_through(probes->target, probe->address, now, len);
	choice->trapped = is_trapped(probes->target->arch, probe->expect, now, len);
	if (!choice->trapped && memcmp(probe->expect, now, len)) {
		char why[sizeof(probe->why)];

		snprintf(why, sizeof(why),
			 "the code at 0x%" PRIx64 " is not as in its file: another tool "
			 "has patched it",
			 probe->address);
		choose_refuse(probe, why, PROBE_OTHER_TOOL);
	}
}

/* The function's code behind the displaced part, as the file has it. */
struct rest {
	uint8_t *code;
	size_t len;
	uint64_t start;
};

static struct err *read_rest(const struct probe *probe, size_t consumed, struct rest *ret)
{
	struct elf_file *elf = probe->module->elf;
	uint64_t vaddr = probe->address - probe->module->bias, size;
	struct err *err = elf_symbol_function_extent(elf, vaddr, &size);

	*ret = (struct rest){ .start = probe->address + consumed };
	if (err)
		return err;
	if (size > FUNCTION_MAX)
		return err_create(ERR_RANGE, "a function of %" PRIu64 " bytes", size);
	if (size <= consumed)
		return NULL;
	ret->len = size - consumed;
	ret->code = malloc(ret->len);
	return ret->code ? elf_file_read(elf, vaddr + consumed, ret->code, ret->len) : err_nomem;
}

/* Check that threads can reach the bytes in [low, high) only through the function's entry. */
static void patch_bounds(const struct choice *choice, uint64_t *low, uint64_t *high)
{
	*low = choice->probe->address + (is_behind(choice->way) ? choice->first.len : 1);
	*high = choice->probe->address + stays_len(choice) + patch_len(choice);
}

static struct err *check_rest(const struct choice *choice, const struct rest *rest)
{
	const struct arch *arch = choice->probes->target->arch;
	uint64_t low, high, to = 0;

	if (choice->probe->fn &&
	    arch->loops_at(rest->code, rest->len, rest->start, choice->probe->address))
		return err_create(ERR_UNSUPPORTED,
				  "it begins with a loop, whose rounds cannot be told from calls");
	patch_bounds(choice, &low, &high);
	if (low == high ||
	    !arch->jumps_into(rest->code, rest->len, rest->start, low, high, &to))
		return NULL;
	if (!to)
		return err_create(ERR_UNSUPPORTED, "not all of the function's code is understood");
	return err_create(ERR_UNSUPPORTED,
			  "a branch in the function goes into the patch, to 0x%" PRIx64, to);
}

static struct err *check_branches(const struct choice *choice, size_t consumed)
{
	struct rest rest;
	struct err *err = read_rest(choice->probe, consumed, &rest);

	if (!err)
		err = check_rest(choice, &rest);
	else if (choice->way == TRAP_AT_ENTRY)	/* a branch can only go to its one byte */
		err = NULL;
	free(rest.code);
	return err;
}

/*
 * The kernel writes page by page. If mdbg is killed in between, or there is no memory for a second
 * copy, half a jump would stay.
 */
static bool in_two_pages(const struct choice *choice)
{
	uint64_t start = choice->probe->address + stays_len(choice);

	return start / PAGE != (start + patch_len(choice) - 1) / PAGE;
}

/*
 * Does a patch that displaces these instructions cover a system call of a function whose threads
 * may wait in it?
 */
static bool covers_syscall(const struct probe *probe, const struct displaced *displaced)
{
	static const uint8_t call[] = { 0x0f, 0x05 };

	for (size_t i = 0; probe_is_growth(probe) && i < displaced->nr; i++)
		if (!memcmp(probe->expect + displaced->insn[i].from, call, sizeof(call)))
			return true;
	return false;
}

static struct err *check_way(const struct choice *choice)
{
	const struct arch *arch = choice->probes->target->arch;
	const struct probe *probe = choice->probe;
	struct displaced displaced;
	char text[96];
	struct err *err;

	if (is_behind(choice->way) && !choice->first.len)
		return arch->insn_text(probe->expect, probe->expect_len, probe->address, text,
				       sizeof(text)) ?
			err_create(ERR_UNSUPPORTED, "'%s' cannot stay in place", text) :
			err_create(ERR_UNSUPPORTED, "what it begins with is no instruction");
	if (!is_behind(choice->way) && choice->trapped)
		return err_create(ERR_UNSUPPORTED, "another tool has a trap on its first byte");
	/*
	 * Can it be displaced at all? The real place, and with it the real code, is chosen when it
	 * is armed.
	 */
	err = arch->displace(probe->expect, probe->expect_len, probe->address,
			     probe->address + PAGE, stays_len(choice) + patch_len(choice),
			     &displaced);
	if (err)
		return err;
	if (covers_syscall(probe, &displaced))
		return err_create(ERR_UNSUPPORTED, "its system call would lie under the patch");
	if (engine_of(choice->way) == PROBE_JUMP && in_two_pages(choice))
		return err_create(ERR_UNSUPPORTED, "it would lie in two pages");
	if (engine_of(choice->way) == PROBE_JUMP && !arguments_fit(probe->fn))
		return err_create(ERR_UNSUPPORTED, "one of its arguments is beyond the third");
	return check_branches(choice, displaced.consumed);
}

static bool is_wanted(const struct choice *choice)
{
	enum probe_policy policy = choice->probes->policy;
	bool jump = engine_of(choice->way) == PROBE_JUMP;

	if (!choice->probe->fn)		/* the loader's hook */
		return !jump;
	if (probe_is_growth(choice->probe))
		return jump && policy != PROBE_ONLY_BREAKPOINT;
	return policy == PROBE_AUTO || jump == (policy == PROBE_ONLY_JUMP);
}

static void note_failure(struct choice *choice, const char *why)
{
	if (is_behind(choice->way))
		snprintf(choice->at_entry, sizeof(choice->at_entry), "%.190s", why);
	if (engine_of(choice->way) == PROBE_JUMP)
		snprintf(choice->no_jump, sizeof(choice->no_jump), "%.290s", why);
}

static void take_way(struct choice *choice)
{
	struct probe *probe = choice->probe;
	bool behind = is_behind(choice->way);

	probe->stays = behind ? choice->first : (struct entry_insn){ 0, 0 };
	probe->patch = probe->address + probe->stays.len;
	probe->engine = engine_of(choice->way);
	probe->why[0] = '\0';
	if (probe->engine == PROBE_BREAKPOINT && choice->probes->policy == PROBE_AUTO && probe->fn)
		snprintf(probe->why, sizeof(probe->why), "no jump: %.300s", choice->no_jump);
	else if (!behind && probe->fn)
		snprintf(probe->why, sizeof(probe->why),
			 "on its first instruction, where no other tool may put a probe: %.200s",
			 choice->at_entry);
}

/* Try this way and those after it. */
static void choose(struct choice *choice, enum way from)
{
	char why[sizeof(choice->probe->why)] = "";

	for (choice->way = from; choice->way < NO_WAY; choice->way++) {
		struct err *err;

		if (!is_wanted(choice))
			continue;
		err = check_way(choice);
		if (!err) {
			take_way(choice);
			return;
		}
		snprintf(why, sizeof(why), "%s", err->msg);
		note_failure(choice, why);
	}
	choose_refuse(choice->probe, why, "");
}

static void begin(struct choice *choice)
{
	const struct arch *arch = choice->probes->target->arch;
	struct probe *probe = choice->probe;
	unsigned args = probe->fn ? alloc_function_arguments(probe->fn) : 0;

	probe->engine = PROBE_BREAKPOINT;
	if (probe->state == PROBE_PLANNED)
		read_code(choice);
	if (probe->state != PROBE_PLANNED)
		return;
	if (!arch->entry_insn(probe->expect, probe->expect_len, args, &choice->first))
		choice->first.len = 0;
	choose(choice, JUMP_BEHIND);
}

struct choices {
	struct choice *at;
	size_t nr;
	uint64_t bias;
};

/* If another function begins inside a patch, try the next way. */
static bool avoid_symbol(struct choices *choices, const struct elf_symbol *symbol)
{
	uint64_t address = symbol->value + choices->bias;
	bool changed = false;

	if (!symbol->func || !symbol->value)
		return false;
	for (size_t i = 0; i < choices->nr; i++) {
		struct choice *choice = &choices->at[i];
		uint64_t low, high;
		char why[256];

		if (choice->probe->state != PROBE_PLANNED)
			continue;
		patch_bounds(choice, &low, &high);
		if (address < low || address >= high)
			continue;
		snprintf(why, sizeof(why), "%s begins inside the patch", symbol->name);
		note_failure(choice, why);
		choose(choice, choice->way + 1);
		changed = true;
	}
	return changed;
}

/*
 * Check all symbols; if a probe takes its next way, check them once more, since that patch may
 * cover a symbol that was passed already.
 */
static struct err *avoid_symbols(struct choices *choices, struct elf_file *elf)
{
	struct elf_symbols at;
	struct elf_symbol symbol;
	bool changed = true;
	struct err *err = NULL;

	while (changed && !err) {
		changed = false;
		err = elf_symbols_begin(elf, &at);
		while (!err && elf_symbols_next(&at, &symbol))
			changed |= avoid_symbol(choices, &symbol);
	}
	return err;
}

/* Without the file's symbols it is not known where functions begin. */
static void without_symbols(struct choices *choices, const char *why)
{
	for (size_t i = 0; i < choices->nr; i++) {
		struct choice *choice = &choices->at[i];

		if (choice->probe->state != PROBE_PLANNED || choice->way == TRAP_AT_ENTRY)
			continue;
		note_failure(choice, why);
		if (choices->at[i].probes->policy == PROBE_ONLY_JUMP)
			choose_refuse(choice->probe, why, "");
		else
			choose(choice, TRAP_AT_ENTRY);
	}
}

void choose_ways(struct probes *probes, struct module *module, size_t first)
{
	struct choices choices = { .nr = probes->all.nr - first, .bias = module->bias };
	struct err *err;

	choices.at = calloc(choices.nr, sizeof(*choices.at));
	for (size_t i = 0; i < choices.nr; i++) {
		struct probe *probe = probes->all.at[first + i];

		if (!choices.at) {
			choose_refuse(probe, err_nomem->msg, "");
			continue;
		}
		choices.at[i].probes = probes;
		choices.at[i].probe = probe;
		begin(&choices.at[i]);
	}
	err = choices.at ? avoid_symbols(&choices, module->elf) : NULL;
	if (err)
		without_symbols(&choices, err->msg);
	free(choices.at);
}
