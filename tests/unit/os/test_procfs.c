/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /proc of real processes of the test's own. */

#include "os/procfs.h"

#include <fcntl.h>
#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "child.h"
#include "unit.h"

#define PAGE		4096
#define MANY		30000	/* pages, each a mapping, and as many between them */
#define THREADS		20

TEST("own maps")
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	const struct proc_map *map;
	int local;

	CU_ASSERT_PTR_NULL_FATAL(procfs_maps(getpid(), &maps));
	map = procparse_maps_find(&maps, (uintptr_t)unit_skip);
	CU_ASSERT_PTR_NOT_NULL_FATAL(map);
	CU_ASSERT_TRUE(map->read && !map->write && map->exec && map->inode);
	CU_ASSERT_EQUAL(map->path[0], '/');
	map = procparse_maps_find(&maps, (uintptr_t)&local);
	CU_ASSERT_PTR_NOT_NULL_FATAL(map);
	CU_ASSERT_TRUE(map->read && map->write && !map->exec);
	CU_ASSERT_STRING_EQUAL(map->path, "[stack]");
}

/* The rights of a page that is mapped to be read and written, as both ways to ask have them. */
static void check_implied(bool exec, bool implied)
{
	CLEANUP(procparse_maps_free) struct proc_maps all = { VEC_INIT };
	CLEANUP(procparse_maps_free) struct proc_maps some = { VEC_INIT };
	int prot = PROT_READ | PROT_WRITE | (exec && !implied ? PROT_EXEC : 0);
	void *at = mmap(NULL, PAGE, prot, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct proc_map *map;
	bool read_all;

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(at, MAP_FAILED);
	CU_ASSERT_PTR_NULL_FATAL(procfs_maps(getpid(), &all));
	CU_ASSERT_PTR_NULL_FATAL(procfs_maps_at(getpid(), (uintptr_t)at, (uintptr_t)at + PAGE,
						&some, &read_all));
	munmap(at, PAGE);
	map = procparse_maps_find(&all, (uintptr_t)at);
	CU_ASSERT_TRUE(map && map->exec == exec && map->exec_implied == implied);
	CU_ASSERT_TRUE(map && proc_map_is_exec(map) == (exec && !implied));
	map = procparse_maps_find(&some, (uintptr_t)at);
	CU_ASSERT_TRUE(map && map->exec == exec && map->exec_implied == implied);
}

TEST("rights that READ_IMPLIES_EXEC gives")
{
	int own = personality(0xffffffff);

	check_implied(false, false);
	check_implied(true, false);
	CU_ASSERT_EQUAL_FATAL(personality((unsigned)own | READ_IMPLIES_EXEC), own);
	check_implied(true, true);
	personality((unsigned)own);
}

TEST("a file with newline, backslash, blank; deleted")
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	AUTO_CLOSE int fd = -1;
	const struct proc_map *map;
	char path[64];
	void *at;

	snprintf(path, sizeof(path), "/tmp/mdbg unit\n\\012 %d", getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, PAGE), 0);
	at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(at, MAP_FAILED);
	unlink(path);
	CU_ASSERT_PTR_NULL_FATAL(procfs_maps(getpid(), &maps));
	munmap(at, PAGE);
	map = procparse_maps_find(&maps, (uintptr_t)at);
	CU_ASSERT_PTR_NOT_NULL_FATAL(map);
	/* The kernel does not tell a backslash from an escape: "\012" comes back as a newline. */
	CU_ASSERT_EQUAL(strncmp(map->path, "/tmp/mdbg unit\n\n ", 17), 0);
	CU_ASSERT_TRUE(map->deleted);
	CU_ASSERT_TRUE(map->shared);
}

static bool sorted(const struct proc_maps *maps)
{
	size_t i;

	for (i = 0; i < maps->vec.nr; i++) {
		if (maps->vec.at[i].start >= maps->vec.at[i].end)
			return false;
		if (i && maps->vec.at[i].start < maps->vec.at[i - 1].end)
			return false;
	}
	return true;
}

TEST("60,000 mappings")
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	size_t len = (size_t)MANY * 2 * PAGE, i;
	char *at = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(at, MAP_FAILED);
	for (i = 0; i < MANY; i++) {
		if (mprotect(at + i * 2 * PAGE, PAGE, PROT_READ))
			break;
	}
	CU_ASSERT_PTR_NULL(procfs_maps(getpid(), &maps));
	munmap(at, len);
	if (i < MANY) {
		unit_skip("vm.max_map_count is small here");
		return;
	}
	CU_ASSERT_TRUE(maps.vec.nr >= MANY * 2);
	CU_ASSERT_TRUE(sorted(&maps));
	for (i = 0; i < MANY * 2; i++) {
		const struct proc_map *map = procparse_maps_find(&maps, (uintptr_t)at + i * PAGE);

		if (!map || map->read != !(i % 2))
			break;
	}
	CU_ASSERT_EQUAL(i, MANY * 2);
}

