/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tcl's own folders (tcl_paths.h). */

#include "cmd/shell/tcl_paths.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "cmd/shell/embedded.h"
#include "os/trust.h"

/* A folder of a file system inside of mdbg is nobody's. */
static bool is_trusted(Tcl_Obj *folder)
{
	const char *path = Tcl_GetString(folder);
	struct err *err = embedded_files && !strncmp(path, EMBEDDED_VOLUME, strlen(EMBEDDED_VOLUME)) ?
				  NULL : trust_path(path);

	if (err)
		trace_line("Tcl finds nothing in %s: %s", path, err->msg);
	return !err;
}

void tcl_paths_fix_library(Tcl_Interp *tcl)
{
	const char *named = getenv("TCL_LIBRARY");

	/* The environment was cleaned, so that this one is trusted. */
	if (named && *named)
		return;
	if (Tcl_EvalEx(tcl, "set tcl_library [::tcl::pkgconfig get scriptdir,runtime]", -1,
		       TCL_EVAL_GLOBAL) != TCL_OK)
		trace_line("Tcl: %s", Tcl_GetStringResult(tcl));
	Tcl_ResetResult(tcl);
}

/* The trusted ones of a list of folders. */
static Tcl_Obj *trusted_of(Tcl_Obj *list)
{
	Tcl_Obj *kept = Tcl_NewListObj(0, NULL), **folders;
	int nr;

	if (!list || Tcl_ListObjGetElements(NULL, list, &nr, &folders) != TCL_OK)
		return kept;
	for (int i = 0; i < nr; i++)
		if (is_trusted(folders[i]))
			Tcl_ListObjAppendElement(NULL, kept, folders[i]);
	return kept;
}

/* Tell the finder of modules its folders anew; the last one added is the first to be looked in. */
static void set_module_folders(Tcl_Interp *tcl, Tcl_Obj *folders)
{
	Tcl_SetVar2Ex(tcl, "::mdbg::folders", NULL, folders, TCL_GLOBAL_ONLY);
	if (Tcl_EvalEx(tcl, "::tcl::tm::path remove {*}[::tcl::tm::path list]\n"
		       "::tcl::tm::path add {*}[lreverse $::mdbg::folders]\n"
		       "unset ::mdbg::folders", -1, TCL_EVAL_GLOBAL) != TCL_OK)
		trace_line("Tcl: %s", Tcl_GetStringResult(tcl));
}

void tcl_paths_clean(Tcl_Interp *tcl)
{
	Tcl_Obj *found = Tcl_GetVar2Ex(tcl, "auto_path", NULL, TCL_GLOBAL_ONLY);

	Tcl_SetVar2Ex(tcl, "auto_path", NULL, trusted_of(found), TCL_GLOBAL_ONLY);
	if (Tcl_EvalEx(tcl, "namespace eval ::mdbg {}; ::tcl::tm::path list", -1,
		       TCL_EVAL_GLOBAL) == TCL_OK) {
		Tcl_Obj *kept = trusted_of(Tcl_GetObjResult(tcl));

		Tcl_IncrRefCount(kept);
		set_module_folders(tcl, kept);
		Tcl_DecrRefCount(kept);
	}
	Tcl_ResetResult(tcl);
}
