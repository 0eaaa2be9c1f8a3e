/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One thread in each kind of blocking system call. An attach and detach must not be seen by any: no EINTR, no early
 * end.
 *
 * Timed calls repeat with a limit of one second; each must end by its timeout, not before it. Untimed ones wait until
 * `wake`. The call goes straight to the kernel (syscall), so that no library retries it. Commands:
 *
 *	report	a line `NAME ROUNDS EINTR EARLY WRONG LATE_MS` for each thread, then `end N`
 *	wake	give each untimed call what it waits for and check that it got it: `ok`
 *	verify	`ok` if nothing was wrong so far
 *	quit
 */
#include "target.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define SECOND	1000000000u
/* A timer may be coarse, but never early by more than the resolution of the slowest clock used. */
#define EARLY	4000000u

struct call {
	const char *name;
	long (*enter)(void);	/* returns what the system call did: -1 and errno, or its value */
	long want;		/* the right return value */
	int want_errno;		/* if want is -1 */
	bool timed;
	void (*wake)(void);	/* untimed only */
	unsigned long rounds, eintr, early, wrong;
	uint64_t late;
	pthread_t thread;
};

static const struct timespec one_second = { 1, 0 };
static int quiet_pipe[2], wake_pipe[2], epoll_quiet, epoll_wakes, epoll_pipe[2], wake_recv[2], quiet_recv[2];
static int listen_quiet, listen_wakes, sem_id, msg_id;
static int wake_futex;
static int child_pipe[2];
static aio_context_t aio;
static volatile bool ending;
static struct sockaddr_un wakes_address;

static long enter_nanosleep(void)
{
	return syscall(SYS_nanosleep, &one_second, NULL);
}

static long enter_clock_nanosleep_abs(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static long enter_poll(void)
{
	struct pollfd fd = { .fd = quiet_pipe[0], .events = POLLIN };

	return syscall(SYS_poll, &fd, 1, 1000);
}

static long enter_ppoll(void)
{
	struct pollfd fd = { .fd = quiet_pipe[0], .events = POLLIN };
	struct timespec limit = one_second;

	return syscall(SYS_ppoll, &fd, 1, &limit, NULL, 8);
}

static long enter_select(void)
{
	struct timeval limit = { 1, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(quiet_pipe[0], &set);
	return syscall(SYS_select, quiet_pipe[0] + 1, &set, NULL, NULL, &limit);
}

static long enter_futex_timed(void)
{
	static int word;

	return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &one_second, NULL, 0);
}

static long enter_futex_abs(void)
{
	static int word;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &until, NULL, ~0u);
}

static long enter_epoll_timed(void)
{
	struct epoll_event event;

	return syscall(SYS_epoll_wait, epoll_quiet, &event, 1, 1000);
}

static long enter_semtimedop(void)
{
	struct sembuf op = { .sem_num = 0, .sem_op = -1 };

	return syscall(SYS_semtimedop, sem_id, &op, 1, &one_second);
}

static long enter_recv_timeo(void)
{
	char byte;

	return syscall(SYS_recvfrom, quiet_recv[0], &byte, 1, 0, NULL, NULL);
}

static long enter_accept_timeo(void)
{
	return syscall(SYS_accept, listen_quiet, NULL, NULL);
}

static long enter_sigtimedwait(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return syscall(SYS_rt_sigtimedwait, &set, NULL, &one_second, 8);
}

static long enter_io_getevents(void)
{
	struct io_event event;
	struct timespec limit = one_second;

	return syscall(SYS_io_getevents, aio, 1, 1, &event, &limit);
}

static long enter_read(void)
{
	char byte;

	return syscall(SYS_read, wake_pipe[0], &byte, 1);
}

