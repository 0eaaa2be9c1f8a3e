/* SPDX-License-Identifier: GPL-3.0-or-later */
/* memory account, mdbg::memory_account: the resident memory, divided so that it adds up. */

#include <string.h>

#include "answer/account_rows.h"
#include "base/cleanup.h"
#include "cmd/moments.h"
#include "cmd/shell/cmd.h"
#include "report/memory_text.h"
#include "report/rows_text.h"
#include "report/stood_text.h"
#include "session/account.h"
#include "session/replay/session_replay.h"

static void print_notes(const struct session_account *account, struct out *out)
{
	const struct account_heap *heap = &account->heap;
	size_t unknown;

	if (*heap->why)
		out_f(out, "%s: %s\n", heap->known ? "Not all heaps are divided" :
		      "The heaps are not divided", heap->why);
	if (heap->known && heap->early)
		out_f(out, "Of %" PRIu64 " blocks that are not recorded, %" PRIu64 " bytes, the usable "
		      "size counts as asked for\n", heap->early, heap->early_bytes);
	if (heap->known && heap->recorded && heap->asked == UINT64_MAX)
		out_text(out, "What was asked for is not known of any block: their usable size counts\n");
	if (*account->group) {
		out_text(out, "Control group: ");
		out_outside(out, (struct outside){ account->group });
		out_text(out, "\n");
	}
	if (!account->beside.files_known)
		out_text(out, "Its descriptors may not be seen: memory behind them is not known\n");
	if (*account->beside.no_sockets)
		out_f(out, "Buffers of its %zu sockets are not known: %s\n",
		      account->beside.files.sockets.nr, account->beside.no_sockets);
	account_sockets(&account->beside.files, &unknown);
	if (unknown && !*account->beside.no_sockets)
		out_f(out, "Of %zu more sockets (neither TCP, UDP nor Unix, or just made) nothing is known\n",
		      unknown);
	stood_text_print(out, account->pause_ns, account->no_snapshot);
}

static struct err *print_now(struct call *call)
{
	CLEANUP(session_account_free) struct session_account account = { .use = MEMORY_USE_INIT };
	struct err *err = session_account(call->session, &account);
	struct memory_verdict verdict;
	CLEANUP(answer_free) struct answer rows = { .nr = 0 };

	if (!err)
		err = account_rows(&account, false, &rows);
	if (!err)
		err = rows_text_print(&rows, NULL, call->out);
	if (err)
		return err;
	print_notes(&account, call->out);
	session_account_verdict(call->session, &account, &verdict);
	out_text(call->out, "\n");
	/* Nobody is sent to where he is. */
	if (!strcmp(verdict.ask, "memory account"))
		*verdict.ask = '\0';
	memory_text_print_verdict(&verdict, call->out);
	return NULL;
}

static struct err *print_recorded(struct call *call)
{
	CLEANUP(answer_free) struct answer answer = { .nr = 0 };
	char time[32];
	uint64_t time_ns;
	struct err *err = account_rows_recorded(call->session, false, &time_ns, &answer);

	if (err)
		return err;
	err = rows_text_print(&answer, NULL, call->out);
	number_text_time(time, sizeof(time), time_ns);
	out_f(call->out, "\nThis was taken at %s\n", time);
	return err;
}

/* The words are `at MOMENT`, or none. */
static struct err *visit_at(struct call *call, struct moments_visit *ret)
{
	struct err *err = moments_visit(call, ret);

	return !err && call->argc ? call_bad_word(call->argv[0]) : err;
}

static struct err *run(struct call *call)
{
	CLEANUP(moments_leave) struct moments_visit visit;
	struct err *err = visit_at(call, &visit);

	if (err)
		return err;
	return session_replay_is(call->session) ? print_recorded(call) : print_now(call);
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(session_account_free) struct session_account account = { .use = MEMORY_USE_INIT };
	CLEANUP(moments_leave) struct moments_visit visit;
	struct err *err = visit_at(call, &visit);
	uint64_t time_ns;

	if (!err && session_replay_is(call->session))
		return account_rows_recorded(call->session, true, &time_ns, ret);
	if (!err)
		err = session_account(call->session, &account);
	return err ? err : account_rows(&account, true, ret);
}

static const struct twin twin = {
	.name		= "mdbg::memory_account",
	.brief		= "list of dicts: the parts of `memory account`",
	.help		= "All parts come, also those of 0 bytes. - is what is not known.\n",
	.of		= &account_relation,
	.rows		= rows,
};

const struct cmd cmd_memory_account = {
	.name		= "memory account",
	.usage		= "?at MOMENT?",
	.brief		= "the resident memory divided into parts that add up",
	.help		= "Bytes. The parts down to mdbg add up to `all`, which is Rss of the kernel\n"
			  "(/proc/PID/smaps); SHARE is the part of that.\n"
			  "    held overhead      blocks: what was asked for; rounding and headers\n"
			  "    cached free top    free: in threads' caches, in the lists of arenas,\n"
			  "                       at the end of the main arena\n"
			  "    tops               free, at the ends of other arenas\n"
			  "    allocator heaps    the allocator's own data; heaps not walked\n"
			  "    anonymous          mapped without malloc\n"
			  "    lazyfree           given back by MADV_FREE: the kernel takes it in need\n"
			  "\n"
			  "    stacks ended       of threads that live; of those ended, not joined\n"
			  "    files files-dirty  mapped files: page cache; to be written back\n"
			  "    files-copied       ... private copies of pages that were written\n"
			  "    shared             shared memory that nobody else has mapped\n"
			  "    shared-others      ... that others have mapped as well\n"
			  "    device mdbg        memory of devices; mdbg's log and agent\n"
			  "\n"
			  "Behind `all` come parts that are counted above: huge (in huge pages), forked\n"
			  "(shared with processes of a fork), and of the free memory trim (`malloc trim`\n"
			  "gives it back) and pinned (live blocks keep its pages). Then what is not in\n"
			  "it: untouched (of blocks), swapped, tables (page tables), hugetlb,\n"
			  "descriptors (memory files and deleted files of tmpfs, as far as not mapped),\n"
			  "sockets (buffers of TCP, UDP and Unix sockets, in the kernel; not known of a\n"
			  "process with a network namespace of its own), and of the control group\n"
			  " group-files (page cache), group-shared (tmpfs, shared\n"
			  "memory), group-kernel.\n"
			  "\n"
			  "The heaps are walked, in a short stop or a snapshot, as for `malloc`. Heaps\n"
			  "that cannot be walked are one part. Parts of 0 bytes have no line. The last\n"
			  "line is the verdict of `memory`. Of a recording there are the parts alone,\n"
			  "those that were taken last before its cursor or MOMENT.\n"
			  "\n"
			  "Errors: {MDBG STATE} without a process, {MDBG GONE}, {MDBG PERM},\n"
			  "{MDBG UNSUPPORTED} for a core file.\n",
	.need		= call_need_figures,
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
};