static void *churn(void *arg)
{
	volatile bool *stop = arg;
	size_t len = 400 * PAGE;

	while (!*stop) {
		char *at = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		size_t i;

		for (i = 0; i < 400; i += 2)
			mprotect(at + i * PAGE, PAGE, PROT_NONE);
		for (i = 0; i < 400; i += 2)
			mprotect(at + i * PAGE, PAGE, PROT_READ);
		munmap(at, len);
	}
	return NULL;
}

TEST("mappings that change meanwhile")
{
	volatile bool stop = false;
	unsigned good = 0, i;
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, churn, (void *)&stop), 0);
	for (i = 0; i < 100; i++) {
		CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
		struct err *err = procfs_maps(getpid(), &maps);

		good += !err && sorted(&maps) && procparse_maps_find(&maps, (uintptr_t)churn);
	}
	stop = true;
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(good, 100);
}

static pthread_barrier_t barrier;

static void *wait_twice(void *arg)
{
	*(pid_t *)arg = gettid();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

TEST("threads")
{
	struct proc_tasks tasks = { VEC_INIT };
	pthread_t threads[THREADS];
	pid_t tids[THREADS];
	unsigned i, found = 0;
	uint32_t nr = 0;
	size_t j;

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, wait_twice, &tids[i]), 0);
	pthread_barrier_wait(&barrier);
	CU_ASSERT_PTR_NULL(procfs_tasks(tids[7], &tasks));	/* any thread's id will do */
	CU_ASSERT_PTR_NULL(procfs_nr_threads(tids[7], &nr));
	CU_ASSERT_EQUAL(nr, tasks.vec.nr);
	for (j = 0; j < tasks.vec.nr; j++) {
		for (i = 0; i < THREADS; i++)
			found += tasks.vec.at[j] == tids[i];
		CU_ASSERT_TRUE(!j || tasks.vec.at[j] > tasks.vec.at[j - 1]);
	}
	pthread_barrier_wait(&barrier);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	CU_ASSERT_EQUAL(found, THREADS);
	CU_ASSERT_TRUE(tasks.vec.nr >= THREADS + 1);
	vec_free(&tasks.vec);
}

/* Who sleeps was given a processor again; by a kernel that does not count, never. */
TEST("how often a thread ran")
{
	static const struct timespec nap = { .tv_nsec = 100000 };
	uint64_t before = UINT64_MAX, after = 0;

	CU_ASSERT_PTR_NULL(procfs_runs(gettid(), &before));
	for (unsigned i = 0; i < 10; i++)
		nanosleep(&nap, NULL);
	CU_ASSERT_PTR_NULL(procfs_runs(gettid(), &after));
	CU_ASSERT_TRUE(before ? after >= before + 10 : !after);
}

static void leave_leader(void *arg UNUSED)
{
	child_end_leader();
}

TEST("a leader that has ended")
{
	CLEANUP(procparse_maps_free) struct proc_maps leader = { VEC_INIT }, other = { VEC_INIT };
	struct proc_tasks tasks = { VEC_INIT };
	struct proc_status status;
	CLEANUP(child_end) struct child child;
	uint64_t tid;

	CU_ASSERT_TRUE_FATAL(child_start(&child, leave_leader, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &tid));
	CU_ASSERT_PTR_NULL(procfs_maps(child.pid, &leader));
	CU_ASSERT_EQUAL(leader.vec.nr, 0);
	CU_ASSERT_PTR_NULL(procfs_maps((pid_t)tid, &other));
	CU_ASSERT_PTR_NOT_NULL(procparse_maps_find(&other, (uintptr_t)unit_skip));
	CU_ASSERT_PTR_NULL(procfs_tasks(child.pid, &tasks));
	CU_ASSERT_EQUAL(tasks.vec.nr, 2);
	vec_free(&tasks.vec);
	CU_ASSERT_PTR_NULL(procfs_status(child.pid, &status));
	CU_ASSERT_EQUAL(status.state, 'Z');
	CU_ASSERT_FALSE(status.has_vm);
	CU_ASSERT_PTR_NULL(procfs_status((pid_t)tid, &status));
	CU_ASSERT_EQUAL(status.tgid, child.pid);
	CU_ASSERT_TRUE(status.has_vm);
}

