/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion at the prompt. */

#include "cmd/prompt.h"

#include <ctype.h>

#include <readline/readline.h>

#include "base/cleanup.h"
#include "cmd/alias.h"
#include "cmd/growth.h"
#include "cmd/query.h"
#include "cmd/settings.h"
#include "cmd/shell.h"
#include "cmd/signals.h"
#include "export/formats.h"
#include "os/processes.h"
#include "session/history.h"
#include "symbol/symbol.h"

#define WORDS_MAX	64
#define FUNCTIONS_MAX	200

struct matches {
	const char *prefix;
	VEC(char *) vec;
	unsigned functions;
};

/* readline gives its callbacks no context. */
static struct shell *completing;

/* If there is no memory, there are fewer matches. */
static void offer(struct matches *matches, const char *word)
{
	char *copy;

	if (strncmp(word, matches->prefix, strlen(matches->prefix)))
		return;
	vec_each_value(match, &matches->vec)
		if (!strcmp(match, word))
			return;
	copy = strdup(word);
	if (!copy || vec_push(&matches->vec, copy))
		free(copy);
}

static void offer_list(struct matches *matches, const char *const *list)
{
	for (; *list; list++)
		offer(matches, *list);
}

static bool offer_function(const char *name, void *ctx)
{
	struct matches *matches = ctx;

	offer(matches, name);
	return ++matches->functions >= FUNCTIONS_MAX;
}

static void offer_commands(struct shell *shell, struct matches *matches)
{
	char word[CMD_WORD_MAX];
	Tcl_Obj **names;
	int nr, i;

	for (unsigned at = 0; cmd_next_word(&at, word);)
		offer(matches, word);
	vec_each_value(alias, &shell->aliases)
		offer(matches, alias->name);
	/*
	 * Tcl's own commands and the procedures of scripts are offered only after a first letter,
	 * because there are many.
	 */
	if (!*matches->prefix ||
	    Tcl_EvalEx(shell->tcl, "info commands", -1, TCL_EVAL_GLOBAL) != TCL_OK ||
	    Tcl_ListObjGetElements(NULL, Tcl_GetObjResult(shell->tcl), &nr, &names) != TCL_OK)
		return;
	for (i = 0; i < nr; i++)
		offer(matches, Tcl_GetString(names[i]));
	Tcl_ResetResult(shell->tcl);
}

static void offer_subcommands(const char *first, struct matches *matches)
{
	const char *second;

	for (unsigned i = 0; cmd_table[i]; i++) {
		second = cmd_subcommand(cmd_table[i], first);
		if (second)
			offer(matches, second);
	}
}

static const char *const relops[] = { "==", "!=", "<", "<=", ">", ">=", NULL };

static void offer_attrs(struct matches *matches)
{
	for (enum filter_attr attr = 0; attr < FILTER_ATTRS; attr++)
		offer(matches, filter_attr_name(attr));
}

static void offer_moments(struct shell *shell, struct matches *matches)
{
	static const char *const words[] = { "now", "peak", NULL };
	const struct log_history *history = session_history(shell->session);

	offer_list(matches, words);
	if (!history)
		return;
	vec_each(mark, &history->marks.vec)
		if (!mark->stale)
			offer(matches, mark->name);
}

static void offer_filter(struct shell *shell, int nr, const char *const *words, bool sites,
			 struct matches *matches)
{
	static const char *const block_starts[] = { "sort", "limit", "and", NULL };
	static const char *const site_starts[] = { "by", NULL };
	const char *last = nr ? words[nr - 1] : "", *before = nr > 1 ? words[nr - 2] : "";

