/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that does to mdbg's memory in it whatever it can, at random, from before the attach on.
 *
 *	scribble SEED WHAT	begin; WHAT are words of `log` (write over all of the file but the journal), `journal`,
 *				`maps` (unmap, move, protect, punch holes, resize and seal)
 *	calm			end that
 *	fill SEED WHAT		write once over all of the log's tables, every slot; WHAT is `small` (live blocks, each
 *				somewhere else, of up to 64 KB), `any` (of up to 256 TB), `twice` (small, each address
 *				in two slots), `mapped` (small, in memory that is only reserved) or `claimed` (none
 *				is live)
 *	reserve			such memory, 1 TB
 *	rounds			how often it has done something
 *
 * Two threads allocate meanwhile. One that faults in what was done to it waits for ever: what it
 * does to itself is its own business.
 */

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "target.h"

#define JOURNAL		(256u << 10)	/* JOURNAL_SIZE of log/journal.h */
#define HEADER		(16u << 10)
#define SIZE		16		/* where the header says how large the log is, and how many tables are in use */
#define TABLES		64
#define WINDOW		64u		/* words: four of tags, then slots of four */
#define RESERVED	(1ull << 40)
#define RUN		512u		/* words at most */
#define BLOCKS		64

struct mapping {
	uint64_t start, end;
};

static uint64_t seed = 1, rounds, reserved;
static int does_log, does_journal, does_maps;
static int is_on, is_idle = 1;

static void wait_for_ever(int sig UNUSED)
{
	for (;;)
		pause();
}

static uint64_t below(uint64_t n)
{
	return n ? next_random(&seed) % n : 0;
}

/* What finds the most: all bits, few, the limits of types, what looks like an address or an id. */
static uint64_t value(void)
{
	static const uint64_t special[] = {
		0, UINT64_MAX, UINT32_MAX, 0xfffffff0, 1ull << 63, 0x7fffffffffffffff, 0xffffffff00000000,
		0xffff, 0x80000000, 0xfffffffffffff000, 0x02007f0000001000, 0xfffffff0fffffff0,
	};
	uint64_t random = next_random(&seed);

	switch (random >> 8 & 7) {
	case 0: return special[below(sizeof(special) / sizeof(*special))];
	case 1: return below(256);
	case 2: return below(1 << 20) << 32 | below(1 << 20);
	case 3: return 2ull << 56 | (random & 0x7ffffffffff0);	/* the key of a live record */
	default: return random;
	}
}

/* A mapping of the memfd, one of them; also ours, which is the largest. */
static int find(struct mapping *ret)
{
	static char text[1 << 18];
	size_t len = 0;
	ssize_t got;
	unsigned nr = 0;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	while ((got = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)got;
	close(fd);
	text[len] = '\0';
	for (char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		char *end = strchr(line, '\n'), *name = strstr(line, "/memfd:mdbg");
		unsigned long start, stop;

		if (name && end && name < end && sscanf(line, "%lx-%lx", &start, &stop) == 2 && !below(++nr))
			*ret = (struct mapping){ start, stop };
	}
	return nr > 0;
}

/* The whole file, of which mdbg has mapped parts. */
static uint64_t *map_file(const struct mapping *mapping, uint64_t *size_ret, int *fd_ret)
{
	char path[96];
	struct stat stat;
	void *at;

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)mapping->start,
		 (unsigned long)mapping->end);
	*fd_ret = open(path, O_RDWR | O_CLOEXEC);
	if (*fd_ret < 0 || fstat(*fd_ret, &stat))
		return NULL;
	*size_ret = (uint64_t)stat.st_size;
	at = mmap(NULL, *size_ret, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd_ret, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void write_run(uint64_t *file, uint64_t from, uint64_t to)
{
	uint64_t len = 1 + below(below(8) ? 8 : RUN), at = from / 8 + below((to - from) / 8);
	uint64_t same = value();
	int fills = !below(3);

	for (uint64_t i = at; i < at + len && i < to / 8; i++)
		__atomic_store_n(&file[i], fills ? same : value(), __ATOMIC_RELAXED);
}

static void scribble(uint64_t *file, uint64_t size)
{
	if (does_journal && !below(4))
		write_run(file, 0, below(2) ? 4096 : JOURNAL);
	if (!does_log)
		return;
	switch (below(4)) {
	case 0: write_run(file, JOURNAL, JOURNAL + HEADER); break;
	case 1: write_run(file, JOURNAL, JOURNAL + (16u << 20) / 2); break;
	default: write_run(file, JOURNAL, size); break;
	}
}

static void remap(const struct mapping *mapping, int fd, uint64_t size)
{
	uint64_t pages = (mapping->end - mapping->start) / 4096, from = below(pages);
	uint64_t len = (1 + below(pages - from)) * 4096;
	uint8_t *at = (uint8_t *)(uintptr_t)mapping->start + from * 4096;

	switch (below(8)) {
	case 0: munmap(at, len); break;
	case 1: mprotect(at, len, (int)below(8)); break;
	case 2: mremap(at, len, len, MREMAP_MAYMOVE | MREMAP_DONTUNMAP); break;
	case 3: mremap(at, len, 4096, 0); break;
	case 4: mmap(at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); break;
	case 5: fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(below(size / 4096) * 4096),
			  (off_t)((1 + below(4096)) * 4096)); break;
	case 6: (void)!ftruncate(fd, (off_t)below(2 * size)); break;
	case 7: fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW); break;
	}
}

