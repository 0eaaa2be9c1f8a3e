/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the log costs: ns for a pair of insert and remove with so many blocks live, on one and two
 * threads, and bytes of log a live block; and a hot pair in one run with the same loop around
 * nothing and around malloc and free. Times are processor time, the best of several runs.
 * log_bench [quick].
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "heap/site.h"
#include "log/fast_path.h"
#include "log/ledger.h"

#define REGION	(4ull << 30)
#define BASE	0x555555559000ull
#define STEP	112
#define STACKS	10000
#define RUNS	5

struct churn {
	struct log *log;
	uint32_t thread;
	uint64_t first, live;	/* this thread's addresses: first * STEP and so on */
	uint64_t pairs;
	double ns;
};

static int memory = -1;

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "log_bench: %s\n", err->msg);
	exit(EXIT_FAILURE);
}

/* A time stamp as a thread's ledger makes it (ledger_time). */
static uint64_t stamp(uint32_t thread)
{
	return ALIGN_DOWN(log_now(), TIME_STEP) | (thread & (TIME_STEP - 1));
}

/* Of the calling thread's processor time: others use the machine, too. */
static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void begin(struct log *log)
{
	struct log_config config = { .region_size = REGION, .stack_depth = 32 };
	void *base;

	memory = memfd_create("log_bench", 0);
	if (memory < 0 || ftruncate(memory, REGION))
		exit(EXIT_FAILURE);
	base = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (base == MAP_FAILED)
		exit(EXIT_FAILURE);
	check(log_format(base, &config, log));
	log_set_near_size(log, 0);
}

static void end(struct log *log)
{
	munmap(log->base, log->size);
	close(memory);
}

/* The same 14-frame stacks for all: they are shared by the blocks of a site. */
static void fill(struct log *log, uint64_t live)
{
	uint32_t thread = registry_thread(log, 1, 1), *ids = malloc(STACKS * sizeof(*ids));

	for (uint64_t i = 0; i < STACKS; i++) {
		uint64_t pcs[14];

		for (uint64_t j = 0; j < 14; j++)
			pcs[j] = 0x7f0000000000 + i * 4096 + j * 16;
		ids[i] = stack_table_insert(log, pcs, 14, 0, 1);
	}
	for (uint64_t i = 0; i < live; i++) {
		struct log_record record = { BASE + i * STEP, i % 100,
					    stamp(thread) + i * TIME_STEP, thread,
					    ids[i * 7919 % STACKS], LOG_HEAP_UNKNOWN, 0 };

		if (!log_record_insert(log, &record, NULL)) {
			fprintf(stderr, "log_bench: full at %llu blocks\n", (unsigned long long)i);
			exit(EXIT_FAILURE);
		}
	}
	free(ids);
}

/* Free a random block, allocate it anew: what an allocator does that hands out what it got last. */
static void *churn(void *arg)
{
	struct churn *at = arg;
	struct log_record record = { .size = 100, .time = stamp(at->thread), .thread = at->thread,
				    .stack = 1, .heap = LOG_HEAP_UNKNOWN }, out;
	uint64_t x = 88172645463325252ull + at->first;
	double start = now_ns();

	for (uint64_t i = 0; i < at->pairs; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		record.address = BASE + (at->first + (uint64_t)((unsigned __int128)x * at->live >> 64)) * STEP;
		log_record_remove(at->log, record.address, at->thread, &out);
		record.time += TIME_STEP;
		log_record_insert(at->log, &record, NULL);
	}
	at->ns = (now_ns() - start) / (double)at->pairs;
	return NULL;
}

