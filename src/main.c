/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg: options, then a session, then the interpreter. The only exit() is here. */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/trace.h"
#include "cmd/commands.h"
#include "cmd/fail_on_leak.h"
#include "cmd/recording/recording.h"
#include "cmd/shell/close.h"
#include "cmd/shell/create.h"
#include "cmd/shell/events.h"
#include "cmd/shell/lines.h"
#include "cmd/shell/prompt.h"
#include "cmd/shell/script_file.h"
#include "cmd/shell/settings.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/target_commands.h"
#include "cmd/terminal/signals.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/output.h"
#include "os/own_limits.h"
#include "os/trust.h"
#include "report/out.h"
#include "session/replay/session_replay.h"

enum exit_status { STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_ATTACH = 3 };

#define OPTIONS	24

/* A -x or -c, in the order of the command line. */
struct action {
	bool script;
	const char *text;
};

struct options {
	pid_t pid;
	const char *pid_text;	/* of -p: a number, or a name */
	struct recording_options record;
	bool interactive, stop, no_arm, no_init, quiet, fail_on_leak;
	const char *setting[OPTIONS];	/* by row; NULL: not given */
	VEC(struct action) actions;
	VEC(const char *) suppressions;		/* files */
	bool has_script;
	VEC(const char *) replay;	/* recordings, DIR or DIR@TIME */
	const char *core, *exe;	/* NULL: there is none, or EXE is where it was */
	char **program;		/* NULL: none; ends with NULL */
	char **script_args;	/* the words after `--` with -x; ends with NULL */
};

static const char usage_text[] =
	"Usage: mdbg [OPTION]... -p PID\n"
	"       mdbg [OPTION]... [--] PROGRAM [ARG]...\n"
	"       mdbg [OPTION]... --core CORE [EXE]\n"
	"       mdbg [OPTION]... --replay DIR[@TIME]...\n"
	"       mdbg [OPTION]... -x SCRIPT [-- ARG...]\n"
	"       mdbg [OPTION]... -p PID|NAME --record DIR\n"
	"Find out who holds the memory of a running process.\n"
	"\n"
	"  -p, --pid PID             attach (also -a), record allocations, let the process run on;\n"
	"                            PID may be a name that only one process has\n"
	"      --core CORE           look at a core file; EXE is its program, if that is no\n"
	"                            longer where it was\n"
	"      --replay DIR[@TIME]   look at a recording; may be repeated: all in one view\n"
	"      --record DIR          record to this folder until SIGTERM, without a prompt; when\n"
	"                            the process ends go on with the next one of its name\n"
	"                            (with --cost 1, if there is no other and no --sample)\n"
	"      --keep AGE            with --record: how long [28d]\n"
	"      --size BYTES          with --record: how large the folder may grow [1G]\n"
	"      --group CGROUP        with --record, in place of -p: all processes of a control\n"
	"                            group, each to a folder of its own in DIR\n"
	"  -x, --script FILE         run a Tcl script; without a slash one of mdbg's own, or else\n"
	"                            of your own in this folder (- is standard input); $argv\n"
	"                            is what stands after --\n"
	"  -c, --command COMMAND     run one command; may be repeated; kept in order with -x\n"
	"  -i, --interactive         stay at the prompt after -x and -c\n"
	"      --stop                leave the process stopped after the attach\n"
	"      --no-arm              attach without putting in probes\n"
	"      --engine ENGINE       auto, jump or breakpoint: how to probe [auto]\n"
	"      --stack-depth N       frames kept for an allocation, 1 to 128 [32]\n"
	"      --cost PERCENT        sample so that recording takes no more of the processor time\n"
	"                            that the process uses [off: all is recorded]\n"
	"      --sample BYTES        record about one allocation in so many bytes [0: all]\n"
	"      --log-limit SIZE      how large the log in the process may grow, 16M or more [1G]\n"
	"      --fail-on-leak        exit status 23 if blocks are definitely lost at the end\n"
	"      --suppressions FILE   leaks not to report, in LeakSanitizer's format; may be\n"
	"                            repeated\n"
	"      --color WHEN          auto, always or never\n"
	"  -n, --no-init             skip ~/.mdbginit\n"
	"  -q, --quiet               no notes\n"
	"  -h, --help                this text\n"
	"      --version             the version\n"
	"\n"
	"PROGRAM is started and watched from its first malloc. At the prompt, `help`\n"
	"lists the commands. However mdbg ends, the process goes on with its own code\n"
	"and data. Exit status: 0; 1 if a command or script failed; 2 wrong usage;\n"
	"3 could not attach, or open CORE or DIR; 23 with --fail-on-leak; that of PROGRAM.\n";

