/* SPDX-License-Identifier: GPL-3.0-or-later */
/* set: the settings and how one is changed. */

#include "cmd/shell/settings.h"

#include <inttypes.h>
#include <limits.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/debuginfod.h"
#include "cmd/shell/redirect_kind.h"
#include "cmd/shell/setting_text.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/skip.h"
#include "cmd/terminal/redirect.h"
#include "growth/faults.h"
#include "heap/filter.h"
#include "report/text_table.h"
#include "session/cost/session_cost.h"
#include "symbol/symbol.h"

enum kind {
	WORDS,		/* one of a few, which are numbered from 0 */
	COUNT,
	SIZE,		/* bytes, shown as 64M */
	BYTES,		/* bytes, shown as a plain number */
	DURATION,	/* ns, shown as 500ms; 0 is none, and written so */
	PERCENT,	/* in hundredths; 0 is off, and written so */
	TEXT,		/* a string of the shell */
	LIST,		/* a Tcl list; `set NAME WORD...` sets it, too */
};

#define LIST_SHOWN	40	/* characters of a LIST in the list of settings */

struct setting {
	const char *name, *help;
	enum kind kind;
	/* of WORDS; words that mean something in a LIST, or as a DURATION */
	const char *values[4];
	uint64_t least, most;		/* of numbers */
	const char *none;		/* the meaning of 0, for an error message; or NULL */
	/* The place of the value. */
	bool in_config;			/* struct session_config, else struct shell */
	size_t at, len;
	/* Called after the value is stored; NULL: no call. */
	struct err *(*then)(struct session *session);
	/* These are used in place of storing and reading the value. */
	struct err *(*set)(struct shell *shell, const struct setting *setting, const char *value);
	uint32_t (*get)(const struct shell *shell);
};

#define IN_CONFIG(field) \
	.in_config = true, .at = offsetof(struct session_config, field), \
	.len = sizeof(((struct session_config *)NULL)->field)
#define IN_SHELL(field) \
	.at = offsetof(struct shell, field), .len = sizeof(((struct shell *)NULL)->field)

static struct err *choose(const struct setting *setting, const char *value, uint64_t *ret)
{
	AUTO_STR struct str list = STR_INIT;
	int choice = call_word_index(value, setting->values);
	struct err *err = NULL;

	if (choice >= 0) {
		*ret = (uint64_t)choice;
		return NULL;
	}
	for (unsigned i = 0; setting->values[i] && !err; i++)
		err = str_addf(&list, "%s%s", i ? ", " : "", setting->values[i]);
	return err ? err :
		     err_create(ERR_USAGE, "%s: '%s' is not one of %s", setting->name, value,
				str_text(&list));
}

static struct err *parse_count(const struct setting *setting, const char *value, uint64_t *ret)
{
	uint64_t number;
	struct err *err = parse_number(value, &number);

	if (err || number < setting->least || number > setting->most)
		return err_create(ERR_USAGE, "%s: '%s' is not a number from %" PRIu64 "%s%s%s to %" PRIu64,
				  setting->name, value, setting->least, setting->none ? " (" : "",
				  setting->none ? setting->none : "", setting->none ? ")" : "",
				  setting->most);
	*ret = number;
	return NULL;
}

/* Show the size in the largest unit of which it is a whole number. */
static struct err *add_size(struct str *to, uint64_t bytes)
{
	static const char units[] = "TGM";

	for (unsigned i = 0, shift = 40; units[i]; i++, shift -= 10)
		if (bytes && !(bytes & ((1ull << shift) - 1)))
			return str_addf(to, "%" PRIu64 "%c", bytes >> shift, units[i]);
	return str_addf(to, "%" PRIu64, bytes);
}

static struct err *parse_bytes(const struct setting *setting, const char *value, uint64_t *ret)
{
	AUTO_STR struct str limit = STR_INIT;
	uint64_t bytes;
	struct err *err = parse_size(value, &bytes);

	if (err)
		return err_wrap(err, "%s", setting->name);
	if (bytes >= setting->least && bytes <= setting->most) {
		*ret = bytes;
		return NULL;
	}
	err = add_size(&limit, bytes < setting->least ? setting->least : setting->most);
	return err ? err :
		     err_create(ERR_USAGE, "%s: %s is %s than %s", setting->name, value,
				bytes < setting->least ? "less" : "more", str_text(&limit));
}

static struct err *parse_or_none(const struct setting *setting, const char *value, uint64_t *ret)
{
	uint64_t ns = 0;
	struct err *err = strcmp(value, "none") ? parse_duration(value, &ns) : NULL;

