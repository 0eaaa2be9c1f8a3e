/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hammer of the history of frees; see free_history_hammer.h. */

#include "free_history_hammer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "log/log.h"

#define SIZE		LOG_REGION_MIN
#define ADDRESSES	8u	/* few: blocks are told by their times */
#define WRITERS		8u
#define ROUNDS		50u	/* of changes of the length, at least */

struct state {
	const struct free_history_spec *spec;
	struct log log;
	uint64_t last[WRITERS];		/* what each writer has put in last */
	uint64_t running, found, failures;
};

struct task {
	struct state *state;
	unsigned number;
	pthread_t thread;
};

static void failed(struct state *state, int line, const char *what)
{
	if (__atomic_fetch_add(&state->failures, 1, __ATOMIC_RELAXED) < 20)
		printf("freed_hammer.c:%d: %s\n", line, what);
}

#define IDS	1000u

#define CHECK(state, condition) \
	do { \
		if (!(condition)) \
			failed(state, __LINE__, #condition); \
	} while (0)

/* The one free of the block of that time: all else follows from it. */
static struct log_free free_of(uint64_t block_time)
{
	uint64_t mixed = block_time * 0x9e3779b97f4a7c15ull;

	return (struct log_free){
		.address = 0x1000 + mixed % ADDRESSES * 16,
		.block_time = block_time,
		.time = mixed | 1,
		.thread = (mixed >> 7) % IDS,	/* the region has room for as many */
		.stack = (mixed >> 23) % IDS,
	};
}

static bool look_for(struct state *state, uint64_t block_time)
{
	struct log_free want = free_of(block_time), is;

	if (!free_history_first(&state->log, want.address, block_time, &is))
		return false;
	CHECK(state, is.address == want.address && is.block_time == want.block_time);
	CHECK(state, is.time == want.time && is.thread == want.thread && is.stack == want.stack);
	__atomic_fetch_add(&state->found, 1, __ATOMIC_RELAXED);
	return true;
}

static uint64_t block_time(unsigned writer, uint64_t i)
{
	return (uint64_t)(writer + 1) << 40 | i;
}

static void *write_frees(void *arg)
{
	struct task *task = arg;
	struct state *state = task->state;

	for (unsigned long i = 1; i <= state->spec->operations; i++) {
		struct log_free free = free_of(block_time(task->number, i));

		free_history_note(&state->log, &free);
		__atomic_store_n(&state->last[task->number], i, __ATOMIC_RELAXED);
		if (i % 16 == 0)
			look_for(state, free.block_time);
	}
	__atomic_fetch_sub(&state->running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *read_frees(void *arg)
{
	struct task *task = arg;
	struct state *state = task->state;
	uint64_t nr = 0;

	while (__atomic_load_n(&state->running, __ATOMIC_ACQUIRE)) {
		unsigned writer = (unsigned)(nr++ % state->spec->writers);
		uint64_t last = __atomic_load_n(&state->last[writer], __ATOMIC_RELAXED);

		look_for(state, block_time(writer, last - nr % 4));
	}
	return NULL;
}

static void change_length(struct state *state, unsigned round)
{
	unsigned nr = state->spec->history;

	CHECK(state, !log_set_free_history(&state->log, round % 3 == 0 ? nr :
					   round % 3 == 1 ? 2 * nr : nr / 2));
}

static void start(struct state *state, struct task *task, unsigned number,
		  void *(*fn)(void *arg))
{
	*task = (struct task){ .state = state, .number = number };
	if (pthread_create(&task->thread, NULL, fn, task))
		abort();
}

unsigned long free_history_hammer(const struct free_history_spec *spec)
{
	struct state state = { .spec = spec, .running = spec->writers };
	struct log_config config = { .region_size = SIZE, .stack_depth = 32,
				     .free_history = spec->history };
	void *base = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct task writer[WRITERS], reader[WRITERS];

	if (base == MAP_FAILED || spec->writers > WRITERS || spec->readers > WRITERS ||
	    log_format(base, &config, &state.log))
		abort();
	for (unsigned i = 0; i < spec->writers; i++)
		start(&state, &writer[i], i, write_frees);
	for (unsigned i = 0; i < spec->readers; i++)
		start(&state, &reader[i], i, read_frees);
	for (unsigned i = 0; i < ROUNDS || __atomic_load_n(&state.running, __ATOMIC_ACQUIRE); i++)
		change_length(&state, i);
	for (unsigned i = 0; i < spec->writers; i++)
		pthread_join(writer[i].thread, NULL);
	for (unsigned i = 0; i < spec->readers; i++)
		pthread_join(reader[i].thread, NULL);
	/* Slots that two have wanted at a time are one's; what comes alone is there. */
	change_length(&state, 0);
	for (unsigned i = 1; i <= spec->history; i++) {
		struct log_free free = free_of(i);

		free_history_note(&state.log, &free);
		CHECK(&state, look_for(&state, i));
	}
	CHECK(&state, state.found > spec->history);
	munmap(base, SIZE);
	return state.failures;
}
