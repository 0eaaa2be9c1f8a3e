/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that maps and unmaps in all ways that there are, for growth.
 *
 *	mapper [-t N] [-s]	N threads for random calls; -s: a timer's signal handler maps and unmaps, too
 *	each			one call of each function, in a fixed order, some of which fail: `ok`
 *	random N		N random calls in each thread; they have all returned then: `ok`
 *	go, more N, pause	random calls all the time; go on until N more were made; have all stop: `ok`
 *	held			bytes that the random calls hold: `ok MMAP SHM BRK`
 *	own			a thread unmaps the stack that it has run on, with its control block, and ends: `ok`
 *	bare			a page is mapped by a bare system call, one of mmap's unmapped by one: `ok`
 *	leave			a thread ends that nobody joins: `ok LWP`
 *	files A B N		map a page of file A and two of B at one address in turn, N times, by one descriptor;
 *				at the end B is there, and A elsewhere: `ok`
 *	grow N			the heap by N pages, by sbrk, and write to them: `ok`
 *	drop			forget all that the random calls hold, and unmap it: `ok`
 *	calls			mmap and munmap, timed: `ok NS`, of a pair of them
 *	verify, quit
 *
 * Each call must return what it should, and leave errno alone unless it fails.
 */
#include "target.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/time.h>
#include <sys/wait.h>

#define PAGE		4096ul
#define SLOTS		64u
#define THREADS_MAX	64u
#define KEPT		77	/* errno, which a call that succeeds leaves alone */
#define ANON		(MAP_PRIVATE | MAP_ANONYMOUS)
#define RW		(PROT_READ | PROT_WRITE)

static volatile bool wrong;
static const char *volatile wrong_what;
static atomic_ulong calls_made;
static atomic_bool running;
static atomic_uint at_work;
static pthread_mutex_t brk_lock = PTHREAD_MUTEX_INITIALIZER;
static long brk_held;
static int segment = -1;

#define MUST(x)									\
	do {									\
		if (!(x)) {							\
			wrong_what = #x;					\
			wrong = true;						\
		}								\
	} while (0)

/* What one thread holds: a mapping of mmap in pages, of which some may be unmapped again; or an attached segment. */
struct slot {
	char *at;
	unsigned pages;
	uint64_t gone;		/* bits of pages that were unmapped */
	bool shm;
	bool cut;		/* it may be several mappings, which mremap takes only one by one */
};

static struct worker {
	pthread_t thread;
	uint64_t random;
	unsigned long left;	/* calls to make; ULONG_MAX: until all stop */
	struct slot slot[SLOTS];
} worker[THREADS_MAX];
static unsigned nr_workers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;

static bool kept(void)
{
	bool is = errno == KEPT;

	errno = KEPT;
	return is;
}

static char *map(void *at, size_t len, int flags)
{
	char *got = mmap(at, len, RW, flags, -1, 0);

	MUST(got != MAP_FAILED && kept());
	got[0] = got[len - 1] = 1;
	return got;
}

static void fill(struct worker *me, struct slot *slot)
{
	slot->pages = 1 + (unsigned)(next_random(&me->random) % 40);
	slot->gone = 0;
	slot->cut = false;
	slot->shm = next_random(&me->random) % 16 == 0;
	if (slot->shm) {
		slot->at = shmat(segment, NULL, 0);
		slot->pages = 4;
		MUST(slot->at != (char *)-1 && kept());
	} else {
		slot->at = map(NULL, slot->pages * PAGE - next_random(&me->random) % PAGE, ANON);
	}
}

/* Holes may be other threads' by now. */
static void empty(struct slot *slot)
{
	if (slot->shm) {
		MUST(!shmdt(slot->at) && kept());
	} else if (!slot->gone) {
		MUST(!munmap(slot->at, slot->pages * PAGE) && kept());
	} else {
		for (unsigned i = 0; i < slot->pages; i++)
			if (!(slot->gone >> i & 1))
				MUST(!munmap(slot->at + i * PAGE, PAGE) && kept());
	}
	slot->at = NULL;
}

/* Unmap some pages of the middle. */
static void hole(struct worker *me, struct slot *slot)
{
	unsigned from = (unsigned)(next_random(&me->random) % slot->pages);
	unsigned nr = 1 + (unsigned)(next_random(&me->random) % (slot->pages - from));

	if (slot->shm || slot->gone || nr == slot->pages)
		return;
	MUST(!munmap(slot->at + from * PAGE, nr * PAGE) && kept());
	slot->gone |= ((1ull << nr) - 1) << from;
	slot->cut = true;
}

