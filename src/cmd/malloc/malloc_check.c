/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc check, mdbg::check: walk the heaps, say what is damaged, and which frees were wrong. */

#include "cmd/shell/cmd.h"

#include <inttypes.h>
#include "cmd/shell/dict.h"
#include "report/address_text.h"
#include "report/blocks.h"
#include "report/lack_text.h"
#include "report/unknown_free_text.h"
#include "session/heap.h"
#include "session/session.h"
#include "inspect/unknown_frees.h"

struct check {
	struct heaps heap;	/* it is not walked if there is no process, or no glibc */
	bool recorded;			/* false: no free is known, and unknown_frees is empty */
	struct unknown_frees unknown_frees;
};

static struct err *check_get(struct call *call, struct check *ret)
{
	struct err *err = session_heap(call->session, SESSION_HEAP_CHECK, NULL, &ret->heap);
	struct session_core core;

	if (err)
		return err;
	ret->unknown_frees = (struct unknown_frees){ .vec = VEC_INIT };
	ret->recorded = session_recorded(call->session);
	if (ret->recorded) {
		log_clock_update(session_log(call->session));
		err = session_heap_unknown_frees(call->session, &ret->unknown_frees);
	} else if (!ret->heap.walked && session_core(call->session, &core)) {
		err = err_create(ERR_UNSUPPORTED, "%s", ret->heap.why);
	}
	if (err)
		heaps_free(&ret->heap);
	return err;
}

static void check_free(struct check *check)
{
	unknown_frees_free(&check->unknown_frees);
	heaps_free(&check->heap);
}

static const char *places(uint64_t nr)
{
	return nr == 1 ? "place is" : "places are";
}

static void print_sums(const struct heaps *heap, struct out *out)
{
	out_f(out, "%zu heaps, %" PRIu64 " chunks: ", heap->walk.arenas.nr,
	      heap->walk.chunks.nr);
	if (heap->walk.damages)
		out_f(out, "%" PRIu64 " %s damaged%s", heap->walk.damages,
		      places(heap->walk.damages), heap->missing ? " or missing" : "");
	else
		out_text(out, heap->walk.uncertain ? "no damage is certain" : "no damage found");
	if (heap->walk.uncertain)
		out_f(out, ", %" PRIu64 " %s uncertain", heap->walk.uncertain,
		      places(heap->walk.uncertain));
	out_text(out, "\n");
	if (heap->missing)
		out_f(out,
		      "%" PRIu64 " bytes of the core are missing: what they held is not known\n",
		      heap->missing);
}

/* The process has ended. If its heaps were looked at then, there was no damage. */
static void print_way_out(const struct call *call)
{
	const struct session_config *config = session_config(call->session);

	if (session_state(call->session) != SESSION_ENDED)
		return;
	if (config->leaks_at_end)
		out_text(call->out, "The search at its end has met no damage, or could not walk them "
				    "(`malloc leaks`).\n");
	if (!config->hold_at_death)
		out_text(call->out, "`set hold-at-death on` holds a process that is about to die, so "
				    "that they can.\n");
}

static struct err *run(struct call *call)
{
	struct check check;
	struct err *err = check_get(call, &check);

	if (err)
		return err;
	if (!check.heap.walked) {
		out_f(call->out, "The heaps cannot be looked at: %s\n", check.heap.why);
		print_way_out(call);
	} else {
		err = address_text_damage(call->session, &check.heap, call->out);
		if (!err)
			print_sums(&check.heap, call->out);
	}
	if (!err)
		blocks_print_heap_stood(&check.heap, call->out);
	if (!err && check.recorded)
		err = unknown_free_text_print(call->session, &check.unknown_frees, call->out);
	if (!err)
		err = lack_text_print(call->session, call->out);
	check_free(&check);
	return err;
}

static const char *const doubt_words[] = {
	[HEAP_DOUBT_NONE] = "", [HEAP_DOUBT_INSIDE] = "inside", [HEAP_DOUBT_LOCKED] = "locked",
	[HEAP_DOUBT_NO_THREAD] = "nothread",
};

static Tcl_Obj *damage_dict(const struct heap_damage *damage)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_address(dict, "address", damage->address);
	dict_number(dict, "heap", damage->heap);
	dict_text(dict, "what", damage->what);
	dict_address(dict, "before", damage->before);
	dict_address(dict, "behind", damage->after);
	dict_text(dict, "doubt", doubt_words[damage->doubt.why]);
	dict_number(dict, "thread", (uint64_t)damage->doubt.thread);
	return dict;
}

static void add_first(Tcl_Obj *dict, const struct log *log, const struct log_free *first)
{
	if (!first->time)
		return;
	dict_number(dict, "firststack", first->stack);
	dict_number(dict, "firstthread", reader_thread(log, first->thread).lwp);
	dict_double(dict, "firsttime", (double)log_clock_realtime(log, first->time) / 1e9);
}

