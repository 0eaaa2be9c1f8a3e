/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots of a target's memory (theory in snapshot.h). */

#include "tracee/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "arch/sigframe.h"
#include "base/cleanup.h"
#include "base/trace.h"
#include "os/pidfd.h"
#include "os/tracer.h"
#include "tracee/gadget.h"
#include "tracee/region.h"
#include "tracee/remote.h"

#define DEATH_MS	60000		/* to free much memory takes seconds */
#define KILL_FIRST	"1000"		/* oom_score_adj(5): the highest */

/* Memory */

/* The first copy that ends behind address, or NULL. */
static const struct snapshot_copy *copy_behind(const struct snapshot *snapshot, uint64_t address)
{
	const struct snapshot_copy *copy = snapshot->copies.vec.at;
	size_t low = LOWER_BOUND(i, 0, snapshot->copies.vec.nr, copy[i].end <= address);

	return low < snapshot->copies.vec.nr ? &copy[low] : NULL;
}

static struct err *read_part(struct snapshot *snapshot, uint64_t address, uint8_t *buf, size_t len,
			     size_t *len_ret)
{
	const struct snapshot_copy *copy = copy_behind(snapshot, address);

	if (!copy || address < copy->start) {
		if (copy)
			len = MIN(len, (size_t)(copy->start - address));
		return memory_read_some(&snapshot->mem.memory, address, buf, len, len_ret);
	}
	*len_ret = MIN(len, (size_t)(copy->end - address));
	memcpy(buf, copy->bytes + (address - copy->start), *len_ret);
	return NULL;
}

static struct err *snapshot_read(struct memory *memory, uint64_t address, void *buf, size_t len,
				 size_t *len_ret)
{
	struct snapshot *snapshot = (struct snapshot *)memory;
	size_t done = 0, got;

	do {
		struct err *err = read_part(snapshot, address + done, (uint8_t *)buf + done,
					    len - done, &got);

		if (err && (!done || err->code != ERR_MEMORY))
			return err;
		if (err)
			break;
		done += got;
	} while (got && done < len);
	*len_ret = done;
	return NULL;
}

/* The child's part, or that of a copy, whichever comes first. */
static bool snapshot_next(struct memory *memory, uint64_t start, uint64_t end,
			  uint64_t *start_ret, uint64_t *end_ret)
{
	struct snapshot *snapshot = (struct snapshot *)memory;
	const struct snapshot_copy *copy = copy_behind(snapshot, start);
	bool found = memory_next(&snapshot->mem.memory, start, end, start_ret, end_ret);

	if (!copy || copy->start >= end || (found && *start_ret < copy->start)) {
		if (found && copy)
			*end_ret = MIN(*end_ret, copy->start);
		return found;
	}
	*start_ret = MAX(start, copy->start);
	*end_ret = MIN(end, copy->end);
	return true;
}

static struct err *copy_part(struct target *target, uint64_t address, uint64_t len,
			     struct snapshot_copies *copies)
{
	AUTO_FREE uint8_t *bytes = malloc(len);
	struct err *err;
	size_t got;

	if (!bytes)
		return err_nomem;
	err = memory_read_some(target->memory, address, bytes, len, &got);
	if (err)
		return err->code == ERR_MEMORY ? NULL : err;
	err = vec_push(&copies->vec, ((struct snapshot_copy){ address, address + got, bytes }));
	if (!err)
		(void)take(bytes);
	return err;
}

struct err *snapshot_copy(struct target *target, uint64_t start, uint64_t end,
			  struct snapshot_copies *copies)
{
	uint64_t part, part_end;
	struct err *err = NULL;

	for (; !err && memory_next(target->memory, start, end, &part, &part_end); start = part_end)
		err = copy_part(target, part, part_end - part, copies);
	return err;
}

void snapshot_copies_free(struct snapshot_copies *copies)
{
	for (size_t i = 0; i < copies->vec.nr; i++)
		free(copies->vec.at[i].bytes);
	vec_free(&copies->vec);
}

/* The child */

