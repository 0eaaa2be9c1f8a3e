/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc refs, mdbg::refs: who took references to an object, and who gave them back. */

#include <inttypes.h>

#include "answer/answer.h"
#include "answer/stack_names.h"
#include "cmd/query/query.h"
#include "cmd/shell/cmd.h"
#include "heap/filter.h"
#include "report/lack_text.h"
#include "report/out.h"
#include "report/sites.h"
#include "report/traceback.h"
#include "session/pool/session_refs.h"
#include "session/session.h"

#define INDENT	8	/* of the traceback */

struct ref_row {
	struct session_ref ref;
	uint64_t at;			/* ns since the epoch */
	const char *function;
};

#define IS(kind, member)	COLUMN(kind, struct ref_row, member)

static const struct column ref_columns[] = {
	{ "taken", ">TAKEN", "references that this stack took", IS(NUMBER, ref.taken),
	  .flags = COLUMN_BRIEF },
	{ "given", ">GIVEN", "references that it gave back", IS(NUMBER, ref.given),
	  .flags = COLUMN_BRIEF },
	{ "last", NULL, "when it last did", IS(TIME, at) },
	{ "stack", NULL, "for mdbg::frames", IS(STACK, ref.stack) },
	{ "function", "FUNCTION", "that of the line `in NAME`", IS(TEXT, function),
	  .flags = COLUMN_BRIEF | COLUMN_EMPTY | COLUMN_NOT_EXPORTED },
};

static const struct relation ref_relation = RELATION("refs", ref_columns, struct ref_row);

/* The caller frees ret->refs, also after an error. */
static struct err *ask(struct call *call, uint64_t *address_ret, struct session_refs_of *ret)
{
	struct err *err = parse_number(call->argv[0], address_ret);

	*ret = (struct session_refs_of){ .taken = 0 };
	if (!err)
		err = session_refs_of(call->session, *address_ret, ret);
	if (!err && !ret->since)
		err = err_hint(err_create(ERR_STATE, "no function that takes references is known"),
			       "`probe ref FUNCTION object=ARG` and `probe unref` name them");
	if (!err)
		log_clock_update(session_log(call->session));
	return err;
}

static struct err *print_ref(const struct session_ref *ref, size_t rank, struct stack_names *names,
			     struct stack_texts *texts, struct out *out)
{
	struct err *err;

	out_f(out, "#%zu  ", rank);
	if (ref->taken)
		out_f(out, "%" PRIu64 " taken", ref->taken);
	if (ref->given)
		out_f(out, "%s%" PRIu64 " given back", ref->taken ? ", " : "", ref->given);
	out_text(out, "\n");
	err = sites_print_headline(names, ref->stack, out);
	out_blanks(out, INDENT);
	if (!err)
		err = traceback_texts_print(texts, ref->stack, out);
	out_text(out, "\n");
	return err;
}

static void print_sum(const struct session_refs_of *refs, struct out *out)
{
	int64_t open = (int64_t)(refs->taken - refs->given);

	out_f(out, "%" PRIu64 " taken, %" PRIu64 " given back: %" PRIi64 " outstanding%s\n",
	      refs->taken, refs->given, open,
	      refs->born > refs->since ? ", beside the one that it was made with" :
	      ", beside those from before `probe ref`");
	if (refs->lost)
		out_f(out, "Incomplete: %" PRIu64 " references, of any object, came faster than "
		      "they could be read\n", refs->lost);
	if (refs->unkept)
		out_f(out, "Incomplete: %" PRIu64 " references, of any object, were not kept: "
		      "there are too many objects and stacks\n", refs->unkept);
}

static struct err *print(struct call *call, uint64_t address, const struct session_refs_of *refs)
{
	struct stack_names names;
	struct stack_texts texts;
	struct err *err = NULL;

	stack_names_init(&names, call->session);
	traceback_texts_init(&texts, call->session, INDENT);
	out_f(call->out, "References to 0x%" PRIx64 ":\n\n", address);
	for (size_t i = 0; !err && !out_done(call->out) && i < refs->refs.nr; i++)
		err = print_ref(&refs->refs.at[i], i + 1, &names, &texts, call->out);
	if (!err)
		print_sum(refs, call->out);
	traceback_texts_free(&texts);
	stack_names_free(&names);
	return err ? err : lack_text_print(call->session, call->out);
}

static struct err *add_row(struct call *call, struct stack_names *names,
			   const struct session_ref *ref, struct answer *ret)
{
	struct ref_row row = {
		.ref = *ref,
		.at = log_clock_realtime(session_log(call->session), ref->last),
	};
	struct str function = STR_INIT;
	struct err *err = stack_names_headline(names, ref->stack, &function);

	row.function = str_text(&function);
	if (!err)
		err = answer_add(ret, &row);
	str_free(&function);
	return err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	struct session_refs_of refs;
	struct stack_names names;
	uint64_t address;
	struct err *err = ask(call, &address, &refs);

	*ret = (struct answer)ANSWER_KEPT(&ref_relation);
	stack_names_init(&names, call->session);
	vec_each_while(ref, &refs.refs, !err)
		err = add_row(call, &names, ref, ret);
	stack_names_free(&names);
	vec_free(&refs.refs);
	return err;
}

static struct err *run(struct call *call)
{
	struct session_refs_of refs;
	uint64_t address;
	struct err *err;

	if (call->brief)
		return query_print_brief(call, rows);
	err = ask(call, &address, &refs);

	if (!err)
		err = print(call, address, &refs);
	vec_free(&refs.refs);
	return err;
}

static const struct twin twin = {
	.name		= "mdbg::refs",
	.brief		= "list of dicts: the rows of `malloc refs`",
	.example	= "foreach ref [mdbg::refs 0x55d0c0a812a0] {puts [dict get $ref taken]}\n",
	.of		= &ref_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_refs = {
	.name		= "malloc refs",
	.usage		= "ADDRESS",
	.brief		= "who took references to an object, and who gave them back",
	.help		= "A paragraph for each stack that called a function named by `probe ref` or\n"
			  "`probe unref` for the object at ADDRESS, with how often it did: first those\n"
			  "that took, then those that gave back. The last line has the sum, without the\n"
			  "reference that the object was made with, which no function took.\n"
			  "\n"
			  "What an earlier object at the same address had is not counted, if the block\n"
			  "that is there now has a record.\n",
	.example	= "malloc refs 0x55d0c0a812a0\n",
	.need		= call_need_recording,
	.run		= run,
	.twin		= &twin,
	.min_args	= 1,
	.max_args	= 1,
	.flags		= CMD_BRIEF,
};
