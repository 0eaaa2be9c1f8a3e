/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `malloc check` looks at, and mdbg::check: the same as a dict. */

#include "cmd/check.h"
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/values.h"
#include "log/log.h"
#include "session/session.h"

struct err *check_get(struct call *call, struct check *ret)
{
	struct err *err = call_need_log(call);
	struct session_core core;

	if (!err)
		err = session_heap(call->session, SESSION_HEAP_CHECK, NULL, &ret->heap);
	if (err)
		return err;
	ret->strays = (struct session_strays){ .vec = VEC_INIT };
	ret->core = session_core(call->session, &core);
	if (!ret->core) {
		log_clock_update(session_log(call->session));
		err = session_strays(call->session, &ret->strays);
	} else if (!ret->heap.walked) {
		err = err_create(ERR_UNSUPPORTED, "%s", ret->heap.why);
	}
	if (err)
		session_heap_free(&ret->heap);
	return err;
}

void check_free(struct check *check)
{
	session_strays_free(&check->strays);
	session_heap_free(&check->heap);
}

static Tcl_Obj *damage_dict(const struct heap_damage *damage)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_address(dict, "address", damage->address);
	dict_number(dict, "heap", damage->heap);
	dict_text(dict, "what", damage->what);
	dict_address(dict, "before", damage->before);
	dict_address(dict, "behind", damage->after);
	return dict;
}

static void add_first(Tcl_Obj *dict, const struct log *log, const struct log_free *first)
{
	if (!first->time)
		return;
	dict_number(dict, "firststack", first->stack);
	dict_number(dict, "firstthread", log_thread_get(log, first->thread).lwp);
	dict_double(dict, "firsttime", (double)log_clock_realtime(log, first->time) / 1e9);
}

static Tcl_Obj *stray_dict(const struct log *log, const struct session_stray *stray)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_text(dict, "kind", session_stray_word(stray->kind));
	dict_address(dict, "address", stray->address);
	dict_number(dict, "thread", log_thread_get(log, stray->free.thread).lwp);
	dict_double(dict, "time", (double)log_clock_realtime(log, stray->free.time) / 1e9);
	dict_number(dict, "stack", stray->free.stack);
	if (stray->kind == SESSION_STRAY_DOUBLE) {
		dict_address(dict, "block", stray->address);
		dict_number(dict, "size", stray->free.block.size);
		dict_number(dict, "allocstack", stray->free.block.stack);
		dict_number(dict, "history", stray->free.history);
		add_first(dict, log, &stray->free.first);
	} else if (stray->kind == SESSION_STRAY_INSIDE) {
		dict_address(dict, "block", stray->around.address);
		dict_number(dict, "size", stray->around.size);
		dict_number(dict, "allocstack", stray->around.stack);
	} else if (stray->kind == SESSION_STRAY_MODULE) {
		dict_text(dict, "module", stray->module);
	}
	return dict;
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	const struct log *log;
	Tcl_Obj *damage, *strays;
	struct check check;
	struct err *err = check_get(call, &check);

	if (err)
		return err;
	log = session_log(call->session);
	*ret = Tcl_NewDictObj();
	damage = Tcl_NewObj();
	for (size_t i = 0; check.heap.walked && i < check.heap.walk.damage.nr; i++)
		Tcl_ListObjAppendElement(NULL, damage,
					 damage_dict(&check.heap.walk.damage.at[i]));
	strays = Tcl_NewObj();
	for (size_t i = 0; i < check.strays.vec.nr; i++)
		Tcl_ListObjAppendElement(NULL, strays,
					 stray_dict(log, &check.strays.vec.at[i]));
	dict_number(*ret, "walked", check.heap.walked);
	dict_number(*ret, "damages", check.heap.walked ? check.heap.walk.damages : 0);
	dict_value(*ret, "damage", damage);
	dict_number(*ret, "doublefrees", check.strays.doubles);
	dict_text(*ret, "untold", check.strays.untold);
	dict_text(*ret, "doubt", check.strays.doubt);
	dict_value(*ret, "frees", strays);
	check_free(&check);
	return NULL;
}

const struct cmd cmd_api_check = {
	.name		= "mdbg::check",
	.usage		= "",
	.brief		= "dict: damage of the heaps, double and invalid frees",
	.help		= "walked (the heaps were) damages, damage: a list of dicts address heap what\n"
			  "before behind; doublefrees, frees: a list of dicts kind (double, inside,\n"
			  "stack, module) address thread time stack, block size allocstack of double\n"
			  "and inside, module of module; history of double (how many frees were\n"
			  "remembered), firststack firstthread firsttime if the first one was; untold (why double frees cannot be\n"
			  "told) and doubt (why they may be none), mostly empty.\n",
	.value		= value,
};