static NORETURN void usage_error(const char *what, const char *word)
{
	fprintf(stderr, "mdbg: %s%s%s\nhint: try --help\n", what, word ? ": " : "",
		word ? word : "");
	exit(STATUS_USAGE);
}

static NORETURN void die(struct shell *shell, const struct err *err, int status)
{
	terminal_err(shell ? &shell->terminal : NULL, err);
	exit(status);
}

/* Report err and end, unless err is NULL. */
static void die_of(struct shell *shell, const struct err *err)
{
	if (err)
		die(shell, err, STATUS_FAILED);
}

/* This ends mdbg: the terminal is put back first, the target next, then all else. */
static void leave(struct shell *shell, int status)
{
	prompt_end(shell);
	/* A user who ends mdbg by a signal does not want to wait for a leak search. */
	if (!signals_ending())
		fail_on_leak_search(shell);
	shell_close(shell);
	if (shell->failed && !status)
		status = STATUS_FAILED;
	status = fail_on_leak_status(shell, status);
	Tcl_Finalize();
	exit(status);
}

static void print_and_exit(const char *text)
{
	if ((fputs(text, stdout) == EOF || fflush(stdout)) && errno != EPIPE)
		die(NULL, out_write_err("standard output"), STATUS_FAILED);
	exit(EXIT_SUCCESS);
}

enum {
	OPT_CORE = 256,
	OPT_REPLAY,
	OPT_FAIL_ON_LEAK,
	OPT_SUPPRESSIONS,
	OPT_VERSION,
	OPT_STOP,
	OPT_NO_ARM,
	OPT_RECORD,
	OPT_KEEP,
	OPT_SIZE,
	OPT_GROUP,
	OPT_SETTING
};

#define FLAG(field)	false, offsetof(struct options, field), 0
#define TEXT(field)	false, 0, offsetof(struct options, field)
#define SETTING		true, 0, 0
#define OTHER		false, 0, 0

/* The options. Those that do no more have the flag or the text that they set, or a setting's name. */
static const struct option_row {
	struct option option;
	bool setting;
	size_t flag, text;	/* 0: none */
} rows[OPTIONS] = {
	{ { "engine", required_argument, NULL, OPT_SETTING }, SETTING },
	{ { "stack-depth", required_argument, NULL, OPT_SETTING }, SETTING },
	{ { "sample", required_argument, NULL, OPT_SETTING }, SETTING },
	{ { "cost", required_argument, NULL, OPT_SETTING }, SETTING },
	{ { "log-limit", required_argument, NULL, OPT_SETTING }, SETTING },
	{ { "color", required_argument, NULL, OPT_SETTING }, SETTING },
	{ { "interactive", no_argument, NULL, 'i' }, FLAG(interactive) },
	{ { "no-init", no_argument, NULL, 'n' }, FLAG(no_init) },
	{ { "quiet", no_argument, NULL, 'q' }, FLAG(quiet) },
	{ { "stop", no_argument, NULL, OPT_STOP }, FLAG(stop) },
	{ { "no-arm", no_argument, NULL, OPT_NO_ARM }, FLAG(no_arm) },
	{ { "fail-on-leak", no_argument, NULL, OPT_FAIL_ON_LEAK }, FLAG(fail_on_leak) },
	{ { "pid", required_argument, NULL, 'p' }, OTHER },
	{ { "script", required_argument, NULL, 'x' }, OTHER },
	{ { "command", required_argument, NULL, 'c' }, OTHER },
	{ { "core", required_argument, NULL, OPT_CORE }, TEXT(core) },
	{ { "replay", required_argument, NULL, OPT_REPLAY }, OTHER },
	{ { "suppressions", required_argument, NULL, OPT_SUPPRESSIONS }, OTHER },
	{ { "record", required_argument, NULL, OPT_RECORD }, TEXT(record.dir) },
	{ { "keep", required_argument, NULL, OPT_KEEP }, TEXT(record.keep) },
	{ { "size", required_argument, NULL, OPT_SIZE }, TEXT(record.size) },
	{ { "group", required_argument, NULL, OPT_GROUP }, TEXT(record.group) },
	{ { "help", no_argument, NULL, 'h' }, OTHER },
	{ { "version", no_argument, NULL, OPT_VERSION }, OTHER },
};

