/* SPDX-License-Identifier: GPL-3.0-or-later */
/* growth kernel (growth.h). */

#include <string.h>
#include <time.h>

#include "answer/answer.h"
#include "answer/process_code.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/growth_source.h"
#include "os/procfs.h"
#include "report/kernel.h"
#include "session/growth/session_kernel.h"
#include "session/session.h"

#define KIND	(1u << GROWTH_KERNEL)
#define LINES	20u	/* of /proc/allocinfo */

static struct err *start(struct session *session, unsigned kinds UNUSED, struct out *out UNUSED)
{
	return session_kernel_start(session);
}

static struct err *stop(struct session *session)
{
	session_kernel_stop(session);
	return NULL;
}

static unsigned running(const struct session *session)
{
	return session_kernel(session) ? KIND : 0;
}

static void sums_free(struct kernel_sums *sums)
{
	vec_free(&sums->vec);
}

static struct err *ask(struct call *call, const struct growth_ask *asked,
		       struct kernel_names *names, struct kernel_sums *sums)
{
	static const struct column count = { "count", NULL, NULL,
					     COLUMN(NUMBER, struct kernel_sum, count) };
	struct err *err;
	size_t left;

	kernel_names_read(names);
	err = kernel_add_up(session_kernel(call->session), names, &asked->query.filter,
			    asked->by_process, procfs_clock(CLOCK_REALTIME), sums);
	/* They are in order of bytes. */
	if (err)
		return err;
	return query_growth_sort(&asked->query,
				 asked->query.sort == SITE_SORT_COUNT ? &count : NULL,
				 sums->vec.at, sums->vec.nr, sizeof(*sums->vec.at), &left);
}

/* Most kernels do not count by line, and then nothing is said of it. */
static void show_lines(uint64_t limit, struct out *out)
{
	struct allocinfo info;
	struct err *err = allocinfo_read(&info);

	if (!err)
		kernel_print_allocinfo(&info, MIN(limit, LINES), out);
	else if (err->code != ERR_NOTFOUND)
		out_f(out, "%s\n\n", err->msg);
	vec_free(&info.vec);
}

static struct err *show(struct call *call, struct growth_ask *asked)
{
	CLEANUP(kernel_names_free) struct kernel_names names = { .known = false };
	CLEANUP(sums_free) struct kernel_sums sums = { .estimated = 0 };
	CLEANUP(process_codes_free) struct process_codes codes;
	struct err *err = ask(call, asked, &names, &sums);

	process_codes_init(&codes, call->session);
	if (!err)
		err = kernel_print(session_kernel(call->session), &names, &sums,
				   asked->by_process ? &codes : NULL,
				   asked->query.order.limit, call->out);
	if (!err && !asked->query.filter.conds.nr)
		show_lines(asked->query.order.limit, call->out);
	return err;
}

/* A stack is a list of its frames, as mdbg::frames gives it: the kernel's stacks are in no log. */
struct frame_row {
	uint64_t pc, offset;
	const char *function, *module;
};

static const struct column frame_columns[] = {
	{ "pc", "PC", NULL, COLUMN(ADDRESS, struct frame_row, pc) },
	{ "function", "FUNCTION", NULL, COLUMN(TEXT, struct frame_row, function) },
	{ "offset", ">OFFSET", NULL, COLUMN(NUMBER, struct frame_row, offset) },
	{ "module", "MODULE", NULL, COLUMN(TEXT, struct frame_row, module) },
};

static const struct relation frame_relation = RELATION("frames", frame_columns, struct frame_row);

struct sum_row {
	uint64_t bytes, count, seen;
	const char *kind, *function;	/* the innermost frame */
	struct answer stack;
	/* of `by process` */
	uint64_t pid;			/* UINT64_MAX: it is not known */
	const char *process;
	struct answer caller;
};

static const struct column sum_columns[] = {
	{ "bytes", ">BYTES", NULL, COLUMN(BYTES, struct sum_row, bytes),
	  .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", NULL, COLUMN(NUMBER, struct sum_row, count),
	  .flags = COLUMN_BRIEF },
	{ "seen", ">SEEN", NULL, COLUMN(NUMBER, struct sum_row, seen) },
	{ "kind", "KIND", NULL, COLUMN(TEXT, struct sum_row, kind),
	  .flags = COLUMN_BRIEF },
	{ "stack", NULL, NULL, COLUMN(ROWS, struct sum_row, stack), .rows = &frame_relation },
	{ "function", "FUNCTION", NULL, COLUMN(TEXT, struct sum_row, function),
	  .flags = COLUMN_BRIEF | COLUMN_NOT_IN_TCL },
};

static const struct relation sum_relation = RELATION("growth", sum_columns, struct sum_row);

/* A frame of the process's own code. */
struct caller_row {
	uint64_t pc, offset;
	const char *function, *file;
};

static const struct column caller_columns[] = {
	{ "pc", "PC", NULL, COLUMN(ADDRESS, struct caller_row, pc) },
	{ "function", "FUNCTION", NULL, COLUMN(TEXT, struct caller_row, function) },
	{ "file", "FILE", NULL, COLUMN(TEXT, struct caller_row, file) },
	{ "offset", ">OFFSET", NULL, COLUMN(NUMBER, struct caller_row, offset) },
};

static const struct relation caller_relation = RELATION("callers", caller_columns,
							struct caller_row);

