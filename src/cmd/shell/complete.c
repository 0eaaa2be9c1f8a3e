/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion at the prompt: what can stand after these words (complete.h). */

#include "cmd/shell/complete.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cmd/growth.h"
#include "cmd/query/query.h"
#include "cmd/shell/alias.h"
#include "cmd/shell/events.h"
#include "cmd/shell/settings.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/word.h"
#include "cmd/terminal/signals.h"
#include "export/export_formats.h"
#include "os/processes.h"
#include "session/history.h"
#include "symbol/symbol.h"

#define FUNCTIONS_MAX	200

void complete_matches_free(struct matches *matches)
{
	vec_each(match, &matches->vec) {
		free(match->name);
		free(match->shown);
	}
	vec_free(&matches->vec);
}

/* If there is no memory, there are fewer matches. */
void complete_offer(struct matches *matches, const char *name, const char *shown)
{
	struct match match;

	if (strncmp(name, matches->prefix, strlen(matches->prefix)))
		return;
	vec_each(known, &matches->vec)
		if (!strcmp(known->name, name))
			return;
	match = (struct match){ .name = strdup(name), .shown = shown ? strdup(shown) : NULL };
	if (match.name && (match.shown || !shown) && !vec_push(&matches->vec, match))
		return;
	free(match.name);
	free(match.shown);
}

static void offer(struct matches *matches, const char *word)
{
	complete_offer(matches, word, NULL);
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

/* A glob that was typed: its backslashes make characters plain. */
static void offer_functions(struct shell *shell, struct matches *matches)
{
	AUTO_FREE char *plain = strdup(matches->prefix);
	const char *prefix = matches->prefix;
	char *to = plain;

	if (!plain)
		return;
	for (const char *at = prefix; *at; at++) {
		at += *at == '\\' && at[1];
		*to++ = *at;
	}
	*to = '\0';
	matches->globs = true;
	matches->prefix = plain;
	symbol_complete(session_symbols(shell->session), plain, offer_function, matches);
	matches->prefix = prefix;
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

bool complete_is_relation(const char *name)
{
	return call_word_index(name, relops) >= 0;
}

static void offer_attrs(struct matches *matches)
{
	for (enum filter_attr attr = 0; attr < FILTER_ATTRS; attr++)
		offer(matches, filter_parse_attr_name(attr));
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
	static const char *const site_starts[] = { "by", "all", NULL };
	const char *last = nr ? words[nr - 1] : "", *before = nr > 1 ? words[nr - 2] : "";

	if (!strcmp(last, "sort") && sites) {
		offer_list(matches, query_sort_keys);
	} else if (!strcmp(last, "sort")) {
		offer_attrs(matches);
	} else if (!strcmp(last, "by")) {
		offer_list(matches, query_by);
	} else if (sites && (!strcmp(last, "since") || !strcmp(last, "at"))) {
		offer_moments(shell, matches);
	} else if (filter_parse_is_attr(last) && strcmp(before, "sort") && strcmp(before, "by")) {
		offer_list(matches, relops);
	} else if (call_word_index(last, relops) >= 0) {
		if (!strcmp(before, "function") && session_log(shell->session))
			offer_functions(shell, matches);
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
	if (!filter_parse_is_attr(last) && call_word_index(last, relops) < 0)
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
 * After a letter names are offered, otherwise ids. Several ids are shown with their names, "1234
 * (sh)".
 */
static void offer_processes(struct matches *matches)
{
	bool names = isalpha((unsigned char)*matches->prefix);
	struct process_names all;
	char id[16], text[128];

	if (processes_named(NULL, &all))
		return;
	vec_each(process, &all.vec) {
		if (names) {
			offer(matches, process->name.bytes);
			continue;
		}
		snprintf(id, sizeof(id), "%d", process->pid);
		snprintf(text, sizeof(text), "%s (%s)", id, process->name.bytes);
		complete_offer(matches, id, text);
	}
	vec_free(&all.vec);
}

/* True: a file goes there. */
static bool offer_formats(int nr, struct matches *matches)
{
	for (size_t i = 0; !nr && export_formats[i]; i++)
		offer(matches, export_formats[i]->name);
	return nr;
}

static void offer_export(struct shell *shell, int nr, const char *const *words,
			 struct matches *matches)
{
	if (nr < 2)
		matches->files = offer_formats(nr, matches);
	else if (nr > 2 && !strcmp(words[2], "growth"))
		offer_growth(shell, nr - 3, words + 3, matches);
	else
		offer_filter(shell, nr - 2, words + 2, true, matches);
}

/* The settings, or the values of the one called name. */
static void offer_settings(const char *name, struct matches *matches)
{
	const char *word;

	for (size_t i = 0; (word = settings_word(name, i)); i++)
		offer(matches, word);
}

static void offer_signals(struct matches *matches)
{
	for (int i = 1; i < 32; i++)
		offer(matches, signal_name(i));
}

static void offer_events(struct matches *matches)
{
	for (unsigned i = 0; i < EVENT_SCRIPTS; i++)
		if (event_name(i))
			offer(matches, event_name(i));
}

static void offer_arguments(struct shell *shell, const struct cmd *cmd, int nr,
			    const char *const *words, struct matches *matches)
{
	static const char *const wait_words[] = { "exit", "until", "timeout", NULL };

	if ((cmd->rows || cmd->flags & CMD_EACH) && (!nr || call_word_index(words[nr - 1],
									    relops) < 0))
		offer(matches, "-each");
	switch (cmd->complete) {
	case COMPLETE_NOTHING:
		break;
	case COMPLETE_FILES:
		matches->files = true;
		break;
	case COMPLETE_BLOCKS:
	case COMPLETE_SITES:
		offer_filter(shell, nr, words, cmd->complete == COMPLETE_SITES, matches);
		break;
	case COMPLETE_EXPORT:
		offer_export(shell, nr, words, matches);
		break;
	case COMPLETE_GROWTH:
		if (cmd->flags & CMD_FILTER)
			offer_growth(shell, nr, words, matches);
		else
			offer_list(matches, growth_words);
		break;
	case COMPLETE_DIFF:
		offer_moments(shell, matches);
		matches->files = true;
		break;
	case COMPLETE_COMMANDS:
		if (nr)
			offer_subcommands(words[0], matches);
		else
			offer_commands(shell, matches);
		break;
	case COMPLETE_SETTINGS:
		offer_settings(nr ? words[0] : NULL, matches);
		break;
	case COMPLETE_SIGNALS:
		offer_signals(matches);
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
		if (!nr)
			offer_events(matches);
		break;
	}
}

void complete_find(struct shell *shell, int nr, const char *const *typed, struct matches *matches)
{
	const char *words[WORDS_MAX + 1];
	const struct cmd *cmd;
	int used;

	nr = alias_expand(shell, nr, typed, WORDS_MAX, words);
	if (!nr) {
		offer_commands(shell, matches);
		return;
	}
	/* These words become a shell's, whatever they are quoted for. */
	for (int i = 0; i < nr; i++)
		if (words[i][0] == '|' && words[i][1] != '|')
			return;
	if (words[nr - 1][0] == '>') {
		matches->files = true;
		return;
	}
	if (nr == 1)
		offer_subcommands(words[0], matches);
	if (!cmd_lookup(nr, words, &cmd, &used) && cmd && cmd->flags & CMD_RAW)
		return;
	if (cmd)
		offer_arguments(shell, cmd, nr - used, words + used, matches);
	else
		matches->files = true;
}
