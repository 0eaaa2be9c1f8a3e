/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints Python's objects (python_text.h). */

#include "report/pool/python_text.h"

#include <inttypes.h>

#include "answer/python_rows.h"
#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "probe/pools.h"
#include "report/number_cell.h"
#include "report/out.h"
#include "report/rows_text.h"
#include "report/sites.h"
#include "report/stood_text.h"
#include "report/traceback.h"
#include "session/pool/session_pools.h"
#include "session/pool/session_python.h"
#include "session/session.h"

#define INDENT	8	/* of the traceback */

struct err *python_text_print_rows(struct stack_names *names, const struct python_sums *sums,
				   struct out *out)
{
	struct answer rows;
	struct err *err = python_rows(names, sums, &rows);

	if (!err)
		err = rows_text_print(&rows, NULL, out);
	out_text(out, "\n");
	return err;
}

struct err *python_text_print_stacks(struct session *session, struct stack_names *names,
				     const struct python_sums *sums, struct out *out)
{
	struct stack_texts texts;
	struct err *err = NULL;

	traceback_texts_init(&texts, session, INDENT);
	for (size_t i = 0; !err && !out_done(out) && i < sums->vec.nr; i++) {
		const struct python_row *row = &sums->vec.at[i];

		if (row->stack == LOG_STACK_NONE)
			continue;
		out_f(out, "#%zu  %s bytes in %" PRIu64 " blocks, %s\n", i + 1,
		      number_text_size(out, row->bytes).at, row->count, row->type);
		err = sites_print_headline(names, row->stack, out);
		out_blanks(out, INDENT);
		if (!err)
			err = traceback_texts_print(&texts, row->stack, out);
		out_text(out, "\n");
	}
	traceback_texts_free(&texts);
	return err;
}

void python_text_print_sums(const struct session_python *python, const struct python_sums *sums,
			    bool lost, struct out *out)
{
	const struct pymalloc *pymalloc = &python->objects.pools;

	out_f(out, "%s bytes in %" PRIu64 " blocks are in use, of %s bytes in %zu arenas; %" PRIu64
		   " pools are free\n", number_text_size(out, pymalloc->bytes).at, pymalloc->blocks,
	      number_text_size(out, pymalloc->mapped).at, pymalloc->arenas.nr,
	      pymalloc->free_pools);
	if (pymalloc->damaged)
		out_f(out, "Incomplete: %" PRIu64 " pools or arenas do not fit, and are not counted: "
			   "the interpreter may be at work on them\n", pymalloc->damaged);
	if (lost)
		out_f(out, "Lost: %s bytes in %" PRIu64 " blocks that nothing points to, and %s bytes "
			   "in %" PRIu64 " that only these point to\n",
		      number_text_size(out, sums->lost_bytes).at, sums->lost,
		      number_text_size(out, sums->indirect_bytes).at, sums->indirect);
	stood_text_print(out, python->pause_ns, python->no_snapshot);
}

static bool has_python(struct session *session)
{
	struct session_pools is;
	bool has = false;

	if (session_pools(session, &is))
		return false;
	for (unsigned i = 0; i < POOLS; i++)
		has = has || (pools[i].lists && is.here & 1u << i);
	return has;
}

struct err *python_text_print_lost(struct session *session, struct stack_names *names, size_t limit,
				   bool brief, struct out *out)
{
	CLEANUP(session_python_free) struct session_python python = { .pause_ns = 0 };
	const struct log *log = session_recorded(session) ? session_log(session) : NULL;
	struct python_sums sums = { .lost = 0 };
	struct err *err;

	if (!has_python(session))
		return NULL;
	err = session_python(session, true, &python);
	if (err && err->code != ERR_CANCELLED) {
		if (err->code != ERR_NOTFOUND)
			out_f(out, "Python's objects were not searched: %s\n", err->msg);
		return NULL;
	}
	if (!err)
		err = python_rows_sum(&python.objects, PYTHON_BY_LOST, log, 0, &sums);
	if (!err && sums.lost) {
		sums.vec.nr = MIN(sums.vec.nr, limit);
		out_heading(out, "Python's Objects that Nothing Points to:");
		err = python_text_print_rows(names, &sums, out);
		if (!err && !brief)
			err = python_text_print_stacks(session, names, &sums, out);
		if (!err)
			python_text_print_sums(&python, &sums, true, out);
	}
	vec_free(&sums.vec);
	return err;
}