/*
 * Write a signal frame for the return of the child from clone; it only leads the child to its end.
 */
static struct err *lay_end(struct remote *remote, uint64_t *sp_ret)
{
	struct target *target = remote->thread->target;
	const struct arch *arch = target->arch;
	struct regs regs = remote->regs;
	uint8_t buf[REMOTE_SCRATCH];
	struct sigframe_spec spec = { .regs = &regs, .mask = UINT64_MAX,
				      .below = remote->frame };
	struct gadgets gadgets;
	struct gadget_frame frame;
	struct err *err = gadget_find(target, &gadgets);

	if (err)
		return err;
	regs_set(&regs, arch->pc, gadgets.call);
	regs_set(&regs, arch->syscall_nr, SYS_exit_group);
	regs_set(&regs, arch->syscall_arg[0], 0);
	err = gadget_frame(arch, &gadgets, &spec, buf, sizeof(buf), &frame);
	if (err)
		return err;
	*sp_ret = frame.sp;
	return remote_scratch_at(remote, frame.sp, buf, frame.len);
}

static struct err *make_child(struct target *target, struct remote *remote,
			      struct snapshot *snapshot)
{
	uint32_t entry = snapshot->entry;
	/* The address, in the target, of the journal's word for the child's process id. */
	uint64_t word = target->region->address + offsetof(struct journal, entry[entry].aux);
	uint64_t sp;
	struct err *err = lay_end(remote, &sp);
	int status;

	if (!err)
		err = remote_syscall(remote, &snapshot->inside, SYS_clone,
				     CLONE_FILES | CLONE_PARENT_SETTID, sp, word, 0, 0);
	if (err)
		return err->errnum ? err_create(ERR_UNSUPPORTED, "no snapshot: fork: %s",
						strerror(err->errnum)) : err;
	journal_writer_set_aux(&target->region->writer, entry, snapshot->inside);
	snapshot->pid = remote->made;
	tracer_keep_end(target->tracer, remote->made);
	err = tracer_wait_for(remote->made, tracer_now() + TARGET_TIMEOUT_NS, &status);
	if (!err && !WIFSTOPPED(status))
		err = err_create(ERR_GONE, "the snapshot was killed");
	return err ? err : ptrace_exit_kill(remote->made);
}

/* Best effort: no right is needed to make it more likely to be killed. */
static void be_killed_first(pid_t pid)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, KILL_FIRST, strlen(KILL_FIRST)) < 0)
		trace_line("%s: %s", path, strerror(errno));
	close(fd);
}

static struct err *begin(struct target *target, struct remote **ret)
{
	struct err *err = remote_borrow(target, NULL, ret);

	if (err || (*ret)->thread->tgid == target->pid)
		return err;
	err = remote_borrow_give_back(*ret, NULL);
	return err ? err : err_create(ERR_UNSUPPORTED, "no snapshot: no thread of process %d "
				      "itself can be borrowed", target->pid);
}

static struct err *take_child(struct target *target, struct snapshot *snapshot)
{
	const struct journal_entry entry = { .kind = JOURNAL_SNAPSHOT };
	struct remote *remote;
	struct err *err;

	/* If mdbg were killed now, nobody would know of the child. */
	if (!target->region)
		return err_create(ERR_UNSUPPORTED, "no snapshot: without probes there is no journal "
				  "in process %d to note its child in", target->pid);
	err = begin(target, &remote);
	if (err)
		return err;
	err = journal_writer_plan(&target->region->writer, &entry, &snapshot->entry);
	if (!err) {
		err = make_child(target, remote, snapshot);
		if (err && !snapshot->pid)
			journal_writer_undone(&target->region->writer, snapshot->entry);
		else
			journal_writer_done(&target->region->writer, snapshot->entry);
	}
	return remote_borrow_give_back(remote, err);
}

struct err *snapshot_take(struct target *target, struct snapshot_copies *copies,
			  struct snapshot *ret)
{
	struct snapshot snapshot = { .memory = { .read = snapshot_read, .next = snapshot_next }, .pidfd = -1,
				     .mem = { .fd = -1 }, .copies = *copies };
	struct err *err = take_child(target, &snapshot);
	struct err kept;

