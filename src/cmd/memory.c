/* SPDX-License-Identifier: GPL-3.0-or-later */
/* memory, memory maps, mdbg::memory, mdbg::memory_maps: the process' memory, and what grows. */

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/values.h"
#include "report/memory_text.h"

/* All four commands take -v, which has smaps read of a process of any size. */
static struct err *look(const struct call *call, struct memory_use *ret)
{
	if (call->argc && strcmp(call->argv[0], "-v"))
		return call_bad_word(call->argv[0]);
	return session_memory_use(call->session, call->argc, ret);
}

/* The look before is *last_ret, or NULL: it is there until session_memory_keep replaces it. */
static struct err *judge(const struct call *call, struct memory_use *use,
			 const struct memory_look **last_ret, struct memory_verdict *verdict)
{
	struct err *err = look(call, use);

	if (err)
		return err;
	*last_ret = session_memory_last(call->session);
	session_memory_verdict(call->session, *last_ret, &use->look, verdict);
	return NULL;
}

static struct err *run(struct call *call)
{
	CLEANUP(memory_use_free) struct memory_use use = MEMORY_USE_INIT;
	const struct memory_look *last;
	struct memory_verdict verdict;
	struct err *err = judge(call, &use, &last, &verdict);

	if (err)
		return err;
	err = memory_print(&use, last, call->out);
	session_memory_keep(call->session, &use.look);
	if (err)
		return err;
	out_text(call->out, "\n");
	if (use.quick)
		out_text(call->out, MEMORY_QUICK_TEXT);
	memory_verdict_print(&verdict, call->out);
	return NULL;
}

const struct cmd cmd_memory = {
	.name		= "memory",
	.usage		= "?-v?",
	.brief		= "the process' memory by kind, and which of it grows",
	.help		= "The process is not stopped. The figures are those of /proc/PID/smaps,\n"
			  "status and stat, in bytes; MINFLT and MAJFLT count page faults since\n"
			  "the process began. VGROW and RGROW are the change since `memory` was\n"
			  "last asked of this process. - is what the kernel does not tell, and\n"
			  "what there is no earlier answer to compare with.\n"
			  "    heap        [heap], and what malloc has for other heaps (glibc)\n"
			  "    mapped      blocks that malloc has mapped on their own (glibc)\n"
			  "    anonymous   other private memory: of runtimes, of other allocators\n"
			  "    stacks      of threads, also of those ended and not joined\n"
			  "    main-stack  of the first thread\n"
			  "    files       mapped files, with copies of pages that were written\n"
			  "    shared      System V, POSIX, memfd and shared anonymous memory\n"
			  "    device      memory of devices, [vdso]\n"
			  "    mdbg        the log and the code that mdbg has in the process\n"
			  "    kernel      page tables (VmPTE), which are not part of `all`\n"
			  "The kernel makes one mapping of neighbours. Its size is divided among\n"
			  "the kinds in it, and all else by the pages that each has touched. PSS\n"
			  "divides each page by the processes that share it, and is rounded down\n"
			  "to 1024 bytes for each mapping of a kind; LOCKED is the locked part\n"
			  "of PSS.\n"
			  "The verdict compares with the last answer, or with the history of the\n"
			  "log where there is none yet, and names the command to ask next.\n"
			  "Growth below 64 KB and below 1/4096 of the resident memory is\n"
			  "`nothing`. Of other allocators than glibc's, heap is where the log\n"
			  "has blocks, and it counts as one with mapped and anonymous memory in\n"
			  "the verdict.\n"
			  "smaps takes long in a process with more than 2 GB in memory. Then\n"
			  "page tables are read only (Linux 6.7), and PSS is -; -v reads smaps\n"
			  "all the same. A core file has VSIZE only.\n"
			  "Errors: {MDBG STATE} without a process, {MDBG GONE}, {MDBG PERM}.\n",
	.need		= call_need_view,
	.run		= run,
	.max_args	= 1,
};

static struct err *run_maps(struct call *call)
{
	CLEANUP(memory_use_free) struct memory_use use = MEMORY_USE_INIT;
	struct memory_changes changes;
	struct err *err = look(call, &use);

	if (!err)
		err = session_memory_changes(call->session, &use, &changes);
	if (err)
		return err;
	err = memory_maps_print(&use, &changes, call->out);
	vec_free(&changes.vec);
	return err;
}

