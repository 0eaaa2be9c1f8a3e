/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Double and invalid frees. */

#include "report/strays.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "log/log.h"
#include "report/out.h"
#include "report/stack.h"
#include "session/session.h"
#include "session/strays.h"

#define INDENT	4u

/* The free before a double one. */
static struct err *print_first(struct stack_texts *texts, const struct log_stray *stray,
			       struct out *out)
{
	if (stray->first.time)
		return event_print(texts, "  it was freed first", EVENT_OF(&stray->first), ":", out);
	if (stray->history)
		out_f(out, "  the first free is not among those that were remembered (the last %u)\n",
		      stray->history);
	else
		out_text(out, "  the first free was not remembered (`set free-history 4096` remembers "
			      "those to come)\n");
	return NULL;
}

static void print_what(const struct session_stray *stray, struct out *out)
{
	switch (stray->kind) {
	case SESSION_STRAY_STACK:
		out_text(out, ", which is on the thread's own stack,");
		break;
	case SESSION_STRAY_INSIDE:
		out_f(out, ", which is byte %" PRIu64 " of a block of %" PRIu64 " bytes at " PRI_ADDRESS ",",
		      stray->address - stray->around.address, stray->around.size,
		      stray->around.address);
		break;
	case SESSION_STRAY_MODULE:
		out_f(out, ", which is in %s,", stray->module);
		break;
	default:
		break;
	}
}

static struct err *print_stray(struct stack_texts *texts, const struct session_strays *strays,
			       const struct session_stray *stray, struct out *out)
{
	const struct log_record *was = &stray->free.block;
	const struct block *around = &stray->around;
	bool twice = stray->kind == SESSION_STRAY_DOUBLE;
	struct err *err;

	out_f(out, "%s of " PRI_ADDRESS, !twice ? "Invalid free" :
	      *strays->doubt ? "Perhaps a double free" : "Double free", stray->address);
	print_what(stray, out);
	err = event_print(texts, "", EVENT_OF(&stray->free), ":", out);
	if (!err && twice)
		err = print_first(texts, &stray->free, out);
	if (err || (!twice && stray->kind != SESSION_STRAY_INSIDE))
		return err;
	out_f(out, "  its %" PRIu64 " bytes were allocated", twice ? was->size : around->size);
	return event_print(texts, "", twice ? EVENT_OF(was) : EVENT_OF(around), ":", out);
}

static void print_sums(struct session *session, const struct session_strays *strays,
		       struct out *out)
{
	uint64_t there = strays->vec.nr - strays->invalid;

	if (*strays->untold)
		out_f(out, "Double frees are not told here: %s\n", strays->untold);
	else if (*strays->doubt && strays->doubles)
		out_f(out, "Not sure: %s\n", strays->doubt);
	if (strays->doubles > there)
		out_f(out, "The oldest %" PRIu64 " double frees are remembered no more\n",
		      strays->doubles - there);
	out_f(out, "%" PRIu64 " double frees, %" PRIu64 " invalid frees, %" PRIu64
		   " frees of unknown blocks\n",
	      strays->doubles, strays->invalid,
	      log_accounts_get(session_log(session)).unknown_frees - strays->invalid);
}

struct err *strays_print(struct session *session, const struct session_strays *strays,
			 struct out *out)
{
	struct stack_texts texts;
	struct err *err = NULL;

	stack_texts_init(&texts, session, INDENT);
	for (size_t i = 0; i < strays->vec.nr && !err && !out_done(out); i++) {
		err = print_stray(&texts, strays, &strays->vec.at[i], out);
		if (!err)
			err = cancel_check();
	}
	stack_texts_free(&texts);
	if (!err)
		print_sums(session, strays, out);
	return err;
}
