/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tracebacks as text and by name. The lines of a PC are formatted once and kept, so that a dump of
 * a million blocks costs a look-up and a copy for each frame. (Keeping whole tracebacks takes much
 * more memory where stacks are many, and is no faster.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "answer/stack.h"
#include "answer/stack_names.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "symbol/symbol.h"
#include "unwind/walk.h"

struct out;
struct session;

/* A function that was inlined: "push (vector.h:12) (inlined)". */
struct err *traceback_inlined(struct str *str, const struct symbol_frame *frame,
			      enum symbol_names names) MUST_CHECK;
/*
 * Make the lines of one PC, "0x0000… TEXT\n" each: one for each function that was inlined there,
 * and one for the function itself. All but the first begin with indent blanks. An entry of a probed
 * function has its public name. symbols are session_symbols(session); the caller asks for them once
 * for many frames. *dim_ret has a bit for each of the first 64 lines, from the lowest bit on; it is
 * set if the line shows the inside of allocators and containers. dim_ret may be NULL.
 */
struct err *traceback_lines(struct str *str, struct session *session, struct symbols *symbols,
			    struct stack_pc pc, size_t indent, uint64_t *dim_ret) MUST_CHECK;
/* Print them; on a coloured terminal those of dim are faint. */
void traceback_print_lines(struct out *out, const char *text, size_t len, uint64_t dim);

/*
 * Print where a word of a stack is: "stack of thread 17, in load_row() (x.c:42)". It is in the
 * frame of the function of this PC; pc.pc 0: that function is not known.
 */
void traceback_print_word(struct session *session, struct symbols *symbols, pid_t tid,
			  struct stack_pc pc, struct out *out);

/*
 * The lines of a PC by traceback_lines. All begin with indent blanks, except the first one of an
 * entry.
 */
struct stack_line {
	char *at;		/* NULL: not made yet */
	uint32_t len;
	uint64_t dim;		/* a bit for each dim line */
};

struct stack_texts {
	struct session *session;
	struct symbols *symbols;	/* NULL: no frame has been asked for */
	size_t indent;
	struct stack_numbers numbers;
	VEC(struct stack_line) lines;	/* by number of the PC */
	struct stack_ends ends;
};

void traceback_texts_init(struct stack_texts *texts, struct session *session, size_t indent);
void traceback_texts_free(struct stack_texts *texts);
/*
 * Print the traceback of a stack of the session's log, its first line without indent; "(no stack)"
 * for LOG_STACK_NONE.
 */
struct err *traceback_texts_print(struct stack_texts *texts, uint32_t stack,
				  struct out *out) MUST_CHECK;
/* An event of the log: the allocation of a block, or a free. */
struct stack_event {
	uint64_t time;
	uint32_t thread, stack;
};
#define EVENT_OF(x)	((struct stack_event){ (x)->time, (x)->thread, (x)->stack })

/*
 * Print "WHAT at TIME by thread LWP" or "WHAT at TIME", then `end` and a newline, and the
 * traceback.
 */
struct err *traceback_print_event(struct stack_texts *texts, const char *what,
				  struct stack_event event,
				  const char *end, struct out *out) MUST_CHECK;
