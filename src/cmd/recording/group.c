/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records all processes of a control group (theory in group.h). */

#include "cmd/recording/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cmd/shell/events.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/target_commands.h"
#include "cmd/terminal/signals.h"
#include "os/memory_groups.h"
#include "os/processes.h"
#include "os/procfs.h"
#include "os/trust.h"
#include "record/folder.h"
#include "record/record.h"

#define SECOND		1000000000ull
#define TIDY_NS		(600 * SECOND)
#define END_NS		(30 * SECOND)	/* for recorders to end in */
#define YOUNG_NS	SECOND		/* a process of this age may be about to execute another program */

struct worker {
	pid_t pid;		/* the process */
	uint64_t start;
	pid_t recorder;		/* 0: it has ended */
	int input;		/* the other end of its standard input, at whose end it ends */
	bool seen;
};

struct group {
	struct shell *shell;
	const struct recording_options *options;
	struct record_limits limits;
	int dir_fd;
	VEC(struct worker) workers;
	unsigned nr;		/* recorders that run */
	bool told;		/* that there are too many processes */
	bool failing;		/* the last recorder could not be started, which was said */
	uint64_t tidy_ns;	/* monotonic: when folders are looked at again */
};

/* Is this process in the group, or in one below it? */
static bool is_in_group(pid_t pid, const char *group)
{
	char path[MEMORY_GROUP_PATH];
	AUTO_FREE char *text = NULL;
	size_t len;

	if (procfs_file(pid, "cgroup", &text, &len) || !memory_groups_parse(text, path))
		return false;
	return memory_groups_below(path, group);
}

/* The value of a setting, as text. */
static const char *setting(const struct group *group, const char *name)
{
	return Tcl_GetVar(group->shell->tcl, name, TCL_GLOBAL_ONLY);
}

/*
 * The command that attaches, as this mdbg is set; the caller frees it by Tcl_Free. Between the look at
 * the process and the attach its id may come to another one, which is nobody's to record.
 */
static char *attach_command(const struct group *group, const struct worker *worker)
{
	const struct session_config *config = session_config(group->shell->session);
	const char *rate = config->cost ? "cost" : "sample";
	char pid[16], started[24], option[16];
	const char *words[] = {
		"mdbg::attach", pid, "-started", started, "-arm", config->arm ? "1" : "0",
		option, setting(group, rate), "-engine", setting(group, "engine"),
		"-stackdepth", setting(group, "stack-depth"), "-loglimit", setting(group, "log-limit"),
		"-freehistory", setting(group, "free-history"),
	};

	snprintf(pid, sizeof(pid), "%d", worker->pid);
	snprintf(started, sizeof(started), "%" PRIu64, worker->start);
	snprintf(option, sizeof(option), "-%s", rate);
	return Tcl_Merge(ARRAY_SIZE(words), words);
}

