/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Find a script by its name, and run it (theory in script_file.h). */

#include "cmd/shell/script_file.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <tcl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/embedded.h"
#include "cmd/shell/evaluate.h"
#include "cmd/shell/events.h"
#include "cmd/shell/memory_file.h"
#include "cmd/shell/shell.h"
#include "os/input.h"
#include "os/trust.h"

#define SCRIPT_MAX	(64u << 20)

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

/* The owner of the program can make it do anything, so his scripts are as good as root's. */
static uid_t program_owner(void)
{
	struct stat st;

	return stat("/proc/self/exe", &st) ? geteuid() : st.st_uid;
}

struct err *script_file_own(const char *name, struct str *ret)
{
	const char *program = Tcl_GetNameOfExecutable();
	AUTO_STR struct str path = STR_INIT;
	struct err *err;

	if (embedded_files) {
		err = str_addf(&path, EMBEDDED_VOLUME "%s", name);
		return err || !is_there(str_text(&path)) ? err : str_add(ret, str_text(&path));
	}
	if (!program)
		program = "";
	err = str_addf(&path, "%.*sscripts/%s", (int)(path_base(program) - program), program, name);
	if (!err && !trust_file_of(str_text(&path), program_owner(), NULL))
		return str_add(ret, str_text(&path));
	str_clear(&path);
	if (!err)
		err = str_addf(&path, SCRIPTDIR "/%s", name);
	return err || trust_file(str_text(&path), NULL) ? err : str_add(ret, str_text(&path));
}

/* The path by which Tcl opens it must be trusted as a whole. */
static struct err *add_here(const char *name, struct str *ret)
{
	AUTO_STR struct str path = STR_INIT;
	char folder[PATH_MAX];
	struct err *err;

	if (access(name, F_OK))
		return NULL;
	if (!getcwd(folder, sizeof(folder)))
		return err_sys("the current folder");
	err = str_addf(&path, "%s/%s", folder, name);
	if (!err)
		err = trust_file(str_text(&path), NULL);
	if (err)
		return err_hint(err_wrap(err, "it is not run"), "./%s if you mean it nevertheless",
				name);
	/* Tcl would take ~NAME for a user's folder. */
	return str_addf(ret, "%s%s", *name == '~' ? "./" : "", name);
}

static struct err *find_bare(struct shell *shell, const char *name, struct str *ret)
{
	struct err *err = script_file_own(name, ret);

	if (err)
		return err;
	if (!ret->len)
		return add_here(name, ret);
	if (!access(name, F_OK))
		terminal_note(&shell->terminal, "%s is mdbg's own script, not the file in this folder, "
			      "which is ./%s", name, name);
	return NULL;
}

/* Put what comes by the pipe into a file. */
static struct err *read_stream(const char *path, struct script *ret)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err = input_read(path, SCRIPT_MAX, &text);

	if (err)
		return err_wrap(err, "read %s", path);
	ret->fd = memory_file_create(str_text(&text), text.len);
	if (ret->fd < 0)
		return err_sys("read %s", path);
	str_clear(&ret->path);
	return str_addf(&ret->path, "/proc/self/fd/%d", ret->fd);
}

static struct err *add_given(const char *name, struct script *ret)
{
	Tcl_DString native;
	struct err *err = str_add(&ret->path, name);

	if (err || !Tcl_TranslateFileName(NULL, name, &native))
		return err;
	if (input_may_wait(Tcl_DStringValue(&native)))
		err = read_stream(Tcl_DStringValue(&native), ret);
	Tcl_DStringFree(&native);
	return err;
}

struct err *script_file_find(struct shell *shell, const char *name, struct script *ret)
{
	struct err *err = strchr(name, '/') ? NULL : find_bare(shell, name, &ret->path);

	return err || ret->path.len ? err : add_given(name, ret);
}

struct err *script_file_call(struct call *call, const struct script *script)
{
	Tcl_Obj *path = Tcl_NewStringObj(str_text(&script->path), -1);

	Tcl_IncrRefCount(path);
	call->code = Tcl_FSEvalFile(call->shell->tcl, path);
	Tcl_DecrRefCount(path);
	return call->code == TCL_ERROR ? err_in_script : NULL;
}

void script_file_free(struct script *script)
{
	str_free(&script->path);
	if (script->fd >= 0)
		close(script->fd);
}

static bool run_stdin(struct shell *shell)
{
	Tcl_Channel channel = Tcl_GetStdChannel(TCL_STDIN);
	Tcl_Obj *text = Tcl_NewObj();
	bool ok;

	Tcl_IncrRefCount(text);
	if (!channel || Tcl_ReadChars(channel, text, -1, 0) < 0)
		ok = evaluate_fail(shell, err_sys("read standard input"));
	else
		ok = evaluate_finish(shell, evaluate(shell, text), "standard input");
	Tcl_DecrRefCount(text);
	return ok;
}

bool script_file_run(struct shell *shell, const char *name)
{
	CLEANUP(script_file_free) struct script script = SCRIPT_INIT;
	bool from_stdin = !strcmp(name, "-");
	struct err *err = from_stdin ? str_add(&script.path, name) :
				       script_file_find(shell, name, &script);
	const char *const words[] = { "::source", "-encoding", "utf-8", str_text(&script.path) };
	bool ok;

	if (err)
		return evaluate_fail(shell, err);
	Tcl_SetVar(shell->tcl, "argv0", words[3], TCL_GLOBAL_ONLY);
	ok = from_stdin ? run_stdin(shell) : evaluate_words(shell, 4, words, words[3]);
	events_script_ended(shell);
	return ok;
}
