/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * growth, growth start, growth log, growth stop, mdbg::growth: memory that malloc does not show.
 * Where each kind comes from is in growth.h.
 */

#include "cmd/growth.h"
#include "cmd/growth_source.h"
#include "cmd/probe_pool.h"

#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "report/out.h"
#include "session/replay/session_replay.h"
#include "session/session.h"

const char *const growth_words[] = {
	[GROWTH_BRK] = "brk",	  [GROWTH_MMAP] = "mmap",     [GROWTH_SHM] = "shm",
	[GROWTH_FAULT] = "fault", [GROWTH_KERNEL] = "kernel", [GROWTH_KINDS] = NULL,
};

static const struct growth_source *const sources[] = { &growth_calls, &growth_faults,
						       &growth_kernel, &growth_recorded };

/* The bits of one member (kinds, unasked, logged) of all sources. */
#define ALL_OF(member)							\
	({ unsigned all_bits = 0;					\
	   for (size_t all_i = 0; all_i < ARRAY_SIZE(sources); all_i++)	\
		   all_bits |= sources[all_i]->member;			\
	   all_bits; })

static unsigned running(const struct session *session)
{
	unsigned kinds = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		kinds |= sources[i]->running(session);
	return kinds;
}

static const struct growth_source *source_of(const struct session *session, enum growth_kind kind)
{
	if (session_replay_is(session) && kind != GROWTH_KERNEL)
		return &growth_recorded;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (sources[i]->kinds & 1u << kind)
			return sources[i];
	return NULL;
}

/* "brk, mmap, shm" */
static struct err *kinds_text(unsigned kinds, struct str *ret)
{
	struct err *err = NULL;

	for (unsigned i = 0; !err && i < GROWTH_KINDS; i++)
		if (kinds & 1u << i)
			err = str_addf(ret, "%s%s", ret->len ? ", " : "", growth_words[i]);
	return err;
}

/* Add the kinds that are allowed to an error. */
static struct err *hint_kinds(struct err *err, unsigned allowed)
{
	AUTO_STR struct str list = STR_INIT;
	struct err *failed = kinds_text(allowed, &list);

	return failed ? failed : err_hint(err, "there are %s", str_text(&list));
}

static struct err *bad_kind(const char *word, unsigned allowed)
{
	return hint_kinds(err_create(ERR_USAGE, "unknown kind '%s'", word), allowed);
}

/* KIND must be the first word, and is not. */
static struct err *need_kind(const struct call *call, unsigned allowed)
{
	return call->argc ? bad_kind(call->argv[0], allowed) :
			    hint_kinds(err_create(ERR_USAGE, "which KIND?"), allowed);
}

/* The kernel's memory needs no process: neither to begin, nor while it is recorded. */
static bool is_machine(const struct call *call)
{
	return call->argc == 1 && call_word_index(call->argv[0], growth_words) == GROWTH_KERNEL;
}

static struct err *need_target(const struct call *call)
{
	return is_machine(call) ? NULL : call_need_target(call);
}

/* Page faults are answered from what was recorded, also when the process has ended. */
static struct err *need_answer(const struct call *call)
{
	bool kernel = call->argc && call_word_index(call->argv[0], growth_words) == GROWTH_KERNEL;

	return kernel || growth_kernel.running(call->session) ||
	       growth_faults.running(call->session) ||
	       growth_recorded.running(call->session) ? NULL : call_need_target(call);
}

/* The kinds that the words name, each once; `unasked` if there are no words. */
static struct err *parse_kinds(const struct call *call, unsigned allowed, unsigned unasked,
			       unsigned *ret)
{
	unsigned kinds = 0;

	for (int i = 0; i < call->argc; i++) {
		int kind = call_word_index(call->argv[i], growth_words);

		if (kind < 0 || !(allowed & 1u << kind))
			return bad_kind(call->argv[i], allowed);
		if (kinds & 1u << kind)
			return err_create(ERR_USAGE, "%s is there twice", call->argv[i]);
		kinds |= 1u << kind;
	}
	*ret = kinds ? kinds : unasked;
	return NULL;
}

static struct err *nothing_recorded(void)
{
	return err_hint(err_create(ERR_STATE, "growth is not recorded"), "`growth start` begins");
}

