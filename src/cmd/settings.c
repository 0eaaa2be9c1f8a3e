/* SPDX-License-Identifier: GPL-3.0-or-later */
/* set: what there is to set. */

#include "cmd/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/redirect.h"
#include "cmd/shell.h"
#include "heap/filter.h"
#include "log/sample.h"
#include "report/table.h"
#include "symbol/symbol.h"

struct setting {
	const char *name;
	const char *help;
	const char *values[4];	/* words it takes, if they are few: index is the value */
	struct err *(*set)(struct shell *shell, const struct setting *setting, const char *value);
	struct err *(*get)(struct shell *shell, const struct setting *setting, struct str *ret);
};

static struct err *choose(const struct setting *setting, const char *value, unsigned *ret)
{
	AUTO_STR struct str list = STR_INIT;
	struct err *err = NULL;
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(setting->values) && setting->values[i]; i++) {
		if (!strcmp(setting->values[i], value)) {
			*ret = i;
			return NULL;
		}
		if (!err)
			err = str_addf(&list, "%s%s", i ? ", " : "", setting->values[i]);
	}
	return err ? err :
		     err_create(ERR_USAGE, "%s: '%s' is none of %s", setting->name, value,
				str_text(&list));
}

static struct err *set_engine(struct shell *shell, const struct setting *setting, const char *value)
{
	unsigned choice;
	struct err *err = choose(setting, value, &choice);

	if (!err)
		session_config(shell->session)->engine = choice;
	return err;
}

static struct err *get_engine(struct shell *shell, const struct setting *setting, struct str *ret)
{
	return str_add(ret, setting->values[session_config(shell->session)->engine]);
}

static struct err *set_follow_fork(struct shell *shell, const struct setting *setting,
				   const char *value)
{
	unsigned choice;
	struct err *err = choose(setting, value, &choice);

	if (err)
		return err;
	session_config(shell->session)->follow_fork = choice;
	return session_configured(shell->session);
}

static struct err *get_follow_fork(struct shell *shell, const struct setting *setting,
				   struct str *ret)
{
	return str_add(ret, setting->values[session_config(shell->session)->follow_fork]);
}

static struct err *set_follow_exec(struct shell *shell, const struct setting *setting,
				   const char *value)
{
	unsigned choice;
	struct err *err = choose(setting, value, &choice);

	if (err)
		return err;
	session_config(shell->session)->follow_exec = choice;
	return session_configured(shell->session);
}

static struct err *get_follow_exec(struct shell *shell, const struct setting *setting,
				   struct str *ret)
{
	return str_add(ret, setting->values[session_config(shell->session)->follow_exec]);
}

static struct err *set_leaks_at_end(struct shell *shell, const struct setting *setting,
				    const char *value)
{
	unsigned choice;
	struct err *err = choose(setting, value, &choice);

	if (err)
		return err;
	session_config(shell->session)->leaks_at_end = choice;
	return session_configured(shell->session);
}

static struct err *get_leaks_at_end(struct shell *shell, const struct setting *setting,
				    struct str *ret)
{
	return str_add(ret, setting->values[session_config(shell->session)->leaks_at_end]);
}

static struct err *set_stack_depth(struct shell *shell, const struct setting *setting,
				   const char *value)
{
	uint64_t depth;
	struct err *err = parse_number(value, &depth);

	if (err || depth < 1 || depth > LOG_DEPTH_MAX)
		return err_create(ERR_USAGE, "%s: '%s' is not a number from 1 to %d", setting->name,
				  value, LOG_DEPTH_MAX);
	session_config(shell->session)->stack_depth = (uint32_t)depth;
	return NULL;
}

static struct err *get_stack_depth(struct shell *shell, const struct setting *setting,
				   struct str *ret)
{
	(void)setting;
	return str_addf(ret, "%u", session_config(shell->session)->stack_depth);
}

static struct err *set_free_history(struct shell *shell, const struct setting *setting,
				    const char *value)
{
	uint64_t nr;
	struct err *err = parse_number(value, &nr);

	if (err || nr > LOG_FREES_MAX)
		return err_create(ERR_USAGE, "%s: '%s' is not a number from 0 (none is remembered) to %u",
				  setting->name, value, LOG_FREES_MAX);
	return session_set_free_history(shell->session, (uint32_t)nr);
}

static struct err *get_free_history(struct shell *shell, const struct setting *setting,
				    struct str *ret)
{
	(void)setting;
	return str_addf(ret, "%u", session_free_history(shell->session));
}

struct err *settings_parse_log_limit(const char *value, uint64_t *ret)
{
	uint64_t limit;
	struct err *err = parse_size(value, &limit);

