/* SPDX-License-Identifier: GPL-3.0-or-later */
/* memory system, mdbg::memory_system: the memory of the machine, and its limits. */

#include "base/cleanup.h"
#include "cmd/moments.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/dict.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/target_commands.h"
#include "heap/filter.h"
#include "report/machine_groups_text.h"
#include "session/replay/session_replay.h"
#include "session/replay/session_replay_figures.h"

#define INTERVAL	500000000ull	/* ns, where there is no earlier answer */
#define PROCESSES	5u

/* Parse `-children` or `-group`, and `limit N`: how many processes are in each list. */
static struct err *parse(const struct call *call, struct machine_view *view)
{
	uint64_t most = PROCESSES;
	struct err *err = NULL;

	view->family = FAMILY_ALL;
	for (int i = 0; !err && i < call->argc; i++) {
		if (!strcmp(call->argv[i], "-children"))
			view->family = FAMILY_CHILDREN;
		else if (!strcmp(call->argv[i], "-group"))
			view->family = FAMILY_GROUP;
		else if (strcmp(call->argv[i], "limit"))
			return call_bad_word(call->argv[i]);
		else if (++i == call->argc)
			return err_create(ERR_USAGE, "a number goes after limit");
		else
			err = parse_number(call->argv[i], &most);
	}
	view->most = (size_t)most;
	return err;
}

/* A core file, and a process that has ended, are in no group any more. */
static pid_t process_of(const struct session *session)
{
	enum session_state state = session_state(session);

	return state == SESSION_RUNNING || state == SESSION_STOPPED ? session_pid(session) : 0;
}

static void free_look(struct machine_look *look)
{
	if (look)
		machine_look_free(look);
	free(look);
}

/* Take a look, for what the view shows; the caller frees it by free_look. */
static struct err *take_look(const struct call *call, const struct machine_view *view,
			     struct machine_look **ret)
{
	struct machine_look *look = NULL;
	struct err *err;
	pid_t pid = process_of(call->session);

	if (view->family != FAMILY_ALL && !pid)
		return err_hint(err_create(ERR_STATE, "there is no process whose family to show"),
				"attach to one of them first");
	look = malloc(sizeof(*look));
	if (!look)
		return err_nomem;
	err = session_replay_is(call->session) ?
		session_replay_figures_machine(call->session, false, view->most, look) :
		machine_look_read(pid, view->most, look);
	if (err) {
		free(look);
		return err;
	}
	err = machine_family_find("/proc", pid, view->family, &look->processes);
	if (err) {
		free_look(look);
		return err;
	}
	*ret = look;
	return NULL;
}

/* The look is the one to compare with from now on. */
static void keep(struct shell *shell, struct machine_look *look)
{
	free_look(shell->machine_last);
	shell->machine_last = look;
}

/* A recording has the look before that of its cursor; the first one has none. */
static struct err *recorded_before(struct call *call, const struct machine_view *view)
{
	struct machine_look *look = malloc(sizeof(*look));
	struct err *err = look ? session_replay_figures_machine(call->session, true, view->most,
								look) : err_nomem;

	if (err) {
		free(look);
		return err->code == ERR_NOTFOUND ? NULL : err;
	}
	keep(call->shell, look);
	return NULL;
}

/* Without an earlier answer there would be no rates, so a look is taken first. */
static struct err *look_before(struct call *call, const struct machine_view *view)
{
	struct machine_look *look;
	struct err *err;

	if (session_replay_is(call->session))
		return recorded_before(call, view);
	err = take_look(call, view, &look);
	if (err)
		return err;
	keep(call->shell, look);
	err = target_command_wait(call->shell, INTERVAL, NULL, NULL);
	return err && err->code == ERR_TIMEOUT ? NULL : err;
}

static struct err *run(struct call *call)
{
	struct shell *shell = call->shell;
	CLEANUP(moments_leave) struct moments_visit visit;
	struct machine_view view = { .asked = true };
	struct machine_look *look;
	struct err *err = moments_visit(call, &visit);

	if (!err)
		err = parse(call, &view);
	/* Recorded moments are asked for in any order, and each has one before it. */
	if (session_replay_is(call->session))
		keep(shell, NULL);
	if (!err && !shell->machine_last) {
		view.asked = false;
		err = look_before(call, &view);
	}
	if (!err)
		err = take_look(call, &view, &look);
	if (err)
		return err;
	view.before = shell->machine_last;
	view.now = look;
	err = machine_text_print(&view, call->out);
	keep(shell, look);
	return err;
}

