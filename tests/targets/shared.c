/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory of which little is there, and memory that somebody else has to deliver.
 *
 *	map FOLDER	map each kind, with a pointer in one of its pages, which is the only one to a block of 5003 bytes: shared
 *			memory of 1 GB, a sparse file of 10 GB in FOLDER, one in /dev/shm, System V memory, and huge pages, shared
 *			and not. Answers the number of blocks
 *	figures		what is in memory of each, in KB, and the blocks of the files on disk
 *	fuse FOLDER	mount a FUSE file system there (tests/targets/fuse.h), and map a page of it that is written to, with the
 *			only pointer to a block of 5009 bytes, before pages that are never delivered; `no` without the right
 *	fuse-stack	a thread waits with SP in a page that is never delivered
 *	fuse-lock MS FOLDER	the same as fuse, but pages are delivered after MS; a thread reads one through /proc/self/mem and so
 *			keeps the lock of the memory so long, and another one waits for that lock
 *	locked		is it still so?
 *	library FOLDER FILE	mount one there that delivers FILE, a library, and load it from it; `no` without the right
 *	stall, go	it answers nothing any more; it does again
 *	missing		a thread waits with SP in a page that userfaultfd was asked to fill, by nobody; `no` without the right
 *	verify, quit
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "fuse.h"
#include "target.h"

#define PAGE	4096u
#define HUGE	(2ul << 20)
#define KINDS	6

struct kind {
	char *at;
	size_t len;
	int fd;
};

static struct kind kinds[KINDS];
static unsigned nr_kinds;
static struct fuse fuse;
static char folder[256], until[300], stall[300];
static char *delivered, *missing;
static pid_t server;

/* In memory that a child shares. */
static struct turns {
	atomic_bool read_it;	/* the reader has its page */
	atomic_uint mapped;
} *turns;

/* The block's address is nowhere else: what is on the stack is written over by the next one. */
static NOINLINE void hide(void **place, size_t size)
{
	void *block = malloc(size);

	if (!block)
		_exit(98);
	memset(block, 1, size);
	*(void *volatile *)place = block;
	block = NULL;
	KEEP(block);
}

static void add(void *at, size_t len, size_t offset, int fd)
{
	if (at == MAP_FAILED)
		return;
	hide((void **)((char *)at + offset), 5003);
	kinds[nr_kinds++] = (struct kind){ at, len, fd };
}

static void *map_file(const char *path, size_t len, int *fd_ret)
{
	*fd_ret = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (*fd_ret < 0)
		return MAP_FAILED;
	unlink(path);
	if (ftruncate(*fd_ret, (off_t)len))
		return MAP_FAILED;
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, *fd_ret, 0);
}

static bool huge_are_free(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long nr = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "HugePages_Free: %lu", &nr);
	if (file)
		fclose(file);
	return nr >= 2;
}

static void map_all(const char *in)
{
	const int flags = MAP_ANONYMOUS | MAP_NORESERVE;
	char path[320];
	int id, fd;
	void *at;

	add(mmap(NULL, 1ul << 30, PROT_READ | PROT_WRITE, MAP_SHARED | flags, -1, 0), 1ul << 30, 1ul << 29, -1);
	snprintf(path, sizeof(path), "%s/sparse", in);
	at = map_file(path, 10ul << 30, &fd);
	add(at, 10ul << 30, 5ul << 30, fd);
	snprintf(path, sizeof(path), "/dev/shm/mdbg-test-%d", (int)getpid());
	at = map_file(path, 256ul << 20, &fd);
	add(at, 256ul << 20, PAGE, fd);
	id = shmget(IPC_PRIVATE, 64ul << 20, 0600);
	at = id < 0 ? MAP_FAILED : shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	add(at == (void *)-1 ? MAP_FAILED : at, 64ul << 20, PAGE, -1);
	for (int i = 0; i < 2 && huge_are_free(); i++)
		add(mmap(NULL, 4 * HUGE, PROT_READ | PROT_WRITE, (i ? MAP_SHARED : MAP_PRIVATE) | MAP_HUGETLB | flags,
			 -1, 0), 4 * HUGE, HUGE, -1);
	say("ok %u", nr_kinds);
}

/* Rss, or what there is of huge pages, of the mapping at `at`. */
static unsigned long resident(const char *at)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	unsigned long start, value, sum = 0;
	char line[512];
	bool in = false;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-", &start) == 1 && strchr(line, '-'))
			in = start == (unsigned long)at;
		else if (in && (sscanf(line, "Rss: %lu", &value) == 1 || sscanf(line, "Shared_Hugetlb: %lu", &value) == 1 ||
				sscanf(line, "Private_Hugetlb: %lu", &value) == 1))
			sum += value;
	}
	if (file)
		fclose(file);
	return sum;
}

static void say_figures(void)
{
	unsigned long kb[KINDS] = { 0 }, disk[KINDS] = { 0 };
	struct stat st;

	for (unsigned i = 0; i < nr_kinds; i++) {
		kb[i] = resident(kinds[i].at);
		disk[i] = kinds[i].fd >= 0 && !fstat(kinds[i].fd, &st) ? (unsigned long)st.st_blocks : 0;
	}
	say("ok %lu %lu %lu %lu %lu %lu, %lu %lu %lu", kb[0], kb[1], kb[2], kb[3], kb[4], kb[5], disk[0], disk[1], disk[2]);
}

