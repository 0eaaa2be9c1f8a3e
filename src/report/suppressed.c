/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stacks that are suppressed (suppressed.h). */

#include "report/suppressed.h"

#include <inttypes.h>
#include <string.h>

#include "heap/leak.h"
#include "heap/suppression.h"
#include "log/log.h"
#include "report/out.h"
#include "session/session.h"
#include "symbol/symbol.h"

/*
 * A module is compared by its path, and by that path's last component, so that `^` works for both.
 */
static bool frame_matches(const struct symbol_frame *frame, const char *pattern)
{
	return suppression_matches(pattern, frame->function) ||
	       (frame->brief != frame->function && suppression_matches(pattern, frame->brief)) ||
	       suppression_matches(pattern, frame->linkage) ||
	       suppression_matches(pattern, frame->file) ||
	       suppression_matches(pattern, frame->module) ||
	       suppression_matches(pattern, frame->path);
}

static bool stack_matches(struct session *session, struct symbols *symbols, uint32_t stack,
			  const struct suppression *suppression)
{
	struct log_stack_view view = reader_stack(session_log(session), stack);
	const char *entry = view.nr ? session_symbols_entry(session, view.pcs[0]) : NULL;
	uint32_t end = suppression->caller ? MIN(view.nr, entry ? 2u : 1u) : view.nr;
	size_t nr;

	if (!suppression->caller && suppression_matches(suppression->pattern, entry))
		return true;
	for (uint32_t i = suppression->caller && entry ? 1 : 0; i < end; i++) {
		const struct symbol_frame *frames =
			symbols_resolve(symbols, view.pcs[i], view.generation, i > 0, &nr);

		for (size_t j = 0; j < nr; j++)
			if (frame_matches(&frames[j], suppression->pattern))
				return true;
	}
	return false;
}

static uint32_t compare(struct stack_suppress *suppress, uint32_t stack)
{
	const struct suppressions *suppressions = suppress->suppressions;

	/*
	 * A damaged log may have, for each block, an id that has no stack; the session is not asked
	 * for those.
	 */
	if (!reader_stack(session_log(suppress->session), stack).nr)
		return SUPPRESS_NONE;
	if (!suppress->symbols)
		suppress->symbols = session_symbols(suppress->session);
	for (uint32_t i = 0; i < suppressions->vec.nr; i++)
		if (stack_matches(suppress->session, suppress->symbols, stack,
				  &suppressions->vec.at[i]))
			return i;
	return SUPPRESS_NONE;
}

uint32_t suppressed_stack_of(void *ctx, const struct block *block)
{
	struct stack_suppress *suppress = ctx;
	uint32_t *at, result;

	/*
	 * A damaged log may have millions of blocks whose stacks do not exist; nothing is looked up
	 * for them.
	 */
	if (block->preattach || block->stack == LOG_STACK_NONE ||
	    block->stack > reader_stacks(session_log(suppress->session)))
		return SUPPRESS_NONE;
	at = vec_slot(&suppress->known, block->stack);
	if (at && *at)
		return *at == 1 ? SUPPRESS_NONE : *at - 2;
	result = compare(suppress, block->stack);
	if (at)
		*at = result == SUPPRESS_NONE ? 1 : result + 2;
	return result;
}

void suppressed_stack_free(struct stack_suppress *suppress)
{
	vec_free(&suppress->known);
}

void suppressed_print_one(const struct suppressions *suppressions, uint32_t i, struct out *out)
{
	const struct suppression *suppression = &suppressions->vec.at[i];

	out_f(out, "leak:%s%s", suppression->pattern,
	      !suppression->built_in ? "" :
	      suppression->caller ? " (built in, for what has called malloc)" : " (built in)");
}

void suppressed_print(const struct leaks *leaks, const struct suppressions *suppressions,
		      struct out *out)
{
	if (!leaks->suppressed.blocks)
		return;
	out_f(out, "\nSuppressions used:\n    %10s %14s  PATTERN\n", "BLOCKS", "BYTES");
	for (uint32_t i = 0; i < leaks->by_suppression.nr; i++) {
		const struct leak_sum *sum = &leaks->by_suppression.at[i];

		if (!sum->blocks)
			continue;
		out_f(out, "    %10" PRIu64 " %14" PRIu64 "  ", sum->blocks, sum->bytes);
		suppressed_print_one(suppressions, i, out);
		out_text(out, "\n");
	}
}