const struct cmd cmd_memory_system = {
	.name		= "memory system",
	.usage		= "?-children|-group? ?limit N? ?at MOMENT?",
	.brief		= "the machine's memory: what it is used for, what it lacks",
	.help		= "No process is needed. Each figure has its source: a file of /proc, and the\n"
			  "words in it. `-` is what this kernel does not offer, or what cannot be seen\n"
			  "here.\n"
			  "    UTILISATION  bytes. `in no other figure` is what parts of the kernel\n"
			  "                 have taken by themselves, as drivers and buffers of\n"
			  "                 sockets. Slab and vmalloc overlap with socket buffers.\n"
			  "    SATURATION   what was counted in a second, and since boot; and which\n"
			  "                 part of the time some or all tasks waited for memory\n"
			  "    ERRORS       kills for lack of memory, pages with hardware errors\n"
			  "\n"
			  "Changes and rates are since `memory system` was last asked, or over half a\n"
			  "second if it was not; the first line says which.\n"
			  "\n"
			  "The last N (5) processes that the kernel has killed for lack of memory follow,\n"
			  "as far as its messages (/dev/kmsg) still have them: with the anonymous, file\n"
			  "and shared memory that they had, and the control group whose limit was met\n"
			  "(`-`: the machine's memory). Then two lists of processes: the N that hold\n"
			  "most, and the N that have grown most; a page that processes share counts in\n"
			  "each of them. And the same of the kernel's slab caches, with the objects that\n"
			  "are in use, where /proc/slabinfo can be read. `limit 0` reads none.\n"
			  "\n"
			  "With `-children`, the lists are of the process and all below it, with `-group`\n"
			  "of the processes in its control group and in those below. Each has then what is\n"
			  "its own alone (PRIVATE) and its share of all that it has (PSS), and a line has\n"
			  "the sums: those of PSS is what they hold together.\n"
			  "\n"
			  "With a process, its control group and all groups above it are listed, of\n"
			  "version 1 or 2:\n"
			  "    LEFT         what may still be taken. Files that were not used lately\n"
			  "                 (inactive_file) count as free, since the kernel drops them\n"
			  "                 first.\n"
			  "    AT LIMIT     how often the limit was met, or memory.high of version 2\n"
			  "    SWAP         memory and swap together in version 1\n"
			  "A limit of `max` is `no limit`. For the nearest limit the answer says when it\n"
			  "is reached, if there is a rate. Of a recording it is what was recorded at its\n"
			  "cursor, or at MOMENT.\n"
			  "\n"
			  "Error: {MDBG USAGE}.\n",
	.example	= "memory system limit 10\n",
	.run		= run,
	.max_args	= CMD_ANY,
	.complete	= COMPLETE_LIMIT,
};

static Tcl_Obj *figure_value(uint64_t value)
{
	if (value == KERNEL_NO_LIMIT)
		return Tcl_NewStringObj("no limit", -1);
	if (value == KERNEL_UNKNOWN)
		return Tcl_NewStringObj("-", -1);
	return Tcl_NewWideIntObj((Tcl_WideInt)value);
}

/* Of hundredths of a percent. */
static Tcl_Obj *percent_value(uint64_t hundredths)
{
	return kernel_is_number(hundredths) ? Tcl_NewDoubleObj((double)hundredths / 100) :
		figure_value(hundredths);
}

static void add_figures(const struct machine_view *view, Tcl_Obj *dict)
{
	Tcl_Obj *changes = Tcl_NewDictObj(), *rates = Tcl_NewDictObj();
	uint64_t ns = view->before ? view->now->time_ns - view->before->time_ns : 0;

	for (const struct machine_figure *figure = machine_figures; figure->key; figure++) {
		uint64_t now = machine_text_figure(&view->now->machine, figure);
		uint64_t before = view->before ?
			machine_text_figure(&view->before->machine, figure) : KERNEL_UNKNOWN;
		int64_t change;
		double rate;

		dict_value(dict, figure->key, figure->part == MACHINE_PRESSURE ?
			   percent_value(now) : figure_value(now));
		if (figure->part == MACHINE_PRESSURE)
			continue;
		if (machine_look_change(before, now, &change))
			dict_value(changes, figure->key, Tcl_NewWideIntObj(change));
		else
			dict_text(changes, figure->key, "-");
		if (figure->part != MACHINE_RATE)
			continue;
		if (machine_look_rate(before, now, ns, &rate))
			dict_double(rates, figure->key, rate);
		else
			dict_text(rates, figure->key, "-");
	}
	dict_value(dict, "change", changes);
	dict_value(dict, "rate", rates);
}