static double best_churn(struct log *log, uint64_t live, unsigned threads, uint64_t pairs)
{
	double best = 1e9;

	for (unsigned run = 0; run < RUNS; run++) {
		struct churn at[2];
		pthread_t id[2];
		double worst = 0;

		for (unsigned i = 0; i < threads; i++) {
			at[i] = (struct churn){ log, registry_thread(log, 100 + i, i),
					       live / threads * i,
						live / threads, pairs, 0 };
			pthread_create(&id[i], NULL, churn, &at[i]);
		}
		for (unsigned i = 0; i < threads; i++) {
			pthread_join(id[i], NULL);
			if (at[i].ns > worst)
				worst = at[i].ns;
		}
		if (worst < best)
			best = worst;
	}
	return best;
}

static double best_stack(struct log *log)
{
	double best = 1e9;

	for (unsigned run = 0; run < RUNS; run++) {
		uint64_t pcs[14], sum = 0;
		double start = now_ns(), ns;

		for (uint64_t j = 0; j < 14; j++)
			pcs[j] = 0x7f0000000000 + j * 16;
		for (unsigned i = 0; i < 1000000; i++) {
			pcs[13] = 0x7f0000000000 + i % 64;
			sum += stack_table_insert(log, pcs, 14, 0, 1);
		}
		ns = (now_ns() - start) / 1e6;
		if (ns < best && sum)
			best = ns;
	}
	return best;
}

static double bytes_a_block(const struct log *log, uint64_t live)
{
	struct log_usage usage = log_usage(log);

	return (double)(usage.table_bytes + usage.stack_bytes + usage.other_bytes) / (double)live;
}

static double resident_a_block(uint64_t live)
{
	struct stat st;

	return fstat(memory, &st) ? 0 : (double)st.st_blocks * 512 / (double)live;
}

static void row(uint64_t live, uint64_t pairs)
{
	double start, filled, one, two;
	struct log log;

	begin(&log);
	start = now_ns();
	fill(&log, live);
	filled = (now_ns() - start) / (double)live;
	one = best_churn(&log, live, 1, pairs);
	two = best_churn(&log, live, 2, pairs);
	printf("%10llu  %6u  %8.0f%%  %7.1f  %9.1f  %9.1f  %9.1f  %9.1f\n",
	       (unsigned long long)live,
	       (unsigned)(log_usage(&log).table_bytes >> 20),
	       100.0 * (double)live / (double)log_usage(&log).table_slots, filled, one, two,
	       bytes_a_block(&log, live), resident_a_block(live));
	end(&log);
}

/*
 * A hot pair: window of HOT blocks, sizes 16 to 512, a random one freed and its address given out
 * again, as the agent calls it; beside the same loop with other things in it.
 */
#define HOT	1024

enum hot { HOT_NOTHING, HOT_MALLOC, HOT_CALLED, HOT_INLINE };

struct hot_block {
	uint64_t address;
	void *memory;
};

static inline __attribute__((always_inline)) double hot_loop(enum hot what, struct log *log,
							     struct hot_block *blocks,
							     uint64_t pairs)
{
	struct log_record record = { .time = stamp(1), .thread = 1, .stack = 1,
				    .heap = LOG_HEAP_UNKNOWN };
	uint64_t x = 88172645463325252ull;
	double start = now_ns();

	for (uint64_t i = 0; i < pairs; i++) {
		struct hot_block *block;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		block = &blocks[x >> 54];
		record.address = block->address;
		record.size = 16 + (x & 0x1ff) % 497;
		record.time += TIME_STEP;
		if (what == HOT_MALLOC) {
			free(block->memory);
			block->memory = malloc(record.size);
		} else if (what == HOT_CALLED) {
			log_record_remove(log, record.address, 1, NULL);
			log_record_insert(log, &record, NULL);
		} else if (what == HOT_INLINE) {
			fast_remove(log, record.address, 1, NULL);
			fast_insert(log, &record, NULL);
		} else {
			__asm__ volatile("" : : "r"(record.address), "r"(record.size));
		}
	}
	return (now_ns() - start) / (double)pairs;
}

