/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory of each kind, N megabytes of it at an order; what is made stays, and is resident unless
 * said otherwise.
 *
 *	heap N		blocks of 1000 bytes, which are kept
 *	burst N		the same, and all but the last one are freed
 *	pinned N	blocks of 1000 and of 40 bytes in turn, of which the large ones are freed
 *	reserve N	blocks of 100,000 bytes that are not written to
 *	touch		the reserved blocks are written to
 *	mapped N	blocks of 1 MB, which malloc maps on their own
 *	anonymous N	mapped without malloc, and named `pool`
 *	joined N	a block that malloc maps on its own, and anonymous memory right below it: to the kernel both
 *			are one mapping
 *	split, join	a page in the midst of the last anonymous memory may be read only, or written to again
 *	alias N		a memory file of 64 MB, mapped N times: resident each time, and there once
 *	shared N	a System V segment, which is gone with the process
 *	file PATH	all of it, mapped and read
 *	locked N	anonymous memory, locked
 *	stack N		kilobytes on the first thread's stack
 *	ended N		N threads that write to 200 KB of their stacks, end, and are not joined
 *	threads N	N threads that do so and stay
 *	lwps		the LWP ids of those
 *	arenas N	the threads that stay take N in blocks of 100,000 bytes each, and free all of them;
 *			their arenas keep it
 *	lazy N		anonymous memory that is given back by MADV_FREE
 *	memfd N		a memory file with N in it, which is not mapped
 *	fork		a child that waits for the end of this process
 *	unfork		the last child is killed
 *	change		the last anonymous memory is written to again
 *	buffers N	shared memory that such a child has filled, and has mapped; this process has not touched it
 *	read		all of that is read
 *	info		by mallinfo2: bytes in use with headers, of them mapped, and free
 *	hide		from now on only root may look at the process
 *	verify		checks the blocks
 *	quit
 *
 * Each is answered by `ok`, or by `bad WHY`.
 */
#include "target.h"

#include <alloca.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA		0x53564d41
#define PR_SET_VMA_ANON_NAME	0
#endif

#define MB		(1l << 20)
#define SMALL		1000
#define RESERVED	100000
#define ON_STACK	(200 << 10)
#define THREADS_MAX	64

struct node {
	struct node *next;
	size_t size;
	char rest[];
};

static struct node *kept, *reserved;
static pid_t lwp[THREADS_MAX];
static int nr_lwps;
static atomic_int written;	/* threads that have written to their stacks */
static atomic_int awaited;	/* so many will have before any ends: each has a stack of its own */

static NOINLINE void push(struct node **list, size_t size)
{
	struct node *node = malloc(size);

	if (!node)
		_exit(98);
	KEEP(node);
	node->next = *list;
	node->size = size;
	*list = node;
}

static void keep(long bytes)
{
	for (; bytes > 0; bytes -= SMALL) {
		push(&kept, SMALL);
		canary_fill(kept->rest, SMALL - sizeof(*kept));
	}
}

/* The last one stays, so that the heap cannot shrink. */
static void burst(long bytes)
{
	struct node *before = kept, *next;

	keep(bytes);
	for (struct node *node = kept->next; node != before; node = next) {
		next = node->next;
		free(node);
	}
	kept->next = before;
}

static void pinned(long bytes)
{
	long nr = bytes / SMALL;
	void **block = malloc((size_t)nr * sizeof(*block));

	for (long i = 0; block && i < nr; i++) {
		block[i] = memset(malloc(SMALL), 1, SMALL);
		push(&kept, 40);
		canary_fill(kept->rest, 40 - sizeof(*kept));
	}
	for (long i = 0; block && i < nr; i++)
		free(block[i]);
	free(block);
}

static void reserve(long bytes)
{
	for (; bytes > 0; bytes -= RESERVED)
		push(&reserved, RESERVED);
}

static void touch(void)
{
	for (struct node *node = reserved; node; node = node->next)
		memset(node->rest, 1, node->size - sizeof(*node));
}