	if (err)
		return err_wrap(err, "log-limit");
	if (limit < LOG_LIMIT_MIN)
		return err_create(ERR_USAGE, "log-limit: %s is less than %lluM", value,
				  LOG_LIMIT_MIN >> 20);
	if (limit > LOG_LIMIT_MAX)
		return err_create(ERR_USAGE, "log-limit: %s is more than %lluT", value,
				  LOG_LIMIT_MAX >> 40);
	*ret = limit;
	return NULL;
}

static struct err *set_log_limit(struct shell *shell, const struct setting *setting UNUSED,
				 const char *value)
{
	return settings_parse_log_limit(value, &session_config(shell->session)->log_limit);
}

static struct err *get_log_limit(struct shell *shell, const struct setting *setting,
				 struct str *ret)
{
	uint64_t limit = session_config(shell->session)->log_limit;

	(void)setting;
	if (limit % (1 << 30) == 0)
		return str_addf(ret, "%" PRIu64 "G", limit >> 30);
	if (limit % (1 << 20) == 0)
		return str_addf(ret, "%" PRIu64 "M", limit >> 20);
	return str_addf(ret, "%" PRIu64, limit);
}

struct err *settings_parse_sample(const char *value, uint64_t *ret)
{
	uint64_t mean;
	struct err *err = parse_size(value, &mean);

	if (err)
		return err_wrap(err, "sample");
	if (mean > SAMPLE_MEAN_MAX)
		return err_create(ERR_USAGE, "sample: %s is more than %lluG", value,
				  SAMPLE_MEAN_MAX >> 30);
	*ret = mean;
	return NULL;
}

static struct err *set_sample(struct shell *shell, const struct setting *setting, const char *value)
{
	(void)setting;
	return settings_parse_sample(value, &session_config(shell->session)->sample);
}

static struct err *get_sample(struct shell *shell, const struct setting *setting, struct str *ret)
{
	(void)setting;
	return str_addf(ret, "%" PRIu64, session_config(shell->session)->sample);
}

static struct err *set_pager(struct shell *shell, const struct setting *setting, const char *value)
{
	unsigned choice;
	struct err *err = choose(setting, value, &choice);

	if (!err)
		shell->pager = choice;
	return err;
}

static struct err *get_pager(struct shell *shell, const struct setting *setting, struct str *ret)
{
	return str_add(ret, setting->values[shell->pager]);
}

static struct err *set_color(struct shell *shell, const struct setting *setting, const char *value)
{
	unsigned choice;
	struct err *err = choose(setting, value, &choice);

	if (!err)
		shell->color = choice;
	return err;
}