static void add_action(struct options *options, bool script, const char *text)
{
	die_of(NULL, vec_push(&options->actions, ((struct action){ script, text })));
	options->has_script |= script;
}

static void set_pid(struct options *options, const char *text)
{
	if (options->pid_text)
		usage_error("more than one process to attach to", text);
	options->pid_text = text;
}

/* A recorder waits for a process that is not there yet. */
static void find_pid(struct options *options)
{
	struct err *err = options->pid_text ?
				  target_command_find_pid(options->pid_text, &options->pid) : NULL;

	if (err && options->record.dir && err->code != ERR_USAGE)
		return;
	if (err && err->code == ERR_USAGE)
		usage_error(err->msg, NULL);
	if (err)
		die(NULL, err, STATUS_ATTACH);
}

/* Returns true if the option was a flag or a setting. index is that of a long option. */
static bool take_row(struct options *options, int option, int index)
{
	for (int i = 0; i < OPTIONS; i++) {
		if (option == OPT_SETTING ? i != index : rows[i].option.val != option)
			continue;
		if (rows[i].setting)
			options->setting[i] = optarg;
		else if (rows[i].flag)
			*(bool *)((char *)options + rows[i].flag) = true;
		else if (rows[i].text)
			*(const char **)((char *)options + rows[i].text) = optarg;
		return rows[i].setting || rows[i].flag || rows[i].text;
	}
	return false;
}

static void take_option(struct options *options, int option, int index)
{
	if (take_row(options, option, index))
		return;
	switch (option) {
	case 'p':
	case 'a':
		set_pid(options, optarg);
		break;
	case 'x':
	case 'c':
		add_action(options, option == 'x', optarg);
		break;
	case OPT_REPLAY:
		die_of(NULL, vec_push(&options->replay, optarg));
		break;
	case OPT_SUPPRESSIONS:
		die_of(NULL, vec_push(&options->suppressions, optarg));
		break;
	case 'h':
		print_and_exit(usage_text);
		break;
	case OPT_VERSION:
		print_and_exit("mdbg " VERSION "\n");
		break;
	default:
		/* getopt has reported what is wrong. */
		fputs("hint: try --help\n", stderr);
		exit(STATUS_USAGE);
	}
}

static void parse_options(int argc, char **argv, struct options *options)
{
	struct option long_options[OPTIONS + 1] = { { .name = NULL } };
	const char *last_arg = NULL;
	const struct err *why;
	int option, index = -1;
	bool dashes;

	/*
	 * getopt's messages begin with the name by which the program was called; they should begin
	 * with mdbg.
	 */
	argv[0] = (char *)"mdbg";
	for (size_t i = 0; i < OPTIONS; i++)
		long_options[i] = rows[i].option;
	while ((option = getopt_long(argc, argv, "+p:a:x:c:inqh", long_options, &index)) != -1) {
		take_option(options, option, index);
		last_arg = optarg;
	}
	dashes = optind > 1 && !strcmp(argv[optind - 1], "--") && argv[optind - 1] != last_arg;
	if (dashes && options->has_script)
		options->script_args = argv + optind;
	else if (options->core && optind < argc)
		options->exe = argv[optind++];
	else if (optind < argc)
		options->program = argv + optind;
	else if (dashes)
		usage_error("no program after --", NULL);
	if (options->exe && optind < argc)
		usage_error("more than one program of the core file", argv[optind]);
	options->record.process = options->pid_text;
	why = recording_check(&options->record, options->core || options->program);
	if (why)
		usage_error(why->msg, NULL);
	find_pid(options);
	if (options->pid && options->core)
		usage_error("both a process to attach to and a core file", options->core);
	if (options->replay.nr && (options->pid || options->core || options->program))
		usage_error("both a recording and a process, program or core file",
			    options->replay.at[0]);
	if (options->pid && options->program)
		usage_error("both a process to attach to and a program to start",
			    options->program[0]);
}

