/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that plays against mdbg, and the processes that it would have mdbg harm.
 *
 *	victim WHO PROT WHERE	a process that has executed itself, of WHO (same, other: user 65534), which has
 *				the memory file of mdbg's journal mapped PROT (ro, rw) WHERE (here: at the journal's
 *				address, there: elsewhere): `ok PID`
 *	child WHO		a forked child that lives on, of WHO: `ok PID`
 *	forge			write a journal that names the victims' memory and handlers
 *	check			are the victims as they were? `ok`, or `bad WHAT`
 *	cut, swap		an accomplice that shares the descriptors changes the size of each memory file of mdbg's,
 *				or puts one in its place that can only be read
 *	kept			is the file that can only be read as it was?
 *	end			victims, children and accomplices end
 *	alloc N			N blocks more
 *	verify, quit
 */
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

/* src/log/journal.h, whose format is frozen. */
#define JOURNAL_MEMFD_NAME	"mdbg"
#define JOURNAL_MEMFD_PATH	"/memfd:" JOURNAL_MEMFD_NAME
#define JOURNAL_SIZE		(256 * 1024)
#define JOURNAL_TEXT		1
#define JOURNAL_MAPPING		2
#define JOURNAL_SIGACTION	4
#define JOURNAL_DONE		2

struct journal_entry {
	uint32_t state, kind;
	uint64_t address, len, aux;
	uint8_t old[32], new[32];
};

struct journal {
	char magic[8];
	uint32_t version, entry_size, nr, room, owner, reserved;
	uint64_t owner_start, region_size, log_offset, target_start;
	struct journal_entry entry[];
};

#define SECRET		0x10000000ul	/* in a victim: data that nobody else may write */
#define CODE		0x20000000ul	/* and memory that looks like an area */
#define CODE_LEN	(256ul << 10)
#define OTHER		65534
#define MAX		16

static const char secret[] = "nobody else's";
static pid_t made[MAX];
static int nr_made, victim_socket = -1, precious = -1;
static const char *self_path = "/proc/self/exe";

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

/* It has a socket at 3; arguments: WHO PROT ADDRESS. */
static int be_victim(char **argv)
{
	int prot = strcmp(argv[3], "rw") ? PROT_READ : PROT_READ | PROT_WRITE;
	void *at = (void *)strtoul(argv[4], NULL, 16), *journal;
	char byte;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = receive_fd(3);
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

/* The first mapping of mdbg's memory file. */
static void *find_journal(char *link, size_t room)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start = 0, end;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, JOURNAL_MEMFD_PATH) || sscanf(line, "%lx-%lx", &start, &end) != 2 ||
		    end - start != JOURNAL_SIZE)
			continue;
		if (link)
			snprintf(link, room, "/proc/self/map_files/%lx-%lx", start, end);
		fclose(maps);
		return (void *)start;
	}
	if (maps)
		fclose(maps);
	return NULL;
}

static void add(struct journal *journal, const struct journal_entry *entry)
{
	journal->entry[journal->nr] = *entry;
	journal->entry[journal->nr++].state = JOURNAL_DONE;
}

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

static pid_t make_victim(char *who, char *prot, const char *where)
{
	char link[80], address[32], byte;
	void *journal = find_journal(link, sizeof(link));
	char *argv[] = { (char *)self_path, (char *)"victim", who, prot, address, NULL };
	int pair[2], fd = open(link, O_RDWR | O_CLOEXEC);
	pid_t pid;

	if (!journal || fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	snprintf(address, sizeof(address), "%lx", strcmp(where, "here") ? 0ul : (unsigned long)journal);
	pid = vfork();
	if (!pid) {
		dup2(pair[1], 3);
		execv(self_path, argv);
		_exit(94);
	}
	send_fd(pair[0], fd);
	close(pair[1]);
	close(fd);
	victim_socket = pair[0];
	made[nr_made++] = pid;
	return recv(victim_socket, &byte, 1, 0) == 1 ? pid : -1;
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

static void obey(const char *line)
{
	char who[16], prot[16], where[16];
	const char *rest;

	if (sscanf(line, "victim %15s %15s %15s", who, prot, where) == 3) {
		answer_pid(make_victim(who, prot, where));
	} else if (sscanf(line, "child %15s", who) == 1) {
		answer_pid(make_child(who));
	} else if (after(line, "forge")) {
		say(forge() ? "ok" : "bad: no journal");
	} else if (after(line, "check")) {
		char what = check();

		say(what == '+' ? "ok" : "bad: %c", what);
	} else if (after(line, "cut") || after(line, "swap")) {
		answer_pid(make_accomplice(*line == 's'));
	} else if (after(line, "kept")) {
		say(is_kept() ? "ok" : "bad: it was written to");
	} else if (after(line, "verify")) {
		say("ok");
	} else if (after(line, "end")) {
		end_all();
		say("ok");
	} else if ((rest = after(line, "alloc"))) {
		for (int i = atoi(rest); i > 0; i--) {
			void *block = malloc(333);

			KEEP(block);
		}
		say("ok");
	} else {
		say("bad: not understood: %s", line);
	}
}

int main(int argc, char **argv)
{
	char *line;

	if (argc == 5 && !strcmp(argv[1], "victim"))
		return be_victim(argv);
	say_ready();
	while ((line = hear()) && strcmp(line, "quit"))
		obey(line);
	end_all();
	return 0;
}
