/* SPDX-License-Identifier: GPL-3.0-or-later */
/* memory, memory maps, mdbg::memory, mdbg::memory_maps: the process' memory, and what grows. */

#include "answer/answer.h"
#include "base/cleanup.h"
#include "cmd/moments.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/dict.h"
#include "report/memory_text.h"
#include "session/replay/session_replay.h"
#include "session/replay/session_replay_figures.h"

/* All four commands take -v, which has smaps read of a process of any size. */
static struct err *look(const struct call *call, unsigned flags, struct memory_use *ret)
{
	if (call->argc > 1 || (call->argc && strcmp(call->argv[0], "-v")))
		return call_bad_word(call->argv[call->argc - 1]);
	return session_memory_use(call->session, flags | (call->argc ? SESSION_MEMORY_ALL : 0), ret);
}

/* The look before is *last_ret, or NULL: it is there until session_memory_keep replaces it. */
static struct err *judge(const struct call *call, struct memory_use *use,
			 const struct memory_look **last_ret, struct memory_verdict *verdict)
{
	struct err *err = look(call, SESSION_MEMORY_JUDGE, use);

	if (err)
		return err;
	*last_ret = session_memory_last(call->session);
	session_memory_verdict(call->session, *last_ret, &use->look, verdict);
	return NULL;
}

static void print_taken(struct call *call)
{
	char time[32];

	number_text_time(time, sizeof(time), session_replay_figures_taken(call->session));
	out_f(call->out, "This was taken at %s\n", time);
}

static struct err *run(struct call *call)
{
	CLEANUP(memory_use_free) struct memory_use use = MEMORY_USE_INIT;
	CLEANUP(moments_leave) struct moments_visit visit;
	const struct memory_look *last;
	struct memory_verdict verdict;
	struct err *err = moments_visit(call, &visit);

	if (!err)
		err = judge(call, &use, &last, &verdict);
	if (err)
		return err;
	err = memory_text_print(&use, last, call->out);
	session_memory_keep(call->session, &use.look);
	if (err)
		return err;
	out_text(call->out, "\n");
	if (use.quick)
		out_text(call->out, MEMORY_QUICK_TEXT);
	memory_text_print_verdict(&verdict, call->out);
	if (session_replay_is(call->session))
		print_taken(call);
	return NULL;
}

static struct err *run_maps(struct call *call)
{
	CLEANUP(memory_use_free) struct memory_use use = MEMORY_USE_INIT;
	struct memory_changes changes;
	struct err *err = look(call, 0, &use);

	if (!err)
		err = session_memory_changes(call->session, &use, &changes);
	if (err)
		return err;
	err = memory_text_print_maps(&use, &changes, call->out);
	vec_free(&changes.vec);
	return err;
}

static const struct {
	const char *key;
	enum memory_figure figure;
} figure_keys[] = {
	{ "vsize", MEMORY_VSIZE }, { "rsize", MEMORY_RSIZE }, { "pss", MEMORY_PSS },
	{ "swap", MEMORY_SWAP }, { "locked", MEMORY_LOCKED }, { "dirty", MEMORY_DIRTY },
	{ "huge", MEMORY_HUGE },
};

/* "-" for what is not known. */
static void dict_figure(Tcl_Obj *dict, const char *key, uint64_t value)
{
	if (value == MEMORY_UNKNOWN)
		dict_text(dict, key, "-");
	else
		dict_number(dict, key, value);
}

static void dict_change(Tcl_Obj *dict, const char *key, uint64_t was, uint64_t is)
{
	if (was == MEMORY_UNKNOWN || is == MEMORY_UNKNOWN)
		dict_text(dict, key, "-");
	else
		dict_value(dict, key, Tcl_NewWideIntObj((Tcl_WideInt)(is - was)));
}

static void add_sum(Tcl_Obj *dict, const struct memory_sum *sum, const struct memory_sum *last)
{
	if (!last)
		last = &memory_sum_unknown;
	for (size_t i = 0; i < ARRAY_SIZE(figure_keys); i++)
		dict_figure(dict, figure_keys[i].key, sum->at[figure_keys[i].figure]);
	dict_change(dict, "vgrow", last->at[MEMORY_VSIZE], sum->at[MEMORY_VSIZE]);
	dict_change(dict, "rgrow", last->at[MEMORY_RSIZE], sum->at[MEMORY_RSIZE]);
}

static Tcl_Obj *kinds_dict(const struct memory_look *look, const struct memory_look *last)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	for (unsigned i = 0; i < MEMORY_KINDS; i++) {
		Tcl_Obj *kind = Tcl_NewDictObj();

		add_sum(kind, &look->kind[i], last ? &last->kind[i] : NULL);
		dict_value(dict, memory_kind_names[i], kind);
	}
	return dict;
}