/* Map again over some of it. */
static void cover(struct worker *me, struct slot *slot)
{
	unsigned from = (unsigned)(next_random(&me->random) % slot->pages);

	if (slot->shm || slot->gone >> from & 1)
		return;
	MUST(map(slot->at + from * PAGE, PAGE, ANON | MAP_FIXED) == slot->at + from * PAGE);
	slot->cut = true;
}

static void resize(struct worker *me, struct slot *slot)
{
	unsigned pages = 1 + (unsigned)(next_random(&me->random) % 40);
	char *at;

	if (slot->shm || slot->cut)
		return;
	at = mremap(slot->at, slot->pages * PAGE, pages * PAGE, MREMAP_MAYMOVE);
	MUST(at != MAP_FAILED && kept());
	at[pages * PAGE - 1] = 1;
	slot->at = at;
	slot->pages = pages;
}

static void change_brk(struct worker *me)
{
	long by = (long)(next_random(&me->random) % 8) - 4;

	pthread_mutex_lock(&brk_lock);
	if (brk_held + by >= 0) {
		MUST(sbrk(by * (long)PAGE) != (void *)-1);
		brk_held += by;
	}
	errno = KEPT;
	pthread_mutex_unlock(&brk_lock);
}

static void failing(void)
{
	MUST(mmap(NULL, 0, RW, ANON, -1, 0) == MAP_FAILED && errno == EINVAL);
	MUST(munmap((void *)1, PAGE) == -1 && errno == EINVAL);
	errno = KEPT;
}

static NOINLINE void random_call(struct worker *me)
{
	struct slot *slot = &me->slot[next_random(&me->random) % SLOTS];
	unsigned what = (unsigned)(next_random(&me->random) % 16);

	errno = KEPT;
	if (what == 0)
		failing();
	else if (what == 1)
		change_brk(me);
	else if (!slot->at)
		fill(me, slot);
	else if (what < 6)
		empty(slot);
	else if (what < 9)
		hole(me, slot);
	else if (what < 12)
		cover(me, slot);
	else
		resize(me, slot);
	atomic_fetch_add(&calls_made, 1);
}

static void *work(void *arg)
{
	struct worker *me = arg;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (!me->left)
			pthread_cond_wait(&turn, &lock);
		pthread_mutex_unlock(&lock);
		while (me->left && (me->left != ULONG_MAX || atomic_load(&running))) {
			random_call(me);
			me->left -= me->left != ULONG_MAX;
		}
		pthread_mutex_lock(&lock);
		me->left = 0;
		atomic_fetch_sub(&at_work, 1);
	}
	return NULL;
}

static void set_to_work(unsigned long calls)
{
	pthread_mutex_lock(&lock);
	atomic_store(&running, true);
	atomic_store(&at_work, nr_workers);
	for (unsigned i = 0; i < nr_workers; i++)
		worker[i].left = calls;
	pthread_cond_broadcast(&turn);
	pthread_mutex_unlock(&lock);
}

static void wait_for_all(void)
{
	while (atomic_load(&at_work))
		nap_us(100);
}

static void tell_held(void)
{
	unsigned long mapped = 0, attached = 0;

	for (unsigned i = 0; i < nr_workers; i++)
		for (unsigned j = 0; j < SLOTS; j++) {
			const struct slot *slot = &worker[i].slot[j];
			unsigned long pages = slot->pages -
					      (unsigned)__builtin_popcountll(slot->gone);

			if (slot->at && slot->shm)
				attached += pages * PAGE;
			else if (slot->at)
				mapped += pages * PAGE;
		}
	say("ok %lu %lu %lu", mapped, attached, (unsigned long)brk_held * PAGE);
}

static void drop_all(void)
{
	errno = KEPT;
	for (unsigned i = 0; i < nr_workers; i++)
		for (unsigned j = 0; j < SLOTS; j++)
			if (worker[i].slot[j].at)
				empty(&worker[i].slot[j]);
}

/* Only async-signal-safe calls: it comes while a thread is in any of the functions. */
static void on_timer(int signal UNUSED)
{
	int before = errno;
	char *page = mmap(NULL, PAGE, RW, ANON, -1, 0);

	MUST(page != MAP_FAILED);
	page[0] = 1;
	MUST(!munmap(page, PAGE));
	errno = before;
}