static void apply(struct shell *shell, const char *name, const char *value)
{
	struct err *err = value ? settings_set(shell, name, value) : NULL;

	if (err && *err->hint)
		die(NULL, err, STATUS_USAGE);
	if (err)
		usage_error(err->msg, NULL);
}

static void apply_suppressions(struct shell *shell, const struct options *options)
{
	char *list;

	if (!options->suppressions.nr)
		return;
	list = Tcl_Merge((int)options->suppressions.nr, options->suppressions.at);
	apply(shell, "suppressions", list);
	Tcl_Free(list);
}

static void apply_options(struct shell *shell, const struct options *options)
{
	struct session_config *config = session_config(shell->session);

	for (size_t i = 0; i < OPTIONS; i++)
		apply(shell, rows[i].option.name, options->setting[i]);
	apply_suppressions(shell, options);
	config->stop = options->stop;
	config->arm = !options->no_arm;
}

static void set_argv(struct shell *shell, char **args)
{
	Tcl_Obj *list = Tcl_NewListObj(0, NULL);
	int nr = 0;

	for (; args && args[nr]; nr++)
		Tcl_ListObjAppendElement(NULL, list, Tcl_NewStringObj(args[nr], -1));
	Tcl_SetVar2Ex(shell->tcl, "argv", NULL, list, TCL_GLOBAL_ONLY);
	Tcl_SetVar2Ex(shell->tcl, "argc", NULL, Tcl_NewIntObj(nr), TCL_GLOBAL_ONLY);
}

/*
 * An error in the file is reported, and is no failure. mdbg often runs as root in somebody else's
 * environment, so a file that anybody else could have written is not run.
 */
static void run_init_file(struct shell *shell)
{
	const char *home = getenv("HOME");
	AUTO_FREE char *file = NULL;
	Tcl_Channel channel;
	struct err *err;

	if (!home || *home != '/' || asprintf(&file, "%s/.mdbginit", home) < 0 || access(file, F_OK))
		return;
	err = trust_file(file, NULL);
	if (err) {
		terminal_note(&shell->terminal, "it is not run: %s%s%s%s", err->msg,
			      *err->hint ? " (" : "", err->hint, *err->hint ? ", or use --no-init)" : "");
		return;
	}
	channel = Tcl_OpenFileChannel(shell->tcl, file, "r", 0);
	if (!channel) {
		terminal_note(&shell->terminal, "%s", Tcl_GetStringResult(shell->tcl));
		return;
	}
	shell_lines(shell, channel, file);
	Tcl_Close(shell->tcl, channel);
	shell->failed = false;
}

/* The file that MDBG_TRACE names, if any. */
static void open_trace(void)
{
	const char *name = getenv("MDBG_TRACE");
	struct err *err;
	int fd;

	if (!name || !*name)
		return;
	err = output_open(name, O_APPEND, 0600, &fd);
	if (err)
		die(NULL, err_wrap(err, "MDBG_TRACE: open %s", name), STATUS_USAGE);
	trace_to(fd);
}

static void get_target(struct shell *shell, const struct options *options)
{
	struct err *err = NULL;

	/* A program that is started here keeps the limits that mdbg was given. */
	if (!options->program)
		own_limits_raise();
	if (options->pid)
		err = target_command_attach(shell, options->pid);
	else if (options->core)
		err = target_command_open_core(shell, options->core, options->exe);
	else if (options->replay.nr)
		err = target_command_open_recordings(shell, options->replay.at,
						     options->replay.nr);
	else if (options->program)
		err = target_command_run(shell, options->program);
	own_limits_raise();
	if (!err && shell->interactive && !shell->quiet && options->core)
		terminal_note(&shell->terminal,
			      "the core of process %d is open; `help` lists the commands",
			      session_pid(shell->session));
	else if (!err && shell->interactive && !shell->quiet && options->replay.nr)
		terminal_note(&shell->terminal,
			      "the recording is open at %s; `help` lists the commands",
			      session_replay_now_text(shell->session));
	else if (!err && shell->interactive && !shell->quiet && session_pid(shell->session))
		terminal_note(&shell->terminal,
			      "process %d is attached to; `help` lists the commands",
			      session_pid(shell->session));
	if (!err)
		return;
	terminal_err(&shell->terminal, err);
	leave(shell, STATUS_ATTACH);
}

