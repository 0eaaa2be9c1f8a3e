/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands. Every command is a Tcl command, and is one file and one word in CMD_LIST
 * (docs/add-command.md). A name of two words ("malloc allocations") is a subcommand; it may be
 * shortened as long as it is unambiguous.
 *
 * A command that prints has `run` and prints to call->out only; one for scripts (mdbg::…) has
 * `value`. Neither knows where the output goes: a redirection (`> FILE`, `>> FILE`, `| COMMAND`) at
 * the end of its words is taken away before it runs.
 */
#pragma once

#include <tcl.h>

#include "cmd/shell/call.h"
#include "report/out.h"

struct relation;
struct answer;
struct session;

/* The kind of a command's arguments, for completion. */
enum complete {
	COMPLETE_NOTHING,
	COMPLETE_FILES,
	COMPLETE_BLOCKS,	/* FILTER, sort, limit */
	COMPLETE_EXPORT,	/* a format, a file, and those of sites */
	COMPLETE_SITES,		/* by, FILTER, sort, limit, since, at */
	COMPLETE_DIFF,		/* a moment or a file */
	COMPLETE_GROWTH,	/* kinds, FILTER, limit */
	COMPLETE_COMMANDS,
	COMPLETE_SETTINGS,
	COMPLETE_SIGNALS,
	COMPLETE_THREADS,
	COMPLETE_PROCESSES,
	COMPLETE_WAIT,
	COMPLETE_EVENTS,
	COMPLETE_LIMIT,		/* limit N */
};

enum cmd_flags {
	CMD_FILTER	= 1 << 0,	/* takes a FILTER: a `>` after an attribute is a relation */
	CMD_RAW		= 1 << 1,	/* the rest of a prompt line is its one word, as it is */
	CMD_SILENT	= 1 << 2,	/* prints nothing itself: call->out is NULL */
	CMD_EACH	= 1 << 3,	/* takes `-each VAR BODY` after its other words (each.h) */
	/* It has subcommands, and arguments of its own: a word that is no subcommand is one. */
	CMD_WORDS	= 1 << 4,
	CMD_BRIEF	= 1 << 5,	/* takes -brief, anywhere among its words: call->brief */
	CMD_VERBOSE	= 1 << 6,	/* the same with -v: call->verbose */
	CMD_ABOUT	= 1 << 7,	/* takes `-about VAR` before -each (about.h) */
	/* CMD_RAW with an expression: Tcl's variables are replaced; its name may have a format: x/4gx */
	CMD_FORMAT	= 1 << 8,
};

#define CMD_ANY	(-1)		/* max_args: no limit */

/*
 * The same answer for scripts and for files. It is a command of its own with the words of the one that
 * prints, but for -v and -brief.
 */
struct twin {
	const char *name;	/* "mdbg::sites" */
	const char *usage;	/* NULL: that of the command without -v and -brief */
	const char *brief;
	const char *help;	/* what is said behind the keys of the relation; NULL: nothing */
	const char *example;	/* as in struct cmd */
	const struct relation *of;	/* NULL: `help` has the keys */
	/* The rows of a list, which must not need the session (each.h); it takes -each. */
	struct err *(*rows)(struct call *call, struct answer *ret);
	struct err *(*value)(struct call *call, Tcl_Obj **ret);	/* in place of rows */
	unsigned flags;		/* beside those of the command */
};

struct cmd {
	const char *name;
	/* the words after the name, without those of the flags; NULL: none */
	const char *usage;
	const char *brief;	/* one line, no capital, no full stop */
	/* shapes, units, errors, in lines of at most 78 columns; NULL if brief says it all */
	const char *help;
	/* Print what `help` has above that text since it comes from a table; NULL: nothing. */
	struct err *(*print_words)(struct out *out);
	const char *example;	/* lines as they are typed, for the end of `help`; NULL: it has none */
	/* It checks that the command can run: call_need_target or the like; NULL: no check. */
	struct err *(*need)(const struct call *call);
	struct err *(*run)(struct call *call);	/* NULL: it prints the rows of its twin as a table */
	struct err *(*act)(struct session *session);	/* in place of run, if this is all */
	/* After an error *ret may be set; the caller drops it. */
	struct err *(*value)(struct call *call, Tcl_Obj **ret);
	const struct twin *twin;	/* NULL: it has none */
	/*
	 * In place of value: the rows of a list (struct twin). Such a command takes -each, and any
	 * export writes them.
	 */
	struct err *(*rows)(struct call *call, struct answer *ret);
	const struct relation *of;	/* whose keys `help` lists; NULL: it lists none */
	/*
	 * With CMD_RAW: Tcl's name for it, and the command's own is known only at the start of a prompt
	 * line: in a script that is Tcl's. NULL: they are the same.
	 */
	const char *tcl_name;
	/* It is set for a name that Tcl has as well: are these words for Tcl's own command? */
	bool (*for_tcl)(int argc, const char *const *argv);
	int min_args, max_args;
	enum complete complete;
	unsigned flags;
};

