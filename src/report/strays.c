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

struct printer {
	struct session *session;
	const struct log *log;
	struct stack_texts texts;
	struct out *out;
};

/* "at TIME by thread LWP:", and the traceback. */
static struct err *print_call(struct printer *printer, uint64_t time, uint32_t thread,
			      uint32_t stack)
{
	event_print(printer->log, time, thread, printer->out);
	out_text(printer->out, ":\n");
	out_blanks(printer->out, INDENT);
	return stack_texts_print(&printer->texts, stack, printer->out);
}

/* Who freed the block before: what a double free is about. */
static struct err *print_first(struct printer *printer, const struct log_stray *stray)
{
	const struct log_free *first = &stray->first;

	if (first->time) {
		out_text(printer->out, "  it was freed first");
		return print_call(printer, first->time, first->thread, first->stack);
	}
	if (stray->history)
		out_f(printer->out, "  the first free is not among those that were remembered (the last %u)\n",
		      stray->history);
	else
		out_text(printer->out, "  the first free was not remembered (`set free-history 4096` remembers "
				       "those to come)\n");
	return NULL;
}

static struct err *print_block(struct printer *printer, uint64_t size, uint64_t time,
			       uint32_t thread, uint32_t stack)
{
	out_f(printer->out, "  its %" PRIu64 " bytes were allocated", size);
	return print_call(printer, time, thread, stack);
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

static struct err *print_stray(struct printer *printer, const struct session_strays *strays,
			       const struct session_stray *stray)
{
	const struct log_record *was = &stray->free.block;
	const struct block *around = &stray->around;
	bool twice = stray->kind == SESSION_STRAY_DOUBLE;
	struct err *err;

	out_f(printer->out, "%s of " PRI_ADDRESS, !twice ? "Invalid free" :
	      *strays->doubt ? "Perhaps a double free" : "Double free", stray->address);
	print_what(stray, printer->out);
	err = print_call(printer, stray->free.time, stray->free.thread, stray->free.stack);
	if (err)
		return err;
	if (twice)
		err = print_first(printer, &stray->free);
	if (err)
		return err;
	if (twice)
		return print_block(printer, was->size, was->time, was->thread, was->stack);
	if (stray->kind == SESSION_STRAY_INSIDE)
		return print_block(printer, around->size, around->time, around->thread,
				   around->stack);
	return NULL;
}

static void print_sums(const struct printer *printer, const struct session_strays *strays)
{
	uint64_t there = strays->vec.nr - strays->invalid;

	if (*strays->untold)
		out_f(printer->out, "Double frees are not told here: %s\n", strays->untold);
	else if (*strays->doubt && strays->doubles)
		out_f(printer->out, "Not sure: %s\n", strays->doubt);
	if (strays->doubles > there)
		out_f(printer->out, "The oldest %" PRIu64 " double frees are remembered no more\n",
		      strays->doubles - there);
	out_f(printer->out, "%" PRIu64 " double frees, %" PRIu64 " invalid frees, %" PRIu64
			    " frees of unknown blocks\n",
	      strays->doubles, strays->invalid,
	      log_accounts_get(printer->log).unknown_frees - strays->invalid);
}

struct err *strays_print(struct session *session, const struct session_strays *strays,
			 struct out *out)
{
	struct printer printer = { .session = session, .log = session_log(session), .out = out };
	struct err *err = NULL;

	stack_texts_init(&printer.texts, session, INDENT);
	for (size_t i = 0; i < strays->vec.nr && !err && !out_done(out); i++) {
		err = print_stray(&printer, strays, &strays->vec.at[i]);
		if (!err)
			err = cancel_check();
	}
	stack_texts_free(&printer.texts);
	if (!err)
		print_sums(&printer, strays);
	return err;
}
