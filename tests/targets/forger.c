/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that plays against mdbg, and the processes that it would have mdbg harm.
 *
 *	victim WHO PROT WHERE	a process that has executed itself, of WHO (same, other: user 65534), which has
 *				the memory file of mdbg's journal mapped PROT (ro, rw) WHERE (here: at the journal's
 *				address, there: elsewhere): `ok PID`
 *	sharer			a process that shares the memory, without being a thread: `ok PID`
 *	share N			it allocates N blocks, while nobody else does
 *	victim WHO PROT WHERE forked|shared
 *				the same of a forked child, which opens the file by /proc/PARENT/fd; or of the sharer
 *	child WHO		a forked child that lives on, of WHO: `ok PID`
 *	dead exit|kill SIGNAL	a child that has ended (with 3), and is not waited for: `ok PID`; SIGNAL tells of its end (0: none)
 *	dead never SIGNAL	one that does not end
 *	reap PID		how it ended, by the wait status: `ok STATUS`
 *	forge			write a journal that names the victims' memory and handlers
 *	snapshot PID [all]	and one that says that PID is a snapshot; in each entry that is free
 *	owner PID		and one whose owner is that process
 *	hide, show		the first mapping of code is said to be where nothing is; and where it is
 *	check			are the victims as they were? `ok`, or `bad WHAT`
 *	cut, swap		an accomplice that shares the descriptors changes the size of each memory file of mdbg's,
 *				or puts one in its place that can only be read
 *	kept			is the file that can only be read as it was?
 *	end			victims, children and accomplices end
 *	alloc N			N blocks more
 *	verify, quit
 */
#include "journal.h"
#include "target.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SECRET		0x10000000ul	/* in a victim: data that nobody else may write */
#define CODE		0x20000000ul	/* and memory that looks like an area */
#define CODE_LEN	(256ul << 10)
#define NOWHERE		(1ul << 63)	/* to have in an address that nothing is at */
#define OTHER		65534
#define MAX		16

static const char secret[] = "nobody else's";
static pid_t made[MAX];
static int nr_made, victim_socket = -1, victim_end = -1, precious = -1;
static const char *self_path = "/proc/self/exe";
static char *victim_argv[7];
static pid_t sharer;
static volatile int share_blocks, share_exec;

/* --- the victim --- */

static void send_fd(int to, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	if (sendmsg(to, &msg, 0) != 1)
		_exit(90);
}

static int receive_fd(int from)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd;

	if (recvmsg(from, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		_exit(91);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return fd;
}

static void become(const char *who)
{
	if (!strcmp(who, "other") &&
	    (setresgid(OTHER, OTHER, OTHER) || setresuid(OTHER, OTHER, OTHER)))
		_exit(92);
}

static void set_handler(int signal)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = (void (*)(int))CODE;
	sigaction(signal, &action, NULL);
}

static bool has_handler(int signal)
{
	struct sigaction action;

	return !sigaction(signal, NULL, &action) && action.sa_handler == (void (*)(int))CODE;
}

static char look_at_victim(const void *journal)
{
	unsigned char present[CODE_LEN / 4096 + 1];

	if (memcmp((void *)SECRET, secret, sizeof(secret)))
		return 's';
	if (mincore((void *)CODE, CODE_LEN, present))
		return 'm';
	if (!has_handler(SIGTRAP) || !has_handler(SIGUSR1))
		return 'h';
	return mincore((void *)(uintptr_t)journal, JOURNAL_SIZE, present) ? 'j' : '+';
}