static void start_timer(void)
{
	const struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	const struct itimerval often = { { 0, 500 }, { 0, 500 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static NOINLINE void each_of_mmap(void)
{
	char *one = map(NULL, 8 * PAGE, ANON), *two = map(NULL, 3 * PAGE - 5, ANON);
	char *moved, *place = map(NULL, 64 * PAGE, ANON);

	MUST(!munmap(one + 2 * PAGE, PAGE) && kept());
	MUST(map(one + 4 * PAGE, PAGE, ANON | MAP_FIXED) == one + 4 * PAGE);
	moved = mremap(two, 3 * PAGE, 16 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place + 16 * PAGE);
	MUST(moved == place + 16 * PAGE && kept());
	MUST(mremap(moved, 16 * PAGE, 2 * PAGE, 0) == moved && kept());
	failing();
	errno = KEPT;
	MUST(mremap((void *)PAGE, PAGE, 2 * PAGE, 0) == MAP_FAILED && errno == EFAULT);
	errno = KEPT;
}

static NOINLINE void each_of_brk(void)
{
	char *end = sbrk(0);

	MUST(sbrk((long)(5 * PAGE)) == end);
	MUST(sbrk(-(long)(2 * PAGE)) == end + 5 * PAGE);
	MUST(!brk(end + 4 * PAGE));
	MUST(!brk(end));
	errno = KEPT;
}

static NOINLINE void each_of_shm(void)
{
	int id = shmget(IPC_PRIVATE, 5 * PAGE - 7, IPC_CREAT | 0600);
	char *at, *second;

	MUST(id >= 0 && kept());
	at = shmat(id, NULL, 0);
	second = shmat(id, NULL, SHM_RDONLY);
	MUST(at != (char *)-1 && second != (char *)-1 && kept());
	MUST(!shmdt(second) && kept());
	MUST(!shmctl(id, IPC_RMID, NULL) && kept());
	MUST(shmdt(at + 1) == -1 && errno == EINVAL);
	MUST(shmget(4711, 0, 0) == -1 && errno == ENOENT);
	errno = KEPT;
}

/* A child that shares this memory maps a page in it. */
static NOINLINE void each_of_vfork(void)
{
	static char *volatile page;
	pid_t child = vfork();
	int status;

	if (!child) {
		page = mmap(NULL, PAGE, RW, ANON, -1, 0);
		_exit(page == MAP_FAILED);
	}
	MUST(waitpid(child, &status, 0) == child && !status);
	page[0] = 1;
}

static char *own_stack;
static char *other_stack;
static volatile pid_t own_lwp;

/* It runs on the other stack now: all of the first one goes, with the control block at its end. */
static void unmap_own(void)
{
	MUST(!munmap(own_stack, 64 * PAGE));
	__asm__ volatile("mov $60, %%eax\n\txor %%edi, %%edi\n\tsyscall" : : : "memory");
}

static void *run_own(void *arg UNUSED)
{
	own_lwp = my_lwp();
	__asm__ volatile("mov %0, %%rsp\n\tcall *%1" : : "r"(other_stack + 8 * PAGE), "r"(unmap_own) : "memory");
	return NULL;
}

/*
 * The control block of a thread with a stack of its own lies at the stack's end. (The kernel must not write there:
 * GLIBC_TUNABLES=glibc.pthread.rseq=0.)
 */
static void end_by_unmapping(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	errno = KEPT;
	own_stack = map(NULL, 64 * PAGE, ANON);
	other_stack = map(NULL, 8 * PAGE, ANON);
	own_lwp = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, own_stack, 64 * PAGE);
	MUST(!pthread_create(&thread, &attr, run_own, NULL));
	pthread_attr_destroy(&attr);
	while (!own_lwp || !syscall(SYS_tgkill, getpid(), own_lwp, 0))
		nap_us(1000);
	munmap(other_stack, 8 * PAGE);
	say("ok");
}

static NOINLINE void bare_calls(void)
{
	char *page = map(NULL, 4 * PAGE, ANON);

	MUST(syscall(SYS_mmap, NULL, PAGE, RW, ANON, -1, 0) != -1);
	MUST(!syscall(SYS_munmap, page + PAGE, PAGE));
}

static void *note_lwp(void *arg)
{
	*(pid_t *)arg = my_lwp();
	return NULL;
}

static NOINLINE void leave_thread(void)
{
	static pid_t lwp;
	pthread_t thread;

	lwp = 0;
	MUST(!pthread_create(&thread, NULL, note_lwp, &lwp));
	while (!*(volatile pid_t *)&lwp || !syscall(SYS_tgkill, getpid(), lwp, 0))
		nap_us(1000);
	say("ok %d", (int)lwp);
}

/* The fastest of many batches, so that other work on the machine counts little. */
static void time_calls(void)
{
	enum { BATCHES = 100, ROUNDS = 500 };
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < BATCHES; i++) {
		uint64_t start = clock_ns(CLOCK_MONOTONIC), took;

		for (unsigned j = 0; j < ROUNDS; j++) {
			char *page = mmap(NULL, PAGE, RW, ANON, -1, 0);

			KEEP(page);
			munmap(page, PAGE);
		}
		took = clock_ns(CLOCK_MONOTONIC) - start;
		best = took < best ? took : best;
	}
	say("ok %lu", (unsigned long)(best / ROUNDS));
}

static void each(void)
{
	errno = KEPT;
	each_of_mmap();
	each_of_brk();
	each_of_shm();
	each_of_vfork();
	say("ok");
}

static void map_file(const char *path, char *at, size_t pages, int flags)
{
	int file = open(path, O_RDONLY);

	MUST(file >= 0);
	MUST(mmap(at, pages * PAGE, PROT_READ, MAP_PRIVATE | flags, file, 0) != MAP_FAILED);
	MUST(!close(file));
}

static void map_files(const char *text)
{
	char one[256], two[256], *at = map(NULL, 2 * PAGE, ANON);
	unsigned long rounds;

	MUST(sscanf(text, "%255s %255s %lu", one, two, &rounds) == 3);
	for (unsigned long i = 0; i < rounds; i++) {
		map_file(one, at, 1, MAP_FIXED);
		map_file(two, at, 2, MAP_FIXED);
		MUST(!munmap(at, 2 * PAGE));
	}
	map_file(two, at, 2, MAP_FIXED);
	map_file(one, NULL, 1, 0);
	say("ok");
}

static NOINLINE void grow(unsigned long pages)
{
	char *at = sbrk((intptr_t)(pages * PAGE));

	MUST(at != (void *)-1);
	memset(at, 1, pages * PAGE);
}

static void go_on(unsigned long more)
{
	unsigned long until = atomic_load(&calls_made) + more;

	while (atomic_load(&calls_made) < until)
		nap_us(200);
	say("ok");
}

static void obey(const char *line)
{
	const char *rest;

	if ((rest = after(line, "random"))) {
		set_to_work(strtoul(rest, NULL, 10));
		wait_for_all();
		say("ok");
	} else if (!strcmp(line, "go")) {
		set_to_work(ULONG_MAX);
		say("ok");
	} else if ((rest = after(line, "more"))) {
		go_on(strtoul(rest, NULL, 10));
	} else if (!strcmp(line, "pause")) {
		atomic_store(&running, false);
		wait_for_all();
		say("ok");
	} else if (!strcmp(line, "held")) {
		tell_held();
	} else if (!strcmp(line, "drop")) {
		drop_all();
		say("ok");
	} else if ((rest = after(line, "files"))) {
		errno = KEPT;
		map_files(rest);
	} else if ((rest = after(line, "grow"))) {
		errno = KEPT;
		grow(strtoul(rest, NULL, 10));
		say("ok");
	} else if (!strcmp(line, "each")) {
		each();
	} else if (!strcmp(line, "own")) {
		end_by_unmapping();
	} else if (!strcmp(line, "bare")) {
		errno = KEPT;
		bare_calls();
		say("ok");
	} else if (!strcmp(line, "leave")) {
		leave_thread();
	} else if (!strcmp(line, "calls")) {
		time_calls();
	} else if (!strcmp(line, "verify")) {
		say(wrong ? "bad %s" : "ok", wrong_what);
	} else {
		say("bad command");
	}
}

int main(int argc, char **argv)
{
	bool timer = false;
	const char *line;

	for (int i = 1; i < argc; i++) {
		timer |= !strcmp(argv[i], "-s");
		if (!strcmp(argv[i], "-t") && i + 1 < argc)
			nr_workers = (unsigned)strtoul(argv[++i], NULL, 10);
	}
	nr_workers = nr_workers > THREADS_MAX ? THREADS_MAX : nr_workers;
	segment = shmget(IPC_PRIVATE, 4 * PAGE, IPC_CREAT | 0600);
	for (unsigned i = 0; i < nr_workers; i++) {
		worker[i].random = i * 7919 + 17;
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			return 2;
	}
	/* It goes with the last process that has it attached. */
	if (segment < 0 || shmat(segment, NULL, 0) == (void *)-1 || shmctl(segment, IPC_RMID, NULL))
		return 2;
	if (timer)
		start_timer();
	say_ready();
	while ((line = hear()) && strcmp(line, "quit"))
		obey(line);
	return 0;
}