	if (!err && !ns && strcmp(value, "none"))
		err = err_create(ERR_USAGE, "'%s' is no time", value);
	if (err)
		return err_hint(err_wrap(err, "%s", setting->name), "or none");
	*ret = ns;
	return NULL;
}

static struct err *replace(char **text, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return err_nomem;
	free(*text);
	*text = copy;
	return NULL;
}

static bool is_text(const struct setting *setting)
{
	return setting->kind == TEXT || setting->kind == LIST;
}

/* Check the value, and store it at `at`. */
static struct err *store(const struct setting *setting, const char *value, void *at)
{
	uint64_t number = 0;
	struct err *err;

	if (is_text(setting))
		return replace(at, value);
	err = setting->kind == WORDS ? choose(setting, value, &number) :
	      setting->kind == COUNT ? parse_count(setting, value, &number) :
	      setting->kind == DURATION ? parse_or_none(setting, value, &number) :
	      setting->kind == PERCENT ? setting_text_parse_percent(setting->name, value, setting->most, &number) :
				       parse_bytes(setting, value, &number);
	if (err)
		return err;
	if (setting->len == sizeof(bool))
		*(bool *)at = number;
	else if (setting->len == sizeof(uint32_t))
		*(uint32_t *)at = (uint32_t)number;
	else
		*(uint64_t *)at = number;
	return NULL;
}

static void *place_of(const struct shell *shell, const struct setting *setting)
{
	char *in = setting->in_config ? (char *)session_config(shell->session) : (char *)shell;

	return in + setting->at;
}

static struct err *set(struct shell *shell, const struct setting *setting, const char *value)
{
	struct err *err;

	if (setting->set)
		return setting->set(shell, setting, value);
	err = store(setting, value, place_of(shell, setting));
	return err || !setting->then ? err : setting->then(shell->session);
}

static struct err *get(const struct shell *shell, const struct setting *setting, struct str *ret)
{
	const void *at = place_of(shell, setting);
	uint64_t number;

	if (is_text(setting))
		return str_add(ret, *(char *const *)at);
	number = setting->get ? setting->get(shell) :
		 setting->len == sizeof(bool) ? *(const bool *)at :
		 setting->len == sizeof(uint32_t) ? *(const uint32_t *)at : *(const uint64_t *)at;
	if (setting->kind == WORDS)
		return str_add(ret, setting->values[number]);
	if (setting->kind == DURATION)
		return setting_text_add_duration(ret, number);
	if (setting->kind == PERCENT)
		return setting_text_add_percent(ret, number);
	return setting->kind == SIZE ? add_size(ret, number) : str_addf(ret, "%" PRIu64, number);
}

/* If there is a target, its log remembers this many frees from now on, too. */
static struct err *set_free_history(struct shell *shell, const struct setting *setting,
				    const char *value)
{
	uint32_t nr;
	struct err *err = store(setting, value, &nr);

	return err ? err : session_recording_set_free_history(shell->session, nr);
}

static uint32_t get_free_history(const struct shell *shell)
{
	return session_recording_free_history(shell->session);
}

/* If the log of this process has a bound, the new one holds at once. */
static struct err *set_cost(struct shell *shell, const struct setting *setting, const char *value)
{
	uint32_t bound;
	struct err *err = store(setting, value, &bound);

	return err ? err : session_cost_set(shell->session, bound);
}

static struct err *set_debug_path(struct shell *shell, const struct setting *setting UNUSED,
				  const char *value)
{
	struct err *err = NULL;

	if (session_log(shell->session))
		err = symbols_set_debug_path(session_symbols(shell->session), value);
	return err ? err : replace(&shell->debug_path, value);
}

/* If there is no library, or no server, nothing is changed. */
static struct err *set_debuginfod(struct shell *shell, const struct setting *setting,
				  const char *value)
{
	bool on;
	struct err *err = store(setting, value, &on);

	return err ? err : debuginfod_switch(shell, on);
}

static struct err *read_suppressions(struct shell *shell, const char *files,
				     struct suppressions *ret)
{
	struct err *err = suppressions_init(ret);
	const char **file = NULL;
	int nr = 0;

	if (!err && Tcl_SplitList(NULL, files, &nr, &file) != TCL_OK)
		err = err_create(ERR_USAGE, "suppressions: '%s' is no list of files", files);
	for (int i = 0; i < nr && !err; i++)
		err = suppressions_read(ret, file[i]);
	if (file)
		Tcl_Free((char *)file);
	if (!err)
		err = replace(&shell->suppression_files, files);
	if (err)
		suppressions_free(ret);
	return err;
}

