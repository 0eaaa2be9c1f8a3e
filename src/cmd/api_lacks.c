/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg::lacks: what answers do not have, as Tcl values. */

#include "cmd/cmd.h"
#include "cmd/values.h"
#include "session/lacks.h"

static Tcl_Obj *lack_dict(const struct session_lack *lack)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_text(dict, "function", lack->function);
	dict_text(dict, "why", lack->why);
	return dict;
}

static struct err *lacks(struct call *call, Tcl_Obj **ret)
{
	struct session_lacks list = { VEC_INIT };
	struct err *err = session_lacks(call->session, &list);

	if (err)
		return err;
	*ret = value_list(&list.vec, lack, lack_dict(lack));
	vec_free(&list.vec);
	return NULL;
}

const struct cmd cmd_api_lacks = {
	.name		= "mdbg::lacks",
	.brief		= "list of dicts: what the answers of this target do not have",
	.help		= "function (that is not watched; empty where it is about all of them: the\n"
			  "log samples or is full, the probes were out, no call is seen) why. Empty\n"
			  "where nothing is lacking. `malloc`, allocations, sites, leaks, stale,\n"
			  "check and find say the same in lines that begin with `Incomplete:`.\n"
			  "Error: {MDBG STATE} before the first attach.\n",
	.need		= call_need_log,
	.value		= lacks,
};
