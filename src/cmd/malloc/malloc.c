/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc, mdbg::malloc: what is enabled, and statistics. */

#include <stdio.h>

#include "cmd/free_dict.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/dict.h"
#include "probe/runtimes/runtimes.h"
#include "report/figures.h"
#include "report/replay/replay_text.h"
#include "session/history.h"
#include "session/replay/session_replay.h"

static struct err *run(struct call *call)
{
	struct figures figures;
	struct err *err;

	if (session_replay_is(call->session))
		return replay_text_print(call->session, call->out);
	err = figures_get(call->session, SESSION_HEAP_WALK, &figures);
	if (err)
		return err;
	err = figures_print(call->session, &figures, call->verbose, call->out);
	figures_free(&figures);
	return err;
}

static void add_accounts(Tcl_Obj *dict, const struct log_accounts *accounts)
{
	dict_number(dict, "allocs", accounts->allocs);
	dict_number(dict, "allocbytes", accounts->alloc_bytes);
	dict_number(dict, "frees", accounts->frees);
	dict_number(dict, "freebytes", accounts->free_bytes);
	dict_number(dict, "replaced", accounts->replaced);
	dict_number(dict, "full", accounts->table_full);
	dict_number(dict, "unknownfrees", accounts->unknown_frees);
	dict_number(dict, "sizedfrees", accounts->sized_frees);
	dict_number(dict, "sizedbytes", accounts->sized_bytes);
	dict_number(dict, "nullfrees", accounts->null_frees);
	dict_number(dict, "failed", accounts->failed);
	dict_number(dict, "nested", accounts->nested);
	dict_number(dict, "unstacked", accounts->unstacked);
	dict_number(dict, "undeferred", accounts->undeferred);
	dict_number(dict, "voided", accounts->voided);
	dict_number(dict, "unsampled", accounts->unsampled);
	dict_number(dict, "unsampledfrees", accounts->unsampled_frees);
	dict_number(dict, "doublefrees", accounts->double_frees);
	dict_number(dict, "ownfrees", accounts->own_frees);
}

static Tcl_Obj *heap_dict(const struct figures *figures, const struct heap_arena *arena)
{
	size_t number = (size_t)(arena - figures->heap.walk.arenas.at);
	struct figures_acquired acquired = figures_acquired(figures, number);
	static const char *const names[CHUNK_KINDS] = {
		[CHUNK_USED] = "used", [CHUNK_MMAPPED] = NULL, [CHUNK_OWN] = "own",
		[CHUNK_CACHED] = "cached", [CHUNK_FAST] = "fast", [CHUNK_FREE] = "free",
		[CHUNK_TOP] = "top", [CHUNK_KEPT] = "kept",
	};
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_address(dict, "arena", arena->address);
	dict_text(dict, "libc", figures->heap.libc[arena->libc].name);
	dict_address(dict, "libcstart", figures->heap.libc[arena->libc].start);
	dict_number(dict, "system", arena->system_mem);
	dict_number(dict, "sbrk", acquired.sbrk);
	dict_number(dict, "mmap", acquired.mmap);
	if (!arena->bare) {
		dict_number(dict, "systemmax", arena->max_system_mem);
		dict_number(dict, "locked", arena->locked);
	}
	dict_number(dict, "whole", arena->whole);
	dict_number(dict, "damaged", arena->damaged);
	dict_number(dict, "largest", arena->largest_free);
	for (unsigned i = 0; i < CHUNK_KINDS; i++) {
		char count[16];

		if (!names[i] || i == (arena->bare ? CHUNK_TOP : CHUNK_KEPT))
			continue;
		snprintf(count, sizeof(count), "%schunks", names[i]);
		dict_number(dict, names[i], arena->bytes[i]);
		dict_number(dict, count, arena->chunks[i]);
	}
	return dict;
}

static Tcl_Obj *runtime_dict(const struct runtime *runtime)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_text(dict, "name", runtime->name);
	dict_text(dict, "heap", runtime->heap);
	dict_text(dict, "help", runtime->help);
	return dict;
}

/* Of a core file, and while nothing is recorded, there is none. */
static void add_history(struct session *session, Tcl_Obj *dict)
{
	const struct log_history *is = session_history(session);

	dict_double(dict, "interval", (double)session_history_interval(session) / 1e9);
	dict_double(dict, "samplecost", is ? (double)is->cost_ns / 1e9 : 0);
	dict_number(dict, "samples", is ? is->history.samples.nr : 0);
	dict_number(dict, "samplebytes", is ? is->history.bytes : 0);
	dict_number(dict, "marks", is ? marks_count(&is->marks) : 0);
	dict_number(dict, "markbytes", is ? is->marks.bytes : 0);
}

