/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg::attach, detach, pid, malloc: the life of a target and the figures of `malloc`, for scripts.
 */

#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/life.h"
#include "cmd/list.h"
#include "cmd/settings.h"
#include "cmd/shell.h"
#include "cmd/values.h"
#include "heap/filter.h"
#include "report/figures.h"

static struct err *attach_option(struct session_config *config, const char *name, const char *value)
{
	static const char *const engines[] = { "auto", "jump", "breakpoint" };
	uint64_t number = 0;
	unsigned i;

	if (!strcmp(name, "-engine")) {
		for (i = 0; i < ARRAY_SIZE(engines); i++) {
			if (!strcmp(value, engines[i])) {
				config->engine = i;
				return NULL;
			}
		}
		return err_create(ERR_USAGE, "-engine: '%s' is none of auto, jump, breakpoint",
				  value);
	}
	if (!strcmp(name, "-loglimit"))
		return settings_parse_log_limit(value, &config->log_limit);
	if (!strcmp(name, "-sample"))
		return settings_parse_sample(value, &config->sample);
	if (parse_number(value, &number))
		return err_create(ERR_USAGE, "%s: '%s' is no number", name, value);
	if (!strcmp(name, "-stop"))
		config->stop = number;
	else if (!strcmp(name, "-arm"))
		config->arm = number;
	else if (!strcmp(name, "-stackdepth") && number >= 1 && number <= LOG_DEPTH_MAX)
		config->stack_depth = (uint32_t)number;
	else if (!strcmp(name, "-freehistory") && number <= LOG_FREES_MAX)
		config->free_history = (uint32_t)number;
	else
		return err_create(ERR_USAGE, "no option %s %s", name, value);
	return NULL;
}

static struct err *attach(struct call *call, Tcl_Obj **ret)
{
	struct session_config *config = session_config(call->session), saved = *config;
	struct err *err;
	pid_t pid;
	int i;

	err = life_parse_pid(call->argv[0], &pid);
	for (i = 1; !err && i < call->argc; i += 2) {
		if (i + 1 == call->argc)
			err = err_create(ERR_USAGE, "a value is missing after %s", call->argv[i]);
		else
			err = attach_option(config, call->argv[i], call->argv[i + 1]);
	}
	if (!err)
		err = life_attach(call->shell, pid);
	*config = saved;
	if (!err)
		*ret = Tcl_NewIntObj(pid);
	return err;
}

const struct cmd cmd_api_attach = {
	.name		= "mdbg::attach",
	.usage		= "PID ?-stop 0|1? ?-arm 0|1? ?-engine auto|jump|breakpoint? "
			  "?-stackdepth N? ?-loglimit SIZE? ?-sample BYTES? ?-freehistory N?",
	.brief		= "attach; returns PID",
	.help		= "Options hold for this attach only. Errors: {MDBG ATTACH HINT}, {MDBG\n"
			  "STATE} if there is a process already.\n",
	.value		= attach,
	.min_args	= 1,
	.max_args	= CMD_ANY,
};

static struct err *detach(struct call *call, Tcl_Obj **ret)
{
	(void)ret;
	if (session_state(call->session) == SESSION_NONE)
		return call_need_target(call);
	if (session_state(call->session) == SESSION_ENDED)
		return NULL;
	gate_look(call->shell);
	return session_detach(call->session);
}

const struct cmd cmd_api_detach = {
	.name		= "mdbg::detach",
	.usage		= "",
	.brief		= "detach; what was recorded stays readable",
	.value		= detach,
};

static struct err *get_pid(struct call *call, Tcl_Obj **ret)
{
	*ret = Tcl_NewIntObj(
		session_state(call->session) == SESSION_NONE ? 0 : session_pid(call->session));
	return NULL;
}

const struct cmd cmd_api_pid = {
	.name		= "mdbg::pid",
	.usage		= "",
	.brief		= "the process id of the target, 0 if there is none",
	.help		= "It stays after the process has ended.\n",
	.value		= get_pid,
};

