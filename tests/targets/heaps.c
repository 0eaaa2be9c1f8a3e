/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Known blocks of all size classes in nine arenas: heaps N. The main thread and eight others (which stay, with an arena
 * each) allocate N blocks in all, aligned and mapped ones among them; then half are freed in random order, by whoever.
 * Commands: `truth` (address and usable size of each block), `split` (pages of the heaps become mappings of their own),
 * `free N` (N more, at random), `info` (mallinfo2, and what malloc_info says of each arena), `xml` (all that malloc_info
 * says, after which the heaps stay as it has seen them), `hole` (somebody else calls
 * sbrk, and 2,000 blocks more), `block` (something stands behind what sbrk has made, and 6,000 blocks more), `churn`, `calm` (the eight threads), `smash`, `mend`
 * (the header of the block that stands in the middle), `overrun` (of the chunk behind all blocks; `mend` as well), verify,
 * quit.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "target.h"

#define THREADS		8
#define BLOCKS_MAX	(1l << 20)
#define CHURNED		64

struct block {
	void *at;
	size_t size;
};

static struct block *block;
static size_t nr;
static size_t share;
static atomic_int allocated;
static atomic_bool churning, over;
static atomic_int at_rest;
static pthread_t thread[THREADS];
static uint64_t smashed;
static uint64_t *smashed_at;

static size_t pick_size(uint64_t *random)
{
	uint64_t what = next_random(random) % 1000;

	if (what < 500)
		return next_random(random) % 160;	/* tcache, fastbins */
	if (what < 850)
		return next_random(random) % 1100;	/* small bins */
	if (what < 999)
		return 1000 + next_random(random) % 6000;
	return 130000 + next_random(random) % 500000;
}

static NOINLINE void *allocate(size_t size, uint64_t *random)
{
	void *p;

	if (next_random(random) % 20 == 0)
		p = memalign(16ul << next_random(random) % 10, size);
	else
		p = malloc(size);
	KEEP(p);
	return p;
}

/* Blocks `from` to `from + count`, by this thread. */
static void fill(size_t from, size_t count, uint64_t seed)
{
	for (size_t i = from; i < from + count; i++) {
		block[i].size = pick_size(&seed);
		block[i].at = allocate(block[i].size, &seed);
		canary_fill(block[i].at, block[i].size);
	}
}

static void drop(size_t i)
{
	free(block[i].at);
	block[i].at = NULL;
}

/* Half of the blocks that are this thread's to free: others' as well as its own. */
static void thin_out(size_t who, uint64_t seed)
{
	for (size_t n = nr / (THREADS + 1) / 2, i; n > 0; n--) {
		/* Slots who, who + 9, who + 18 ...: nobody else frees these. */
		do
			i = next_random(&seed) % (nr / (THREADS + 1)) * (THREADS + 1) + who;
		while (!block[i].at);
		drop(i);
	}
}

static void churn_a_little(void **mine, uint64_t *random)
{
	for (unsigned i = 0; i < 1000; i++) {
		size_t at = next_random(random) % CHURNED;

		if (mine[at] && next_random(random) % 4 == 0) {
			mine[at] = realloc(mine[at], pick_size(random) + 1);
			continue;
		}
		free(mine[at]);
		mine[at] = malloc(pick_size(random));
		KEEP(mine[at]);
	}
}

static void *work(void *arg)
{
	size_t who = (size_t)arg;
	uint64_t random = 77 + who;
	void *mine[CHURNED] = { NULL };

	fill(share * who, share, 1000 + who);
	allocated++;
	while (allocated <= THREADS)
		nap_us(100);
	thin_out(who, 5000 + who);
	at_rest++;
	while (!over) {
		if (!churning) {
			nap_us(1000);
			continue;
		}
		at_rest--;
		while (churning && !over)
			churn_a_little(mine, &random);
		for (unsigned i = 0; i < CHURNED; i++) {
			free(mine[i]);
			mine[i] = NULL;
		}
		at_rest++;
	}
	return NULL;
}

static int begin(size_t wanted)
{
	share = wanted / (THREADS + 1);
	nr = share * (THREADS + 1);
	for (size_t i = 1; i <= THREADS; i++)
		if (pthread_create(&thread[i - 1], NULL, work, (void *)i))
			return -1;
	fill(0, share, 1000);
	while (allocated < THREADS)
		nap_us(100);
	allocated++;
	while (at_rest < THREADS)
		nap_us(100);
	thin_out(0, 5000);
	return 0;
}

static void split(void)
{
	for (size_t i = 0; i < nr; i += 97)
		if (block[i].at)
			madvise((void *)((uintptr_t)block[i].at & ~4095ul), 4096, MADV_DONTDUMP);
}