static void add_known(Tcl_Obj *dict, const char *key, double value, bool known)
{
	if (known)
		dict_double(dict, key, value);
	else
		dict_text(dict, key, "-");
}

static void add_cost(Tcl_Obj *dict, const struct figures *figures)
{
	const struct session_cost *cost = &figures->cost;

	add_known(dict, "costlimit", cost->bound / 100.0, figures->measured && cost->bound);
	add_known(dict, "cost", cost->lately, figures->measured && cost->lately >= 0);
	add_known(dict, "costsince", cost->since, figures->measured && cost->since >= 0);
	add_known(dict, "oneof", cost->one_of, figures->measured && cost->one_of > 0);
}

/* What a recording has of the figures. */
static struct err *get_recorded(struct call *call, Tcl_Obj **ret)
{
	const struct history *history = &session_history(call->session)->history;
	uint64_t now_ns = session_replay_now(call->session);
	const struct history_sample *sample = history_nearest(history, now_ns);

	*ret = Tcl_NewDictObj();
	dict_double(*ret, "time", (double)now_ns / 1e9);
	dict_number(*ret, "bytes", sample->bytes);
	dict_number(*ret, "active", sample->count);
	if (sample->rss)
		dict_number(*ret, "resident", sample->rss);
	dict_number(*ret, "samples", history->samples.nr);
	return NULL;
}

static struct err *get_malloc(struct call *call, Tcl_Obj **ret)
{
	struct figures figures;
	struct err *err;
	Tcl_Obj *dict;

	if (session_replay_is(call->session))
		return get_recorded(call, ret);
	err = figures_get(call->session, SESSION_HEAP_WALK, &figures);
	if (err)
		return err;
	dict = *ret = Tcl_NewDictObj();
	dict_text(dict, "algorithm", figures.allocator);
	dict_text(dict, "core", figures.core);
	dict_number(dict, "armed", figures.armed);
	dict_number(dict, "jump", figures.jump);
	dict_number(dict, "breakpoint", figures.breakpoint);
	dict_number(dict, "stackdepth", figures.stack_depth);
	dict_number(dict, "sampling", figures.sample);
	add_cost(dict, &figures);
	dict_number(dict, "freehistory", figures.free_history);
	dict_double(dict, "since", (double)figures.since_ns / 1e9);
	dict_number(dict, "bytes", figures.bytes);
	dict_number(dict, "active", figures.blocks);
	dict_number(dict, "userbytes", figures.user_bytes);
	dict_number(dict, "useractive", figures.user_blocks);
	dict_number(dict, "records", figures.records);
	add_accounts(dict, &figures.accounts);
	dict_number(dict, "stacks", figures.stacks);
	dict_number(dict, "tablebytes", figures.usage.table_bytes);
	dict_number(dict, "stackbytes", figures.usage.stack_bytes);
	dict_number(dict, "otherbytes", figures.usage.other_bytes);
	dict_number(dict, "preattach", figures.early_blocks);
	dict_number(dict, "preattachbytes", figures.early_bytes);
	dict_number(dict, "walked", figures.heap.walked);
	dict_number(dict, "acquired", figures_acquired_by_all(&figures));
	free_dict_add(dict, &figures.space.all, figures.paged);
	dict_number(dict, "mapped", figures.heap.walk.mmapped);
	dict_number(dict, "mappedbytes", figures.heap.walk.mmapped_bytes);
	dict_number(dict, "damages", figures.heap.walk.damages);
	dict_number(dict, "uncertain", figures.heap.walk.uncertain);
	dict_double(dict, "stood", (double)figures.heap.pause_ns / 1e9);
	add_history(call->session, dict);
	dict_value(dict, "runtimes", value_list(figures.runtimes, runtime, runtime_dict(*runtime)));
	dict_value(dict, "heaps", value_list(&figures.heap.walk.arenas, arena,
					     heap_dict(&figures, arena)));
	figures_free(&figures);
	return NULL;
}