static void live(void *arg UNUSED)
{
	child_ready(0);
	child_wait();
}

#define ASSERT_GONE(call) \
	do { \
		struct err *gone_err = (call); \
		CU_ASSERT_PTR_NOT_NULL_FATAL(gone_err); \
		CU_ASSERT_EQUAL(gone_err->code, ERR_GONE); \
		CU_ASSERT_EQUAL(gone_err->errnum, ESRCH); \
	} while (0)

TEST("a process that has ended")
{
	struct proc_tasks tasks;
	struct proc_status status;
	struct proc_stat stat;
	struct proc_maps maps;
	struct child child;
	uint64_t word;
	char *text;

	CU_ASSERT_TRUE_FATAL(child_start(&child, live, NULL));
	CU_ASSERT_EQUAL(child_end(&child), 0);
	ASSERT_GONE(procfs_maps(child.pid, &maps));
	ASSERT_GONE(procfs_tasks(child.pid, &tasks));
	ASSERT_GONE(procfs_status(child.pid, &status));
	ASSERT_GONE(procfs_stat(child.pid, &stat));
	ASSERT_GONE(procfs_runs(child.pid, &word));
	ASSERT_GONE(procfs_ran(child.pid, &word));
	ASSERT_GONE(procfs_link(child.pid, "exe", &text));
	ASSERT_GONE(procfs_file(child.pid, "comm", &text, NULL));
	ASSERT_GONE(procfs_auxv(child.pid, AT_ENTRY, &word));
	ASSERT_GONE(procfs_children(child.pid, &tasks));
	ASSERT_GONE(procfs_start_realtime(child.pid, &word));
	ASSERT_GONE(procfs_status(-1, &status));
}

/* A process that ends at any moment is ERR_GONE or read whole, nothing else. */
TEST("processes that end meanwhile")
{
	unsigned i, odd = 0;

	for (i = 0; i < 200; i++) {
		pid_t pid = fork();
		struct proc_tasks tasks;
		struct proc_maps maps;
		struct err *err;

		if (!pid)
			_exit(0);
		while (!(err = procfs_maps(pid, &maps))) {
			bool dead = !maps.vec.nr;	/* a zombie by now */

			procparse_maps_free(&maps);
			if (dead)
				break;
		}
		odd += err && err->code != ERR_GONE;
		waitpid(pid, NULL, 0);
		err = procfs_tasks(pid, &tasks);
		odd += !err || err->code != ERR_GONE;
	}
	CU_ASSERT_EQUAL(odd, 0);
}

static void block_and_name(void *arg UNUSED)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, 64);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGHUP, SIG_IGN);
	raise(SIGUSR1);
	prctl(PR_SET_NAME, "a\n\\) S 1");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	child_ready(0);
	child_wait();
}

