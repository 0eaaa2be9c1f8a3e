/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hammer of deferred stacks; see deferred_hammer.h. */

#include "deferred_hammer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "log/log_deferred.h"
#include "log/log_totals.h"
#include "unwind/walk.h"

#define SIZE		LOG_REGION_MIN
#define WRITERS		8u
#define KINDS		4096u
#define WORDS		64u
#define DEAD		1000u	/* LWP ids from here on are of nobody */
#define PC		0x7f0000000000ull
#define GENERATION	3

struct state {
	const struct deferred_spec *spec;
	struct log log;
	uint64_t counted[KINDS], deferred, refused, running, failures;
};

struct task {
	struct state *state;
	uint32_t number;
	uint64_t random;
	pthread_t thread;
};

static void failed(struct state *state, int line, const char *what)
{
	if (__atomic_fetch_add(&state->failures, 1, __ATOMIC_RELAXED) < 20)
		printf("deferred_hammer.c:%d: %s\n", line, what);
}

#define CHECK(state, condition) \
	do { \
		if (!(condition)) \
			failed(state, __LINE__, #condition); \
	} while (0)

static uint64_t hash_of(uint64_t kind)
{
	return (kind + 1) * 0x9e3779b97f4a7c15ull;
}

static uint64_t word_of(uint64_t kind, unsigned i)
{
	return hash_of(kind) ^ i * 0xd6e8feb86659fd93ull;
}

static uint32_t whole_of(struct state *state, uint64_t kind)
{
	const uint64_t pcs[] = { PC, PC + 16 * kind, PC + 1, PC + 2 };

	return stack_table_insert(&state->log, pcs, 4, WALK_COMPLETE, GENERATION);
}

static uint32_t defer(struct task *task, uint64_t kind)
{
	struct deferred_walk walk = { .pc = PC + 16 * kind, .sp = 0x1000, .nr = 2, .at = 1,
				      .generation = GENERATION, .thread = task->number,
				      .len = WORDS * 8, .end = WALK_NO_MODULE };
	uint64_t pcs[3] = { PC, walk.pc, 77 }, words[WORDS];

	for (unsigned i = 0; i < WORDS; i++)
		words[i] = word_of(kind, i);
	return log_deferred_add(&task->state->log, &walk, hash_of(kind), pcs, words);
}

/* As a thread that is killed just behind its claim. */
static void die(struct task *task)
{
	struct deferred_table *table = task->state->log.deferred;
	uint64_t free = 0, i = task->random % task->state->log.nr_deferred;

	__atomic_compare_exchange_n(&table->head[i].claim, &free,
				    DEFERRED_BUSY | (uint64_t)(WRITERS + 1) << 32, false,
				    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void *write_stacks(void *arg)
{
	struct task *task = arg;
	struct state *state = task->state;

	for (unsigned long i = 0; i < state->spec->operations; i++) {
		uint64_t kind;
		uint32_t id;

		task->random = task->random * 6364136223846793005ull + 1442695040888963407ull;
		kind = (task->random >> 33) % state->spec->kinds;
		if (i % 64 == 0)
			die(task);
		id = defer(task, kind);
		__atomic_fetch_add(id ? &state->deferred : &state->refused, 1, __ATOMIC_RELAXED);
		if (!id)
			continue;
		stack_table_count(&state->log, id, 1, kind);
		__atomic_fetch_add(&state->counted[kind], 1, __ATOMIC_RELAXED);
	}
	__atomic_fetch_sub(&state->running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void check_copy(struct state *state, const struct deferred_copy *copy)
{
	uint64_t kind = (copy->walk.pc - PC) / 16, word;

	CHECK(state, kind < state->spec->kinds && copy->walk.nr == 2 && copy->walk.at == 1);
	CHECK(state, copy->walk.len == WORDS * 8 && copy->pcs[0] == PC);
	for (unsigned i = 0; i < WORDS; i++) {
		memcpy(&word, copy->stack + 8 * i, 8);
		CHECK(state, word == word_of(kind, i));
	}
}

static bool is_gone(uint32_t lwp, void *ctx)
{
	(void)ctx;
	return lwp >= DEAD;
}

static void finish_all(struct state *state)
{
	static struct deferred_seen seen;
	static struct deferred_copy copy;
	uint32_t stack;

	log_deferred_take_look(&state->log, &seen);
	for (uint32_t i = 0; i < state->log.nr_deferred; i++) {
		if (!log_deferred_take(&state->log, &seen, i, &copy, &stack))
			continue;
		check_copy(state, &copy);
		log_deferred_take_finish(&state->log, i, stack,
					 whole_of(state, (copy.walk.pc - PC) / 16));
	}
	log_deferred_take_renew(&state->log, is_gone, NULL);
}

/* Nobody writes any more. */
static void check_all(struct state *state)
{
	CLEANUP(log_totals_free) struct log_totals totals;

	for (uint32_t i = 0; i < state->log.nr_deferred; i++)
		CHECK(state, !state->log.deferred->head[i].claim);
	for (uint32_t id = 1; id <= reader_stacks(&state->log); id++)
		CHECK(state, reader_stack(&state->log, id).end != WALK_DEFERRED);
	CHECK(state, !log_totals_init(&state->log, &totals));
	log_totals_begin(&state->log, &totals);
	log_totals_end(&totals);
	for (uint64_t kind = 0; kind < state->spec->kinds; kind++) {
		uint32_t id = whole_of(state, kind);

		/* One that nobody has deferred is new. */
		if (id < totals.nr)
			CHECK(state, totals.at[id].blocks == state->counted[kind] &&
			      totals.at[id].bytes == state->counted[kind] * kind);
		else
			CHECK(state, !state->counted[kind]);
	}
}

unsigned long deferred_hammer(const struct deferred_spec *spec)
{
	static struct state state;
	struct log_config config = { .region_size = SIZE, .stack_depth = 32 };
	struct task task[WRITERS];
	void *base = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	state = (struct state){ .spec = spec, .running = spec->writers };
	if (base == MAP_FAILED || log_format(base, &config, &state.log) ||
	    log_reserve(&state.log, 0))
		abort();
	for (uint32_t i = 0; i < WRITERS; i++)
		CHECK(&state, registry_thread(&state.log, 0x1000 * (i + 1), i + 1) == i + 1);
	CHECK(&state, registry_thread(&state.log, 1, DEAD) == WRITERS + 1);
	for (uint32_t i = 0; i < spec->writers; i++) {
		task[i] = (struct task){ .state = &state, .number = i + 1, .random = i };
		if (pthread_create(&task[i].thread, NULL, write_stacks, &task[i]))
			abort();
	}
	while (__atomic_load_n(&state.running, __ATOMIC_ACQUIRE))
		finish_all(&state);
	for (uint32_t i = 0; i < spec->writers; i++)
		pthread_join(task[i].thread, NULL);
	finish_all(&state);
	check_all(&state);
	CHECK(&state, state.deferred);
	munmap(base, SIZE);
	return (unsigned long)state.failures;
}