static void make_mapped(long bytes)
{
	for (; bytes > 0; bytes -= MB) {
		push(&kept, MB);
		memset(kept->rest, 1, MB - sizeof(*kept));
		canary_fill(kept->rest, MB - sizeof(*kept));
	}
}

static char *last_anonymous;
static size_t last_size;

static bool anonymous(size_t size, int flags)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (at == MAP_FAILED)
		return false;
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, size, "pool");
	memset(at, 1, size);
	last_anonymous = at;
	last_size = size;
	return true;
}

static bool joined(size_t size)
{
	char *block = malloc(8 << 20), *below;

	KEEP(block);
	if (!block)
		return false;
	memset(block, 1, 1);
	below = block - (uintptr_t)block % 4096 - size;
	if (mmap(below, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != below)
		return false;
	memset(below, 1, size);
	return true;
}

static bool protect_middle(int prot)
{
	return !mprotect(last_anonymous + last_size / 2, 4096, prot);
}

static bool shared(size_t size)
{
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
	char *at = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	if (at == (void *)-1)
		return false;
	memset(at, 1, size);
	return true;
}

static bool alias(int nr)
{
	int fd = memfd_create("alias", MFD_CLOEXEC);
	bool done = fd >= 0 && !ftruncate(fd, 64 * MB);

	for (int i = 0; i < nr && done; i++)
		done = mmap(NULL, 64 * MB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
			    0) != MAP_FAILED;
	close(fd);
	return done;
}

static bool map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *at, sum = 0;

	if (fd < 0 || fstat(fd, &st))
		return false;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return false;
	for (off_t i = 0; i < st.st_size; i += 4096)
		sum += at[i];
	KEEP(sum);
	return true;
}

static NOINLINE void use_stack(size_t bytes)
{
	char *at = alloca(bytes);

	memset(at, 1, bytes);
	KEEP(at);
}

static long arena_bytes;	/* that each thread that stays is to take and free ... */
static atomic_int arena_round, arena_done;	/* ... when this rises, and so many have */

static void use_arena(void)
{
	static _Thread_local int round;
	long nr;
	void **block;

	while (round == arena_round)
		nap_us(500);
	round = arena_round;
	nr = arena_bytes / RESERVED;
	block = calloc((size_t)nr, sizeof(*block));
	for (long i = 0; block && i < nr; i++)
		block[i] = memset(malloc(RESERVED), 1, RESERVED);
	for (long i = nr; block && i-- > 0;)
		free(block[i]);
	free(block);
	arena_done++;
}

static void use_arenas(long bytes)
{
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	arena_bytes = bytes;
	arena_done = 0;
	arena_round++;
	while (arena_done < nr_lwps)
		nap_us(500);
}

static void *run_thread(void *arg)
{
	use_stack(ON_STACK);
	if (arg)
		*(pid_t *)arg = my_lwp();
	written++;
	while (arg)
		use_arena();
	while (written < awaited)
		nap_us(1000);
	return NULL;
}

/* All of them have written to their stacks; those that are to end have ended. */
static bool make_threads(int nr, bool stay)
{
	int before = written;
	pthread_t thread;

	if (nr < 1 || nr_lwps + nr > THREADS_MAX)
		return false;
	awaited = before + nr;
	for (int i = 0; i < nr; i++)
		if (pthread_create(&thread, NULL, run_thread, stay ? &lwp[nr_lwps++] : NULL))
			_exit(98);
	while (written < before + nr)
		nap_us(1000);
	while (!stay) {
		struct stat st;

		if (!stat("/proc/self/task", &st) && st.st_nlink == (nlink_t)nr_lwps + 3)
			break;
		nap_us(1000);
	}
	return true;
}

static char *buffers;
static size_t buffers_size;
static pid_t child;
static int helpers[2] = { -1, -1 };	/* children read it, and end when nobody can write to it */

/* A child that stays; it runs `first` before this function returns. */
static bool fork_one(void (*first)(void))
{
	int done[2];
	char byte;
	pid_t pid;

	if ((helpers[0] < 0 && pipe(helpers)) || pipe(done))
		return false;
	pid = fork();
	if (!pid) {
		close(helpers[1]);
		if (first)
			first();
		close(done[1]);
		read(helpers[0], &byte, 1);
		_exit(0);
	}
	close(done[1]);
	byte = read(done[0], &byte, 1) != 0;
	close(done[0]);
	child = pid;
	return pid > 0;
}