static Tcl_Obj *unknown_free_dict(const struct log *log, const struct unknown_free *unknown)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_text(dict, "kind", unknown_frees_word(unknown->kind));
	dict_address(dict, "address", unknown->address);
	dict_number(dict, "thread", reader_thread(log, unknown->free.thread).lwp);
	dict_double(dict, "time", (double)log_clock_realtime(log, unknown->free.time) / 1e9);
	dict_number(dict, "stack", unknown->free.stack);
	if (unknown->kind == UNKNOWN_FREE_DOUBLE) {
		dict_address(dict, "block", unknown->address);
		dict_number(dict, "size", unknown->free.block.size);
		dict_number(dict, "allocstack", unknown->free.block.stack);
		dict_number(dict, "history", unknown->free.history);
		add_first(dict, log, &unknown->free.first);
	} else if (unknown->kind == UNKNOWN_FREE_INSIDE) {
		dict_address(dict, "block", unknown->around.address);
		dict_number(dict, "size", unknown->around.size);
		dict_number(dict, "allocstack", unknown->around.stack);
	} else if (unknown->kind == UNKNOWN_FREE_MODULE) {
		dict_text(dict, "module", unknown->module);
	}
	return dict;
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	const struct log *log;
	struct check check;
	struct err *err = check_get(call, &check);

	if (err)
		return err;
	log = session_log(call->session);
	*ret = Tcl_NewDictObj();
	dict_number(*ret, "walked", check.heap.walked);
	dict_number(*ret, "damages", check.heap.walked ? check.heap.walk.damages : 0);
	dict_number(*ret, "uncertain", check.heap.walked ? check.heap.walk.uncertain : 0);
	dict_value(*ret, "damage", check.heap.walked ?
			   value_list(&check.heap.walk.damage, damage, damage_dict(damage)) :
			   Tcl_NewObj());
	dict_double(*ret, "stood", (double)check.heap.pause_ns / 1e9);
	dict_number(*ret, "doublefrees", check.unknown_frees.doubles);
	dict_text(*ret, "untold", check.unknown_frees.untold);
	dict_text(*ret, "doubt", check.unknown_frees.doubt);
	dict_value(*ret, "frees",
		   value_list(&check.unknown_frees.vec, unknown, unknown_free_dict(log, unknown)));
	check_free(&check);
	return NULL;
}

static const struct twin twin = {
	.name		= "mdbg::check",
	.brief		= "dict: damage of the heaps, double and invalid frees",
	.help		= "    walked             1: the heaps were walked\n"
			  "    damages uncertain  certain damages, and uncertain ones\n"
			  "    damage             a list of dicts: address heap what before behind\n"
			  "                       doubt thread\n"
			  "    stood              seconds for which the process stood still; 0: it was\n"
			  "                       not stopped\n"
			  "    doublefrees        how many\n"
			  "    frees              a list of dicts: kind (double, inside, stack, module)\n"
			  "                       address thread time stack\n"
			  "    untold             why double frees cannot be recognized, or empty\n"
			  "    doubt              why the double ones may be none, or empty\n"
			  "doubt of a damage is empty; inside: `thread` stands inside the\n"
			  "allocator; locked: the heap is locked; or nothread: no thread has this\n"
			  "cache. Of frees, double and inside have block size allocstack; module\n"
			  "has module; double has history (how many frees were remembered) and, if\n"
			  "the first free is among them, firststack firstthread firsttime.\n",
	.value		= value,
};

const struct cmd cmd_malloc_check = {
	.name		= "malloc check",
	.brief		= "look for damage in the heaps, and for wrong frees",
	.help		= "It checks chunk headers, the sizes at the ends of free chunks, fastbins,\n"
			  "threads' caches, and all links of the bins. Each damaged place is listed, with\n"
			  "the blocks on both sides of it and where they come from.\n"
			  "\n"
			  "A place is uncertain if a thread stands inside the allocator and may be in the\n"
			  "middle of a change: let the process go on, and ask again. The process stands\n"
			  "still while the heaps are walked; the answer says for how long.\n"
			  "\n"
			  "Double frees follow, with the stack of the second one, that of the first (if\n"
			  "`set free-history N` has remembered it) and that of the allocation. Then come\n"
			  "invalid frees: of an address inside of a recorded block, on the stack of the\n"
			  "thread, or in a module. Frees are noted before the allocator acts, so they are\n"
			  "there even if it has aborted the process. The newest 1024 are remembered.\n"
			  "Frees of other blocks that are not in the log are only counted; most of these\n"
			  "blocks are older than the log.\n"
			  "\n"
			  "If double frees cannot be recognized, the answer says why: the log samples, or\n"
			  "an allocator that gives out blocks is not probed, or is neither glibc nor\n"
			  "jemalloc.\n"
			  "\n"
			  "The heaps of a process that is about to die can be looked at while it is held\n"
			  "(`set hold-at-death`), or if it was looked at as it ended\n"
			  "(`set leaks-at-end`).\n",
	.need		= call_need_log,
	.run		= run,
	.twin		= &twin,
};