/* Every command, in the order of `help`. The file of a command defines cmd_NAME. */
#define CMD_LIST(X)									\
	X(attach) X(core) X(detach) X(quit) X(exit) X(status) X(cont) X(interrupt)	\
	X(kill) X(wait)									\
	X(malloc) X(malloc_allocations) X(malloc_freespace) X(malloc_find)		\
	X(malloc_check) X(malloc_sites) X(malloc_tree) X(malloc_mark) X(malloc_diff)	\
	X(malloc_history)								\
	X(malloc_watch) X(malloc_leaks) X(malloc_refs) X(malloc_pymalloc) X(malloc_stale)	\
	X(malloc_path) X(malloc_owners)							\
	X(malloc_pins) X(malloc_types)							\
	X(malloc_stats) X(malloc_trim) X(malloc_on) X(malloc_off) X(malloc_reset)	\
	X(growth) X(growth_start) X(growth_log) X(growth_stop)				\
	X(export) X(report) X(record)								\
	X(probe) X(probe_alloc) X(probe_free) X(probe_ref) X(probe_unref)		\
	X(probe_pool) X(probe_delete)							\
	X(memory) X(memory_account) X(memory_maps) X(memory_watch) X(memory_system)	\
	X(memory_service)								\
	X(print) X(whatis) X(x) X(find) X(list)							\
	X(where) X(frame) X(up) X(down) X(dump) X(thread) X(registers) X(map) X(proc)	\
	X(replay) X(replay_follow) X(replay_only) X(replay_processes) X(replay_children)	\
	X(replay_shares)								\
	X(replay_events) X(replay_watch) X(recordings)							\
	X(set) X(alias) X(source) X(sh) X(history) X(help)				\
	X(api_attach) X(api_core) X(api_detach) X(api_pid)		\
	 X(api_probes) X(api_lacks)	\
	X(api_memory_system)						\
	X(api_frames) X(api_threads) X(api_where) X(api_maps) X(api_modules)		\
	X(api_read) X(api_symbol) X(api_address) X(api_on) X(api_listen)

#define CMD_DECLARE(name)	extern const struct cmd cmd_##name;
CMD_LIST(CMD_DECLARE)

/*
 * All commands, those for scripts behind the others; ends with NULL (cmd/commands.h, which nothing
 * here calls).
 */
extern const struct cmd *const *cmd_table;

/* Add the name and all words of a command: "malloc sites ?-brief? ?by ..." */
struct err *cmd_usage(const struct cmd *cmd, struct str *ret) MUST_CHECK;
/* Does it give a Tcl value, and print nothing? */
static inline bool cmd_is_value(const struct cmd *cmd)
{
	return cmd->value || cmd->rows;
}

/* Does it take -each? */
static inline bool cmd_takes_each(const struct cmd *cmd)
{
	return cmd->rows || cmd->flags & CMD_EACH;
}

/* The length of the first word of its name. */
size_t cmd_first_word(const struct cmd *cmd);
/* Is cmd_table[i] the first command with its first word? */
bool cmd_leads(unsigned i);
/* If cmd is a subcommand of first, return its second word, else NULL. */
const char *cmd_subcommand(const struct cmd *cmd, const char *first);
#define CMD_WORD_MAX	64
/*
 * Get the next first word of the commands, each word once, from cmd_table[*at] on; false: there is
 * no other.
 */
bool cmd_next_word(unsigned *at, char ret[CMD_WORD_MAX]);
/*
 * Find the command that words[0..] name: the longest name that fits, which has *used_ret words.
 * ERR_USAGE, with a list of those that there are, for an unknown or ambiguous subcommand; *ret is
 * NULL if words[0] is no command of mdbg.
 */
struct err *cmd_lookup(int nr, const char *const *words, const struct cmd **ret,
		     int *used_ret) MUST_CHECK;
/* A command that ran a script returns this if the script failed: the interpreter has the error. */
extern struct err err_in_script[1];
/*
 * Set the interpreter's result and errorCode {MDBG KIND HINT} from err (unless it is
 * err_in_script), and return TCL_ERROR.
 */
int cmd_fail(Tcl_Interp *tcl, const struct err *err);
