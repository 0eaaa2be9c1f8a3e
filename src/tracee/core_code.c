/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg's own code in a core file (theory in core_code.h). */

#include "tracee/core_code.h"

#include <string.h>

#include "agent/state.h"
#include "tracee/backtrace.h"
#include "tracee/core_target.h"
#include "tracee/target.h"

#define PATCH_MAX	32u	/* bytes of a function that are displaced */
#define IMAGE_SLOTS	512u	/* the agent's image is shorter than so many slots */

static bool is_code(const struct proc_map *map)
{
	return map && !map->inode && map->exec && !map->write;
}

/* Is there a slot at this address? */
static bool read_head(struct core *core, uint64_t slot, struct agent_slot *ret)
{
	return !memory_read(&core->memory, slot, ret, sizeof(*ret)) && agent_slot_is(ret);
}

/* The slot that pc is in. */
static bool slot_of(struct core *core, uint64_t pc, struct agent_slot *ret)
{
	return is_code(procparse_maps_find(&core->maps, pc)) &&
	       read_head(core, pc & ~(uint64_t)(AGENT_SLOT - 1), ret);
}

/* The function's bytes, as its file has them: the patch is in the core. */
static bool read_function(const struct core *core, uint64_t function, uint8_t *bytes)
{
	const struct module *module = modules_find(&core->target->modules, function);

	return module && module->elf &&
	       !elf_file_read(module->elf, function - module->bias, bytes, PATCH_MAX);
}

/* The original of a displaced instruction. False: it cannot be told. */
static bool original(struct core *core, uint64_t function, uint64_t *pc)
{
	const struct arch *arch = core->target->arch;
	uint64_t at = (*pc & ~(uint64_t)(AGENT_SLOT - 1)) + AGENT_SLOT_DISPLACED;
	uint8_t bytes[PATCH_MAX], there[DISPLACED_MAX];
	struct displaced displaced;

	if (!read_function(core, function, bytes) ||
	    memory_read(&core->memory, at, there, sizeof(there)))
		return false;
	/* It is not known whether the patch was a jump or a trap. */
	for (size_t min = 1; min < PATCH_MAX; min++) {
		struct err *err = arch->displace(bytes, sizeof(bytes), function, at, min,
						 &displaced);

		if (err || memcmp(displaced.code, there, displaced.len))
			continue;
		for (size_t i = displaced.nr + 1; i-- > 0;)
			if (*pc - at >= displaced.insn[i].to) {
				*pc = function + displaced.insn[i].from;
				return true;
			}
	}
	return false;
}

static int32_t stub_cfa(struct core *core, uint64_t pc, const struct agent_slot *slot)
{
	uint64_t at = (pc & ~(uint64_t)(AGENT_SLOT - 1)) + AGENT_SLOT_STUB;
	struct stub stub = { .len = STUB_MAX, .undo = agent_slot_undo(slot) };

	if (memory_read(&core->memory, at, stub.code, sizeof(stub.code)))
		return (int32_t)slot->stub_cfa;
	return (int32_t)core->target->arch->stub_cfa(&stub, pc - at);
}

static int32_t thunk_cfa(struct core *core, uint64_t pc, const struct agent_slot *slot)
{
	uint64_t at = (pc & ~(uint64_t)(AGENT_SLOT - 1)) + AGENT_SLOT_THUNK;
	struct thunk thunk = { .len = THUNK_MAX, .undo = agent_slot_undo(slot) };

	if (memory_read(&core->memory, at, thunk.code, sizeof(thunk.code)))
		return (int32_t)slot->thunk_cfa;
	return (int32_t)core->target->arch->thunk_cfa(&thunk, pc - at);
}

/* The hook of struct walk_area. */
static bool translate(void *ctx, uint64_t *pc, int32_t *cfa_offset)
{
	struct core *core = ctx;
	struct agent_slot slot;
	uint32_t offset = *pc % AGENT_SLOT;

	if (!slot_of(core, *pc, &slot))
		return true;
	if (offset < AGENT_SLOT_THUNK)
		return original(core, agent_slot_function(&slot), pc);
	*cfa_offset = offset < AGENT_SLOT_STUB ? thunk_cfa(core, *pc, &slot) :
						 stub_cfa(core, *pc, &slot);
	return false;
}

struct walk_area core_code_area(struct core *core)
{
	return (struct walk_area){ .end = UINT64_MAX, .translate = translate, .ctx = core };
}

/* Does a mapping begin with the agent's image, behind which there are slots? */
static bool has_agent(struct core *core, const struct proc_map *map, uint64_t pc)
{
	uint64_t at = pc & ~(uint64_t)(AGENT_SLOT - 1);
	struct agent_slot slot;

	for (unsigned i = 0; i < IMAGE_SLOTS && at < map->end; i++, at += AGENT_SLOT)
		if (read_head(core, at, &slot))
			return true;
	return false;
}

/* Has this address of a thunk been pushed by a call that led out of the slots? */
static bool is_agent_return(void *ctx, uint64_t pc)
{
	struct core *core = ctx;
	uint32_t offset = pc % AGENT_SLOT;
	struct agent_slot slot;

	return offset > AGENT_SLOT_THUNK && offset < AGENT_SLOT_STUB && slot_of(core, pc, &slot);
}

void core_code_start(struct core *core, const struct regs *regs, struct regs *ret)
{
	struct target *target = core->target;
	const struct arch *arch = target->arch;
	uint64_t pc = regs_get(regs, arch->pc), at;
	const struct proc_map *map = procparse_maps_find(&core->maps, pc);
	struct agent_frame frame;
	struct agent_slot slot;

	*ret = *regs;
	if (!is_code(map) || slot_of(core, pc, &slot) || !has_agent(core, map, pc))
		return;
	at = stack_use_thunk_frame(target, &core->memory, regs_get(regs, arch->sp), is_agent_return,
				   core);
	if (!at || memory_read_u64(&core->memory, at, &pc))
		return;
	regs_set(ret, arch->pc, pc);
	regs_set(ret, arch->sp, at + sizeof(uint64_t));
	/* A free's thunk lays no frame, and BP is the caller's. */
	if (slot_of(core, pc, &slot) && slot.thunk_cfa &&
	    !memory_read(&core->memory, at + sizeof(uint64_t), &frame, sizeof(frame)))
		regs_set(ret, arch->fp, frame.bp);
}