/* Not all kinds begin with a bare `growth start`, nor does that go without a process. */
static struct err *not_recorded(enum growth_kind kind)
{
	return err_hint(err_create(ERR_STATE, "%s is not recorded", growth_words[kind]),
			"`growth start %s` begins", growth_words[kind]);
}

static struct err *check_start(const struct session *session, unsigned kinds)
{
	AUTO_STR struct str list = STR_INIT;
	struct err *err = kinds_text(running(session) & kinds, &list);

	if (err || !list.len)
		return err;
	return err_hint(err_create(ERR_STATE, "%s is recorded already", str_text(&list)),
			"`growth` shows it, `growth stop` ends it");
}

/* A source that was not asked for by name says why it cannot, and the others go on. */
static void print_refusal(struct out *out, const struct err *err)
{
	out_f(out, "%s\n", err->msg);
	if (err->hint[0])
		out_f(out, "    (%s)\n", err->hint);
}

/* It is an error if a kind that was named cannot be recorded, or if none can. */
static struct err *start(struct call *call)
{
	unsigned kinds, begun = 0;
	struct err *err = parse_kinds(call, ALL_OF(kinds), ALL_OF(unasked), &kinds);

	if (!err)
		err = check_start(call->session, kinds);
	for (size_t i = 0; !err && i < ARRAY_SIZE(sources); i++) {
		const struct growth_source *source = sources[i];

		if (!(kinds & source->kinds))
			continue;
		err = source->start(call->session, kinds & source->kinds, call->out);
		begun += !err;
		if (!err || call->argc || (!begun && i + 1 == ARRAY_SIZE(sources)))
			continue;
		print_refusal(call->out, err);
		err = NULL;
	}
	/* (More kinds are for what stays recorded, which functions of the user's do not.) */
	return err || kinds != 1u << GROWTH_MMAP ? err : probe_pool_mapped(call);
}

const struct cmd cmd_growth_start = {
	.name		= "growth start",
	.usage		= "?brk? ?mmap? ?shm? ?fault? ?kernel?",
	.brief		= "record memory that malloc does not show, from now on",
	.help		= "    brk     brk and sbrk\n"
			  "    mmap    mmap, munmap, mremap\n"
			  "    shm     shmat, shmdt; shmget and shmctl in the log\n"
			  "    fault   page faults, from perf_event_open\n"
			  "    kernel  what the kernel allocates, on the whole machine (no process needed)\n"
			  "If no kind is named, all but kernel are recorded. The functions of the C\n"
			  "library, and those of the loader that can be found, get jumps as malloc has\n"
			  "them. What malloc, pthread_create or dlopen call is seen, too. Functions that\n"
			  "cannot be watched are listed, with the reason.\n"
			  "\n"
			  "With mmap alone, a Python's objects are recorded, too, as by `probe pool\n"
			  "pymalloc`: its arenas are mapped by whoever needs the next one, who may hold\n"
			  "nothing of it. Each object that is made or freed takes 60 ns more then, and\n"
			  "`detach -keep` is refused; `probe delete` ends that.\n"
			  "\n"
			  "malloc's figures stay as they are. Recording must be on (`malloc on`).\n"
			  "`malloc off` ends growth, too, and `detach -keep` leaves it on; fault and\n"
			  "kernel end with mdbg. `help growth` says what these two need, and the error\n"
			  "names the setting that forbids one.\n"
			  "\n"
			  "A program without a C library (Go without C) is attached to with --no-arm.\n"
			  "Nothing of it is watched then, and all that it maps is `not seen`.\n"
			  "\n"
			  "Errors: a kind is recorded already; --engine breakpoint.\n",
	.example	= "growth start mmap fault\n",
	.need		= need_target,
	.run		= start,
	.max_args	= CMD_ANY,
	.complete	= COMPLETE_GROWTH,
};

static struct err *stop(struct call *call)
{
	struct err *err = NULL;

	if (!running(call->session))
		return nothing_recorded();
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		struct err *one = sources[i]->running(call->session) ?
				  sources[i]->stop(call->session) : NULL;

		err = err ? err : one;
	}
	return err;
}