const struct cmd cmd_memory_maps = {
	.name		= "memory maps",
	.usage		= "?-v?",
	.brief		= "each mapping: resident, dirty, swapped, locked, change",
	.help		= "The mappings are in order of address, with the figures of\n"
			  "/proc/PID/smaps in bytes; nothing is stopped. DIRTY was written to\n"
			  "since it was read or made, LOCKED is locked by mlock, HUGE is in huge\n"
			  "pages. CHANGE is that of RESIDENT since `memory maps` was last asked\n"
			  "of this process; a new mapping has changed by all of it. KIND is that\n"
			  "of the largest part (`help memory`). THREAD is the LWP id of the\n"
			  "thread whose stack it is, or `ended` if that thread has ended and its\n"
			  "stack is still there. PATH is [anon:NAME] where the program has named\n"
			  "its memory. - is what the kernel does not tell, and what takes long\n"
			  "to know above 2 GB (`help memory`); -v reads that.\n"
			  "Errors: {MDBG STATE} without a process, {MDBG GONE}, {MDBG PERM}.\n",
	.need		= call_need_view,
	.run		= run_maps,
	.max_args	= 1,
};

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
};

static Tcl_Obj *verdict_dict(const struct memory_verdict *verdict)
{
	const char *name = verdict_names[verdict->kind];
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_text(dict, "kind", name ? name : memory_kind_names[verdict->which]);
	dict_number(dict, "bytes", verdict->bytes);
	dict_double(dict, "seconds", (double)verdict->ns / 1e9);
	dict_text(dict, "text", verdict->text);
	dict_text(dict, "ask", verdict->ask);
	return dict;
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(memory_use_free) struct memory_use use = MEMORY_USE_INIT;
	const struct memory_look *last;
	struct memory_verdict verdict;
	struct err *err = judge(call, &use, &last, &verdict);

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

const struct cmd cmd_api_memory = {
	.name		= "mdbg::memory",
	.usage		= "?-v?",
	.brief		= "dict: the figures of `memory`, and the verdict",
	.help		= "    vsize rsize pss swap locked dirty huge    bytes\n"
			  "    vgrow rgrow       the change since `memory` was last asked\n"
			  "    minflt majflt     page faults since the process began\n"
			  "    kinds             a dict by kind (help memory), each with the keys\n"
			  "                      of the first two lines\n"
			  "    verdict           a dict: kind (what grows: one of the kinds, or\n"
			  "                      nothing, unknown from the first look; of the\n"
			  "                      heap: heap in use, free but kept, touched for\n"
			  "                      the first time, unclear without a log) bytes\n"
			  "                      seconds text ask (a command)\n"
			  "- is what the kernel does not tell, and pss and dirty above 2 GB in\n"
			  "memory without -v.\n",
	.need		= call_need_view,
	.value		= value,
	.max_args	= 1,
};

static Tcl_Obj *map_dict(const struct memory_map *map, bool known, int64_t change)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_address(dict, "start", map->map->start);
	dict_address(dict, "end", map->map->end);
	dict_figure(dict, "size", map->sum.at[MEMORY_VSIZE]);
	dict_figure(dict, "resident", map->sum.at[MEMORY_RSIZE]);
	dict_figure(dict, "dirty", map->sum.at[MEMORY_DIRTY]);
	dict_figure(dict, "swapped", map->sum.at[MEMORY_SWAP]);
	dict_figure(dict, "locked", map->sum.at[MEMORY_LOCKED]);
	dict_figure(dict, "huge", map->sum.at[MEMORY_HUGE]);
	if (known && map->sum.at[MEMORY_RSIZE] != MEMORY_UNKNOWN)
		dict_value(dict, "change", Tcl_NewWideIntObj(change));
	else
		dict_text(dict, "change", "-");
	dict_text(dict, "kind", memory_kind_names[map->kind]);
	dict_text(dict, "thread", memory_thread_text(map).at);
	dict_text(dict, "path", map->map->path);
	return dict;
}

static struct err *value_maps(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(memory_use_free) struct memory_use use = MEMORY_USE_INIT;
	struct memory_changes changes;
	struct err *err = look(call, &use);

	if (!err)
		err = session_memory_changes(call->session, &use, &changes);
	if (err)
		return err;
	*ret = Tcl_NewListObj(0, NULL);
	for (size_t i = 0; i < use.vec.nr; i++)
		Tcl_ListObjAppendElement(NULL, *ret, map_dict(&use.vec.at[i], changes.known,
							      changes.vec.at[i]));
	vec_free(&changes.vec);
	return NULL;
}

const struct cmd cmd_api_memory_maps = {
	.name		= "mdbg::memory_maps",
	.usage		= "?-v?",
	.brief		= "list of dicts: the mappings with their figures",
	.help		= "Each dict has: start end (0x) size resident dirty swapped locked huge\n"
			  "change (bytes; change: of resident since last asked) kind thread (of\n"
			  "a stack: LWP id, or ended) path. - is what the kernel does not tell.\n"
			  "They are in order of address.\n",
	.need		= call_need_view,
	.value		= value_maps,
	.max_args	= 1,
};