	if (!strcmp(last, "sort") && sites) {
		offer_list(matches, query_sort_keys);
	} else if (!strcmp(last, "sort")) {
		offer_attrs(matches);
	} else if (!strcmp(last, "by")) {
		offer_list(matches, query_by);
	} else if (sites && (!strcmp(last, "since") || !strcmp(last, "at"))) {
		offer_moments(shell, matches);
	} else if (filter_is_attr(last) && strcmp(before, "sort") && strcmp(before, "by")) {
		offer_list(matches, relops);
	} else if (word_index(last, relops) >= 0) {
		if (!strcmp(before, "function") && session_log(shell->session))
			symbols_complete(session_symbols(shell->session), matches->prefix,
					 offer_function, matches);
	} else {
		offer_attrs(matches);
		offer_list(matches, block_starts);
		if (!sites)
			return;
		offer_list(matches, site_starts);
		offer_list(matches, query_site_words);
	}
}

/* KIND comes first. */
static void offer_growth(struct shell *shell, int nr, const char *const *words,
			 struct matches *matches)
{
	const char *last = nr ? words[nr - 1] : "";

	if (!nr)
		offer_list(matches, growth_words);
	if (!strcmp(last, "since")) {
		offer_moments(shell, matches);
		return;
	}
	offer_filter(shell, nr, words, false, matches);
	if (!filter_is_attr(last) && word_index(last, relops) < 0)
		offer(matches, "since");
}

static void offer_threads(struct shell *shell, struct matches *matches)
{
	struct session_threads threads = { .vec = VEC_INIT };
	char text[32];

	if (session_threads(shell->session, &threads))
		return;
	vec_each(thread, &threads.vec) {
		snprintf(text, sizeof(text), "%d", thread->lwp);
		offer(matches, text);
	}
	vec_free(&threads.vec);
	offer(matches, "all");
}

/*
 * A process chooses its own name, and Tcl runs the completed line: so only plain names are offered.
 */
static bool plain_name(const char *name)
{
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("._-+:", *name))
			return false;
	return true;
}

/*
 * After a letter names are offered, otherwise ids. Several ids are shown with their names, "1234
 * (sh)"; readline puts the part that they have in common into the line.
 */
static void offer_processes(struct matches *matches)
{
	bool names = isalpha((unsigned char)*matches->prefix);
	struct process_names all;
	char text[128];

	if (processes_named(NULL, &all))
		return;
	vec_each(process, &all.vec) {
		const char *name = plain_name(process->name.bytes) ? process->name.bytes : "?";

		if (names)
			snprintf(text, sizeof(text), "%s", name);
		else
			snprintf(text, sizeof(text), "%d (%s)", process->pid, name);
		offer(matches, text);
	}
	vec_free(&all.vec);
	if (!names && matches->vec.nr == 1)
		*strchr(matches->vec.at[0], ' ') = '\0';
}

/* True: a file goes there. */
static bool offer_formats(int nr, struct matches *matches)
{
	for (size_t i = 0; !nr && export_formats[i]; i++)
		offer(matches, export_formats[i]->name);
	return nr;
}

static void offer_arguments(struct shell *shell, const struct cmd *cmd, int nr,
			    const char *const *words, struct matches *matches, int *files)
{
	static const char *const wait_words[] = { "exit", "until", "timeout", NULL };
	const char *word;
	int i;

	if (cmd->flags & CMD_EACH && (!nr || word_index(words[nr - 1], relops) < 0))
		offer(matches, "-each");
	switch (cmd->complete) {
	case COMPLETE_NOTHING:
		break;
	case COMPLETE_FILES:
		*files = true;
		break;
	case COMPLETE_BLOCKS:
	case COMPLETE_SITES:
		offer_filter(shell, nr, words, cmd->complete == COMPLETE_SITES, matches);
		break;
	case COMPLETE_EXPORT:
		if (nr < 2)
			*files = offer_formats(nr, matches);
		else if (nr > 2 && !strcmp(words[2], "growth"))
			offer_growth(shell, nr - 3, words + 3, matches);
		else
			offer_filter(shell, nr - 2, words + 2, true, matches);
		break;
	case COMPLETE_GROWTH:
		if (cmd->flags & CMD_FILTER)
			offer_growth(shell, nr, words, matches);
		else
			offer_list(matches, growth_words);
		break;
	case COMPLETE_DIFF:
		offer_moments(shell, matches);
		*files = true;
		break;
	case COMPLETE_COMMANDS:
		if (nr)
			offer_subcommands(words[0], matches);
		else
			offer_commands(shell, matches);
		break;
	case COMPLETE_SETTINGS:
		for (size_t j = 0; (word = settings_word(nr ? words[0] : NULL, j)); j++)
			offer(matches, word);
		break;
	case COMPLETE_SIGNALS:
		for (i = 1; i < 32; i++)
			offer(matches, signal_name(i));
		break;
	case COMPLETE_THREADS:
		offer_threads(shell, matches);
		break;
	case COMPLETE_PROCESSES:
		if (!nr)
			offer_processes(matches);
		break;
	case COMPLETE_WAIT:
		offer_list(matches, wait_words);
		break;
	case COMPLETE_LIMIT:
		if (!nr)
			offer(matches, "limit");
		break;
	case COMPLETE_EVENTS:
		for (i = 0; i < EVENT_SCRIPTS; i++) {
			if (!nr && event_name(i))
				offer(matches, event_name(i));
		}
		break;
	}
}