/* The command that records; the caller frees it by Tcl_Free. */
static char *record_command(const struct group *group, const struct worker *worker)
{
	char path[PATH_MAX], keep[32], size[32];
	/* Each of so many recorders would hear of the children of all. */
	const char *words[] = { "record", path, "keep", keep, "size", size, "children", "off" };

	snprintf(path, sizeof(path), "%s/%d-%" PRIu64, group->options->dir, worker->pid,
		 worker->start);
	snprintf(keep, sizeof(keep), "%llu", group->limits.keep_ns / SECOND);
	snprintf(size, sizeof(size), "%" PRIu64,
		 MAX(group->limits.size / GROUP_MOST, (uint64_t)RECORD_FRAME_MOST));
	return Tcl_Merge(ARRAY_SIZE(words), words);
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* What a recorder runs. If it cannot attach, it says so and ends. */
static struct err *add_script(const struct group *group, const struct worker *worker, struct str *ret)
{
	char *attach = attach_command(group, worker), *record = record_command(group, worker);
	struct err *err = str_addf(ret,
		"set max-pause {%s}; set history-seconds {%s}\n"
		"if {[catch {%s} why]} {puts stderr \"mdbg: $why\"; exit 3}\n"
		"mdbg::on exit exit\n"
		"%s\n", setting(group, "max-pause"), setting(group, "history-seconds"), attach, record);

	Tcl_Free(attach);
	Tcl_Free(record);
	return err;
}

static struct err *start_recorder(struct group *group, struct worker *worker)
{
	AUTO_STR struct str script = STR_INIT;
	struct err *err = add_script(group, worker, &script);
	const char *argv[] = { "mdbg", "-n", "-q", "-i", "-c", str_text(&script), NULL };
	int ends[2] = { -1, -1 };
	pid_t child = -1;

	if (err)
		return err;
	if (!pipe2(ends, O_CLOEXEC))
		child = fork();
	if (!child) {
		/* Nothing here may need a lock that another thread had. */
		if (dup2(ends[0], STDIN_FILENO) >= 0)
			execv("/proc/self/exe", (char *const *)argv);
		_exit(127);
	}
	if (child < 0) {
		err = err_sys("start a recorder of process %d", worker->pid);
		close_end(&ends[0]);
		close_end(&ends[1]);
		return err;
	}
	close(ends[0]);
	worker->recorder = child;
	worker->input = ends[1];
	group->nr++;
	return NULL;
}

static void reap(struct group *group)
{
	vec_each(worker, &group->workers) {
		pid_t ended = worker->recorder ? waitpid(worker->recorder, NULL, WNOHANG) : 0;

		/* Somebody else may have waited for it. */
		if (!ended || (ended < 0 && errno != ECHILD))
			continue;
		close_end(&worker->input);
		worker->recorder = 0;
		group->nr--;
	}
}

static struct worker *find_worker(struct group *group, pid_t pid, uint64_t start)
{
	vec_each(worker, &group->workers)
		if (worker->pid == pid && worker->start == start)
			return worker;
	return NULL;
}

static struct err *add_worker(struct group *group, pid_t pid, uint64_t start)
{
	struct worker worker = { .pid = pid, .start = start, .input = -1, .seen = true };
	struct err *err = vec_reserve(&group->workers, 1);

	if (!err)
		err = start_recorder(group, &worker);
	if (!err)
		group->workers.at[group->workers.nr++] = worker;
	return err;
}

/* Is it a recorder, or a process that one needs? */
static bool is_mdbg(pid_t pid)
{
	AUTO_FREE char *program = NULL, *own = NULL;

	return !procfs_link(pid, "exe", &program) && !procfs_link(getpid(), "exe", &own) &&
	       !strcmp(program, own);
}

/* Not what is traced: by a debugger, or as the snapshot that a recorder has made of its process. */
static bool is_candidate(pid_t pid, const struct proc_stat *stat)
{
	uint64_t started_ns = stat->start_time * (SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
	struct proc_status status;

	return procfs_clock(CLOCK_BOOTTIME) >= started_ns + YOUNG_NS && !is_mdbg(pid) &&
	       !procfs_status(pid, &status) && !status.tracer;
}

/*
 * What lacks for a recorder (a process, a descriptor) others may have taken, and most likely just when
 * recordings are needed. So those that run go on, and it is tried again at the next look.
 */
static struct err *try_worker(struct group *group, pid_t pid, uint64_t start)
{
	struct err *err = add_worker(group, pid, start);

	if (err && err->code == ERR_NOMEM)
		return err;
	if (err && !group->failing)
		terminal_warning(&group->shell->terminal, err->msg, "it is tried again each second");
	group->failing = err;
	return NULL;
}

/* One process of the machine: is it to be recorded? */
static struct err *look_at(struct group *group, pid_t pid)
{
	struct worker *worker;
	struct proc_stat stat;

	if (!is_in_group(pid, group->options->group) || procfs_stat(pid, &stat))
		return NULL;
	worker = find_worker(group, pid, stat.start_time);
	if (worker) {
		worker->seen = true;
		return NULL;
	}
	if (!is_candidate(pid, &stat))
		return NULL;
	if (group->nr < GROUP_MOST)
		return try_worker(group, pid, stat.start_time);
	if (!group->told)
		terminal_note(&group->shell->terminal,
			      "more than %u processes are in the group: the others are not recorded",
			      GROUP_MOST);
	group->told = true;
	return NULL;
}

static struct err *look(struct group *group)
{
	struct process_names all;
	struct err *err = processes_named(NULL, &all);

	if (err)
		return err;
	reap(group);
	vec_each(worker, &group->workers)
		worker->seen = false;
	vec_each_while(process, &all.vec, !err)
		err = look_at(group, process->pid);
	for (size_t i = group->workers.nr; i-- > 0;)
		if (!group->workers.at[i].seen && !group->workers.at[i].recorder)
			vec_remove(&group->workers, i);
	vec_free(&all.vec);
	return err;
}

/* A folder of a process that has ended. */
struct ended {
	char name[64];
	uint64_t bytes, time_ns;	/* of its files; the last one's time */
};

struct ended_list {
	VEC(struct ended) vec;
	uint64_t bytes;
};

COMPARE_BY(by_time, struct ended, ended, ended->time_ns)

/* Is it the name of a folder that a recorder has made here? */
static bool is_ours(const char *name)
{
	uint64_t start;
	int pid, len = 0;

	return sscanf(name, "%d-%" SCNu64 "%n", &pid, &start, &len) == 2 && !name[len] &&
	       strlen(name) < sizeof(((struct ended *)0)->name);
}

static int open_folder(const struct group *group, const char *name)
{
	return openat(group->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static struct err *add_ended(const struct group *group, const char *name, struct ended_list *ret)
{
	AUTO_CLOSE int fd = open_folder(group, name);
	struct record_files files = { VEC_INIT };
	struct ended ended = { .time_ns = 0 };
	struct err *err;

	if (fd < 0 || record_folder_is_locked(fd))
		return NULL;
	err = record_folder_list(fd, &files);
	vec_each(file, &files.vec) {
		ended.bytes += (uint64_t)file->st.st_size;
		ended.time_ns = MAX(ended.time_ns, (uint64_t)file->st.st_mtim.tv_sec * SECOND);
	}
	vec_free(&files.vec);
	if (err)
		return err;
	snprintf(ended.name, sizeof(ended.name), "%s", name);
	ret->bytes += ended.bytes;
	return vec_push(&ret->vec, ended);
}

/* The caller frees the vector, also after an error. */
static struct err *list_ended(const struct group *group, struct ended_list *ret)
{
	int fd = open_folder(group, ".");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct err *err = NULL;

	if (!dir) {
		err = err_sys("list %s", group->options->dir);
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(dir)))
		if (is_ours(entry->d_name))
			err = add_ended(group, entry->d_name, ret);
	closedir(dir);
	vec_sort(&ret->vec, by_time);
	return err;
}

static void remove_folder(const struct group *group, const char *name)
{
	AUTO_CLOSE int fd = open_folder(group, name);
	struct record_files files = { VEC_INIT };
	struct err *err = fd < 0 ? NULL : record_folder_list(fd, &files);

	if (fd >= 0 && !err) {
		vec_each(file, &files.vec)
			unlinkat(fd, record_folder_name(file->number).text, 0);
		unlinkat(fd, RECORD_FOLDER_LOCK, 0);
		unlinkat(fd, RECORD_FOLDER_NEXT, 0);
		unlinkat(group->dir_fd, name, AT_REMOVEDIR);
	}
	vec_free(&files.vec);
}

/* Remove what has ended and is too old, or too much. */
static void tidy(struct group *group)
{
	uint64_t now_ns = procfs_clock(CLOCK_REALTIME), monotonic_ns = procfs_clock(CLOCK_MONOTONIC);
	struct ended_list list = { VEC_INIT, 0 };

	if (monotonic_ns < group->tidy_ns)
		return;
	group->tidy_ns = monotonic_ns + TIDY_NS;
	err_ignore(list_ended(group, &list));	/* what could not be listed is looked at the next time */
	vec_each(ended, &list.vec) {
		if (list.bytes <= group->limits.size && ended->time_ns + group->limits.keep_ns >= now_ns)
			continue;
		remove_folder(group, ended->name);
		list.bytes -= ended->bytes;
	}
	vec_free(&list.vec);
}

/* Have all recorders ended? */
static bool has_ended(void *ctx, struct err **err_ret UNUSED)
{
	struct group *group = ctx;

	reap(group);
	return !group->nr;
}

static void end_recorders(struct group *group)
{
	vec_each(worker, &group->workers)
		close_end(&worker->input);
	for (uint64_t end = procfs_clock(CLOCK_MONOTONIC) + END_NS;
	     !has_ended(group, NULL) && procfs_clock(CLOCK_MONOTONIC) < end;)
		usleep(10000);
}

static struct err *serve(struct group *group)
{
	struct err *err = NULL;

	while (!err && !signals_ending()) {
		tidy(group);
		err = look(group);
		if (err)
			break;
		err = target_command_wait(group->shell, SECOND, NULL, NULL);
		if (err && err->code == ERR_TIMEOUT)
			err = NULL;
	}
	return err && err->code == ERR_CANCELLED ? NULL : err;
}

struct err *recording_group_serve(struct shell *shell, const struct recording_options *options)
{
	struct group group = {
		.shell = shell, .options = options, .limits = RECORDING_LIMITS, .dir_fd = -1,
	};
	struct err *err = recording_limits(options->keep, options->size, &group.limits);

	if (!err)
		err = trust_folder(options->dir, true, &group.dir_fd);
	if (!err)
		err = serve(&group);
	end_recorders(&group);
	vec_free(&group.workers);
	if (group.dir_fd >= 0)
		close(group.dir_fd);
	return err;
}