	if (!err)
		err = pidfd_open_process(snapshot.pid, &snapshot.pidfd);
	if (!err)
		err = procmem_open(snapshot.pid, &snapshot.mem);
	if (!err) {
		snapshot.mem.forked = true;
		be_killed_first(snapshot.pid);
		*copies = (struct snapshot_copies){ VEC_INIT };
		*ret = snapshot;
		return NULL;
	}
	err_copy(&kept, err);
	if (snapshot.pid)
		/* the journal keeps it for the next mdbg */
		err_ignore(snapshot_reap(target, &snapshot));
	snapshot.copies = (struct snapshot_copies){ VEC_INIT };
	snapshot_free(&snapshot);
	return err_adopt(&kept);
}

/* Without a pidfd the child is still traced, so its id cannot go to another process. */
void snapshot_kill(const struct snapshot *snapshot)
{
	struct pollfd end = { .fd = snapshot->pidfd, .events = POLLIN };
	int got;

	if (snapshot->pidfd < 0) {
		kill(snapshot->pid, SIGKILL);
		return;
	}
	if (pidfd_kill(snapshot->pidfd, SIGKILL))
		return;		/* dead, or not ours to kill: see snapshot_reap */
	do
		got = poll(&end, 1, DEATH_MS);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		trace_line("snapshot %d does not end", snapshot->pid);
}

static struct err *wait_for_it(struct remote *remote, uint64_t pid)
{
	uint64_t got;
	struct err *err = remote_syscall(remote, &got, SYS_wait4, pid, 0, __WCLONE | WNOHANG, 0);

	if (err)
		return err->errnum == ECHILD ? NULL : err;
	return got ? NULL : err_create(ERR_BUSY, "a snapshot is still being given up");
}

/*
 * The tracer sees its end first, and then its parent. If mdbg may trace but not kill it, it lets
 * the child run, to its end.
 */
void snapshot_drop(struct tracer *tracer, const struct snapshot *snapshot)
{
	int status;

	snapshot_kill(snapshot);
	err_ignore(tracer_cont(snapshot->pid, 0));	/* no more, if it is dead */
	/* Skip this if its end was seen while mdbg waited for others. */
	err_ignore(tracer_wait_for(snapshot->pid, tracer_now() + TARGET_TIMEOUT_NS, &status));
	tracer_keep_end(tracer, 0);
}

struct err *snapshot_reap(struct target *target, const struct snapshot *snapshot)
{
	struct remote *remote;
	struct err *err;

	snapshot_drop(target->tracer, snapshot);
	err = begin(target, &remote);
	if (err)
		return err;
	err = wait_for_it(remote, snapshot->inside);
	if (!err)
		journal_writer_undone(&target->region->writer, snapshot->entry);
	return remote_borrow_give_back(remote, err);
}

/* After an exec */

#define SIGINFO_SIZE	128	/* the kernel's, on all processors */
#define SIGSET_SIZE	8u

/* The arguments that lie in the scratch for the calls that follow. */
struct signal_args {
	uint64_t set;
	struct timespec none;
	siginfo_t info;
};

_Static_assert(sizeof(siginfo_t) == SIGINFO_SIZE, "the kernel writes so much");
_Static_assert(sizeof(struct signal_args) <= REMOTE_SCRATCH, "there is room");

/*
 * If a child of the program itself has changed its state in between, no SIGCHLD was queued for it,
 * because one was pending: so one is sent now. A program must expect one too many anyway. The
 * thread sends it to its own id, since a thread may use the kernel's si_code only for itself.
 */
static struct err *resend(struct remote *remote, uint64_t at)
{
	const siginfo_t none = { .si_pid = 0 };
	siginfo_t info;
	uint64_t unused, tid;
	struct err *err = procmem_write(&remote->thread->target->mem, at, &none, sizeof(none));