/* It has a socket at 3; arguments: WHO PROT ADDRESS FILE, "" if the file comes by the socket. */
static int be_victim(char **argv)
{
	int prot = strcmp(argv[3], "rw") ? PROT_READ : PROT_READ | PROT_WRITE;
	void *at = (void *)strtoul(argv[4], NULL, 16), *journal;
	char byte;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = *argv[5] ? open(argv[5], O_RDWR | O_CLOEXEC) : receive_fd(3);
	journal = mmap(at, JOURNAL_SIZE, prot, at ? MAP_SHARED | MAP_FIXED_NOREPLACE : MAP_SHARED, fd, 0);
	close(fd);
	if (journal == MAP_FAILED ||
	    mmap((void *)SECRET, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		 0) == MAP_FAILED ||
	    mmap((void *)CODE, CODE_LEN, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		return 93;
	memcpy((void *)SECRET, secret, sizeof(secret));
	set_handler(SIGTRAP);
	set_handler(SIGUSR1);
	become(argv[2]);
	for (byte = '+'; send(3, &byte, 1, 0) == 1 && recv(3, &byte, 1, 0) == 1;)
		byte = look_at_victim(journal);
	return 0;
}

/* --- the journal --- */

static void add_handler(struct journal *journal, int signal)
{
	struct journal_entry entry = { .kind = JOURNAL_SIGACTION, .aux = (uint64_t)signal, .len = 32 };
	uint64_t handler = CODE;

	memcpy(entry.new, &handler, sizeof(handler));
	add(journal, &entry);
}

static bool forge(void)
{
	struct journal *journal = find_journal(NULL, 0);
	struct journal_entry text = { .kind = JOURNAL_TEXT, .address = SECRET, .len = sizeof(secret),
				      .old = "somebody's" };
	struct journal_entry code = { .kind = JOURNAL_MAPPING, .address = CODE, .len = CODE_LEN };

	if (!journal)
		return false;
	memcpy(text.new, secret, sizeof(secret));
	add(journal, &text);
	add(journal, &code);
	add_handler(journal, SIGTRAP);
	add_handler(journal, SIGUSR1);
	return true;
}

static bool forge_snapshot(uint64_t pid, bool all)
{
	struct journal *journal = find_journal(NULL, 0);
	struct journal_entry entry = { .kind = JOURNAL_SNAPSHOT, .aux = pid };

	if (journal)
		add(journal, &entry);
	while (journal && all && journal->nr < JOURNAL_ROOM)
		add(journal, &entry);
	return journal;
}

/* --- processes --- */

static void end_all(void)
{
	while (nr_made > 0) {
		kill(made[--nr_made], SIGKILL);
		waitpid(made[nr_made], NULL, __WALL);
	}
	if (victim_socket >= 0)
		close(victim_socket);
	victim_socket = -1;
}

static void be_executed(void)
{
	dup2(victim_end, 3);
	execv(self_path, victim_argv);
	_exit(94);
}

/* Only while the others wait may it call malloc: it has the parent's thread control block. */
static int be_sharer(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!share_exec) {
		for (; share_blocks > 0; share_blocks--)
			free(malloc(150));
		nap_us(1000);
	}
	be_executed();
	return 0;
}

static bool make_socket(void)
{
	int pair[2];

	if (victim_socket >= 0)
		return true;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return false;
	victim_socket = pair[0];
	victim_end = pair[1];
	return true;
}

static pid_t make_sharer(void)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));

	if (!make_socket())
		return -1;
	share_exec = 0;
	sharer = clone(be_sharer, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	made[nr_made++] = sharer;
	return sharer;
}

static pid_t execute(const char *how)
{
	pid_t pid = sharer;

	if (!strcmp(how, "shared")) {
		share_exec = 1;
		return pid;
	}
	pid = strcmp(how, "forked") ? vfork() : fork();
	if (!pid)
		be_executed();
	made[nr_made++] = pid;
	return pid;
}

static pid_t make_victim(char *who, char *prot, const char *where, const char *how)
{
	char link[80], address[32], path[64] = "", byte;
	struct journal *journal = find_journal(link, sizeof(link));
	char *argv[] = { (char *)self_path, (char *)"victim", who, prot, address, path, NULL };
	int fd = open(link, O_RDWR | O_CLOEXEC);
	pid_t pid;

	if (!journal || fd < 0 || !make_socket())
		return -1;
	snprintf(address, sizeof(address), "%lx", strcmp(where, "here") ? 0ul : (unsigned long)journal);
	if (!strcmp(how, "forked"))
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	memcpy(victim_argv, argv, sizeof(argv));
	pid = execute(how);
	if (!*path)
		send_fd(victim_socket, fd);
	close(victim_end);
	if (recv(victim_socket, &byte, 1, 0) != 1)
		pid = -1;
	close(fd);
	return pid;
}

/* A child that has ended; end_signal tells its parent. */
static pid_t make_dead(const char *how, int end_signal)
{
	pid_t pid = (pid_t)syscall(SYS_clone, end_signal, 0, 0, 0, 0);
	siginfo_t info;

	if (!pid) {
		syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
		while (!strcmp(how, "never"))
			nap_us(100000);
		if (!strcmp(how, "kill"))
			syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
		syscall(SYS_exit_group, 3);
	}
	if (!strcmp(how, "never")) {
		made[nr_made++] = pid;
		return pid;
	}
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | __WALL) ? -1 : pid;
}

static pid_t make_child(const char *who)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		become(who);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = (char)write(ready[1], "", 1);
		for (;;) {
			void *block = malloc(100);

			KEEP(block);
			free(block);
			nap_us(1000);
		}
	}
	close(ready[1]);
	made[nr_made++] = pid;
	byte = (char)read(ready[0], &byte, 1);
	close(ready[0]);
	return byte == 1 ? pid : -1;
}

static char check(void)
{
	char byte = '?';

	if (send(victim_socket, &byte, 1, 0) != 1 || recv(victim_socket, &byte, 1, 0) != 1)
		return 'g';
	return byte;
}

/* --- an accomplice --- */