static void run_actions(struct shell *shell, const struct options *options)
{
	size_t i;

	for (i = 0; i < options->actions.nr; i++) {
		const struct action *action = &options->actions.at[i];

		if (action->script)
			script_file_run(shell, action->text);
		else
			shell_line(shell, action->text);
		events_check_ending(shell);
	}
}

/* Run the commands from standard input, unless that is the program's. */
static void run_input(struct shell *shell, const struct options *options)
{
	Tcl_Channel channel;

	if (shell->interactive) {
		die_of(shell, prompt_run(shell));
		return;
	}
	if (options->program || (options->actions.nr && !options->interactive))
		return;
	channel = Tcl_GetStdChannel(TCL_STDIN);
	if (channel)
		shell_lines(shell, channel, "standard input");
}

/*
 * Without a prompt mdbg stays until the program that it started has ended. The program's status
 * becomes mdbg's, if no command failed.
 */
static int program_status(struct shell *shell, const struct options *options)
{
	struct err *err;
	int status;
	bool known;

	if (!options->program || shell->interactive ||
	    session_state(shell->session) == SESSION_NONE)
		return 0;
	/* A Ctrl-C at the terminal reaches the program as well, so the first one is left to it. */
	err = target_command_wait_end(shell, WAIT_FOREVER);
	if (err && err->code == ERR_CANCELLED && !signals_ending())
		err = target_command_wait_end(shell, WAIT_FOREVER);
	events_check_ending(shell);
	if (err) {
		terminal_err(&shell->terminal, err);
		return STATUS_FAILED;
	}
	status = session_exit_status(shell->session, &known);
	if (!known || shell->failed)
		return 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * Descriptors 0 to 2 must be open, or the next file that is opened becomes one of them. One that was
 * closed can be read from, as if at its end, but not be written to: what is printed would be lost
 * unseen.
 */
static void fill_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/*
 * mdbg's own path. The name by which it was called may be looked up in PATH, and there may be
 * another program of that name in the current folder.
 */
static char *find_program(const char *called)
{
	char path[PATH_MAX];

	if (file_link(AT_FDCWD, "/proc/self/exe", path, sizeof(path)) && !access(path, X_OK))
		return strdup(path);
	return strdup(called);
}

static void note_environment(struct shell *shell)
{
	const struct err *why;

	for (unsigned at = 0; !shell->quiet && (why = environment_next(&at));)
		terminal_note(&shell->terminal, "%s", why->msg);
}

int main(int argc, char **argv)
{
	struct options options = { .actions = VEC_INIT, .replay = VEC_INIT };
	AUTO_FREE char *program = NULL;
	struct shell *shell;
	int status;

	/*
	 * With this limit, large arrays are mappings of their own, which grow by mremap and are
	 * given back at once. Without it, glibc puts arrays of up to 32 MB into its heap once such
	 * an array was freed, and each one that grows leaves a hole there: a list of ten million
	 * blocks took 105 MB instead of 96.
	 */
	mallopt(M_MMAP_THRESHOLD, 512 << 10);
	fill_standard_streams();
	die_of(NULL, environment_clean());
	die_of(NULL, own_limits_begin());
	program = find_program(argv[0]);
	parse_options(argc, argv, &options);
	open_trace();
	die_of(NULL, signals_setup());
	die_of(NULL, shell_create(program, commands, leave, &shell));
	shell->quiet = options.quiet;
	note_environment(shell);
	shell->interactive = isatty(STDIN_FILENO) &&
			     ((!options.actions.nr && !options.record.dir) || options.interactive);
	if (options.fail_on_leak)
		die_of(shell, fail_on_leak_close(shell));
	set_argv(shell, options.script_args);
	apply_options(shell, &options);
	die_of(shell, recording_bound_cost(shell, &options.record));
	if (!options.no_init)
		run_init_file(shell);
	apply_options(shell, &options);
	die_of(shell, recording_begin_by(shell, &options.record));
	get_target(shell, &options);
	events_check_ending(shell);
	run_actions(shell, &options);
	if (options.record.dir && !options.interactive)
		recording_serve(shell, &options.record, options.pid);
	run_input(shell, &options);
	status = program_status(shell, &options);
	leave(shell, shell->failed ? STATUS_FAILED : status);
	return EXIT_SUCCESS;
}
