/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands at a place of a stack, and why a stack ends. */

#include "answer/stack.h"

#include <string.h>

#include "session/session.h"
#include "symbol/symbol.h"

struct stack_functions stack_functions(struct session *session, struct symbols *symbols,
				       struct stack_pc pc)
{
	struct stack_functions at = {
		.entry = pc.entry ? session_symbols_entry(session, pc.pc) : NULL, .nr = 1,
	};

	if (!at.entry)
		at.frames = symbols_resolve(symbols, pc.pc, pc.generation, !pc.entry, &at.nr);
	return at;
}

const char *stack_text(struct session *session, struct symbols *symbols, struct stack_pc pc)
{
	const char *entry = pc.entry ? session_symbols_entry(session, pc.pc) : NULL;

	return entry ? entry : symbols_text(symbols, pc.pc, pc.generation, !pc.entry,
					    session_naming(session)->names);
}

struct err *stack_number(struct stack_numbers *numbers, struct stack_pc pc, uint32_t *ret)
{
	uint32_t address;
	struct err *err = interner_number(&numbers->addresses, pc.pc, &address);

	/* An interner has fewer than 2^31 numbers. */
	return err ? err : interner_number(&numbers->places, (uint64_t)address << 33 |
					   (uint64_t)pc.generation << 1 | pc.entry, ret);
}

void stack_numbers_free(struct stack_numbers *numbers)
{
	interner_free(&numbers->addresses);
	interner_free(&numbers->places);
}

static void find_uprobes(struct stack_ends *ends)
{
	struct proc_maps maps = { VEC_INIT };

	ends->looked = true;
	if (session_maps(ends->session, &maps))
		return;
	vec_each(map, &maps.vec)
		if (!strcmp(map->path, "[uprobes]")) {
			ends->uprobes_start = map->start;
			ends->uprobes_end = map->end;
		}
	procparse_maps_free(&maps);
}

const char *stack_end_text(struct stack_ends *ends, enum walk_end end, const uint64_t *pcs,
			   size_t nr)
{
	if (end != WALK_NO_MODULE || !nr)
		return walk_end_name(end);
	if (!ends->looked)
		find_uprobes(ends);
	if (pcs[nr - 1] >= ends->uprobes_start && pcs[nr - 1] < ends->uprobes_end)
		return "a uretprobe of another tool has taken the return address";
	return walk_end_name(end);
}
