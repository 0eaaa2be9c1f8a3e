/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `-about VAR` (theory in about.h). */

#include "cmd/shell/about.h"

#include <string.h>

#include "cmd/shell/cmd.h"
#include "cmd/shell/dict.h"
#include "cmd/shell/shell.h"
#include "heap/leak.h"
#include "session/leaks.h"

#define OPTION	"-about"
#define WORDS	2	/* with VAR */

struct err *about_take(struct call *call, const char **argv)
{
	int at = 0;

	while (at < call->argc && strcmp(argv[at], OPTION))
		at++;
	if (at == call->argc)
		return NULL;
	if (at + WORDS != call->argc)
		return err_create(ERR_USAGE, at + 1 == call->argc ? "VAR goes after " OPTION :
				  OPTION " VAR are the last words, but for -each");
	call->about_var = call->objv[at + 1];
	call->argc = at;
	argv[at] = NULL;
	return NULL;
}

static void add_verdict(Tcl_Obj *dict, const struct leaks *leaks)
{
	struct leak_verdict verdict = leaks_verdict(leaks);

	dict_number(dict, "lost", verdict.lost.bytes);
	dict_number(dict, "lostcount", verdict.lost.blocks);
	dict_number(dict, "inuse", verdict.in_use.bytes);
	dict_number(dict, "inusecount", verdict.in_use.blocks);
	dict_number(dict, "unknown", verdict.unknown.bytes);
	dict_number(dict, "unknowncount", verdict.unknown.blocks);
}

static Tcl_Obj *about_dict(const struct leak_marks *found, const struct leaks *leaks)
{
	const struct reach_result *mark = &found->mark;
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_number(dict, "walked", found->walked);
	dict_number(dict, "roots", mark->root_bytes);
	dict_number(dict, "blocks", mark->block_bytes);
	dict_number(dict, "unread", mark->unread_roots.bytes + mark->unread_blocks.bytes);
	dict_number(dict, "absent", found->unread.absent);
	dict_number(dict, "elsewhere", found->unread.elsewhere);
	dict_number(dict, "blind", found->blind_threads);
	dict_number(dict, "damages", found->damages);
	dict_number(dict, "uncertain", found->uncertain);
	dict_number(dict, "hidden", mark->heap_bytes);
	dict_number(dict, "underway", found->under_way);
	dict_number(dict, "snapshot", found->snapshot);
	dict_double(dict, "stood", (double)found->pause_ns / 1e9);
	if (leaks)
		add_verdict(dict, leaks);
	return dict;
}

struct err *about_give(const struct call *call, const struct leak_marks *found,
		       const struct leaks *leaks)
{
	if (!call->about_var || Tcl_ObjSetVar2(call->shell->tcl, call->about_var, NULL,
					       about_dict(found, leaks), TCL_LEAVE_ERR_MSG))
		return NULL;
	return err_in_script;
}