static size_t verify(void)
{
	size_t bad = 0;

	for (size_t i = 0; i < nr; i++)
		bad += block[i].at && !canary_holds(block[i].at, block[i].size);
	return bad;
}

static void print_truth(void)
{
	size_t n = 0;

	for (size_t i = 0; i < nr; i++)
		if (block[i].at) {
			say("%p %zu", block[i].at, malloc_usable_size(block[i].at));
			n++;
		}
	say("end %zu", n);
}

static void print_info(void)
{
	static char text[1 << 20];
	FILE *file = fmemopen(text, sizeof(text), "w");
	struct mallinfo2 info;
	char *at = text;
	int lines = 1;

	if (file) {
		malloc_info(0, file);
		fclose(file);
	}
	/* When the stream's own blocks are gone again. */
	info = mallinfo2();
	say("mallinfo arena %zu ordblks %zu smblks %zu hblks %zu hblkhd %zu fsmblks %zu uordblks %zu fordblks %zu keepcost %zu",
	    info.arena, info.ordblks, info.smblks, info.hblks, info.hblkhd, info.fsmblks,
	    info.uordblks, info.fordblks, info.keepcost);
	while ((at = strstr(at, "<system type=\"current\" size=\""))) {
		at += strlen("<system type=\"current\" size=\"");
		say("system %lu", strtoul(at, NULL, 10));
		lines++;
	}
	say("end %d", lines);
}

/* The stream stays open, and has no buffer of its own: malloc_info allocates and frees nothing then. */
static void print_xml(void)
{
	static char text[1 << 20], buffer[4096];
	static FILE *file;
	int lines = 0;

	if (!file) {
		file = fmemopen(text, sizeof(text), "w");
		setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	}
	rewind(file);
	malloc_info(0, file);
	fputc('\0', file);
	fflush(file);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		say("%s", line);
		lines++;
	}
	say("end %d", lines);
}

static void free_some(long n, uint64_t seed)
{
	while (n-- > 0) {
		size_t i;

		do
			i = next_random(&seed) % nr;
		while (!block[i].at);
		drop(i);
	}
}

/* The main heap goes on behind what somebody else got from sbrk. */
static void make_hole(void)
{
	char *hole = (char *)sbrk(3 * 4096 + 48);

	memset(hole, 0x21, 3 * 4096 + 48);
	fill(nr, 2000, 99);
	nr += 2000;
}

/* The main heap goes on in mappings, between which others are. */
static void block_brk(void)
{
	mmap(sbrk(0), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	for (unsigned i = 0; i < 6; i++) {
		fill(nr, 1000, 77 + i);
		nr += 1000;
		memset(mmap(NULL, (i + 1) * 4096ul, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 0x11, (i + 1) * 4096ul);
	}
}

static void smash(size_t i)
{
	while (i < nr && (!block[i].at || block[i].size > 4000))
		i++;
	smashed_at = (uint64_t *)block[i].at - 1;
	smashed = *smashed_at;
	*smashed_at = 0x4141414141414141;
}

/* Write past the end of a block that was just taken from the top chunk. */
static void overrun(void)
{
	size_t size = 256 << 10, usable;
	char *last;

	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	last = malloc(size);
	usable = malloc_usable_size(last);
	smashed_at = (uint64_t *)(last + usable);
	smashed = *smashed_at;
	*smashed_at = 0x4242424242424242;
}

int main(int argc, char **argv)
{
	const char *rest;
	char *line;

	block = mmap(NULL, BLOCKS_MAX * sizeof(*block), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (block == MAP_FAILED || argc < 2 || begin((size_t)atol(argv[1])))
		return 2;
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if (after(line, "truth")) {
			print_truth();
			continue;
		} else if (after(line, "info")) {
			print_info();
			continue;
		} else if (after(line, "xml")) {
			print_xml();
			continue;
		} else if ((rest = after(line, "free"))) {
			free_some(atol(rest), 31);
		} else if (after(line, "split")) {
			split();
		} else if (after(line, "hole")) {
			make_hole();
		} else if (after(line, "block")) {
			block_brk();
		} else if (after(line, "churn")) {
			churning = 1;
		} else if (after(line, "calm")) {
			churning = 0;
			while (at_rest < THREADS)
				nap_us(100);
		} else if (after(line, "smash")) {
			smash(share / 2);
		} else if (after(line, "overrun")) {
			overrun();
		} else if (after(line, "mend")) {
			*smashed_at = smashed;
		} else if (!after(line, "verify")) {
			say("bad command %s", line);
			continue;
		}
		say("%s %zu", verify() ? "bad" : "ok", nr);
	}
	over = 1;
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return verify() != 0;
}