static struct err *get_color(struct shell *shell, const struct setting *setting, struct str *ret)
{
	return str_add(ret, setting->values[shell->color]);
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

static struct err *set_prompt(struct shell *shell, const struct setting *setting, const char *value)
{
	(void)setting;
	return replace(&shell->prompt_text, value);
}

static struct err *get_prompt(struct shell *shell, const struct setting *setting, struct str *ret)
{
	(void)setting;
	return str_add(ret, shell->prompt_text);
}

static struct err *set_debug_path(struct shell *shell, const struct setting *setting,
				  const char *value)
{
	struct err *err = NULL;

	(void)setting;
	if (session_log(shell->session))
		err = symbols_set_debug_path(session_symbols(shell->session), value);
	return err ? err : replace(&shell->debug_path, value);
}

static struct err *get_debug_path(struct shell *shell, const struct setting *setting,
				  struct str *ret)
{
	(void)setting;
	return str_add(ret, shell->debug_path);
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

/* In place of those of before; the built-in ones stay. */
static struct err *set_suppressions(struct shell *shell, const struct setting *setting,
				    const char *value)
{
	struct suppressions made = { VEC_INIT };
	struct err *err = read_suppressions(shell, value, &made);

	(void)setting;
	if (err)
		return err;
	suppressions_free(&shell->suppressions);
	shell->suppressions = made;
	return NULL;
}

static struct err *get_suppressions(struct shell *shell, const struct setting *setting,
				    struct str *ret)
{
	(void)setting;
	return str_add(ret, shell->suppression_files);
}

static const struct setting settings[] = {
	{ "color", "headings in colour",
	  { "auto", "always", "never" }, set_color, get_color },
	{ "debug-path", "folders with separate debug files, colon-separated",
	  { NULL }, set_debug_path, get_debug_path },
	{ "engine", "how to probe, at the next arming",
	  { "auto", "jump", "breakpoint" }, set_engine, get_engine },
	{ "follow-exec", "attach and arm anew when the process executes a program",
	  { "off", "on" }, set_follow_exec, get_follow_exec },
	{ "follow-fork", "whom to watch after a fork",
	  { "parent", "child", "both" }, set_follow_fork, get_follow_fork },
	{ "free-history", "frees that are remembered, for double ones (0: none)",
	  { NULL }, set_free_history, get_free_history },
	{ "leaks-at-end", "look for leaks when the process ends, for `malloc leaks` then",
	  { "off", "on" }, set_leaks_at_end, get_leaks_at_end },
	{ "log-limit", "bytes that the log may grow to, at the next attach",
	  { NULL }, set_log_limit, get_log_limit },
	{ "pager", "long output on a terminal goes through $PAGER",
	  { "off", "on" }, set_pager, get_pager },
	{ "prompt", "the prompt",
	  { NULL }, set_prompt, get_prompt },
	{ "sample", "record one allocation in so many bytes (0: all), at the next attach",
	  { NULL }, set_sample, get_sample },
	{ "stack-depth", "frames kept for an allocation, at the next attach",
	  { NULL }, set_stack_depth, get_stack_depth },
	{ "suppressions", "files that say which leaks not to report",
	  { NULL }, set_suppressions, get_suppressions },
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
	return setting->set(shell, setting, value);
}

/* A variable's trace needs both. */
struct variable {
	struct shell *shell;
	const struct setting *setting;
};

#define TRACED	(TCL_GLOBAL_ONLY | TCL_TRACE_READS | TCL_TRACE_WRITES | TCL_TRACE_UNSETS)

static void show_value(const struct variable *variable)
{
	AUTO_STR struct str value = STR_INIT;

	if (!variable->setting->get(variable->shell, variable->setting, &value))
		Tcl_SetVar(variable->shell->tcl, variable->setting->name, str_text(&value),
			   TCL_GLOBAL_ONLY);
}

/* Tcl does not call a trace again for what it does itself. */
static char *on_variable(ClientData data, Tcl_Interp *tcl, const char *name, const char *index,
			 int flags)
{
	static char message[sizeof(((struct err *)NULL)->msg)];
	const struct variable *variable = data;
	const char *value;
	struct err *err = NULL;

	(void)name;
	(void)index;
	if (!variable->shell->session || flags & TCL_INTERP_DESTROYED)
		return NULL;
	value = Tcl_GetVar(tcl, variable->setting->name, TCL_GLOBAL_ONLY);
	if (flags & TCL_TRACE_WRITES)
		err = variable->setting->set(variable->shell, variable->setting,
					     value ? value : "");
	show_value(variable);
	if (flags & TCL_TRACE_DESTROYED)
		Tcl_TraceVar(tcl, variable->setting->name, TRACED, on_variable, data);
	if (!err)
		return NULL;
	/* Tcl says `can't set "NAME": ` before it. */
	value = strstr(err->msg, ": ");
	snprintf(message, sizeof(message), "%s", value ? value + 2 : err->msg);
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

	if (!err)
		err = replace(&shell->debug_path, "/usr/lib/debug");
	if (!err)
		err = set_suppressions(shell, NULL, "");
	for (i = 0; !err && i < ARRAY_SIZE(settings); i++)
		err = make_variable(shell, &settings[i]);
	return err;
}

void settings_complete(const char *name, bool (*fn)(const char *word, void *ctx), void *ctx)
{
	const struct setting *setting = name ? find(name) : NULL;
	size_t i;

	if (!name) {
		for (i = 0; i < ARRAY_SIZE(settings); i++)
			fn(settings[i].name, ctx);
		return;
	}
	for (i = 0; setting && i < ARRAY_SIZE(setting->values) && setting->values[i]; i++)
		fn(setting->values[i], ctx);
}

static bool for_tcl(int argc, const char *const *argv)
{
	return argc && !redirect_kind(argv[0], 0, NULL, false);
}

static struct err *run(struct call *call)
{
	static const char *const titles[] = { "SETTING", "VALUE", "MEANING" };
	struct table table;
	struct err *err = NULL;
	size_t i;

	table_init(&table, ARRAY_SIZE(titles), titles);
	for (i = 0; !err && i < ARRAY_SIZE(settings); i++) {
		AUTO_STR struct str value = STR_INIT;

		err = settings[i].get(call->shell, &settings[i], &value);
		table_cell(&table, "%s", settings[i].name);
		table_cell(&table, "%s", str_text(&value));
		table_cell(&table, "%s", settings[i].help);
	}
	if (err && !table.err)
		table.err = err;
	return table_print(&table, call->out);
}

const struct cmd cmd_set = {
	.name		= "set",
	.usage		= "?NAME ?VALUE??",
	.brief		= "list the settings; show or change one (or a variable)",
	.help		= "`set` alone lists what can be set. Each is a Tcl variable: `set\n"
			  "pager off` changes it, `$pager` is its value.\n"
			  "A value that a setting does not take is an error and changes\n"
			  "nothing. `set free-history N` has the stacks of the last N frees\n"
			  "remembered from then on, for double frees; it is 0 at first, since\n"
			  "it makes frees as dear as allocations. All other names are plain\n"
			  "variables; a line that makes one which looks like a setting\n"
			  "(stack_depth) gets a warning, a script does not.\n",
	.run		= run,
	.for_tcl	= for_tcl,
	.max_args	= 0,
	.complete	= COMPLETE_SETTINGS,
};
