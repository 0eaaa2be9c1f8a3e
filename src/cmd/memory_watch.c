/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * memory watch: the memory of the process and of the machine, again and again.
 *
 * The process is not stopped. A reading takes two files of /proc/PID and five of the machine, some
 * 200 us. The verdict needs the mappings, for which the kernel walks the page tables: up to 30 ms
 * for a GB in memory, which is too much for each reading of a large process. So the mappings are
 * looked at only as often as keeps that below a thousandth of a core (LOOK_SHARE), and the verdict
 * says over which time it was found.
 */

#include <time.h>

#include "cmd/shell/cmd.h"
#include "cmd/shell/watch_loop.h"
#include "os/procfs.h"
#include "report/memory_text.h"
#include "report/memory_watch_text.h"
#include "session/history.h"
#include "session/session.h"
#include "session/session_memory.h"

#define LOOK_SHARE	1000u	/* a look that took T is followed by no other for 1000 T */

struct watch {
	struct watch_loop loop;
	struct memory_reading before, now;
	bool has_before, has_now;
	struct memory_look look;	/* the last one */
	bool has_look, has_verdict;
	uint64_t look_due;		/* monotonic */
	struct memory_verdict verdict;
};

static uint64_t cpu_time(void)
{
	return procfs_clock(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t without(uint64_t bytes, uint64_t own)
{
	return bytes - MIN(bytes, own);
}

/*
 * Read what the kernel says of the process, without what mdbg has mapped in it. The first thread of a
 * process may have ended.
 */
static struct err *read_process(const struct session *session, pid_t pid,
				struct memory_reading *ret)
{
	const struct session_own own = session_history_own(session);
	struct proc_status status;
	struct proc_stat stat;
	struct err *err = procfs_stat(pid, &stat);

	if (!err)
		err = procfs_status(pid, &status);
	if (err)
		return err;
	ret->pid = pid;
	ret->name = status.name;
	ret->min_faults = stat.min_faults;
	ret->maj_faults = stat.maj_faults;
	ret->vsize = status.has_vm ? without(status.vm_kb << 10, own.mapped) : KERNEL_UNKNOWN;
	ret->rsize = status.has_vm ? without(status.rss_kb << 10, own.resident) : KERNEL_UNKNOWN;
	ret->swap = status.has_vm ? status.swap_kb << 10 : KERNEL_UNKNOWN;
	return NULL;
}

/* Look at the mappings, if it is time to. Without them there is no verdict, and no error. */
static void read_maps(struct watch *watch)
{
	struct session *session = watch->loop.call->session;
	struct memory_use use = MEMORY_USE_INIT;
	uint64_t begun = cpu_time(), now = procfs_clock(CLOCK_MONOTONIC);

	watch->now.psize = KERNEL_UNKNOWN;
	if (now < watch->look_due)
		return;
	if (session_memory_use(session, SESSION_MEMORY_JUDGE, &use)) {
		watch->has_look = watch->has_verdict = false;
		watch->look_due = now + 1000000000ull;
		return;
	}
	session_memory_verdict(session, watch->has_look ? &watch->look : NULL, &use.look,
			       &watch->verdict);
	watch->now.psize = use.look.all.at[MEMORY_PSS];
	watch->look = use.look;
	watch->has_look = watch->has_verdict = true;
	watch->look_due = now + (cpu_time() - begun) * LOOK_SHARE;
	memory_use_free(&use);
}

/* The process may be another one than before: scripts of events may attach. */
static struct err *read_all(void *ctx)
{
	struct watch *watch = ctx;
	pid_t pid = session_pid(watch->loop.call->session);
	struct memory_reading reading = { .time_ns = procfs_clock(CLOCK_MONOTONIC) };
	struct err *err = read_process(watch->loop.call->session, pid, &reading);

	if (err && err->code == ERR_GONE) {
		watch->loop.ended = true;
		return NULL;
	}
	if (err)
		return err;
	machine_read("/proc", &reading.machine);
	watch->has_before = watch->has_now && watch->now.pid == pid;
	watch->has_look &= watch->has_before;
	watch->has_verdict &= watch->has_before;
	if (!watch->has_before)
		watch->look_due = 0;
	watch->before = watch->now;
	watch->now = reading;
	watch->has_now = true;
	read_maps(watch);
	return NULL;
}

/* What is longer than the screen goes on in the next line: a figure that is cut off is none. */
static struct err *print(void *ctx, struct out *out)
{
	struct watch *watch = ctx;

	if (watch->loop.in_place)
		out->columns = watch->loop.screen.columns;
	return memory_watch_text_print(watch->has_before ? &watch->before : NULL, &watch->now,
				       watch->has_verdict ? &watch->verdict : NULL, out);
}

static const struct watch_kind kind = { .read = read_all, .print = print };

static struct err *run(struct call *call)
{
	struct watch watch = { .loop = { .call = call, .kind = &kind, .ctx = &watch } };
	struct err *err = watch_loop_parse(call, &watch.loop);

	if (!err)
		err = call_need_target(call);
	return err ? err : watch_loop_run(&watch.loop);
}

const struct cmd cmd_memory_watch = {
	.name		= "memory watch",
	.usage		= "?SECONDS ?COUNT??",
	.brief		= "memory of the process and the machine, again and again",
	.help		= "A reading is printed at once, and then every SECONDS (1, 0.5, 90s, 5m): COUNT\n"
			  "times in all, or until Ctrl-C, which is no error, or until the process ends.\n"
			  "\n"
			  "On a terminal it is drawn in place, and q ends it. The names are those of\n"
			  "atop; all sizes are bytes (`set units` shortens them).\n"
			  "    process  MINFLT MAJFLT (page faults) VGROW RGROW since the reading\n"
			  "             before; VSIZE RSIZE SWAPSZ, and MEM, the part of the machine's\n"
			  "             memory (/proc/PID/stat and status); PSIZE (/proc/PID/smaps). What\n"
			  "             mdbg has mapped in the process is no part of them\n"
			  "    MEM      tot free avail cache dirty buff slab slrec (reclaimable) shmem\n"
			  "             pgtab (/proc/meminfo)\n"
			  "    SWP      tot free swcac (cached), vmcom and vmlim (committed, its limit)\n"
			  "    PAG      since the reading before: pages scan(ned) and steal (reclaimed),\n"
			  "             stall (allocations that waited), compact (stalls), migrate\n"
			  "             (pages), pgin pgout (bytes from and to disks), swin swout\n"
			  "             (pages), oomkill (/proc/vmstat)\n"
			  "    PSI      the part of the last 10 and 60 s in which some tasks, and all,\n"
			  "             waited for memory (/proc/pressure/memory)\n"
			  "\n"
			  "Then the verdict of `memory`. For it, and for PSIZE, the kernel walks the page\n"
			  "tables; that is done in a part of the readings only, so that it takes a\n"
			  "thousandth of a core at most. - is what is not known. The process is not\n"
			  "stopped.\n"
			  "\n"
			  "Errors: {MDBG USAGE}, {MDBG STATE} without a process.\n",
	.example	= "memory watch 10\n",
	.run		= run,
	.max_args	= 2,
};
