/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * malloc diff, mdbg::diff: which sites grew or shrank between two moments. If one of the two is an
 * export, this is the matter of diff_files.c.
 */

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/diff_files.h"
#include "cmd/each.h"
#include "cmd/moments.h"
#include "cmd/values.h"
#include "report/diff.h"
#include "session/history.h"
#include "session/session.h"

/* The question and the answer. */
struct diff {
	struct chosen_moment from, to;
	uint64_t now_ns;
	struct moment now;		/* taken if at least one of the two is `now` */
	struct difference difference;
};

static void diff_free(struct diff *diff)
{
	chosen_moment_free(&diff->from);
	chosen_moment_free(&diff->to);
	moment_free(&diff->now);
	difference_free(&diff->difference);
}

static struct err *choose(const struct call *call, struct diff *diff)
{
	struct err *err = moment_choose(call, call->argv[0], diff->now_ns, &diff->from);

	return err ? err : moment_choose(call, call->argc > 1 ? call->argv[1] : "now",
					 diff->now_ns, &diff->to);
}

static const struct moment *moment_of(const struct diff *diff, const struct chosen_moment *chosen)
{
	return chosen->now ? &diff->now : &chosen->moment;
}

static struct err *ask(const struct call *call, struct diff *diff)
{
	struct err *err = call_need_recording(call);
	struct log *log = session_log(call->session);

	if (err)
		return err;
	log_clock_update(log);
	diff->now_ns = log_clock_realtime(log, log_now());
	err = choose(call, diff);
	if (!err && (diff->from.now || diff->to.now))
		err = session_moment(call->session, &diff->now);
	return err ? err : difference_build(log, moment_of(diff, &diff->from),
					    moment_of(diff, &diff->to), &diff->difference);
}

static struct err *run(struct call *call)
{
	CLEANUP(diff_free) struct diff diff = { .difference = DIFFERENCE_INIT };
	struct moment_name from, to;
	struct err *err;

	if (diff_has_file(call))
		return diff_files_print(call);
	err = ask(call, &diff);
	if (err)
		return err;
	from = chosen_moment_name(&diff.from, diff.now_ns);
	to = chosen_moment_name(&diff.to, diff.now_ns);
	return diff_print(call->session, &from, &to, &diff.difference, call->out);
}

const struct cmd cmd_malloc_diff = {
	.name		= "malloc diff",
	.usage		= "MOMENT|FILE ?MOMENT|FILE?",
	.brief		= "sites that grew or shrank between two moments or exports",
	.help		= "MOMENT is one of:\n"
			  "    NAME      a mark (`help malloc mark`)\n"
			  "    now       this moment; it is the second MOMENT if that is not given\n"
			  "    peak      the sample with the most bytes\n"
			  "    -10m      the sample nearest to 10 minutes ago; units are s, m, h and d\n"
			  "mdbg takes a sample every second while it is attached; if there are many\n"
			  "records, less often. Of old samples it keeps fewer. `malloc -v` shows the\n"
			  "interval. The answer says at which time a sample was taken.\n"
			  "Each stack that has changed is listed, the largest change first, with the\n"
			  "bytes and blocks of the second moment less those of the first. The last\n"
			  "line has the sum of all increases and the sum of all decreases; their\n"
			  "difference is that of the totals. Only recorded blocks are compared.\n"
			  "FILE is what `export sqlite FILE` has written, in this process or in\n"
			  "another one; for two FILEs no process is needed. A word with a slash is a\n"
			  "FILE, and so is one that is no mark and has a dot or is a file's name.\n"
			  "Write ./before for a file of which there is a mark, too. Stacks are the\n"
			  "same if build-id and offset of all frames are; if the program or a\n"
			  "library was built anew, if its functions' names are. The answer says how\n"
			  "many sites were matched by which, and how many are in one of the two only.\n",
	.run		= run,
	.min_args	= 1,
	.max_args	= 2,
	.complete	= COMPLETE_DIFF,
};

static const struct column change_columns[] = {
	{ "bytes", ">BYTES", "second moment less first", COLUMN(CHANGE, struct change, bytes) },
	{ "count", ">COUNT", NULL, COLUMN(CHANGE, struct change, count) },
	{ "stack", NULL, NULL, COLUMN(STACK, struct change, stack) },
};

static const struct relation change_relation = RELATION("changes", change_columns, struct change);

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(diff_free) struct diff diff = { .difference = DIFFERENCE_INIT };
	struct err *err;

	if (diff_has_file(call))
		return diff_files_value(call, ret);
	err = ask(call, &diff);
	return err ? err : each_give(call, &(struct answer)ANSWER_OF(&change_relation,
								 &diff.difference.vec), ret);
}

const struct cmd cmd_api_diff = {
	.name		= "mdbg::diff",
	.usage		= "MOMENT|FILE ?MOMENT|FILE? ?-each VAR BODY?",
	.brief		= "list of dicts: the changes of `malloc diff`",
	.help		= "    bytes count    signed: second moment less first\n"
			  "    stack\n"
			  "With a FILE, stack is `-` if the watched process has no such site, and\n"
			  "there are three more:\n"
			  "    matched        by `build-id` or by `names`; empty: it is in one only\n"
			  "    function       that of the line `in NAME` of `malloc diff`\n"
			  "    frames         list of dicts: pc function module file line inline\n"
			  "For MOMENT and FILE see `help malloc diff`, for -each `help\n"
			  "mdbg::allocations`.\n",
	.value		= value,
	.min_args	= 1,
	.max_args	= 2,
	.flags		= CMD_EACH,
	.complete	= COMPLETE_DIFF,
};