/* The new ones replace those that were set before; the built-in ones stay. */
static struct err *set_suppressions(struct shell *shell, const struct setting *setting UNUSED,
				    const char *value)
{
	struct suppressions made = { VEC_INIT };
	struct err *err = read_suppressions(shell, value, &made);

	if (err)
		return err;
	suppressions_free(&shell->suppressions);
	shell->suppressions = made;
	return NULL;
}

static struct err *set_names(struct shell *shell, const struct setting *setting, const char *value)
{
	uint32_t names;
	struct err *err = store(setting, value, &names);

	if (!err)
		session_naming(shell->session)->names = names;
	return err;
}

static uint32_t get_names(const struct shell *shell)
{
	return session_naming(shell->session)->names;
}

static struct err *set_skip(struct shell *shell, const struct setting *setting UNUSED,
			    const char *value)
{
	struct name_globs *skip = &session_naming(shell->session)->skip, made = { VEC_INIT };
	AUTO_STR struct str text = STR_INIT;
	struct session_naming *naming = session_naming(shell->session);
	bool find = false;
	struct err *err = skip_parse(value, &made, &find, &text);

	if (!err)
		err = replace(&shell->skip, str_text(&text));
	if (err) {
		name_globs_free(&made);
		return err;
	}
	name_globs_free(skip);
	*skip = made;
	naming->find_wrappers = find;
	naming->nr_wrappers = naming->nr_said = 0;
	naming->searched_blocks = 0;
	return NULL;
}

static const struct setting settings[] = {
	{ "color", "headings in colour",
	  WORDS, { "auto", "always", "never" }, IN_SHELL(terminal.color) },
	{ "cost", "percent of its processor time that recording may take: the log samples (off: it has no bound)",
	  PERCENT, { "off" }, .most = SAMPLE_COST_MOST, IN_CONFIG(cost), .set = set_cost },
	{ "debug-path", "folders with separate debug files, colon-separated",
	  TEXT, IN_SHELL(debug_path), .set = set_debug_path },
	{ "debuginfod", "ask $DEBUGINFOD_URLS for missing debug files",
	  WORDS, { "off", "on" }, IN_SHELL(debuginfod), .set = set_debuginfod },
	{ "debuginfod-size", "longest debug file that is taken from a server",
	  SIZE, .least = 1 << 20, .most = LIMIT_FILE, IN_SHELL(debuginfod_size) },
	{ "debuginfod-time", "seconds that a server may take for a debug file",
	  COUNT, .least = 1, .most = 3600, IN_SHELL(debuginfod_time) },
	{ "engine", "how to probe, at the next arming",
	  WORDS, { "auto", "jump", "breakpoint" }, IN_CONFIG(engine) },
	{ "fault-stack", "bytes of the stack that `growth start fault` has copied of each fault",
	  SIZE, .least = FAULTS_STACK, .most = FAULTS_STACK_MAX, IN_CONFIG(fault_stack) },
	{ "follow-exec", "attach and arm anew when the process executes a program",
	  WORDS, { "off", "on" }, IN_CONFIG(follow_exec), .then = session_untraced_configured },
	{ "follow-fork", "which processes to watch after a fork",
	  WORDS, { "parent", "child", "both" }, IN_CONFIG(follow_fork), .then = session_untraced_configured },
	{ "free-history", "frees that are remembered, to explain double frees (0: none)",
	  COUNT, .most = LOG_FREES_MAX, .none = "none is remembered", IN_CONFIG(free_history),
	  .set = set_free_history, .get = get_free_history },
	{ "history-seconds", "seconds between two samples of the history (0: none is taken)",
	  COUNT, .most = 3600, .none = "none is taken", IN_CONFIG(history_seconds) },
	{ "hold-at-death", "hold the process when it is about to die with a core, until `cont`",
	  WORDS, { "off", "on" }, IN_CONFIG(hold_at_death), .then = session_untraced_configured },
	{ "kernel-sampling", "`growth kernel` estimates allocations that come too fast",
	  WORDS, { "off", "on" }, IN_CONFIG(kernel_sampling) },
	{ "leaks-at-end", "look for leaks when the process ends; `malloc leaks` then shows them",
	  WORDS, { "off", "on" }, IN_CONFIG(leaks_at_end), .then = session_untraced_configured },
	{ "log-limit", "bytes that the log may grow to, at the next attach",
	  SIZE, .least = LOG_REGION_MIN, .most = LOG_REGION_MAX / 2, IN_CONFIG(log_limit) },
	{ "max-pause", "a command that would stop the process for longer is refused",
	  DURATION, { "none" }, IN_CONFIG(max_pause_ns) },
	{ "names", "C++ names: short, or full with all template arguments",
	  WORDS, { "short", "full" }, .len = sizeof(uint32_t), .set = set_names, .get = get_names },
	{ "pager", "long output on a terminal goes through $PAGER",
	  WORDS, { "off", "on" }, IN_SHELL(pager) },
	{ "prompt", "the prompt",
	  TEXT, IN_SHELL(prompt_text) },
	{ "sample", "record about one allocation in so many bytes (0: all), at the next attach",
	  BYTES, .most = SAMPLE_MEAN_MAX, IN_CONFIG(sample) },
	{ "skip", "functions that `malloc sites` passes over: `set skip` lists them",
	  LIST, { "default", "found" }, IN_SHELL(skip), .set = set_skip },
	{ "stack-depth", "frames kept for an allocation, at the next attach",
	  COUNT, .least = 1, .most = LOG_DEPTH_MAX, IN_CONFIG(stack_depth) },
	{ "suppressions", "files that say which leaks not to report",
	  LIST, IN_SHELL(suppression_files), .set = set_suppressions },
	{ "units", "bytes on a terminal are printed with K, M and G",
	  WORDS, { "off", "on" }, IN_SHELL(units) },
};

