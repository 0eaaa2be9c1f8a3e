/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg::probes: the probes as Tcl values. */

#include "cmd/cmd.h"
#include "cmd/shell.h"
#include "cmd/values.h"

static Tcl_Obj *probe_dict(const struct session_probe *probe)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_text(dict, "function", probe->function);
	dict_text(dict, "symbol", probe->symbol);
	dict_text(dict, "module", probe->module);
	dict_address(dict, "address", probe->address);
	dict_address(dict, "patch", probe->patch);
	dict_text(dict, "engine", probe->active ? probe->engine : "none");
	dict_text(dict, "why", probe->why);
	dict_text(dict, "user", probe->user);
	return dict;
}

static struct err *probes(struct call *call, Tcl_Obj **ret)
{
	struct session_probes list = { VEC_INIT };
	struct err *err = session_probes(call->session, &list);

	if (err)
		return err;
	*ret = value_list(&list.vec, probe, probe_dict(probe));
	vec_free(&list.vec);
	return NULL;
}

const struct cmd cmd_api_probes = {
	.name		= "mdbg::probes",
	.brief		= "list of dicts: what became of each function of the allocator",
	.help		= "function symbol module address (of the function) patch (address of the\n"
			  "bytes that mdbg changes: mostly behind the function's first\n"
			  "instruction) engine (jump, breakpoint, none) why (it is no jump, or\n"
			  "none, or its patch lies on the first instruction) user (alloc ...,\n"
			  "free ...: named by probe).\n",
	.need		= call_need_log,
	.value		= probes,
};