	if (!err)
		err = remote_syscall(remote, &unused, SYS_waitid, P_ALL, 0, at,
				     WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT, 0);
	if (err)
		return err->errnum == ECHILD ? NULL : err;
	err = memory_read(&remote->thread->target->mem.memory, at, &info, sizeof(info));
	if (err || !info.si_pid)
		return err;
	err = remote_syscall(remote, &tid, SYS_gettid, 0);
	return err ? err : remote_syscall(remote, &unused, SYS_rt_sigqueueinfo, tid, SIGCHLD, at);
}

/*
 * A SIGCHLD that was sent to this very thread comes before those of the process; then ours stays.
 */
static struct err *put_back(struct remote *remote, uint64_t info)
{
	uint64_t unused, tid, pid;
	struct err *err = remote_syscall(remote, &tid, SYS_gettid, 0);

	if (!err)
		err = remote_syscall(remote, &pid, SYS_getpid, 0);
	return err ? err : remote_syscall(remote, &unused, SYS_rt_tgsigqueueinfo, pid, tid, SIGCHLD,
					  info);
}

/* All threads are stopped, so nobody else takes it. */
static struct err *take_signal(struct remote *remote, uint64_t child)
{
	const struct signal_args args = { .set = 1ull << (SIGCHLD - 1) };
	uint64_t at, info, unused;
	siginfo_t got;
	bool pending;
	struct err *err = ptrace_child_pending(remote->thread->tid, (pid_t)child, &pending);

	if (err || !pending)
		return err;
	err = remote_scratch(remote, &args, sizeof(args), &at);
	info = at + offsetof(struct signal_args, info);
	if (!err)
		err = remote_syscall(remote, &unused, SYS_rt_sigtimedwait,
				     at + offsetof(struct signal_args, set), info,
				     at + offsetof(struct signal_args, none), SIGSET_SIZE);
	if (!err)
		err = memory_read(&remote->thread->target->mem.memory, info, &got, sizeof(got));
	if (err)
		return err;
	return got.si_pid == (pid_t)child ? resend(remote, info) : put_back(remote, info);
}

struct err *snapshot_reap_anew(struct target *target, const struct snapshot *snapshot)
{
	struct remote *remote;
	struct err *err = begin(target, &remote);

	if (err)
		return err;
	snapshot_drop(target->tracer, snapshot);
	err = take_signal(remote, snapshot->inside);
	err = err_first(err, wait_for_it(remote, snapshot->inside));
	return remote_borrow_give_back(remote, err);
}

/*
 * The journal may name any process. So check that it is a child of the target that raises no signal
 * at its end, and that it has ended as a snapshot does. *is_ret: it is such a child. ERR_BUSY: it
 * has not ended yet.
 */
static struct err *check_left(const struct target *target, uint64_t inside, bool *is_ret)
{
	struct proc_stat stat;
	pid_t pid;
	struct err *err = identity_find_child(target->pid, inside, &pid);

	*is_ret = false;
	if (!err)
		err = procfs_stat(pid, &stat);
	if (err)	/* it is reaped */
		return err->code == ERR_NOTFOUND || err->code == ERR_GONE ? NULL : err;
	if (stat.exit_signal)
		return NULL;
	if (stat.state != 'Z')
		return err_create(ERR_BUSY, "a snapshot is still being given up");
	*is_ret = !stat.exit_code || stat.exit_code == SIGKILL;
	return NULL;
}

struct err *snapshot_reap_left(struct remote *remote, const struct journal_entry *entry)
{
	bool is_snapshot;
	struct err *err;

	if (!entry->aux)	/* it was never made */
		return NULL;
	err = check_left(remote->thread->target, entry->aux, &is_snapshot);
	return err || !is_snapshot ? err : wait_for_it(remote, entry->aux);
}

void snapshot_free(struct snapshot *snapshot)
{
	procmem_close(&snapshot->mem);
	if (snapshot->pidfd >= 0)
		close(snapshot->pidfd);
	snapshot->pidfd = -1;
	snapshot_copies_free(&snapshot->copies);
}