static const struct setting *find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		if (!strcmp(settings[i].name, name))
			return &settings[i];
	}
	return NULL;
}

struct err *settings_set(struct shell *shell, const char *name, const char *value)
{
	const struct setting *setting = find(name);

	if (!setting)
		return err_create(ERR_USAGE, "%s: no such setting", name);
	return set(shell, setting, value);
}

struct err *settings_store(struct session_config *config, const char *name, const char *value)
{
	const struct setting *setting = find(name);

	return store(setting, value, (char *)config + setting->at);
}

/* The trace of a variable needs both of these. */
struct variable {
	struct shell *shell;
	const struct setting *setting;
};

#define TRACED	(TCL_GLOBAL_ONLY | TCL_TRACE_READS | TCL_TRACE_WRITES | TCL_TRACE_UNSETS)

static void show_value(const struct variable *variable)
{
	AUTO_STR struct str value = STR_INIT;

	if (!get(variable->shell, variable->setting, &value))
		Tcl_SetVar(variable->shell->tcl, variable->setting->name, str_text(&value),
			   TCL_GLOBAL_ONLY);
}

/* While a trace runs, Tcl does not call it again, so this may set the variable. */
static char *on_variable(ClientData data, Tcl_Interp *tcl, const char *name UNUSED,
			 const char *index UNUSED, int flags)
{
	static char message[sizeof(struct err) + 4];
	const struct variable *variable = data;
	const char *value;
	struct err *err = NULL;

	if (!variable->shell->session || flags & TCL_INTERP_DESTROYED)
		return NULL;
	value = Tcl_GetVar(tcl, variable->setting->name, TCL_GLOBAL_ONLY);
	if (flags & TCL_TRACE_WRITES)
		err = set(variable->shell, variable->setting, value ? value : "");
	show_value(variable);
	if (flags & TCL_TRACE_DESTROYED)
		Tcl_TraceVar(tcl, variable->setting->name, TRACED, on_variable, data);
	if (!err)
		return NULL;
	/*
	 * Tcl puts `can't set "NAME": ` before the message and has no place for a hint, so the part
	 * before the colon is left out and the hint is put at the end.
	 */
	value = strstr(err->msg, ": ");
	snprintf(message, sizeof(message), "%s%s%s", value ? value + 2 : err->msg,
		 *err->hint ? "; " : "", err->hint);
	return message;
}

static struct err *make_variable(struct shell *shell, const struct setting *setting)
{
	struct variable *variable = calloc(1, sizeof(*variable));

	if (!variable)
		return err_nomem;
	variable->shell = shell;
	variable->setting = setting;
	show_value(variable);
	Tcl_TraceVar(shell->tcl, setting->name, TRACED, on_variable, variable);
	return NULL;
}

struct err *settings_init(struct shell *shell)
{
	struct err *err = replace(&shell->prompt_text, "(mdbg) ");
	size_t i;

	shell->debuginfod_size = 512ull << 20;
	shell->debuginfod_time = 60;
	if (!err)
		err = replace(&shell->debug_path, "/usr/lib/debug");
	if (!err)
		err = set_suppressions(shell, NULL, "");
	if (!err)
		err = set_skip(shell, NULL, "default found");
	for (i = 0; !err && i < ARRAY_SIZE(settings); i++)
		err = make_variable(shell, &settings[i]);
	return err;
}