static const char *const verdict_names[] = {
	[MEMORY_SECOND_LOOK] = "unknown",
	[MEMORY_NOTHING_GROWS] = "nothing",
	[MEMORY_HEAP_GROWS] = "heap",
	[MEMORY_HEAP_FREE] = "free",
	[MEMORY_HEAP_TOUCHED] = "touched",
	[MEMORY_HEAP_UNCLEAR] = "unclear",
	[MEMORY_KIND_GROWS] = NULL,
	[MEMORY_COPIED] = "copied",
	[MEMORY_SHARED_TOUCHED] = "shared-touched",
	[MEMORY_GIVEN_BACK] = "lazyfree",
	[MEMORY_DESCRIPTORS] = "descriptors",
};

static Tcl_Obj *verdict_dict(const struct memory_verdict *verdict)
{
	const char *name = verdict_names[verdict->kind];
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_text(dict, "kind", name ? name : memory_kind_names[verdict->which]);
	dict_number(dict, "bytes", verdict->bytes);
	dict_figure(dict, "gives", verdict->gives);
	dict_double(dict, "seconds", (double)verdict->ns / 1e9);
	dict_text(dict, "text", verdict->text);
	dict_text(dict, "ask", verdict->ask);
	return dict;
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(memory_use_free) struct memory_use use = MEMORY_USE_INIT;
	CLEANUP(moments_leave) struct moments_visit visit;
	const struct memory_look *last;
	struct memory_verdict verdict;
	struct err *err = moments_visit(call, &visit);

	if (!err)
		err = judge(call, &use, &last, &verdict);
	if (err)
		return err;
	*ret = Tcl_NewDictObj();
	add_sum(*ret, &use.look.all, last ? &last->all : NULL);
	dict_figure(*ret, "minflt", use.min_faults);
	dict_figure(*ret, "majflt", use.maj_faults);
	dict_value(*ret, "kinds", kinds_dict(&use.look, last));
	dict_value(*ret, "verdict", verdict_dict(&verdict));
	session_memory_keep(call->session, &use.look);
	return NULL;
}

static const struct twin twin = {
	.name		= "mdbg::memory",
	.brief		= "dict: the figures of `memory`, and the verdict",
	.help		= "    vsize rsize pss swap locked dirty huge    bytes\n"
			  "    vgrow rgrow       the change since `memory` was last asked\n"
			  "    minflt majflt     page faults since the process began\n"
			  "    kinds             a dict by kind (help memory), each with the keys\n"
			  "                      of the first two lines\n"
			  "    verdict           a dict: kind (what grows: one of the kinds, or\n"
			  "                      nothing, unknown from the first look; of the\n"
			  "                      heap: heap in use, free but kept, touched for\n"
			  "                      the first time, unclear without a log; copied,\n"
			  "                      shared-touched, lazyfree, descriptors) bytes\n"
			  "                      gives (back, by ask) seconds text ask (a command)\n"
			  "- is what the kernel does not tell, and pss and dirty above 2 GB in\n"
			  "memory without -v.\n",
	.value		= value,
};

const struct cmd cmd_memory = {
	.name		= "memory",
	.usage		= "?-v? ?at MOMENT?",
	.brief		= "the process' memory by kind, and which of it grows",
	.help		= "The process is not stopped. The figures are those of /proc/PID/smaps, status\n"
			  "and stat, in bytes; MINFLT and MAJFLT count page faults since the process\n"
			  "began.\n"
			  "\n"
			  "VGROW and RGROW are the change since `memory` was last asked of this process.\n"
			  "- is what the kernel does not tell, and what there is no earlier answer to\n"
			  "compare with.\n"
			  "    heap        [heap], and what malloc has for other heaps (glibc)\n"
			  "    mapped      blocks that malloc has mapped on their own (glibc)\n"
			  "    anonymous   other private memory: of runtimes, of other allocators\n"
			  "    stacks      of threads, also of those ended and not joined\n"
			  "    main-stack  of the first thread\n"
			  "    files       mapped files, with copies of pages that were written\n"
			  "    shared      System V, POSIX, memfd and shared anonymous memory\n"
			  "    device      memory of devices, [vdso]\n"
			  "    mdbg        the log and the code that mdbg has in the process, which are\n"
			  "                not part of `all`\n"
			  "    kernel      page tables (VmPTE) but for those of mdbg's memory; they are\n"
			  "                not part of `all`\n"
			  "\n"
			  "The kernel makes one mapping of neighbours. Its size is divided among the\n"
			  "kinds in it, and all else by the pages that each has touched.\n"
			  "\n"
			  "PSS divides each page by the processes that share it, and is rounded down to\n"
			  "1024 bytes for each mapping of a kind; LOCKED is the locked part of PSS.\n"
			  "\n"
			  "The verdict compares with the last answer, or with the history of the log\n"
			  "where there is none yet: the largest change decides, also of pages that were\n"
			  "copied since a fork, and of memory files behind descriptors. Growth below\n"
			  "64 KB and below 1/4096 of the resident memory is `nothing`, that of mapped\n"
			  "files below 1 MB.\n"
			  "\n"
			  "If nothing grows it names what could go, if that is a quarter of what is\n"
			  "resident: free memory of the heap (read in its lists while the process runs),\n"
			  "and what gives it back; memory that was given back by MADV_FREE; files of\n"
			  "descriptors. Of allocators that mdbg cannot walk, all private memory\n"
			  "without a name or another owner is heap; in a program with a language's\n"
			  "runtime, it is where the log has blocks. heap, mapped and anonymous memory\n"
			  "count as one there.\n"
			  "\n"
			  "smaps takes long in a process with more than 2 GB in memory. Then page tables\n"
			  "are read only (Linux 6.7), and PSS is -; -v reads smaps all the same. A core\n"
			  "file has VSIZE only.\n"
			  "\n"
			  "Of a recording it is what was recorded at its cursor, or at MOMENT.\n"
			  "\n"
			  "Errors: {MDBG STATE} without a process, {MDBG GONE}, {MDBG PERM}.\n",
	.need		= call_need_figures,
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
};