const struct cmd cmd_growth_stop = {
	.name		= "growth stop",
	.brief		= "take the probes of `growth start` out",
	.help		= "What was recorded is forgotten, except for the log, which stays until the\n"
			  "next `growth start`. Error: nothing is recorded.\n",
	.run		= stop,
};

static struct err *print_log(struct call *call)
{
	bool stacks = call->argc && !strcmp(call->argv[0], "-v");
	struct call rest = *call;
	unsigned kinds;
	struct err *err;

	rest.argc -= stacks;
	rest.argv += stacks;
	err = parse_kinds(&rest, ALL_OF(logged), ALL_OF(logged), &kinds);
	for (size_t i = 0; !err && i < ARRAY_SIZE(sources); i++)
		if (kinds & sources[i]->logged)
			err = sources[i]->log(call, kinds & sources[i]->logged, stacks);
	return err;
}

const struct cmd cmd_growth_log = {
	.name		= "growth log",
	.usage		= "?-v? ?brk? ?mmap? ?shm?",
	.brief		= "the recorded calls, one a line, oldest first",
	.help		= "Each line has the time at which the call returned, the thread, the call, the\n"
			  "address, the size in bytes (of brk the change of the heap), and what the call\n"
			  "returned. mmap has its protection and flags, and the descriptor,\n"
			  "offset and name of its file; shm has its id. A failed call has `failed` at its\n"
			  "end. -v prints the traceback of each call.\n"
			  "\n"
			  "The name is that of the mapping in /proc/PID/maps, where mdbg looks ten times\n"
			  "a second. `-` stands for a mapping that was gone before. The log keeps the\n"
			  "newest calls, as many as the region has room for (--log-limit). The first line\n"
			  "says how many older ones are gone.\n",
	.example	= "growth log -v mmap > calls.txt\n",
	.need		= call_need_log,
	.run		= print_log,
	.max_args	= CMD_ANY,
	.complete	= COMPLETE_GROWTH,
};

/* Has what the source records all that the filter asks for? */
static bool answers(const struct growth_source *source, const struct filter *filter)
{
	vec_each(cond, &filter->conds)
		if (!(source->attrs & 1u << cond->attr))
			return false;
	return true;
}

/* A name where a filter could begin, and it is that of no attribute. */
static bool is_unknown_name(const char *word)
{
	return word[strspn(word,
			   "abcdefghijklmnopqrstuvwxyz")] == '\0' && !filter_parse_is_attr(word) &&
	       call_word_index(word, query_site_words) < 0;
}

static void skip_words(struct call *call, int nr)
{
	call->argc -= nr;
	call->argv += nr;
	call->objv += nr;
}

/*
 * Take KIND from the first word, if it is one, and parse the rest. Without KIND, a filter may have
 * what any source has; the machine's kinds alone have no process.
 */
static struct err *parse_ask(struct call *call, struct growth_ask *ask, bool *has_kind)
{
	struct call rest = *call;
	int kind = call->argc ? call_word_index(call->argv[0], growth_words) : -1;
	const struct growth_source *source = kind < 0 ? NULL : source_of(call->session, (enum growth_kind)kind);
	struct err *err;

	*has_kind = source;
	if (!source) {
		err = query_growth(&rest, ALL_OF(attrs), growth_kernel.running(call->session),
				   &ask->query);
		return err && call->argc && is_unknown_name(call->argv[0]) ?
		       bad_kind(call->argv[0], ALL_OF(kinds)) : err;
	}
	ask->kind = (enum growth_kind)kind;
	skip_words(&rest, 1);
	ask->by_process = kind == GROWTH_KERNEL && rest.argc > 1 && !strcmp(rest.argv[0], "by") &&
			  !strcmp(rest.argv[1], "process");
	if (ask->by_process)
		skip_words(&rest, 2);
	err = query_growth(&rest, source->attrs, source->logless, &ask->query);
	if (!err && !answers(source, &ask->query.filter))
		err = err_create(ERR_USAGE, "%s", source->lacks);
	return err;
}