/* Cut text into its words, in place; returns how many there are. */
static int split(char *text, const char **words)
{
	char *state, *word;
	int nr = 0;

	for (word = strtok_r(text, " \t", &state); word && nr < WORDS_MAX;
	     word = strtok_r(NULL, " \t", &state))
		words[nr++] = word;
	return nr;
}

static void find_matches(struct shell *shell, int nr, const char *const *typed,
			 struct matches *matches, int *files)
{
	const char *words[WORDS_MAX + 1];
	const struct cmd *cmd;
	int used;

	nr = alias_expand(shell, nr, typed, WORDS_MAX, words);
	if (!nr) {
		offer_commands(shell, matches);
		return;
	}
	if (words[nr - 1][0] == '>') {
		*files = true;
		return;
	}
	if (nr == 1)
		offer_subcommands(words[0], matches);
	if (!cmd_find(nr, words, &cmd, &used) && cmd)
		offer_arguments(shell, cmd, nr - used, words + used, matches, files);
	else
		*files = true;
}

char **complete_words(struct shell *shell, const char *line, int start, const char *prefix,
		      int *files)
{
	struct matches matches = { .prefix = prefix, .vec = VEC_INIT };
	const char *words[WORDS_MAX];
	AUTO_FREE char *before = strndup(line, (size_t)start);
	char *at;
	int nr;

	*files = false;
	if (!before)
		return NULL;
	/* The word belongs to the innermost command. */
	for (at = before + start; at > before && !strchr(";[{\n", at[-1]); at--)
		;
	nr = split(at, words);
	find_matches(shell, nr, words, &matches, files);
	if (!matches.vec.nr || vec_push(&matches.vec, NULL)) {
		while (matches.vec.nr)
			free(matches.vec.at[--matches.vec.nr]);
		vec_free(&matches.vec);
		return NULL;
	}
	return matches.vec.at;
}

/* readline asks for the matches one by one. */
static char **pending;

static char *next_match(const char *text UNUSED, int state)
{
	static size_t at;

	if (!state)
		at = 0;
	return pending[at] ? pending[at++] : NULL;
}

static char **attempt(const char *text, int start, int end UNUSED)
{
	char **result = NULL;
	int files;

	rl_attempted_completion_over = 1;
	pending = complete_words(completing, rl_line_buffer, start, text, &files);
	if (pending) {
		result = rl_completion_matches(text, next_match);
		free(pending);
		pending = NULL;
	}
	/* If there is no match, readline completes names of files. */
	if (!result && files)
		rl_attempted_completion_over = 0;
	return result;
}

void complete_init(struct shell *shell)
{
	completing = shell;
	rl_attempted_completion_function = attempt;
	/* These leave out colons and most brackets, because C++ names have them. */
	rl_completer_word_break_characters = (char *)" \t\n\"'[{;|";
}