/* A figure is UINT64_MAX if it is not known. */
struct map_row {
	uint64_t start, end;
	struct memory_sum sum;
	int64_t change;
	const char *kind, *thread, *path;
	bool has_change;
};

#define MAP(kind, member)	COLUMN(kind, struct map_row, member)
#define FIGURE(which)		MAP(BYTES, sum.at[which]), .flags = COLUMN_MAX_UNKNOWN

static const struct column map_columns[] = {
	{ "start", "START", NULL, MAP(ADDRESS, start) },
	{ "end", "END", NULL, MAP(ADDRESS, end) },
	{ "size", ">SIZE", NULL, FIGURE(MEMORY_VSIZE) },
	{ "resident", ">RESIDENT", NULL, FIGURE(MEMORY_RSIZE) },
	{ "dirty", ">DIRTY", NULL, FIGURE(MEMORY_DIRTY) },
	{ "swapped", ">SWAPPED", NULL, FIGURE(MEMORY_SWAP) },
	{ "locked", ">LOCKED", NULL, FIGURE(MEMORY_LOCKED) },
	{ "huge", ">HUGE", NULL, FIGURE(MEMORY_HUGE) },
	{ "change", ">CHANGE", "of resident since last asked", MAP(CHANGE, change),
	  COLUMN_WITH(struct map_row, has_change) },
	{ "kind", "KIND", NULL, MAP(TEXT, kind) },
	{ "thread", "THREAD", "of a stack: LWP id, or ended", MAP(TEXT, thread),
	  .flags = COLUMN_0_UNKNOWN },
	{ "path", "PATH", NULL, MAP(TEXT, path) },
};

static const struct relation map_relation = RELATION("memory_maps", map_columns, struct map_row);

_Static_assert(MEMORY_UNKNOWN == UINT64_MAX, "COLUMN_MAX_UNKNOWN");

static struct err *map_rows(struct call *call, struct answer *ret)
{
	CLEANUP(memory_use_free) struct memory_use use = MEMORY_USE_INIT;
	struct memory_changes changes = { .vec = VEC_INIT };
	struct err *err = look(call, 0, &use);

	if (!err)
		err = session_memory_changes(call->session, &use, &changes);
	*ret = (struct answer)ANSWER_KEPT(&map_relation);
	for (size_t i = 0; !err && i < use.vec.nr; i++) {
		const struct memory_map *map = &use.vec.at[i];
		const struct memory_thread_text thread = memory_text_thread(map);

		err = answer_add(ret, &(struct map_row){
			map->map->start, map->map->end, map->sum, changes.vec.at[i],
			memory_kind_names[map->kind], map->thread ? thread.at : NULL,
			map->map->path,
			changes.known && map->sum.at[MEMORY_RSIZE] != MEMORY_UNKNOWN });
	}
	vec_free(&changes.vec);
	return err;
}

static const struct twin maps_twin = {
	.name		= "mdbg::memory_maps",
	.brief		= "list of dicts: the mappings with their figures",
	.help		= "- is what the kernel does not tell. They are in order of address.\n",
	.of		= &map_relation,
	.rows		= map_rows,
};

const struct cmd cmd_memory_maps = {
	.name		= "memory maps",
	.usage		= "?-v?",
	.brief		= "each mapping: resident, dirty, swapped, locked, change",
	.help		= "The mappings are in order of address, with the figures of /proc/PID/smaps in\n"
			  "bytes; nothing is stopped.\n"
			  "\n"
			  "DIRTY is what was written to since it was read or made, LOCKED what mlock has\n"
			  "locked, HUGE what is in huge pages. CHANGE is that of RESIDENT since\n"
			  "`memory maps` was last asked of this process; a new mapping has changed by all\n"
			  "of it. KIND is that of the largest part (`help memory`).\n"
			  "\n"
			  "THREAD is the LWP id of the thread whose stack it is, or `ended` if that\n"
			  "thread has ended and its stack is still there. PATH is [anon:NAME] where the\n"
			  "program has named its memory.\n"
			  "\n"
			  "- is what the kernel does not tell, and what takes long to know above 2 GB\n"
			  "(`help memory`); -v reads that.\n"
			  "\n"
			  "Errors: {MDBG STATE} without a process, {MDBG GONE}, {MDBG PERM}.\n",
	.need		= call_need_view,
	.run		= run_maps,
	.twin		= &maps_twin,
	.max_args	= 1,
};
