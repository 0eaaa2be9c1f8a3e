/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hammer; see hammer.h. */

#include "hammer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "log/counting_filter.h"
#include "log/directory.h"
#include "log/ledger.h"

#define BASE		0x7f0000000000ull
#define SPACING		32ull
#define IMMORTALS	1000
#define STACKS		512
#define HELD		64

/*
 * What an allocator would know: addresses that are free, and live blocks that any thread may free.
 * Under one lock, as an allocator's are; it orders one owner's stores before the next one's.
 */
struct pool {
	unsigned long *index;
	unsigned long nr;
};

struct state {
	const struct hammer_spec *spec;
	struct log log;
	uint64_t *time;			/* of the record at each address, by its owner */
	pthread_mutex_t lock;
	struct pool idle, shared;
	uint64_t clock, full, stop, failures;
	uint32_t stack_ids[STACKS];
};

struct writer {
	struct state *state;
	uint32_t thread;
	uint64_t random;
	unsigned long held[HELD];
	unsigned nr_held;
};

#define CHECK(state, condition) \
	do { \
		if (!(condition)) \
			failed(state, __LINE__, #condition); \
	} while (0)

static void failed(struct state *state, int line, const char *what)
{
	if (__atomic_fetch_add(&state->failures, 1, __ATOMIC_RELAXED) < 20)
		printf("hammer.c:%d: %s\n", line, what);
}

static uint64_t spacing(const struct state *state)
{
	return state->spec->halves ? SPACING / 2 : SPACING;
}

static uint64_t address_of(const struct state *state, unsigned long index)
{
	return BASE + index * spacing(state);
}

/*
 * The one record that was ever put in at this address and time. Seven of eight fit in the
 * directory, if that is to be used, and have 9 to 16 bytes if two are to share a granule.
 */
static struct log_record record_of(const struct state *state, uint64_t address, uint64_t time)
{
	uint64_t mixed = (address ^ time * 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;
	bool small = state->spec->directory && mixed >> 61;
	uint64_t size = small ? mixed >> 55 : mixed >> 16;

	return (struct log_record){
		.address = address, .size = small && state->spec->halves ? 9 + size % 8 : size,
		.time = time, .thread = (uint32_t)(mixed >> 20 & 0xf),
		.stack = (uint32_t)mixed % 8192,
		.heap = small ? LOG_HEAP_UNKNOWN : (uint16_t)(mixed >> 40),
	};
}

static bool is_right(const struct state *state, const struct log_record *record)
{
	struct log_record right = record_of(state, record->address, record->time);

	/* The thread is the writer's: accounts go by it. */
	return record->size == right.size && record->stack == right.stack &&
		record->heap == right.heap;
}

static bool pool_take(struct state *state, struct pool *pool, uint64_t random, unsigned long *ret)
{
	bool found = false;

	pthread_mutex_lock(&state->lock);
	if (pool->nr) {
		unsigned long at = random % pool->nr;

		*ret = pool->index[at];
		pool->index[at] = pool->index[--pool->nr];
		found = true;
	}
	pthread_mutex_unlock(&state->lock);
	return found;
}

static void pool_put(struct state *state, struct pool *pool, unsigned long index)
{
	pthread_mutex_lock(&state->lock);
	pool->index[pool->nr++] = index;
	pthread_mutex_unlock(&state->lock);
}

/* The lowest bits are the thread's, as in the target (ledger_time). */
static uint64_t tick(struct state *state, uint32_t thread)
{
	uint64_t now = __atomic_add_fetch(&state->clock, 1, __ATOMIC_RELAXED);

	return state->log.header->origin + now * TIME_STEP + thread % TIME_STEP;
}

static uint64_t next(struct writer *writer)
{
	writer->random ^= writer->random << 13;
	writer->random ^= writer->random >> 7;
	writer->random ^= writer->random << 17;
	return writer->random >> 11;
}

static bool put(struct writer *writer, unsigned long index, struct log_record *replaced)
{
	struct state *state = writer->state;
	uint64_t time = tick(state, writer->thread);
	struct log_record record = record_of(state, address_of(state, index), time);

	record.thread = writer->thread;
	if (!log_record_insert(&state->log, &record, replaced))
		return false;
	state->time[index] = time;
	return true;
}

static void check_record(struct state *state, unsigned long index, const struct log_record *record)
{
	CHECK(state, record->address == address_of(state, index));
	CHECK(state, record->time == state->time[index]);
	CHECK(state, is_right(state, record));
}

static void allocate(struct writer *writer)
{
	struct state *state = writer->state;
	struct log_record old;
	unsigned long index;

	if (!pool_take(state, &state->idle, next(writer), &index))
		return;
	if (!put(writer, index, &old)) {
		__atomic_fetch_add(&state->full, 1, __ATOMIC_RELAXED);
		pool_put(state, &state->idle, index);
		return;
	}
	CHECK(state, old.address == 0);
	if (writer->nr_held < HELD && next(writer) % 2)
		writer->held[writer->nr_held++] = index;
	else
		pool_put(state, &state->shared, index);
}

static void release(struct writer *writer)
{
	struct state *state = writer->state;
	struct log_record record;
	unsigned long index;

	if (writer->nr_held && next(writer) % 2)
		index = writer->held[--writer->nr_held];
	else if (!pool_take(state, &state->shared, next(writer), &index))
		return;
	/* As the agent asks: of a live block it may never be told so. */
	CHECK(state, !state->spec->samples ||
	      !counting_filter_lacks(&state->log, address_of(state, index)));
	if (log_record_remove(&state->log, address_of(state, index), writer->thread, &record))
		check_record(state, index, &record);
	else
		CHECK(state, !"a live block is not there");
	CHECK(state, !log_record_lookup(&state->log, address_of(state, index), &record));
	pool_put(state, &state->idle, index);
}

static void replace(struct writer *writer, unsigned long index)
{
	struct state *state = writer->state;
	uint64_t before = state->time[index];
	struct log_record old;

	CHECK(state, put(writer, index, &old));
	CHECK(state, old.address == address_of(state, index) && old.time == before && is_right(state, &old));
}

static void restore(struct writer *writer, unsigned long index)
{
	struct state *state = writer->state;
	struct log_record record;

	CHECK(state, log_record_remove(&state->log, address_of(state, index), writer->thread,
				       &record));
	check_record(state, index, &record);
	if (log_record_restore(&state->log, &record, writer->thread))
		return;
	/* No room: the block is one that is not recorded; here it counts as freed. */
	__atomic_fetch_add(&state->full, 1, __ATOMIC_RELAXED);
	writer->held[0] = writer->held[--writer->nr_held];
	pool_put(state, &state->idle, index);
}

static void look(struct writer *writer, unsigned long index)
{
	struct state *state = writer->state;
	struct log_record record;

	CHECK(state, log_record_lookup(&state->log, address_of(state, index), &record));
	check_record(state, index, &record);
}

/* All writers intern the same stacks: each must get the id that the others got. */
static void intern(struct writer *writer)
{
	struct state *state = writer->state;
	uint64_t which = next(writer) % STACKS, pcs[8];
	uint32_t depth = 1 + which % 8, id, expect = 0;
	struct log_stack_view view;

	for (uint32_t i = 0; i < depth; i++)
		pcs[i] = which * 1000 + i;
	id = stack_table_insert(&state->log, pcs, depth, 0, 1);
	if (!__atomic_compare_exchange_n(&state->stack_ids[which], &expect, id, false,
					 __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		CHECK(state, id == expect);
	view = reader_stack(&state->log, id);
	CHECK(state, view.nr == depth && !memcmp(view.pcs, pcs, depth * sizeof(*pcs)));
	stack_table_count(&state->log, id, 1, depth);
}

static void *write_loop(void *arg)
{
	struct writer *writer = arg;
	struct state *state = writer->state;

	for (unsigned long i = 0; i < state->spec->operations; i++) {
		uint64_t what = next(writer) % 100;

		if (what < state->spec->allocate)
			allocate(writer);
		else if (what < 82)
			release(writer);
		else if (what < 85)
			intern(writer);
		else if (!writer->nr_held)
			continue;
		else if (what < 90)
			replace(writer, writer->held[0]);
		else if (what < 95)
			restore(writer, writer->held[0]);
		else
			look(writer, writer->held[0]);
	}
	CHECK(state, registry_thread(&state->log, 0x1000 + writer->random, 77) != 0);
	return NULL;
}

struct scan {
	struct state *state;
	unsigned char seen[IMMORTALS];
};

static bool check_one(const struct log_record *record, uint64_t slot, void *ctx)
{
	(void)slot;
	struct scan *scan = ctx;
	uint64_t index = (record->address - BASE) / spacing(scan->state);

	CHECK(scan->state, is_right(scan->state, record));
	if (index < IMMORTALS)
		scan->seen[index]++;
	return false;
}

/*
 * Look again and again at addresses that writers are busy with: sooner or later in the middle of a
 * change.
 */
static void look_closely(struct state *state)
{
	struct log_record record;

	for (unsigned i = 0; i < 100000; i++) {
		uint64_t address = address_of(state, IMMORTALS + i % state->spec->addresses);

		if (log_record_lookup(&state->log, address, &record))
			CHECK(state, record.address == address && is_right(state, &record));
	}
}

static void *read_loop(void *arg)
{
	struct state *state = arg;
	AUTO_FREE struct scan *scan = malloc(sizeof(*scan));

	while (!__atomic_load_n(&state->stop, __ATOMIC_RELAXED)) {
		memset(scan, 0, sizeof(*scan));
		scan->state = state;
		reader_each(&state->log, check_one, scan);
		for (unsigned i = 0; i < IMMORTALS; i++)
			CHECK(state, scan->seen[i] == 1);
		reader_accounts(&state->log);
		if (state->spec->addresses < 64)
			look_closely(state);
	}
	return NULL;
}

static bool count_one(const struct log_record *record, uint64_t slot, void *ctx)
{
	(void)slot;
	(void)record;
	++*(uint64_t *)ctx;
	return false;
}

static bool uncount_one(const struct log_record *record, uint64_t slot, void *ctx)
{
	(void)slot;
	counting_filter_take_back(ctx, record->address);
	return false;
}

/* Each record is counted in the counting filter, and nothing else. */
static void check_counting_filter(struct state *state)
{
	uint64_t counted = 0;

	for (uint64_t i = 0; i < LOG_COUNTING_FILTER; i++)
		counted += state->log.counting_filter[i];
	CHECK(state, counted == (state->spec->samples ? reader_live(&state->log) : 0));
	reader_each(&state->log, uncount_one, &state->log);
	for (uint64_t i = 0; i < LOG_COUNTING_FILTER; i++)
		CHECK(state, !state->log.counting_filter[i]);
}

/* At the end, with nobody at work: the table has what the pools say, and the accounts add up. */
static void check_end(struct state *state, const struct writer *writers)
{
	struct log_accounts accounts = reader_accounts(&state->log);
	uint64_t live = IMMORTALS + state->shared.nr, found = 0;
	struct log_record record;
	uint32_t stacks = 0;

	for (unsigned i = 0; i < state->spec->writers; i++) {
		live += writers[i].nr_held;
		for (unsigned j = 0; j < writers[i].nr_held; j++)
			CHECK(state, log_record_lookup(&state->log, address_of(state,
									       writers[i].held[j]),
						       &record));
	}
	for (unsigned long i = 0; i < state->shared.nr; i++)
		CHECK(state, log_record_lookup(&state->log,
					       address_of(state, state->shared.index[i]), &record));
	for (unsigned long i = 0; i < state->idle.nr; i++)
		CHECK(state, !log_record_lookup(&state->log,
						address_of(state, state->idle.index[i]), &record));
	CHECK(state, !state->spec->directory == !directory_pages(&state->log));
	reader_each(&state->log, count_one, &found);
	CHECK(state, found == live);
	CHECK(state, accounts.allocs - accounts.frees - accounts.replaced == live);
	CHECK(state, accounts.table_full == state->full);
	CHECK(state, !state->spec->fills || state->full);
	CHECK(state, accounts.unknown_frees == 0 && accounts.unsampled_frees == 0);
	check_counting_filter(state);
	for (unsigned i = 0; i < STACKS; i++)
		stacks += state->stack_ids[i] != 0;
	CHECK(state, stacks > 0 && reader_stacks(&state->log) >= stacks);
}

static void begin(struct state *state)
{
	struct log_config config = {
		.region_size = LOG_REGION_MIN,
		.stack_depth = 32,
		.sample = state->spec->samples ? 4096 : 0,
	};
	void *base = mmap(NULL, config.region_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	unsigned long nr = IMMORTALS + state->spec->addresses;

	if (base == MAP_FAILED || log_format(base, &config, &state->log))
		abort();
	if (state->spec->directory)
		log_set_near_size(&state->log, state->spec->halves ? 16 : 0);
	state->time = calloc(nr, sizeof(*state->time));
	state->idle.index = calloc(nr, sizeof(*state->idle.index));
	state->shared.index = calloc(nr, sizeof(*state->shared.index));
	pthread_mutex_init(&state->lock, NULL);
	for (unsigned long i = 0; i < nr; i++) {
		struct log_record record = record_of(state, address_of(state, i), tick(state, 0));

		record.thread = 0;
		if (i >= IMMORTALS)
			state->idle.index[state->idle.nr++] = i;
		else
			CHECK(state, log_record_insert(&state->log, &record, NULL));
	}
}

static void end(struct state *state)
{
	pthread_mutex_destroy(&state->lock);
	free(state->time);
	free(state->idle.index);
	free(state->shared.index);
	munmap(state->log.base, state->log.size);
}

unsigned long hammer(const struct hammer_spec *spec)
{
	struct state state = { .spec = spec };
	pthread_t writing[16], reading[16];
	struct writer writers[16];

	begin(&state);
	for (unsigned i = 0; i < spec->readers; i++)
		pthread_create(&reading[i], NULL, read_loop, &state);
	for (unsigned i = 0; i < spec->writers; i++) {
		writers[i] = (struct writer){ .state = &state,
					     .random = 88172645463325252ull + i * 7919 };
		/* One of them without an entry of its own. */
		writers[i].thread = i ? registry_thread(&state.log, 0x1000 * i, i) : 0;
		pthread_create(&writing[i], NULL, write_loop, &writers[i]);
	}
	for (unsigned i = 0; i < spec->writers; i++)
		pthread_join(writing[i], NULL);
	__atomic_store_n(&state.stop, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < spec->readers; i++)
		pthread_join(reading[i], NULL);
	check_end(&state, writers);
	end(&state);
	return state.failures;
}