const char *settings_word(const char *name, size_t i)
{
	const struct setting *setting = name ? find(name) : NULL;

	if (!name)
		return i < ARRAY_SIZE(settings) ? settings[i].name : NULL;
	return setting && i < ARRAY_SIZE(setting->values) ? setting->values[i] : NULL;
}

/* `set skip a b` has more words than Tcl's own `set` takes. */
static const struct setting *list_of(int argc, const char *const *argv)
{
	const struct setting *setting = argc > 2 ? find(argv[0]) : NULL;

	return setting && setting->kind == LIST ? setting : NULL;
}

static bool for_tcl(int argc, const char *const *argv)
{
	return argc && !redirect_kind(argv[0], 0, NULL, false) && !list_of(argc, argv);
}

static struct err *set_list(struct call *call, const struct setting *setting)
{
	char *list = Tcl_Merge(call->argc - 1, call->argv + 1);
	struct err *err = set(call->shell, setting, list);

	Tcl_Free(list);
	return err;
}

/* A list may be long, so it is cut. */
static void add_value(struct table *table, const struct setting *setting, const char *value)
{
	bool cut = setting->kind == LIST && strlen(value) > LIST_SHOWN;

	text_table_cell(table, "%.*s%s", cut ? LIST_SHOWN : INT_MAX, value, cut ? "..." : "");
}

static struct err *run(struct call *call)
{
	static const char *const titles[] = { "SETTING", "VALUE", "MEANING" };
	struct table table;
	const struct setting *list = list_of(call->argc, (const char *const *)call->argv);
	struct err *err = NULL;
	size_t i;

	if (list)
		return set_list(call, list);
	if (call->argc)
		return call_bad_word(call->argv[0]);
	text_table_init(&table, ARRAY_SIZE(titles), titles);
	for (i = 0; !err && i < ARRAY_SIZE(settings); i++) {
		AUTO_STR struct str value = STR_INIT;

		err = get(call->shell, &settings[i], &value);
		text_table_cell(&table, "%s", settings[i].name);
		add_value(&table, &settings[i], str_text(&value));
		text_table_cell(&table, "%s", settings[i].help);
	}
	if (err && !table.err)
		table.err = err;
	return text_table_print(&table, call->out);
}

const struct cmd cmd_set = {
	.name		= "set",
	.usage		= "?NAME ?VALUE...??",
	.brief		= "list the settings; show or change one (or a variable)",
	.help		= "`set` alone lists the settings. Each is a Tcl variable: `set pager off`\n"
			  "changes it, and `$pager` is its value. A wrong value is an error and changes\n"
			  "nothing.\n"
			  "\n"
			  "`set free-history N` remembers the stacks of the last N frees from then on, to\n"
			  "explain double frees. It is 0 at first, since it makes a free cost as much as\n"
			  "an allocation.\n"
			  "\n"
			  "`set debuginfod on` asks the servers of $DEBUGINFOD_URLS for debug files that\n"
			  "are not on this machine. It asks when a line of such a file is to be shown,\n"
			  "and never while the process is stopped.\n"
			  "\n"
			  "`set hold-at-death on` holds the process when a signal is about to end it with\n"
			  "a core (SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGQUIT,\n"
			  "SIGXCPU, SIGXFSZ; not one that the process handles): `malloc check`, `where`\n"
			  "and all other commands answer. `cont`, `detach`, `wait exit`, and the end of\n"
			  "mdbg let it die of that signal, as if mdbg had not been there. `wait SECONDS`\n"
			  "ends when the process is held. mdbg traces the process for it. A SIGKILL ends\n"
			  "a held process at once.\n"
			  "\n"
			  "`set names full` shows C++ names with all template arguments, inline and\n"
			  "anonymous namespaces. FILTER understands both forms.\n"
			  "\n"
			  "`set skip GLOB...` names the wrappers of allocators.\n"
			  "`malloc sites by function` and the line `in NAME` of a site pass over them, to\n"
			  "the first frame that is the program's own; if there is none, to the innermost\n"
			  "caller. Tracebacks stay whole. A GLOB matches names with or without\n"
			  "parameters, short or full. `default` stands for the built-in ones; `found`\n"
			  "lets mdbg find the program's own, as it does at first, and name them once.\n"
			  "\n"
			  "All other names are plain variables. A line that makes a variable which looks\n"
			  "like a setting (stack_depth) gets a warning; a script does not.\n",
	.example	= "set skip default my_alloc*\n"
			  "set max-pause 2s\n",
	.run		= run,
	.for_tcl	= for_tcl,
	.max_args	= CMD_ANY,
	.complete	= COMPLETE_SETTINGS,
};
