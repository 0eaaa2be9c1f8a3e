/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg::leaks: loss records as dicts. */

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/query.h"
#include "cmd/shell.h"
#include "cmd/values.h"

static Tcl_Obj *leak_dict(const struct call *call, const struct leak *leak)
{
	const struct suppressions *suppressions = &call->shell->suppressions;
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_text(dict, "kind", leak_kind_word(leak->kind));
	dict_number(dict, "bytes", leak->bytes);
	dict_number(dict, "count", leak->blocks);
	dict_number(dict, "indirectbytes", leak->indirect_bytes);
	dict_number(dict, "indirectcount", leak->indirect_blocks);
	dict_number(dict, "preattach", leak->preattach);
	dict_number(dict, "stack", leak->stack);
	dict_text(dict, "suppressed", leak->suppression == SUPPRESS_NONE ?
			""  : suppressions->vec.at[leak->suppression].pattern);
	return dict;
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	struct query query;
	struct err *err = query_leaks(call, &query);
	Tcl_Obj *list;

	if (!err) {
		list = Tcl_NewObj();
		for (size_t i = 0; i < query.leaks.vec.nr; i++)
			Tcl_ListObjAppendElement(NULL, list, leak_dict(call, &query.leaks.vec.at[i]));
		*ret = list;
	}
	query_free(&query);
	return err;
}

const struct cmd cmd_api_leaks = {
	.name		= "mdbg::leaks",
	.usage		= "?definite|indirect|possible|reachable|all|suppressed?... ?FILTER? ?-stop|-snapshot?",
	.brief		= "list of dicts: the loss records of `malloc leaks`",
	.help		= "kind (definite indirect possible reachable) bytes count\n"
			  "indirectbytes indirectcount (what is lost with a definite one)\n"
			  "preattach stack suppressed (the pattern it is suppressed by, or \"\").\n"
			  "Without a kind definite and possible ones. Words as in\n"
			  "`help malloc leaks`.\n",
	.value		= value,
	.max_args	= CMD_ANY,
};