static __attribute__((noinline)) double hot_run(enum hot what, struct log *log,
						struct hot_block *blocks, uint64_t pairs)
{
	switch (what) {
	case HOT_MALLOC:
		return hot_loop(HOT_MALLOC, log, blocks, pairs);
	case HOT_CALLED:
		return hot_loop(HOT_CALLED, log, blocks, pairs);
	case HOT_INLINE:
		return hot_loop(HOT_INLINE, log, blocks, pairs);
	case HOT_NOTHING:
		break;
	}
	return hot_loop(HOT_NOTHING, log, blocks, pairs);
}

/* In turns, so that what else runs here meets all of them. */
static void hot(uint64_t pairs)
{
	static const char *const names[] = {
		[HOT_NOTHING] = "nothing", [HOT_MALLOC] = "malloc and free",
		[HOT_CALLED] = "remove and insert, called",
		[HOT_INLINE] = "remove and insert, inline",
	};
	double best[ARRAY_SIZE(names)] = { 1e9, 1e9, 1e9, 1e9 };
	struct hot_block *blocks = calloc(HOT, sizeof(*blocks));
	struct log log;

	begin(&log);
	fill(&log, HOT);
	for (uint64_t i = 0; i < HOT; i++)
		blocks[i].address = BASE + i * STEP;
	for (unsigned run = 0; run < 2 * RUNS; run++) {
		for (unsigned what = 0; what < ARRAY_SIZE(names); what++) {
			double ns = hot_run(what, &log, blocks, pairs);

			best[what] = MIN(best[what], ns);
		}
	}
	printf("\nhot pairs, %u blocks of 16 to 512 bytes\n", HOT);
	for (unsigned what = 0; what < ARRAY_SIZE(names); what++)
		printf("%-28s%6.1f ns, %6.1f without the loop, %.2f of a malloc and free\n",
		       names[what], best[what], best[what] - best[HOT_NOTHING],
		       (best[what] - best[HOT_NOTHING]) /
			       (best[HOT_MALLOC] - best[HOT_NOTHING]));
	for (unsigned i = 0; i < HOT; i++)
		free(blocks[i].memory);
	free(blocks);
	end(&log);
}

/* The reader's side: blocks and sites of a million blocks. */
static void reader(void)
{
	struct site_spec spec = { .by = SITE_STACK, .sort = SITE_SORT_BYTES, .limit = UINT64_MAX };
	struct blocks blocks;
	struct sites sites;
	struct log log;
	double start;

	begin(&log);
	fill(&log, 1000000);
	printf("\nintern a hot 14-frame stack: %.1f ns\n", best_stack(&log));
	log_clock_update(&log);
	start = now_ns();
	check(blocks_from_log(&log, NULL, &blocks));
	printf("blocks_from_log, %zu blocks: %.3f s\n", blocks.vec.nr, (now_ns() - start) / 1e9);
	start = now_ns();
	check(sites_build(&log, &blocks, &spec, log_clock_realtime(&log, log_now()), &sites));
	printf("sites_build, %zu sites: %.3f s\n", sites.vec.nr, (now_ns() - start) / 1e9);
	sites_free(&sites);
	blocks_free(&blocks);
	end(&log);
}

int main(int argc, char **argv)
{
	bool fast = argc > 1 && !strcmp(argv[1], "quick");

	printf("%10s  %6s  %9s  %7s  %9s  %9s  %9s  %9s\n", "live", "MB", "load", "insert",
	       "pair, 1", "pair, 2",
	       "bytes per", "resident");
	printf("%10s  %6s  %9s  %7s  %9s  %9s  %9s  %9s\n", "blocks", "tables", "", "new, ns",
	       "thread, ns",
	       "thr., ns", "block", "per block");
	row(1024, fast ? 200000 : 3000000);
	row(1000000, fast ? 200000 : 2000000);
	if (!fast)
		row(10000000, 2000000);
	hot(fast ? 200000 : 3000000);
	reader();
	return 0;
}