static Tcl_Obj *rank_dict(const struct machine_rank *rank)
{
	const struct machine_holder *holder = rank->holder;
	Tcl_Obj *dict = Tcl_NewDictObj();

	if (holder->pid)
		dict_number(dict, "pid", (uint64_t)holder->pid);
	dict_text(dict, "name", holder->name.bytes);
	dict_number(dict, holder->pid ? "resident" : "bytes", holder->bytes);
	if (!holder->pid)
		dict_number(dict, "objects", holder->objects);
	if (holder->pid) {
		dict_value(dict, "private", figure_value(holder->private));
		dict_value(dict, "pss", figure_value(holder->pss));
	}
	if (rank->known)
		dict_value(dict, "change", Tcl_NewWideIntObj(rank->change));
	else
		dict_text(dict, "change", "-");
	return dict;
}

/* Add two lists: who holds most, and who has grown most. */
static struct err *add_holders(Tcl_Obj *dict, const char *largest, const char *grown, size_t most,
			       const struct machine_holders *before,
			       const struct machine_holders *now)
{
	struct machine_ranks ranks;
	struct err *err = machine_look_largest(before, now, most, &ranks);

	if (err)
		return err;
	dict_value(dict, largest, value_list(&ranks.vec, rank, rank_dict(rank)));
	vec_free(&ranks.vec);
	err = machine_look_grown(before, now, most, &ranks);
	if (err)
		return err;
	vec_each(rank, &ranks.vec)
		rank->known = true;
	dict_value(dict, grown, value_list(&ranks.vec, rank, rank_dict(rank)));
	vec_free(&ranks.vec);
	return NULL;
}

static Tcl_Obj *kill_dict(const struct machine_look *look, const struct oom_kill *kill)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_double(dict, "time", (double)machine_look_kill_time(look, kill) / 1e9);
	dict_number(dict, "pid", (uint64_t)kill->pid);
	dict_text(dict, "name", kill->name.bytes);
	dict_number(dict, "anonymous", kill->anonymous);
	dict_number(dict, "file", kill->file);
	dict_number(dict, "shared", kill->shared);
	dict_text(dict, "group", kill->group);
	return dict;
}

static struct err *add_lists(const struct machine_view *view, Tcl_Obj *dict)
{
	const struct machine_look *before = view->before, *now = view->now;
	struct err *err = add_holders(dict, "processes", "grown", view->most,
				      before ? &before->processes : NULL, &now->processes);

	if (!err)
		err = add_holders(dict, "caches", "cachesgrown", view->most,
				  before ? &before->caches : NULL, &now->caches);
	dict_value(dict, "kills", value_list(&now->kills.vec, kill, kill_dict(now, kill)));
	return err;
}

static Tcl_Obj *group_dict(const struct machine_view *view, const struct memory_group *group)
{
	Tcl_Obj *dict = Tcl_NewDictObj();
	struct machine_forecast forecast;

	dict_text(dict, "path", group->path);
	dict_value(dict, "limit", figure_value(group->limit));
	dict_value(dict, "high", figure_value(group->high));
	dict_value(dict, "use", figure_value(group->use));
	dict_value(dict, "left", figure_value(memory_group_left(group)));
	dict_value(dict, "swaplimit", figure_value(group->swap_limit));
	dict_value(dict, "swapuse", figure_value(group->swap_use));
	dict_value(dict, "atlimit", figure_value(group->at_limit));
	dict_value(dict, "oomkills", figure_value(group->oom_kills));
	dict_value(dict, "some10", percent_value(group->pressure.some_10));
	dict_value(dict, "some60", percent_value(group->pressure.some_60));
	dict_value(dict, "full10", percent_value(group->pressure.full_10));
	dict_value(dict, "full60", percent_value(group->pressure.full_60));
	for (const struct group_figure *figure = group_figures; figure->key; figure++)
		dict_value(dict, figure->key, figure_value(machine_groups_text_figure(group,
										      figure)));
	machine_look_forecast(view->before, view->now, group, &forecast);
	if (forecast.known)
		dict_double(dict, "rate", forecast.rate);
	else
		dict_text(dict, "rate", "-");
	if (forecast.fills)
		dict_double(dict, "reached", forecast.seconds);
	else
		dict_text(dict, "reached", "-");
	return dict;
}

