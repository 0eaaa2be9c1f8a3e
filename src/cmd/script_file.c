/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Find a script by its name. */

#include "cmd/script_file.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"
#include "cmd/embedded.h"

/* Tcl sees the files inside of mdbg, too. */
static bool is_there(const char *path)
{
	Tcl_Obj *name = Tcl_NewStringObj(path, -1);
	bool there;

	Tcl_IncrRefCount(name);
	there = !Tcl_FSAccess(name, F_OK);
	Tcl_DecrRefCount(name);
	return there;
}

static PRINTF(2, 3) struct err *add_if_there(struct str *ret, const char *fmt, ...)
{
	AUTO_STR struct str path = STR_INIT;
	struct err *err;
	va_list ap;

	va_start(ap, fmt);
	err = str_addv(&path, fmt, ap);
	va_end(ap);
	return err || !is_there(str_text(&path)) ? err : str_add(ret, str_text(&path));
}

static struct err *add_own(const char *name, struct str *ret)
{
	const char *program = Tcl_GetNameOfExecutable();
	struct err *err;

	if (embedded_files)
		return add_if_there(ret, "mdbg:/%s", name);
	if (!program)
		program = "";
	err = add_if_there(ret, "%.*sscripts/%s", (int)(path_base(program) - program), program,
			   name);
	return err || ret->len ? err : add_if_there(ret, SCRIPTDIR "/%s", name);
}

struct err *script_file(const char *name, struct str *ret)
{
	struct err *err = NULL;

	if (!strchr(name, '/') && !is_there(name))
		err = add_own(name, ret);
	return err || ret->len ? err : str_add(ret, name);
}
