/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words of stacks and registers that alone hold blocks (holder_text.h). */

#include "report/holder_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "heap/leak.h"
#include "report/out.h"
#include "report/traceback.h"
#include "session/leaks.h"
#include "session/session.h"

#define HOLDERS_FEW	5u

static void print_place(struct session *session, const struct leak_marks *found,
			const struct leak_holder *holder, struct out *out)
{
	const struct reach_holder *is = &found->mark.holders.at[holder->number];
	char text[32];

	if (holder->in == LEAK_HOLDER_REGISTER)
		snprintf(text, sizeof(text), "register %s",
			 session_arch(session)->reg_names[holder->index]);
	else if (holder->in == LEAK_HOLDER_VECTOR)
		snprintf(text, sizeof(text), "vector register");
	else
		snprintf(text, sizeof(text), "0x%016" PRIx64, is->place);
	out_blanks(out, 8);
	out_column(out, text, 18);
}

static void print_where(struct session *session, struct symbols *symbols,
			const struct leak_marks *found, const struct leak_holder *holder,
			struct out *out)
{
	const struct stack_pc pc = { holder->pc, found->generation, !holder->returns };

	out_text(out, " ");
	if (holder->in == LEAK_HOLDER_STACK)
		traceback_print_word(session, symbols, holder->tid, pc, out);
	else
		out_f(out, "thread %d", holder->tid);
}

static void print_holder(struct session *session, struct symbols *symbols,
			 const struct leak_marks *found, const struct leaks *leaks,
			 const struct leak_holder *holder, struct out *out)
{
	const struct reach_holder *is = &found->mark.holders.at[holder->number];
	const struct leak_sum *sum = &leaks->by_holder.at[holder->number];
	uint64_t start = packed_at(&found->held, is->block)->address;

	print_place(session, found, holder, out);
	print_where(session, symbols, found, holder, out);
	out_f(out, ": %" PRIu64 " bytes in %" PRIu64 " blocks, by byte %" PRIu64 " of " PRI_ADDRESS,
	      sum->bytes, sum->blocks, is->word - start, start);
	if (is->words > 1)
		out_f(out, "; %" PRIu32 " such words point there", is->words);
	out_text(out, "\n");
}

/* Those on which anything hangs that is not suppressed. */
static size_t count_holders(const struct leaks *leaks)
{
	size_t nr = 0;

	vec_each(sum, &leaks->by_holder)
		nr += sum->blocks > 0;
	return nr;
}

void holder_text_print(struct session *session, const struct leak_marks *found,
		       const struct leaks *leaks, struct out *out)
{
	size_t most = leaks->kinds & 1u << LEAK_REACHABLE ? LEAK_HOLDERS_MAX : HOLDERS_FEW;
	struct symbols *symbols;
	size_t all = count_holders(leaks), listed = 0;

	if (!leaks->on_stack.blocks)
		return;
	symbols = session_symbols(session);
	out_f(out, "    %" PRIu64 " bytes in %" PRIu64 " blocks that are not lost hang on words of "
	      "stacks and registers alone; such a word may be a variable, or a dead copy of one:\n",
	      leaks->on_stack.bytes, leaks->on_stack.blocks);
	for (size_t i = 0; i < found->holders.nr && listed < most && !out_done(out); i++) {
		if (!leaks->by_holder.at[found->holders.at[i].number].blocks)
			continue;	/* all blocks that hang on it are suppressed */
		print_holder(session, symbols, found, leaks, &found->holders.at[i], out);
		listed++;
	}
	if (all > listed)
		out_f(out, "        ... and %zu %s more%s\n", all - listed,
		      all - listed == 1 ? "word" : "words",
		      most == HOLDERS_FEW ? " (`malloc leaks reachable` lists the first 100)" : "");
}