/* What is held since a moment is a part of all, and says so. */
static void print_since(const struct call *call, const struct query *query)
{
	const struct moment_name since = moments_chosen_name(&query->since, query->now_ns);

	if (!since.word)
		return;
	out_text(call->out, session_replay_is(call->session) ? "Growth is since " : "Made since ");
	moment_text_print_name(&since, call->out);
	out_text(call->out, session_replay_is(call->session) ? ":\n\n" : ", and still held:\n\n");
}

static struct err *show_one(struct call *call, struct growth_ask *ask)
{
	const struct growth_source *source = source_of(call->session, ask->kind);

	if (!(source->running(call->session) & 1u << ask->kind))
		return not_recorded(ask->kind);
	print_since(call, &ask->query);
	ask->alone = true;
	return source->show(call, ask);
}

/* The error of a filter that no kind of those that are recorded can answer. */
static struct err *check_any(const struct session *session, const struct filter *filter)
{
	const struct growth_source *refusing = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (!sources[i]->running(session))
			continue;
		if (answers(sources[i], filter))
			return NULL;
		refusing = sources[i];
	}
	return refusing ? err_create(ERR_USAGE, "%s", refusing->lacks) : NULL;
}

/* All kinds of a source that are recorded. */
static struct err *show_source(struct call *call, struct growth_ask *ask,
			       const struct growth_source *source)
{
	unsigned kinds = source->running(call->session);
	struct err *err = NULL;

	for (unsigned kind = 0; !err && kind < GROWTH_KINDS; kind++) {
		if (!(kinds & 1u << kind))
			continue;
		ask->kind = (enum growth_kind)kind;
		err = source->show(call, ask);
	}
	return !err && kinds && source->show_end ? source->show_end(call) : err;
}

/* A kind that cannot answer this filter is left out, and a line says so: nobody has named it. */
static struct err *show_all(struct call *call, struct growth_ask *ask)
{
	const struct filter *filter = &ask->query.filter;
	struct err *err = check_any(call->session, filter);

	if (err)
		return err;
	print_since(call, &ask->query);
	for (size_t i = 0; !err && i < ARRAY_SIZE(sources); i++)
		if (answers(sources[i], filter))
			err = show_source(call, ask, sources[i]);
	for (size_t i = 0; !err && i < ARRAY_SIZE(sources); i++)
		if (sources[i]->running(call->session) && !answers(sources[i], filter))
			out_f(call->out, "%s is left out: %s\n",
			      growth_words[__builtin_ctz(sources[i]->running(call->session))], sources[i]->lacks);
	return err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	struct growth_ask ask = { .kind = GROWTH_BRK };
	bool has_kind;
	struct err *err = parse_ask(call, &ask, &has_kind);

	if (!has_kind)
		err = need_kind(call, ALL_OF(kinds));
	if (!err && !(running(call->session) & 1u << ask.kind))
		err = not_recorded(ask.kind);
	if (!err)
		err = source_of(call->session, ask.kind)->rows(call, &ask, ret);
	query_free(&ask.query);
	return err;
}

struct err *growth_sites(struct call *call, struct query *query, const char **unit_ret)
{
	struct growth_ask ask = { .kind = GROWTH_BRK };
	const struct growth_source *source;
	bool has_kind;
	struct err *err = parse_ask(call, &ask, &has_kind);

	source = source_of(call->session, ask.kind);
	if (!has_kind)
		err = need_kind(call, ALL_OF(unasked));
	if (!err && !source->sites)
		err = err_create(ERR_UNSUPPORTED, "there is no export of the kernel's stacks");
	if (!err && !(running(call->session) & 1u << ask.kind))
		err = not_recorded(ask.kind);
	if (!err)
		err = source->sites(call, &ask, &ask.query.sites);
	ask.query.limit = ask.query.order.limit;
	ask.query.sites.all_time = false;
	*unit_ret = source->unit;
	*query = ask.query;
	return err;
}

static const struct twin twin = {
	.name		= "mdbg::growth",
	.usage		= "KIND ?by process? ?FILTER? ?sort bytes|count? ?limit N? "
			  "?since MOMENT?",
	.brief		= "list of dicts: what the stacks of `growth KIND` hold",
	.help		= "    bytes count    held, and in how many mappings\n"
			  "    stack\n"
			  "fault also has pages, minor, major, file, huge (faults of huge pages, which\n"
			  "count as all their pages), and as bytes 4096 for each page;\n"
			  "kernel has kind, seen, and as stack a list of dicts with pc, function,\n"
			  "offset and module. `kernel by process` also has pid (`-`: not known), process\n"
			  "(its name), and as caller a list of dicts with pc, function, file and offset\n"
			  "(bytes in the file).\n",
	.rows		= rows,
};

