/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the verified walk cache costs on real stacks: ns for a stack id, by one call path and by 256
 * taken at random, by the cache and by a walk each time. The calls themselves are taken off. Times
 * are processor time, the best of several runs. unwind_cache_bench [quick].
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "agent/here.h"
#include "agent/unwind_cache.h"
#include "unwind/self.h"

#define REGION	(256ull << 20)
#define CALLS	20000	/* a run */

HERE(probe, probe_at);
static uint64_t leaf(uint64_t arg);

#include "../targets/paths.h"

enum way { NOTHING, WALK, CACHED };

static enum way way;
static struct walk_map map;
static struct log region;
static struct unwind_cache cache;
static uint64_t stack_high;
static uint32_t depth = 32, frames;

static NOINLINE uint32_t walk_at(const struct cache_walk *from)
{
	static struct walk_cache rows;
	struct walk_map cached = { map.module, map.nr, map.generation, &rows };
	struct walk_regs regs = { from->pc, from->sp, from->bp, NULL, 0 };
	struct walk_stack stack = { (const void *)(uintptr_t)from->sp, from->sp, from->high, NULL,
				    NULL, NULL };
	uint64_t pcs[LOG_DEPTH_MAX];
	enum walk_end end;

	pcs[0] = from->function;
	frames = 1 + walk(&(struct walk_start){ &cached, &regs, &stack, NULL, true }, pcs + 1,
			  depth - 1, &end, NULL);
	return stack_table_insert(&region, pcs, frames, (uint8_t)end, map.generation);
}

static uint32_t cached_stack(const struct cache_walk *from)
{
	uint32_t stack = unwind_cache_stack(&cache, from);

	unwind_cache_add(&cache, &region, stack, 1, 16);
	return stack;
}

uint64_t probe_at(uint64_t arg, uint64_t pc, uint64_t sp, uint64_t bp, uint64_t bx)
{
	struct cache_walk from = {
		.map = &map, .log = &region, .function = 0x1234, .pc = pc, .sp = sp, .bp = bp,
		.bx = bx, .high = stack_high, .depth = depth, .setting = depth,
	};

	if (way == NOTHING)
		return arg + from.pc;
	return way == CACHED ? cached_stack(&from) : walk_at(&from);
}

static uint64_t leaf(uint64_t arg)
{
	uint64_t ret = probe(arg);

	KEEP(ret);
	return ret + 1;
}

/* Of the calling thread's processor time: others use the machine, too. */
static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ns a call with so many different paths. */
static double best(enum way by, unsigned paths, unsigned runs)
{
	double least = 1e9;

	way = by;
	for (unsigned run = 0; run < runs; run++) {
		uint64_t x = 88172645463325252ull, sum = 0;
		double start = now_ns(), ns;

		for (unsigned i = 0; i < CALLS; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			sum += path((unsigned)(x >> 20) % paths, i);
		}
		ns = (now_ns() - start) / CALLS;
		if (ns < least && sum)
			least = ns;
	}
	return least;
}

static void row(unsigned paths, unsigned runs)
{
	double walked, cached, missed, nothing = best(NOTHING, paths, runs);

	walked = best(WALK, paths, runs) - nothing;
	memset(&cache, 0, sizeof(cache));
	cached = best(CACHED, paths, runs) - nothing;
	missed = 100.0 * (double)(cache.misses + cache.uncached) / ((double)runs * CALLS);
	printf("%6u  %6u  %6u  %8.1f  %8.1f  %8.1f  %5.1f  %9.2f%%\n", depth, frames, paths, nothing,
	       walked, cached, walked / cached, missed);
}

int main(int argc, char **argv)
{
	unsigned runs = argc > 1 && !strcmp(argv[1], "quick") ? 30 : 300;
	struct log_config config = { .region_size = REGION, .stack_depth = 32 };
	void *base = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED || log_format(base, &config, &region) || !self_map_init(&map))
		return EXIT_FAILURE;
	stack_high = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 1024;
	printf("%6s  %6s  %6s  %8s  %8s  %8s  %5s  %10s\n", "depth", "frames", "paths", "calls, ns",
	       "walk, ns", "memo, ns", "ratio", "missed");
	row(1, runs);
	row(16, runs);
	row(256, runs);
	depth = 5;
	row(256, runs);
	depth = 1;
	row(256, runs);
	self_map_deinit(&map);
	return 0;
}