static void add_groups(const struct machine_view *view, Tcl_Obj *dict)
{
	const struct memory_groups *groups = &view->now->groups;
	const struct memory_group *nearest = memory_groups_nearest(groups);

	dict_number(dict, "version", groups->version);
	dict_value(dict, "groups", value_list(&groups->vec, group, group_dict(view, group)));
	dict_text(dict, "nearest", nearest ? nearest->path : "");
	dict_text(dict, "why", groups->why);
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	struct shell *shell = call->shell;
	CLEANUP(moments_leave) struct moments_visit visit;
	struct machine_view view = { .most = 0 };
	struct machine_look *look;
	struct err *err = moments_visit(call, &visit);

	if (!err)
		err = parse(call, &view);
	if (!err && session_replay_is(call->session)) {
		keep(shell, NULL);
		err = recorded_before(call, &view);
	}
	if (!err)
		err = take_look(call, &view, &look);
	if (err)
		return err;
	view.before = shell->machine_last;
	view.now = look;
	*ret = Tcl_NewDictObj();
	dict_double(*ret, "interval", view.before ?
		    (double)(look->time_ns - view.before->time_ns) / 1e9 : 0);
	add_figures(&view, *ret);
	err = add_lists(&view, *ret);
	if (!err)
		add_groups(&view, *ret);
	keep(shell, look);
	return err;
}

const struct cmd cmd_api_memory_system = {
	.name		= "mdbg::memory_system",
	.usage		= "?-children|-group? ?limit N? ?at MOMENT?",
	.brief		= "dict: the figures of `memory system`",
	.help		= "It does not wait: the first answer has no changes and no rates.\n"
			  "    total free available anonymous locked cached shared buffers dirty slab\n"
			  "    slabreclaimable slabunreclaimable pagetables stacks percpu vmalloc\n"
			  "    hugepages committed commitlimit swaptotal swapfree\n"
			  "                      bytes, from /proc/meminfo\n"
			  "    sockets           bytes, from /proc/net/sockstat and sockstat6\n"
			  "    rest              bytes that are in no other figure\n"
			  "    scanned scannedkswapd scanneddirect reclaimed refaults swapin swapout\n"
			  "                      pages since boot, and\n"
			  "    stalls compactions faults majorfaults         events, from /proc/vmstat\n"
			  "    pagein pageout    KB from and to disks since boot, from /proc/vmstat\n"
			  "    some10 some60 full10 full60     percent of the last 10 and 60 s, from\n"
			  "                      /proc/pressure/memory\n"
			  "    oomkills          since boot, from /proc/vmstat\n"
			  "    corrupted         bytes with hardware errors, from /proc/meminfo\n"
			  "    interval          seconds since it was last asked; 0: it was not\n"
			  "    change rate       dicts with the same keys: the change in that time, and\n"
			  "                      what was counted in a second of it\n"
			  "    processes grown   lists of N (5) dicts: pid name resident change (bytes)\n"
			  "                      private pss (bytes; - without -children or -group)\n"
			  "    caches cachesgrown    lists of N dicts: name bytes objects change, from\n"
			  "                      /proc/slabinfo\n"
			  "    kills             list of dicts, the oldest first: time (seconds since\n"
			  "                      1970) pid name anonymous file shared (bytes) group, from\n"
			  "                      the kernel's messages\n"
			  "    version groups    1 or 2, and a list of dicts, the process's own first,\n"
			  "                      from its memory control group: path limit high use left\n"
			  "                      swaplimit swapuse anonymous file shared inactive kernel\n"
			  "                      slab pagetables stacks sockets (bytes) atlimit oomkills\n"
			  "                      (events) rate (bytes a second) reached (seconds until\n"
			  "                      its limit is reached at this rate) some10 some60 full10\n"
			  "                      full60 (percent; of version 2, memory.pressure)\n"
			  "    nearest           the path of the group that has the least left, or empty\n"
			  "    why               why not all groups are known, or empty\n"
			  "- is what the kernel does not offer; a limit that is not there is\n"
			  "`no limit`.\n",
	.value		= value,
	.max_args	= CMD_ANY,
};