static bool serve(const char *in)
{
	snprintf(folder, sizeof(folder), "%s", in);
	snprintf(until, sizeof(until), "%s.until", in);
	snprintf(stall, sizeof(stall), "%s.stall", in);
	fuse.until = until;
	fuse.stall = stall;
	if (!fuse_mount(&fuse, in)) {
		say("no %s", strerror(errno));
		return false;
	}
	server = fork();
	if (!server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fuse_serve(&fuse);
		_exit(0);
	}
	close(fuse.fd);
	return true;
}

static void load(char *in)
{
	char *file = strchr(in, ' '), path[300];
	struct stat st;

	*file++ = '\0';
	snprintf(path, sizeof(path), "%s/file", in);
	fuse.bytes = open(file, O_RDONLY | O_CLOEXEC);
	if (fuse.bytes < 0 || fstat(fuse.bytes, &st)) {
		say("bad %s", strerror(errno));
		return;
	}
	fuse.len = (uint64_t)st.st_size;
	if (serve(in))
		say(dlopen(path, RTLD_NOW) ? "ok" : "bad %s", dlerror());
}

static bool begin_fuse(const char *in)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/file", in);
	fuse.bytes = -1;
	fuse.len = FUSE_LEN;
	if (!serve(in))
		return false;
	fd = open(path, O_RDWR | O_CLOEXEC);
	delivered = fd < 0 ? MAP_FAILED : mmap(NULL, FUSE_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (delivered == MAP_FAILED) {
		say("bad %s", strerror(errno));
		return false;
	}
	hide((void **)delivered, 5009);
	return true;
}

/* Waits in pause() with SP there; the kernel does not touch the stack. */
static void *wait_on(void *sp)
{
	__asm__ volatile("mov %%rsp, %%rbx; mov %0, %%rsp; 1: mov $34, %%eax; syscall; jmp 1b"
			 : : "r"(sp) : "rax", "rbx", "rcx", "r11", "memory");
	return NULL;
}

static void begin_thread(char *sp)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	say(pthread_create(&thread, &attr, wait_on, sp) ? "bad no thread" : "ok");
}

static void *keep_lock(void *arg)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char byte;

	(void)!pread(fd, &byte, 1, (off_t)(uintptr_t)(delivered + 5 * PAGE));
	close(fd);
	atomic_store(&turns->read_it, true);
	return arg;
}

static void *map_again(void *arg)
{
	for (; !atomic_load(&turns->read_it); turns->mapped++)
		munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
	return arg;
}

/*
 * It is so once the second one gets nowhere for a while. A child says it: a thread of this process may touch a page first,
 * and wait for that very lock.
 */
static void say_locked(void)
{
	unsigned seen;

	do {
		seen = turns->mapped;
		nap_us(100000);
	} while (!seen || turns->mapped != seen);
	say("ok");
	_exit(0);
}

static void begin_lock(const char *in)
{
	pthread_t reader, mapper;
	pid_t teller;

	if (!begin_fuse(in))
		return;
	turns = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	teller = turns == MAP_FAILED ? -1 : fork();
	if (!teller)
		say_locked();
	if (teller < 0 || pthread_create(&mapper, NULL, map_again, NULL) ||
	    pthread_create(&reader, NULL, keep_lock, NULL)) {
		say("bad no thread");
		return;
	}
	waitpid(teller, NULL, 0);
}

static void begin_missing(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .range.len = 16 * PAGE, .mode = UFFDIO_REGISTER_MODE_MISSING };

	missing = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)missing;
	if (missing == MAP_FAILED || fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		say("no %s", strerror(errno));
	else
		begin_thread(missing + 8 * PAGE);
}

/* The server must answer what it was asked before anybody can end who has asked. */
static void end_fuse(void)
{
	if (!server)
		return;
	close(open(until, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	unlink(stall);
	if (delivered)
		munmap(delivered, FUSE_LEN);
	umount2(folder, MNT_DETACH);
	if (fuse.bytes >= 0) {		/* what the library has mapped keeps it alive */
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
		_exit(0);
	}
	waitpid(server, NULL, 0);
}

int main(void)
{
	char *line;

	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		if (!strncmp(line, "map ", 4))
			map_all(line + 4);
		else if (!strcmp(line, "figures"))
			say_figures();
		else if (!strncmp(line, "fuse ", 5))
			begin_fuse(line + 5) ? say("ok") : (void)0;
		else if (!strcmp(line, "fuse-stack"))
			begin_thread(delivered + 3 * PAGE);
		else if (!strncmp(line, "fuse-lock ", 10)) {
			fuse.most = (unsigned)strtoul(line + 10, &line, 10);
			begin_lock(line + 1);
		} else if (!strcmp(line, "locked"))
			say("ok %d", !atomic_load(&turns->read_it));
		else if (!strncmp(line, "library ", 8))
			load(line + 8);
		else if (!strcmp(line, "stall"))
			say(close(open(stall, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) ? "bad" : "ok");
		else if (!strcmp(line, "go"))
			say(unlink(stall) ? "bad" : "ok");
		else if (!strcmp(line, "missing"))
			begin_missing();
		else if (!strcmp(line, "verify"))
			say("ok");
		else
			say("bad %s", line);
	}
	end_fuse();
	return 0;
}
