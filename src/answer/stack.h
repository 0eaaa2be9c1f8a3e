/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands at a place of a stack, and why a stack ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "heap/interner.h"
#include "unwind/walk.h"

struct session;
struct symbol_frame;
struct symbols;

/*
 * A PC of a stack, under a generation of the module map. entry: the thread stands there; otherwise
 * it is a return address.
 */
struct stack_pc {
	uint64_t pc;
	uint32_t generation;
	bool entry;
};

/* The functions at a PC: those that were inlined there, innermost first, and the function itself. */
struct stack_functions {
	const char *entry;	/* the public name of a probed function that begins there, or NULL */
	const struct symbol_frame *frames;	/* NULL for such an entry */
	size_t nr;
};

/*
 * symbols are session_symbols(session): the caller asks for them once, since asking costs as much
 * as many PCs. What they return is theirs.
 */
struct stack_functions stack_functions(struct session *session, struct symbols *symbols,
				       struct stack_pc pc);
/* The function at a PC with its place, as symbols_text and `set names` have it. */
const char *stack_text(struct session *session, struct symbols *symbols, struct stack_pc pc);

/* Numbers PCs: 0, 1, 2 ... in order of first appearance. */
struct stack_numbers {
	struct interner addresses;
	struct interner places;		/* number of the address, generation and entry */
};

struct err *stack_number(struct stack_numbers *numbers, struct stack_pc pc,
			 uint32_t *ret) MUST_CHECK;
void stack_numbers_free(struct stack_numbers *numbers);

/*
 * Why stacks end. A uretprobe replaces a function's return address by one in the kernel's mapping
 * [uprobes], and a walk ends there as in any code of no module. That mapping stays for as long as
 * the memory does, so it is looked up once, when the first stack ends so.
 */
struct stack_ends {
	struct session *session;
	bool looked;
	uint64_t uprobes_start, uprobes_end;	/* both 0: there is none, or it is not known */
};

/* The text that says why a stack of these nr PCs ends. */
const char *stack_end_text(struct stack_ends *ends, enum walk_end end, const uint64_t *pcs,
			   size_t nr);
