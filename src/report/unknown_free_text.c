/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Double and invalid frees. */

#include "report/unknown_free_text.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "log/log.h"
#include "report/out.h"
#include "report/traceback.h"
#include "session/session.h"
#include "inspect/unknown_frees.h"

#define INDENT	4u

/* Print the free that came before a double one. */
static struct err *print_first(struct stack_texts *texts, const struct log_unknown_free *unknown,
			       struct out *out)
{
	if (unknown->first.time)
		return traceback_print_event(texts, "  it was freed first",
					     EVENT_OF(&unknown->first), ":", out);
	if (unknown->history)
		out_f(out,
		      "  the first free is not among those that were remembered (the last %u)\n",
		      unknown->history);
	else
		out_text(out,
			 "  the first free was not remembered (`set free-history 4096` remembers "
			 "those to come)\n");
	return NULL;
}

static void print_what(const struct unknown_free *unknown, struct out *out)
{
	switch (unknown->kind) {
	case UNKNOWN_FREE_STACK:
		out_text(out, ", which is on the thread's own stack,");
		break;
	case UNKNOWN_FREE_INSIDE:
		out_f(out,
		      ", which is byte %" PRIu64 " of a block of %" PRIu64 " bytes at " PRI_ADDRESS
		      ",",
		      unknown->address - unknown->around.address, unknown->around.size,
		      unknown->around.address);
		break;
	case UNKNOWN_FREE_MODULE:
		out_f(out, ", which is in %s,", unknown->module);
		break;
	default:
		break;
	}
}

static struct err *print_unknown_free(struct stack_texts *texts,
				      const struct unknown_frees *unknown_frees,
				      const struct unknown_free *unknown, struct out *out)
{
	const struct log_record *was = &unknown->free.block;
	const struct block *around = &unknown->around;
	bool twice = unknown->kind == UNKNOWN_FREE_DOUBLE;
	struct err *err;

	out_f(out, "%s of " PRI_ADDRESS, !twice ? "Invalid free" :
	      *unknown_frees->doubt ? "Perhaps a double free" : "Double free", unknown->address);
	print_what(unknown, out);
	err = traceback_print_event(texts, "", EVENT_OF(&unknown->free), ":", out);
	if (!err && twice)
		err = print_first(texts, &unknown->free, out);
	if (err || (!twice && unknown->kind != UNKNOWN_FREE_INSIDE))
		return err;
	out_f(out, "  its %" PRIu64 " bytes were allocated", twice ? was->size : around->size);
	return traceback_print_event(texts, "", twice ? EVENT_OF(was) : EVENT_OF(around), ":", out);
}

static void print_sums(struct session *session, const struct unknown_frees *unknown_frees,
		       struct out *out)
{
	uint64_t there = unknown_frees->vec.nr - unknown_frees->invalid;

	if (*unknown_frees->untold)
		out_f(out, "Double frees are not told here: %s\n", unknown_frees->untold);
	else if (*unknown_frees->doubt && unknown_frees->doubles)
		out_f(out, "Not sure: %s\n", unknown_frees->doubt);
	if (unknown_frees->doubles > there)
		out_f(out, "The oldest %" PRIu64 " double frees are remembered no more\n",
		      unknown_frees->doubles - there);
	out_f(out, "%" PRIu64 " double frees, %" PRIu64 " invalid frees, %" PRIu64
		   " frees of unknown blocks\n",
	      unknown_frees->doubles, unknown_frees->invalid,
	      reader_accounts(session_log(session)).unknown_frees - unknown_frees->invalid);
}

struct err *unknown_free_text_print(struct session *session,
				    const struct unknown_frees *unknown_frees,
				    struct out *out)
{
	struct stack_texts texts;
	struct err *err = NULL;

	traceback_texts_init(&texts, session, INDENT);
	for (size_t i = 0; i < unknown_frees->vec.nr && !err && !out_done(out); i++) {
		err = print_unknown_free(&texts, unknown_frees, &unknown_frees->vec.at[i], out);
		if (!err)
			err = cancel_check();
	}
	traceback_texts_free(&texts);
	if (!err)
		print_sums(session, unknown_frees, out);
	return err;
}