static const struct twin twin = {
	.name		= "mdbg::malloc",
	.brief		= "dict: the figures of `malloc` and `malloc -v`",
	.help		= "    algorithm core            the allocator; the core file, or empty\n"
			  "    armed jump breakpoint     1: the probes are in; how many of each engine\n"
			  "    stackdepth sampling       sampling: bytes; 0: off\n"
			  "    costlimit cost costsince  percent of the processor time of the process:\n"
			  "                              the bound (--cost), what recording takes now,\n"
			  "                              and what it took since the bound was set\n"
			  "                              (-: there is none, or it is not known)\n"
			  "    oneof                     one of so many blocks is recorded now; or -\n"
			  "    freehistory since         0: off; since: seconds since the epoch\n"
			  "    bytes active              held bytes and blocks; estimates if the log\n"
			  "                              samples\n"
			  "    userbytes useractive      held of allocators named by `probe`\n"
			  "    records                   in the log\n"
			  "    allocs allocbytes frees freebytes replaced full unknownfrees nullfrees\n"
			  "    failed nested unstacked undeferred voided unsampled unsampledfrees\n"
			  "    doublefrees ownfrees      since the attach, as recorded; every event is\n"
			  "                              in one of them\n"
			  "    stacks tablebytes stackbytes otherbytes    of the log\n"
			  "    preattach preattachbytes  in no record; part of active and bytes\n"
			  "    interval                  seconds between samples of the history; 0:\n"
			  "                              none is taken\n"
			  "    samplecost                seconds of processor time of the last sample\n"
			  "    samples samplebytes marks markbytes        of the history, and their\n"
			  "                              memory in mdbg\n"
			  "    runtimes                  heaps that are in no figure, a list of dicts:\n"
			  "                              name heap help\n"
			  "    walked                    1: the heaps were walked\n"
			  "    acquired unused cached    bytes of all heaps: from the kernel, free, and in\n"
			  "                              threads' caches\n"
			  "    unusedresident            the part of unused that is resident; of it ...\n"
			  "    trimmable pinned ends     ... goes by malloc_trim, is kept by live blocks,\n"
			  "                              is at the ends of other arenas (`malloc pins`)\n"
			  "    cachedresident            of cached; a core file has none of these five\n"
			  "    mapped mappedbytes        blocks mapped on their own\n"
			  "    damages uncertain         certain damages, and uncertain ones\n"
			  "    stood                     seconds for which the process stood still;\n"
			  "                              0: it was not stopped\n"
			  "    heaps                     a list of dicts, by number\n"
			  "Each dict of heaps has: arena, libc and libcstart (the file and address\n"
			  "of the C library that has it), system (bytes acquired), sbrk and mmap\n"
			  "(how many of them from each), systemmax locked whole damaged (for\n"
			  "certain) largest (free chunk); the bytes used own cached fast free top;\n"
			  "and the number of chunks of each kind, usedchunks and so on. A heap of\n"
			  "another allocator than glibc has no systemmax and locked, and kept (whole\n"
			  "pages that it has taken back, and keeps) in place of top.\n"
			  "\n"
			  "Of a recording there are: time (of the cursor), bytes, active, resident\n"
			  "and samples.\n"
			  "Error: {MDBG STATE} before the first attach.\n",
	.value		= get_malloc,
};

const struct cmd cmd_malloc = {
	.name		= "malloc",
	.brief		= "what is enabled, and statistics of what is held",
	.help		= "The process is stopped while the heaps are walked. The bytes held in\n"
			  "one heap are all bytes of it that are neither free nor cached, with headers;\n"
			  "the bytes held in all heaps are those that were asked for.\n"
			  "\n"
			  "Heaps are numbered from the oldest: 0 is the main one, made by sbrk (by mmap\n"
			  "where sbrk fails), the others are made by mmap. If the process has several C\n"
			  "libraries (dlmopen, LD_AUDIT), the one that has a heap is named beside its\n"
			  "number, and the process's own comes first.\n"
			  "\n"
			  "All Heaps has the sums over all heaps of what was acquired, is free and is in\n"
			  "threads' caches; how much of what is free is resident, how much of that\n"
			  "`malloc trim` would give back now, and what the rest is kept by: live blocks on\n"
			  "the same pages (`malloc pins`), and malloc_trim's rules (`help malloc pins`).\n"
			  "\n"
			  "The line before `Log:` says for how long the process stood still; there is\n"
			  "none if it was not stopped for the answer. `malloc sites` uses the log alone.\n"
			  "\n"
			  "-v adds each probed function with its engine and the reason for it, the\n"
			  "account in which each event was counted, the memory of the log, the interval\n"
			  "and the cost of the samples of the history (`help malloc diff`), and their\n"
			  "memory.\n"
			  "\n"
			  "`Not in these figures:` names the heap of a runtime (Go, a JVM ...), which\n"
			  "maps it without malloc, and says what shows that heap. Lines that begin with\n"
			  "`Incomplete:`, here and in the other answers, say what an answer does not\n"
			  "contain; `mdbg::lacks` has the same for scripts.\n",
	.run		= run,
	.twin		= &twin,
	.flags		= CMD_VERBOSE,
};