TEST("status and stat")
{
	struct proc_status status;
	struct proc_stat stat;
	CLEANUP(child_end) struct child child;
	uint64_t word;

	CU_ASSERT_TRUE_FATAL(child_start(&child, block_and_name, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	CU_ASSERT_PTR_NULL(procfs_status(child.pid, &status));
	CU_ASSERT_STRING_EQUAL(status.name.bytes, "a\n\\) S 1");
	CU_ASSERT_EQUAL(status.pid, child.pid);
	CU_ASSERT_EQUAL(status.ppid, getpid());
	CU_ASSERT_EQUAL(status.tracer, 0);
	CU_ASSERT_EQUAL(status.uid, getuid());
	CU_ASSERT_EQUAL(status.threads, 1);
	CU_ASSERT_TRUE(status.has_vm && status.vm_kb && status.rss_kb);
	CU_ASSERT_EQUAL(status.sig_blocked, 1ull << (SIGUSR1 - 1) | 1ull << 63);
	CU_ASSERT_EQUAL(status.sig_pending, 1ull << (SIGUSR1 - 1));
	CU_ASSERT_TRUE(status.sig_ignored & 1ull << (SIGHUP - 1));
	CU_ASSERT_TRUE(status.no_new_privs);
	CU_ASSERT_PTR_NULL(procfs_stat(child.pid, &stat));
	CU_ASSERT_TRUE(stat.state == 'S' || stat.state == 'R');
	CU_ASSERT_EQUAL(stat.ppid, getpid());
	CU_ASSERT_EQUAL(stat.exit_signal, SIGCHLD);
	CU_ASSERT_FALSE(stat.flags & PROC_KERNEL_THREAD);
	CU_ASSERT_TRUE(stat.start_brk);
}

TEST("a kernel thread")
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct proc_status status;
	struct proc_stat stat;

	if (procfs_status(2, &status) || strcmp(status.name.bytes, "kthreadd")) {
		unit_skip("process 2 is not kthreadd here");
		return;
	}
	CU_ASSERT_FALSE(status.has_vm);
	CU_ASSERT_PTR_NULL(procfs_stat(2, &stat));
	CU_ASSERT_TRUE(stat.flags & PROC_KERNEL_THREAD);
	CU_ASSERT_PTR_NULL(procfs_maps(2, &maps));
	CU_ASSERT_EQUAL(maps.vec.nr, 0);
}

TEST("links and files")
{
	AUTO_FREE char *exe = NULL;
	AUTO_FREE char *comm = NULL;
	AUTO_FREE char *cmdline = NULL;
	char expect[4096] = "";
	struct err *err;
	size_t len = 0;
	char *text;

	CU_ASSERT_TRUE_FATAL(readlink("/proc/self/exe", expect, sizeof(expect) - 1) > 0);
	CU_ASSERT_PTR_NULL(procfs_link(getpid(), "exe", &exe));
	CU_ASSERT_STRING_EQUAL(exe, expect);
	CU_ASSERT_PTR_NULL(procfs_file(getpid(), "comm", &comm, NULL));
	CU_ASSERT_EQUAL(comm[strlen(comm) - 1], '\n');
	CU_ASSERT_PTR_NULL(procfs_file(getpid(), "cmdline", &cmdline, &len));
	CU_ASSERT_TRUE(len && !cmdline[len - 1] && !cmdline[len]);
	err = procfs_file(getpid(), "no-such-file", &text, NULL);
	CU_ASSERT_FATAL(err && err->code == ERR_NOTFOUND);
	err = procfs_link(getpid(), "comm", &text);
	CU_ASSERT_FATAL(err && err->code == ERR_SYS);
	CU_ASSERT_EQUAL(err->errnum, EINVAL);
}

/* A path longer than the first guess at its length. */
TEST("a long link")
{
	AUTO_FREE char *cwd = NULL;
	char old[4096], name[201];
	unsigned depth = 0, i;

	CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(old, sizeof(old)));
	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CU_ASSERT_EQUAL_FATAL(chdir("/tmp"), 0);
	while (depth < 5 && !mkdir(name, 0700) && !chdir(name))
		depth++;
	CU_ASSERT_PTR_NULL(procfs_link(getpid(), "cwd", &cwd));
	for (i = 0; i < depth && !chdir(".."); i++)
		rmdir(name);
	CU_ASSERT_EQUAL(chdir(old), 0);
	CU_ASSERT_EQUAL(strlen(cwd), 4 + 5 * sizeof(name));
}

TEST("auxv")
{
	uint64_t value = 0;
	struct err *err;

	CU_ASSERT_PTR_NULL(procfs_auxv(getpid(), AT_ENTRY, &value));
	CU_ASSERT_EQUAL(value, getauxval(AT_ENTRY));
	err = procfs_auxv(getpid(), 99999, &value);
	CU_ASSERT_FATAL(err && err->code == ERR_NOTFOUND);
}

TEST("children")
{
	struct proc_tasks tasks = { VEC_INIT };
	struct child child[2];
	struct err *err;

	CU_ASSERT_TRUE_FATAL(child_start(&child[0], live, NULL));
	CU_ASSERT_TRUE_FATAL(child_start(&child[1], live, NULL));
	err = procfs_children(gettid(), &tasks);
	if (err && err->code == ERR_NOTFOUND) {
		unit_skip("no children file in this kernel");
	} else {
		CU_ASSERT_PTR_NULL(err);
		CU_ASSERT_EQUAL_FATAL(tasks.vec.nr, 2);
		CU_ASSERT_EQUAL(tasks.vec.at[0], child[0].pid);
		CU_ASSERT_EQUAL(tasks.vec.at[1], child[1].pid);
	}
	vec_free(&tasks.vec);
	/* The second one holds the first one's pipe open too. */
	child_end(&child[1]);
	child_end(&child[0]);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

TEST("start")
{
	uint64_t tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK), before, after, start = 0;
	CLEANUP(child_end) struct child child;

	before = now_ns();
	CU_ASSERT_TRUE_FATAL(child_start(&child, live, NULL));
	after = now_ns();
	CU_ASSERT_PTR_NULL(procfs_start_realtime(child.pid, &start));
	/* The kernel rounds down to a poll; a clock may be set by a little meanwhile. */
	CU_ASSERT_TRUE(start + 2 * tick >= before);
	CU_ASSERT_TRUE(start <= after + tick);
}