static void add_accounts(Tcl_Obj *dict, const struct log_accounts *accounts)
{
	dict_number(dict, "allocs", accounts->allocs);
	dict_number(dict, "allocbytes", accounts->alloc_bytes);
	dict_number(dict, "frees", accounts->frees);
	dict_number(dict, "freebytes", accounts->free_bytes);
	dict_number(dict, "replaced", accounts->replaced);
	dict_number(dict, "full", accounts->table_full);
	dict_number(dict, "unknownfrees", accounts->unknown_frees);
	dict_number(dict, "nullfrees", accounts->null_frees);
	dict_number(dict, "failed", accounts->failed);
	dict_number(dict, "nested", accounts->nested);
	dict_number(dict, "unstacked", accounts->unstacked);
	dict_number(dict, "voided", accounts->voided);
	dict_number(dict, "unsampled", accounts->unsampled);
	dict_number(dict, "unsampledfrees", accounts->unsampled_frees);
	dict_number(dict, "doublefrees", accounts->double_frees);
	dict_number(dict, "ownfrees", accounts->own_frees);
}

static Tcl_Obj *heap_dict(const struct heap_arena *arena)
{
	static const char *const names[CHUNK_KINDS] = {
		[CHUNK_USED] = "used", [CHUNK_MMAPPED] = NULL, [CHUNK_OWN] = "own",
		[CHUNK_CACHED] = "cached", [CHUNK_FAST] = "fast", [CHUNK_FREE] = "free",
		[CHUNK_TOP] = "top",
	};
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_address(dict, "arena", arena->address);
	dict_number(dict, "system", arena->system_mem);
	dict_number(dict, "systemmax", arena->max_system_mem);
	dict_number(dict, "locked", arena->locked);
	dict_number(dict, "whole", arena->whole);
	dict_number(dict, "largest", arena->largest_free);
	for (unsigned i = 0; i < CHUNK_KINDS; i++) {
		char count[16];

		if (!names[i])
			continue;
		snprintf(count, sizeof(count), "%schunks", names[i]);
		dict_number(dict, names[i], arena->bytes[i]);
		dict_number(dict, count, arena->chunks[i]);
	}
	return dict;
}

static struct err *get_malloc(struct call *call, Tcl_Obj **ret)
{
	struct figures figures;
	struct err *err = figures_get(call->session, SESSION_HEAP_WALK, &figures);
	Tcl_Obj *dict, *heaps;

	if (err)
		return err;
	dict = Tcl_NewDictObj();
	dict_text(dict, "algorithm", figures.allocator);
	dict_text(dict, "core", figures.core);
	dict_number(dict, "armed", figures.armed);
	dict_number(dict, "jump", figures.jump);
	dict_number(dict, "breakpoint", figures.breakpoint);
	dict_number(dict, "stackdepth", figures.stack_depth);
	dict_number(dict, "sampling", figures.sample);
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
	dict_number(dict, "mapped", figures.heap.walk.mmapped);
	dict_number(dict, "mappedbytes", figures.heap.walk.mmapped_bytes);
	dict_number(dict, "damages", figures.heap.walk.damages);
	heaps = Tcl_NewObj();
	for (size_t i = 0; i < figures.heap.walk.arenas.nr; i++)
		Tcl_ListObjAppendElement(NULL, heaps,
					 heap_dict(&figures.heap.walk.arenas.at[i]));
	Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj("heaps", -1), heaps);
	figures_free(&figures);
	*ret = dict;
	return NULL;
}

const struct cmd cmd_api_malloc = {
	.name		= "mdbg::malloc",
	.usage		= "",
	.brief		= "dict: the figures of `malloc` and `malloc -v`",
	.help		= "algorithm core (file, or empty) armed jump breakpoint (probes) stackdepth sampling (0:\n"
			  "off) freehistory (0: off) since (seconds since the epoch) bytes active (held; estimates if\n"
			  "sampled) userbytes useractive (of allocators named by probe) records (in the log) allocs allocbytes frees freebytes\n"
			  "replaced full unknownfrees nullfrees failed nested unstacked voided\n"
			  "unsampled unsampledfrees doublefrees ownfrees (since the attach, as recorded; every event\n"
			  "is in one of them) stacks tablebytes stackbytes otherbytes (of the log)\n"
			  "preattach preattachbytes (in no record; part of active and bytes)\n"
			  "walked (the heaps were) mapped mappedbytes damages heaps: a list of dicts\n"
			  "by number: arena system systemmax locked whole largest (free chunk) and\n"
			  "bytes used own cached fast free top, with how many: usedchunks ...\n"
			  "Error: {MDBG STATE} before the first attach.\n",
	.value		= get_malloc,
};