static const struct column user_columns[] = {
	{ "bytes", ">BYTES", NULL, COLUMN(BYTES, struct sum_row, bytes),
	  .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", NULL, COLUMN(NUMBER, struct sum_row, count),
	  .flags = COLUMN_BRIEF },
	{ "seen", ">SEEN", NULL, COLUMN(NUMBER, struct sum_row, seen) },
	{ "kind", "KIND", NULL, COLUMN(TEXT, struct sum_row, kind),
	  .flags = COLUMN_BRIEF },
	{ "pid", ">PID", NULL, COLUMN(NUMBER, struct sum_row, pid),
	  .flags = COLUMN_BRIEF | COLUMN_MAX_UNKNOWN },
	{ "process", "PROCESS", NULL, COLUMN(TEXT, struct sum_row, process),
	  .flags = COLUMN_BRIEF },
	{ "stack", NULL, NULL, COLUMN(ROWS, struct sum_row, stack), .rows = &frame_relation },
	{ "caller", NULL, NULL, COLUMN(ROWS, struct sum_row, caller), .rows = &caller_relation },
	{ "function", "FUNCTION", NULL, COLUMN(TEXT, struct sum_row, function),
	  .flags = COLUMN_BRIEF | COLUMN_NOT_IN_TCL },
};

static const struct relation user_relation = RELATION("growth", user_columns, struct sum_row);

static struct err *add_frames(struct kernel_growth *growth, const struct kernel_names *names,
			      uint32_t stack, struct answer *ret)
{
	struct err *err = NULL;
	uint32_t nr;
	const uint64_t *pcs = kernel_stack(growth, names, stack, &nr);

	*ret = (struct answer)ANSWER_KEPT(&frame_relation);
	for (uint32_t i = 0; !err && i < nr; i++) {
		const struct kallsyms_name *sym = kallsyms_find(&names->syms, pcs[i] - 1);
		struct frame_row row = { .pc = pcs[i] };

		if (sym) {
			row.function = kallsyms_text(&names->syms, sym->name);
			row.offset = pcs[i] - sym->address;
			row.module = kallsyms_text(&names->syms, sym->module);
		}
		err = answer_add(ret, &row);
	}
	return err;
}

static struct err *add_callers(struct process_codes *codes, const struct kernel_caller *caller,
			       uint64_t time, struct answer *ret)
{
	enum symbol_names names = session_naming(codes->session)->names;
	const struct process_code *code = caller->nr ? kernel_code(codes, caller, time) : NULL;
	struct err *err = NULL;

	*ret = (struct answer)ANSWER_KEPT(&caller_relation);
	for (uint32_t i = 0; !err && i < caller->nr; i++) {
		struct process_code_place place = process_code_at(code, caller->pcs[i], !i);
		struct caller_row row = { .pc = caller->pcs[i], .file = place.file,
					  .offset = place.offset };

		if (place.nr)
			row.function = symbol_frame_name(&place.frames[place.nr - 1], names);
		err = answer_add(ret, &row);
	}
	return err;
}

/* comm holds the name as long as the row is not added. */
static struct err *add_user(struct kernel_growth *growth, const struct kernel_sum *sum,
			    struct process_codes *codes, struct sum_row *row,
			    char comm[sizeof(((struct kernel_caller *)0)->comm) + 1])
{
	struct kernel_caller caller = kernel_growth_caller(growth, sum->user);

	row->pid = caller.pid < 0 ? UINT64_MAX : (uint64_t)caller.pid;
	memcpy(comm, caller.comm, sizeof(caller.comm));
	row->process = comm;
	return add_callers(codes, &caller, sum->time, &row->caller);
}

static struct err *rows(struct call *call, struct growth_ask *asked, struct answer *ret)
{
	CLEANUP(kernel_names_free) struct kernel_names names = { .known = false };
	CLEANUP(sums_free) struct kernel_sums sums = { .estimated = 0 };
	CLEANUP(process_codes_free) struct process_codes codes;
	struct kernel_growth *growth = session_kernel(call->session);
	struct err *err = ask(call, asked, &names, &sums);

	process_codes_init(&codes, call->session);
	*ret = (struct answer)ANSWER_KEPT(asked->by_process ? &user_relation : &sum_relation);
	for (size_t i = 0; !err && i < MIN(sums.vec.nr, asked->query.order.limit); i++) {
		const struct kernel_sum *sum = &sums.vec.at[i];
		struct sum_row row = { .bytes = sum->bytes, .count = sum->count, .seen = sum->seen,
				       .kind = sum->pages ? "pages" : "objects" };
		char comm[sizeof(((struct kernel_caller *)0)->comm) + 1] = "";
		struct err *add_err;

		err = add_frames(growth, &names, sum->stack, &row.stack);
		if (!err && asked->by_process)
			err = add_user(growth, sum, &codes, &row, comm);
		if (row.stack.nr)
			row.function = ((const struct frame_row *)row.stack.at)->function;
		add_err = answer_add(ret, &row);
		err = err ? err : add_err;
		if (!err)
			err = cancel_check();
	}
	return err;
}

const struct growth_source growth_kernel = {
	.kinds		= KIND,
	.attrs		= 1u << FILTER_ADDRESS | 1u << FILTER_SIZE | 1u << FILTER_TIME |
			  1u << FILTER_AGE | 1u << FILTER_FUNCTION | 1u << FILTER_MODULE,
	.lacks		= "the kernel's allocations have no thread",
	.logless	= true,
	.start		= start,
	.stop		= stop,
	.running	= running,
	.show		= show,
	.rows		= rows,
};