/* With the file, until it is told to end or mdbg has come anew. */
static void bother(const struct mapping *mapping)
{
	uint64_t size, *file;
	int fd;

	file = map_file(mapping, &size, &fd);
	for (unsigned i = 0; file && i < 4096 && __atomic_load_n(&is_on, __ATOMIC_RELAXED); i++) {
		struct mapping other;

		scribble(file, size);
		if (does_maps && !below(512) && find(&other) && other.start != (uintptr_t)file)
			remap(&other, fd, size);
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
	}
	if (file)
		munmap(file, size);
	if (fd >= 0)
		close(fd);
}

/* --- a full log --- */

static uint64_t key(const char *what, uint64_t n)
{
	uint64_t address = next_random(&seed) & 0x7ffffffffff0;

	if (!strcmp(what, "claimed"))
		return 1ull << 56 | address;
	if (!strcmp(what, "twice"))
		address = (n / 2) << 20;
	if (!strcmp(what, "mapped"))
		address = reserved + address % RESERVED;
	return 2ull << 56 | address;
}

/* All behind the header, since windows lie at multiples of their size wherever tables begin. Returns how many slots. */
static uint64_t fill(const char *rest)
{
	struct mapping mapping;
	uint64_t len, size = 0, *file = NULL, n = 0;
	char *what;
	int fd = -1;

	seed = strtoull(rest, &what, 0) * 0x9e3779b97f4a7c15ull | 1;
	what += strspn(what, " ");
	if (find(&mapping))
		file = map_file(&mapping, &len, &fd);
	if (file)
		size = file[(JOURNAL + SIZE) / 8];
	for (uint64_t i = (JOURNAL + HEADER) / 8; file && i + 4 <= size / 8; i += 4) {
		if (i % WINDOW == 0)
			continue;
		file[i] = key(what, n);
		file[i + 1] = 1 + n++;
		file[i + 2] = !strcmp(what, "any") ? next_random(&seed) : 1 + below(65535);
		file[i + 3] = below(1 << 20) | below(1 << 16) << 32;
	}
	if (file) {
		((uint32_t *)file)[(JOURNAL + TABLES) / 4] = UINT32_MAX;
		munmap(file, len);
	}
	if (fd >= 0)
		close(fd);
	return n;
}

static void *bother_all(void *arg UNUSED)
{
	struct mapping mapping;

	for (;;) {
		int on = __atomic_load_n(&is_on, __ATOMIC_ACQUIRE);

		__atomic_store_n(&is_idle, !on, __ATOMIC_RELEASE);
		if (on && find(&mapping))
			bother(&mapping);
		else
			nap_us(200);
	}
	return NULL;
}

static void *allocate(void *arg UNUSED)
{
	void *block[BLOCKS] = { NULL };
	uint64_t random = (uint64_t)my_lwp();

	for (;;) {
		void **at = &block[next_random(&random) % BLOCKS];

		free(*at);
		*at = malloc(next_random(&random) % 4096);
		KEEP(*at);
		nap_us(100);
	}
	return NULL;
}

static void begin(const char *what)
{
	char *words;

	seed = strtoull(what, &words, 0) * 0x9e3779b97f4a7c15ull | 1;
	does_log = strstr(words, "log") != NULL;
	does_journal = strstr(words, "journal") != NULL;
	does_maps = strstr(words, "maps") != NULL;
	__atomic_store_n(&is_idle, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&is_on, 1, __ATOMIC_RELEASE);
}

static void end(void)
{
	__atomic_store_n(&is_on, 0, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&is_idle, __ATOMIC_ACQUIRE))
		nap_us(200);
}

int main(void)
{
	struct sigaction action = { .sa_handler = wait_for_ever };
	const char *line, *rest;
	pthread_t thread;

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGILL, &action, NULL);
	pthread_create(&thread, NULL, bother_all, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, allocate, NULL);
	say_ready();
	while ((line = hear())) {
		if ((rest = after(line, "scribble"))) {
			begin(rest);
			say("ok");
		} else if (after(line, "calm")) {
			end();
			say("ok");
		} else if ((rest = after(line, "fill"))) {
			say("ok %llu", (unsigned long long)fill(rest));
		} else if (after(line, "reserve")) {
			reserved = (uintptr_t)mmap(NULL, RESERVED, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			say("ok");
		} else if (after(line, "rounds")) {
			say("ok %llu", (unsigned long long)__atomic_load_n(&rounds, __ATOMIC_RELAXED));
		} else if (after(line, "quit")) {
			_exit(0);
		} else {
			say("bad command");
		}
	}
	return 0;
}