static struct err *show(struct call *call)
{
	struct growth_ask ask = { .kind = GROWTH_BRK };
	bool has_kind;
	struct err *err;

	if (call->brief)
		return query_print_brief(call, rows);
	err = parse_ask(call, &ask, &has_kind);
	if (!err && !has_kind && !running(call->session))
		err = nothing_recorded();
	if (!err)
		err = has_kind ? show_one(call, &ask) : show_all(call, &ask);
	query_free(&ask.query);
	return err;
}

const struct cmd cmd_growth = {
	.name		= "growth",
	.usage		= "?brk|mmap|shm|fault|kernel ?by process?? ?FILTER? "
			  "?sort bytes|count? ?limit N? ?since MOMENT?",
	.brief		= "memory that malloc does not show: stacks that hold mappings",
	.help		= "Lists the stacks whose calls since `growth start` made what is still mapped:\n"
			  "bytes, how many mappings, and the traceback. Without a kind all that are\n"
			  "recorded are shown. -brief prints a line for each stack.\n"
			  "\n"
			  "brk, mmap and shm are memory of the process. What was unmapped in part, moved\n"
			  "by mremap, or covered by a later mmap is followed: the part that is left\n"
			  "counts for the stack that made it. `not seen` is what is mapped and was not\n"
			  "seen being made. It is older, or it came by a bare system call (as Go's), or\n"
			  "the kernel let the main stack grow. Held and not seen together are all of\n"
			  "/proc/PID/maps but [vsyscall]. The process stands still for a moment to read\n"
			  "it.\n"
			  "\n"
			  "fault has pages and faults by stack and by file. A page counts for the stack\n"
			  "that has faulted it in last. A fault counts as one page, also where the kernel\n"
			  "maps more for it (a huge page, or pages of a file around it). The source is\n"
			  "perf_event_open, with a copy of the stack (`set fault-stack`). It takes root or\n"
			  "CAP_PERFMON; where kernel.perf_event_paranoid is at most 2, the user of the\n"
			  "process sees the faults outside of system calls.\n"
			  "\n"
			  "kernel has what the kernel of this machine has allocated and not freed, by its\n"
			  "own stack. Objects lie in pages, so the two are never added. The source is BPF\n"
			  "programs at the kernel's tracepoints (root, or CAP_BPF and CAP_PERFMON; Linux\n"
			  "6.1) and /proc/kallsyms. Where allocations come too fast the figures are\n"
			  "estimates, and the answer says so; `set kernel-sampling off` records all.\n"
			  "\n"
			  "`kernel by process` says which process it was, and where in its code: files\n"
			  "and offsets, by frame pointers. Without these a stack ends early. What an\n"
			  "interrupt allocates is under the process that it has interrupted.\n"
			  "Where the kernel has /proc/allocinfo, its largest lines follow, unless there\n"
			  "is a FILTER or `since`.\n"
			  "\n"
			  "Of a recording there is what each stack held by brk, mmap and shm at its\n"
			  "cursor; `since` gives the change since then.\n"
			  "\n"
			  "FILTER is as in `help malloc allocations`, with these attributes:\n"
			  "    brk, mmap, shm   address size thread time age function module\n"
			  "    fault            function module\n"
			  "    kernel           address size time age function module\n"
			  "\n"
			  "`since MOMENT` (a mark of `malloc mark`, -10m ...) keeps what was made since\n"
			  "then and is still held. fault does not have it. kernel has it if there is a\n"
			  "process, whose marks are the moments. A kind that lacks what is asked for is\n"
			  "an error where it is named. Otherwise it is left out, and a line says so.\n",
	.example	= "growth mmap limit 5\n"
			  "growth function == load* since -10m\n",
	.need		= need_answer,
	.run		= show,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_WORDS | CMD_BRIEF,
	.complete	= COMPLETE_GROWTH,
};