static long enter_futex(void)
{
	return syscall(SYS_futex, &wake_futex, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static long enter_accept(void)
{
	long fd = syscall(SYS_accept, listen_wakes, NULL, NULL);

	if (fd < 0)
		return fd;
	close((int)fd);
	return 1;
}

static long enter_epoll(void)
{
	struct epoll_event event;
	long n = syscall(SYS_epoll_wait, epoll_wakes, &event, 1, -1);
	char byte;

	if (n == 1 && read(epoll_pipe[0], &byte, 1) != 1)
		return -1;
	return n;
}

static long enter_semop(void)
{
	struct sembuf op = { .sem_num = 1, .sem_op = -1 };

	return syscall(SYS_semtimedop, sem_id, &op, 1, NULL);
}

static long enter_recv(void)
{
	char byte;

	return syscall(SYS_recvfrom, wake_recv[0], &byte, 1, 0, NULL, NULL);
}

static long enter_msgrcv(void)
{
	struct { long type; char byte; } msg;

	return syscall(SYS_msgrcv, msg_id, &msg, 1, 0, 0);
}

static long enter_wait4(void)
{
	int status;
	pid_t pid = fork();
	char byte;

	if (pid == 0) {
		close(child_pipe[1]);
		_exit(read(child_pipe[0], &byte, 1) == 1 ? 3 : 4);
	}
	if (syscall(SYS_wait4, pid, &status, 0, NULL) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

static long enter_sigwait(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return syscall(SYS_rt_sigtimedwait, &set, NULL, NULL, 8);
}

static void wake_byte(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(98);
}

static void wake_read(void)
{
	wake_byte(wake_pipe[1]);
}

static void wake_a_futex(void)
{
	/* It may be on its way into the call. */
	while (syscall(SYS_futex, &wake_futex, FUTEX_WAKE, 1, NULL, NULL, 0) == 0)
		usleep(100);
}

static void wake_accept(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&wakes_address, sizeof(sa_family_t) + 32) != 0)
		_exit(97);
	close(fd);
}

static void wake_epoll(void)
{
	wake_byte(epoll_pipe[1]);
}

static void wake_semop(void)
{
	struct sembuf op = { .sem_num = 1, .sem_op = 1 };

	semop(sem_id, &op, 1);
}

static void wake_a_recv(void)
{
	wake_byte(wake_recv[1]);
}

static void wake_msgrcv(void)
{
	struct { long type; char byte; } msg = { 1, 'x' };

	msgsnd(msg_id, &msg, 1, 0);
}

static void wake_wait4(void)
{
	wake_byte(child_pipe[1]);
}

static void wake_sigwait(void)
{
	kill(getpid(), SIGUSR1);
}

static struct call call[] = {
	{ .name = "nanosleep", .enter = enter_nanosleep, .timed = true },
	{ .name = "clock_nanosleep", .enter = enter_clock_nanosleep_abs, .timed = true },
	{ .name = "poll", .enter = enter_poll, .timed = true },
	{ .name = "ppoll", .enter = enter_ppoll, .timed = true },
	{ .name = "select", .enter = enter_select, .timed = true },
	{ .name = "futex_timed", .enter = enter_futex_timed, .want = -1, .want_errno = ETIMEDOUT, .timed = true },
	{ .name = "futex_abs", .enter = enter_futex_abs, .want = -1, .want_errno = ETIMEDOUT, .timed = true },
	{ .name = "epoll_timed", .enter = enter_epoll_timed, .timed = true },
	{ .name = "semtimedop", .enter = enter_semtimedop, .want = -1, .want_errno = EAGAIN, .timed = true },
	{ .name = "recv_timeo", .enter = enter_recv_timeo, .want = -1, .want_errno = EAGAIN, .timed = true },
	{ .name = "accept_timeo", .enter = enter_accept_timeo, .want = -1, .want_errno = EAGAIN, .timed = true },
	{ .name = "sigtimedwait", .enter = enter_sigtimedwait, .want = -1, .want_errno = EAGAIN, .timed = true },
	{ .name = "io_getevents", .enter = enter_io_getevents, .timed = true },
	{ .name = "read", .enter = enter_read, .want = 1, .wake = wake_read },
	{ .name = "futex", .enter = enter_futex, .want = 0, .wake = wake_a_futex },
	{ .name = "accept", .enter = enter_accept, .want = 1, .wake = wake_accept },
	{ .name = "epoll_wait", .enter = enter_epoll, .want = 1, .wake = wake_epoll },
	{ .name = "semop", .enter = enter_semop, .want = 0, .wake = wake_semop },
	{ .name = "recv", .enter = enter_recv, .want = 1, .wake = wake_a_recv },
	{ .name = "msgrcv", .enter = enter_msgrcv, .want = 1, .wake = wake_msgrcv },
	{ .name = "wait4", .enter = enter_wait4, .want = 3, .wake = wake_wait4 },
	{ .name = "sigwait", .enter = enter_sigwait, .want = SIGUSR1, .wake = wake_sigwait },
};

#define CALLS	(sizeof(call) / sizeof(call[0]))

static void judge(struct call *c, long value, int error, uint64_t took)
{
	if (value == -1 && error == EINTR)
		c->eintr++;
	else if (value != c->want || (value == -1 && error != c->want_errno))
		c->wrong++;
	else if (c->timed && took + EARLY < SECOND)
		c->early++;
	else if (c->timed && took > SECOND && took - SECOND > c->late)
		c->late = took - SECOND;
	__atomic_add_fetch(&c->rounds, 1, __ATOMIC_SEQ_CST);
}

static void *work(void *arg)
{
	struct call *c = arg;

	while (!ending) {
		uint64_t start = clock_ns(CLOCK_MONOTONIC);
		long value;

		errno = 0;
		value = c->enter();
		judge(c, value, errno, clock_ns(CLOCK_MONOTONIC) - start);
	}
	return NULL;
}

static unsigned long faults(void)
{
	unsigned long sum = 0;
	size_t i;

	for (i = 0; i < CALLS; i++)
		sum += call[i].eintr + call[i].early + call[i].wrong;
	return sum;
}

static void report(void)
{
	size_t i;

	for (i = 0; i < CALLS; i++)
		say("%s %lu %lu %lu %lu %lu", call[i].name, call[i].rounds, call[i].eintr, call[i].early, call[i].wrong,
		    (unsigned long)(call[i].late / 1000000));
	say("end %zu", CALLS);
}

/* Wake each untimed call once; no call may have returned before. */
static bool wake(void)
{
	bool good = true;
	size_t i;
	int ms;

	for (i = 0; i < CALLS; i++) {
		unsigned long before = __atomic_load_n(&call[i].rounds, __ATOMIC_SEQ_CST);

		if (!call[i].wake)
			continue;
		call[i].wake();
		for (ms = 0; ms < 5000 && __atomic_load_n(&call[i].rounds, __ATOMIC_SEQ_CST) == before; ms++)
			usleep(1000);
		if (__atomic_load_n(&call[i].rounds, __ATOMIC_SEQ_CST) != before + 1) {
			call[i].wrong++;
			good = false;
		}
	}
	return good;
}

static int listen_at(const char *name, struct sockaddr_un *ret)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* An abstract name; 32 bytes of it are used. */
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	snprintf(ret->sun_path + 1, 31, "mdbg-%s-%d", name, (int)getpid());
	if (bind(fd, (struct sockaddr *)ret, sizeof(sa_family_t) + 32) != 0 || listen(fd, 8) != 0)
		return -1;
	return fd;
}

static int watch(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? epoll : -1;
}

static bool set_up(void)
{
	static const struct timeval limit = { 1, 0 };
	struct sockaddr_un quiet_address;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (pipe2(quiet_pipe, O_CLOEXEC) || pipe2(wake_pipe, O_CLOEXEC) || pipe2(epoll_pipe, O_CLOEXEC) ||
	    pipe2(child_pipe, O_CLOEXEC) || socketpair(AF_UNIX, SOCK_STREAM, 0, quiet_recv) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, wake_recv))
		return false;
	epoll_quiet = watch(quiet_pipe[0]);
	epoll_wakes = watch(epoll_pipe[0]);
	listen_quiet = listen_at("quiet", &quiet_address);
	listen_wakes = listen_at("wakes", &wakes_address);
	sem_id = semget(IPC_PRIVATE, 2, 0600);
	msg_id = msgget(IPC_PRIVATE, 0600);
	setsockopt(quiet_recv[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(listen_quiet, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return epoll_quiet >= 0 && epoll_wakes >= 0 && listen_quiet >= 0 && listen_wakes >= 0 && sem_id >= 0 &&
	       msg_id >= 0 && syscall(SYS_io_setup, 1, &aio) == 0;
}

static void clean_up(void)
{
	semctl(sem_id, 0, IPC_RMID);
	msgctl(msg_id, IPC_RMID, NULL);
}

int main(void)
{
	char *line;
	size_t i;
	bool good;

	if (!set_up())
		return 77;
	for (i = 0; i < CALLS; i++)
		if (pthread_create(&call[i].thread, NULL, work, &call[i]) != 0)
			return 1;
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if (after(line, "report"))
			report();
		else if (after(line, "wake"))
			say("%s", wake() ? "ok" : "bad");
		else if (after(line, "verify"))
			say("%s %lu", faults() ? "bad" : "ok", faults());
		else
			say("bad command %s", line);
	}
	good = faults() == 0;
	ending = true;
	clean_up();
	/* The untimed threads never end by themselves. */
	_exit(good ? 0 : 1);
}