static bool unfork(void)
{
	return !kill(child, SIGKILL) && waitpid(child, NULL, 0) == child;
}

static void fill_buffers(void)
{
	memset(buffers, 1, buffers_size);
}

static bool make_buffers(size_t size)
{
	buffers_size = size;
	buffers = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return buffers != MAP_FAILED && fork_one(fill_buffers);
}

static void read_buffers(void)
{
	char sum = 0;

	for (size_t i = 0; i < buffers_size; i += 4096)
		sum += buffers[i];
	KEEP(sum);
}

static bool make_memfd(size_t size)
{
	int fd = memfd_create("spare", MFD_CLOEXEC);
	char *at = fd < 0 || ftruncate(fd, (off_t)size) ? MAP_FAILED :
		   mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return false;
	memset(at, 1, size);
	return !munmap(at, size);
}

static bool all_well(void)
{
	for (const struct node *node = kept; node; node = node->next)
		if (!canary_holds(node->rest, node->size - sizeof(*node)))
			return false;
	return true;
}

static bool obey(const char *line)
{
	const char *n = strchr(line, ' ');
	long bytes = n ? atol(n) * MB : 0;

	if (after(line, "heap"))
		keep(bytes);
	else if (after(line, "burst"))
		burst(bytes);
	else if (after(line, "pinned"))
		pinned(bytes);
	else if (after(line, "reserve"))
		reserve(bytes);
	else if (after(line, "touch"))
		touch();
	else if (after(line, "mapped"))
		make_mapped(bytes);
	else if (after(line, "anonymous"))
		return anonymous((size_t)bytes, 0);
	else if (after(line, "joined"))
		return joined((size_t)bytes);
	else if (after(line, "split"))
		return protect_middle(PROT_READ);
	else if (after(line, "join"))
		return protect_middle(PROT_READ | PROT_WRITE);
	else if (after(line, "alias"))
		return alias((int)(bytes / MB));
	else if (after(line, "locked"))
		return anonymous((size_t)bytes, MAP_LOCKED);
	else if (after(line, "shared"))
		return shared((size_t)bytes);
	else if (after(line, "file"))
		return map_file(n ? n + 1 : "");
	else if (after(line, "stack"))
		use_stack((size_t)bytes >> 10);
	else if (after(line, "ended"))
		return make_threads((int)(bytes / MB), false);
	else if (after(line, "threads"))
		return make_threads((int)(bytes / MB), true);
	else if (after(line, "arenas"))
		use_arenas(bytes);
	else if (after(line, "lazy"))
		return anonymous((size_t)bytes, 0) &&
		       !madvise(last_anonymous, last_size, MADV_FREE);
	else if (after(line, "memfd"))
		return make_memfd((size_t)bytes);
	else if (after(line, "fork"))
		return fork_one(NULL);
	else if (after(line, "unfork"))
		return unfork();
	else if (after(line, "change"))
		memset(last_anonymous, 2, last_size);
	else if (after(line, "buffers"))
		return make_buffers((size_t)bytes);
	else if (after(line, "read"))
		read_buffers();
	else if (after(line, "hide"))
		return !prctl(PR_SET_DUMPABLE, 0);
	else
		return after(line, "verify") && all_well();
	return true;
}

int main(void)
{
	const char *line;

	/* Else the threshold grows with the first block that is freed. */
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if (after(line, "lwps")) {
			for (int i = 0; i < nr_lwps; i++)
				say("%d", lwp[i]);
			say("end %d", nr_lwps);
		} else if (after(line, "info")) {
			struct mallinfo2 info = mallinfo2();

			say("ok %zu %zu %zu", info.uordblks + info.hblkhd, info.hblkhd,
			    info.fordblks);
		} else {
			say(obey(line) ? "ok" : "bad %s", line);
		}
	}
	return 0;
}