static bool is_of_mdbg(int fd)
{
	char path[32], link[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return false;
	link[len] = '\0';
	return !strcmp(link, JOURNAL_MEMFD_PATH " (deleted)");
}

/* The next descriptor of the target is the lowest one that is free. */
static void help(bool swap, int next)
{
	for (;;) {
		if (!is_of_mdbg(next))
			continue;
		if (swap)
			dup2(precious, next);
		/* From the size that it was given back to none, until it is sealed, or closed. */
		while (!swap && !ftruncate(next, 0))
			;
	}
}

static pid_t make_accomplice(bool swap)
{
	char path[32];
	int fd = memfd_create(JOURNAL_MEMFD_NAME, MFD_ALLOW_SEALING | MFD_CLOEXEC), next;
	pid_t pid;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	precious = open(path, O_RDONLY | O_CLOEXEC);
	close(fd);
	/* So that only mdbg's memory has that name below it. */
	fd = fcntl(precious, F_DUPFD_CLOEXEC, 100);
	close(precious);
	precious = fd;
	next = dup(0);
	close(next);
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		help(swap, next);
	}
	made[nr_made++] = pid;
	return pid;
}

static bool is_kept(void)
{
	struct stat st;

	return !fstat(precious, &st) && !st.st_size && !fcntl(precious, F_GET_SEALS);
}

static void answer_pid(pid_t pid)
{
	if (pid > 0)
		say("ok %d", (int)pid);
	else
		say("bad: no process: %s", strerror(errno));
}

static void answer(bool good, const char *what)
{
	say(good ? "ok" : "bad: %s", what);
}

static void answer_end(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WNOHANG | __WALL) == pid)
		say("ok %d", status);
	else
		say("bad: it cannot be waited for");
}

static bool make_some(const char *line)
{
	char who[16], prot[16], where[16], how[16] = "";
	int nr;

	if (sscanf(line, "victim %15s %15s %15s %15s", who, prot, where, how) >= 3)
		answer_pid(make_victim(who, prot, where, how));
	else if (sscanf(line, "child %15s", who) == 1)
		answer_pid(make_child(who));
	else if (sscanf(line, "dead %15s %d", how, &nr) == 2)
		answer_pid(make_dead(how, nr));
	else if (after(line, "sharer"))
		answer_pid(make_sharer());
	else if (after(line, "cut") || after(line, "swap"))
		answer_pid(make_accomplice(*line == 's'));
	else
		return false;
	return true;
}

static bool forge_owner(pid_t pid)
{
	struct journal *journal = find_journal(NULL, 0);
	char path[32], text[1024] = "", *at;
	unsigned long long start = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	at = file && fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	if (file)
		fclose(file);
	/* field 22, where the one behind the name is the third */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!journal || !at || sscanf(at, "%llu", &start) != 1)
		return false;
	journal->owner = (uint32_t)pid;
	journal->owner_start = start;
	return true;
}

static bool move_code(uint64_t by)
{
	struct journal *journal = find_journal(NULL, 0);

	for (uint32_t i = 0; journal && i < journal->nr; i++) {
		if (journal->entry[i].kind != JOURNAL_MAPPING)
			continue;
		journal->entry[i].address ^= by;
		return true;
	}
	return false;
}

static bool write_some(const char *line)
{
	const char *rest;

	if (after(line, "forge"))
		answer(forge(), "no journal");
	else if ((rest = after(line, "owner")))
		answer(forge_owner(atoi(rest)), "no journal");
	else if (after(line, "hide") || after(line, "show"))
		answer(move_code(NOWHERE), "no journal");
	else if ((rest = after(line, "snapshot")))
		answer(forge_snapshot((uint64_t)atoi(rest), strstr(rest, "all")), "no journal");
	else
		return false;
	return true;
}

static void share(int nr)
{
	share_blocks = nr;
	while (share_blocks > 0 && !kill(sharer, 0))
		nap_us(1000);
	answer(!share_blocks, "it is gone");
}

static void allocate(int nr)
{
	while (nr-- > 0) {
		void *block = malloc(333);

		KEEP(block);
	}
	say("ok");
}

static void obey(const char *line)
{
	const char *rest;

	if (make_some(line) || write_some(line))
		return;
	if (after(line, "check")) {
		char what = check();

		say(what == '+' ? "ok" : "bad: %c", what);
	} else if ((rest = after(line, "reap"))) {
		answer_end(atoi(rest));
	} else if ((rest = after(line, "share"))) {
		share(atoi(rest));
	} else if (after(line, "kept")) {
		answer(is_kept(), "it was written to");
	} else if (after(line, "verify")) {
		say("ok");
	} else if (after(line, "end")) {
		end_all();
		say("ok");
	} else if ((rest = after(line, "alloc"))) {
		allocate(atoi(rest));
	} else {
		say("bad: not understood: %s", line);
	}
}

int main(int argc, char **argv)
{
	char *line;

	if (argc == 6 && !strcmp(argv[1], "victim"))
		return be_victim(argv);
	say_ready();
	while ((line = hear()) && strcmp(line, "quit"))
		obey(line);
	end_all();
	return 0;
}
