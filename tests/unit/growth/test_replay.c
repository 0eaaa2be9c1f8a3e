/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replays against a kernel that has an entry for each page, with threads that are held anywhere
 * between the entry of a call, its work in the kernel, its return, and the note of it.
 */

#include <sys/mman.h>

#include "growth/growth_replay.h"
#include "unit.h"

#define STEP	0x1000ull
#define PAGES	256u
#define THREADS	5u
#define OWNED	12u
#define STEPS	400000u

static uint64_t random_number(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15ull;

	return unit_random(&state);
}

static uint64_t size_of_segment;

static uint64_t shm_size(void *ctx, uint64_t id, uint64_t address)
{
	(void)ctx;
	(void)id;
	(void)address;
	return size_of_segment;
}

static const struct growth_world world = { .shm_size = shm_size };

/* The process: whose call made each page, 0: nobody's. It begins at page 1. */
static uint32_t kernel[PAGES];
static uint64_t now;
static uint32_t calls;

enum phase { IDLE, ENTERED, DONE, LEFT };

struct range {
	unsigned at, pages;
};

static struct simulated {
	enum phase phase;
	struct growth_event event;
	struct range own[OWNED];
	unsigned chosen, room;
} threads[THREADS];

/* The first free place, as low as there is: places are used again at once. 0: none. */
static unsigned find_place(unsigned pages)
{
	unsigned run = 0;

	for (unsigned i = 1; i < PAGES; i++) {
		run = kernel[i] ? 0 : run + 1;
		if (run == pages)
			return i - pages + 1;
	}
	return 0;
}

static void set(unsigned at, unsigned pages, uint32_t to)
{
	for (unsigned i = at; i < at + pages; i++)
		kernel[i] = to;
}

/* The thread decides what to call; it gives away only what is its own. */
static void enter(struct simulated *thread)
{
	struct range *own;

	thread->chosen = (unsigned)(random_number() % OWNED);
	own = &thread->own[thread->chosen];
	thread->room = 1 + (unsigned)(random_number() % 6);
	thread->event = (struct growth_event){ .entered = ++now, .stack = ++calls };
	if (!own->pages) {
		thread->event.call = GROWTH_CALL_MMAP;
		thread->event.arg[1] = thread->room * STEP - random_number() % STEP;
	} else if (random_number() % 2) {
		thread->event.call = GROWTH_CALL_MUNMAP;
		thread->room = MIN(thread->room, own->pages);
		thread->event.arg[0] = (own->at + own->pages - thread->room) * STEP;
		thread->event.arg[1] = thread->room * STEP;
		own->pages -= thread->room;
	} else {
		thread->event.call = GROWTH_CALL_MREMAP;
		thread->event.arg[0] = own->at * STEP;
		thread->event.arg[1] = own->pages * STEP;
		thread->event.arg[2] = thread->room * STEP;
	}
	thread->phase = ENTERED;
}

static void do_mremap(struct simulated *thread, struct range *own)
{
	unsigned at = own->at, before = own->pages, keep = MIN(before, thread->room);
	uint32_t pages[PAGES];

	memcpy(pages, &kernel[at], before * sizeof(pages[0]));
	set(at, before, 0);
	if (random_number() % 2 || thread->room > before)
		at = find_place(thread->room);
	if (!at) {			/* no room: as it was */
		memcpy(&kernel[own->at], pages, before * sizeof(pages[0]));
		thread->event.result = UINT64_MAX;
		return;
	}
	memcpy(&kernel[at], pages, keep * sizeof(pages[0]));
	if (thread->room > before)
		set(at + before, thread->room - before, thread->event.stack);
	*own = (struct range){ at, thread->room };
	thread->event.result = at * STEP;
}

static void do_call(struct simulated *thread)
{
	struct range *own = &thread->own[thread->chosen];
	unsigned at;

	now++;
	if (thread->event.call == GROWTH_CALL_MUNMAP) {
		set((unsigned)(thread->event.arg[0] / STEP), thread->room, 0);
	} else if (thread->event.call == GROWTH_CALL_MREMAP) {
		do_mremap(thread, own);
	} else {
		at = find_place(thread->room);
		thread->event.result = at ? at * STEP : UINT64_MAX;
		if (at) {
			set(at, thread->room, thread->event.stack);
			*own = (struct range){ at, thread->room };
		}
	}
	thread->phase = DONE;
}

/* One thread makes one step. */
static void one_step(struct growth_replay *replay, struct simulated *thread)
{
	switch (thread->phase) {
	case IDLE:
		enter(thread);
		break;
	case ENTERED:
		do_call(thread);
		break;
	case DONE:
		thread->event.left = ++now;
		thread->phase = LEFT;
		break;
	case LEFT:
		CU_ASSERT_PTR_NULL_FATAL(growth_replay_event(replay, &thread->event, &world));
		thread->phase = IDLE;
	}
}

static void finish_all(struct growth_replay *replay)
{
	for (unsigned i = 0; i < THREADS; i++)
		while (threads[i].phase != IDLE)
			one_step(replay, &threads[i]);
}

static void check_as_kernel(const struct growth_replay *replay)
{
	unsigned at = 1;

	held_each(piece, &replay->held) {
		for (; at < piece->start / STEP; at++)
			CU_ASSERT_EQUAL_FATAL(kernel[at], 0);
		for (; at < piece->end / STEP; at++)
			CU_ASSERT_EQUAL_FATAL(kernel[at], piece->stack);
	}
	for (; at < PAGES; at++)
		CU_ASSERT_EQUAL_FATAL(kernel[at], 0);
	CU_ASSERT_EQUAL(growth_replay_gone(replay), 0);
}

/* The mappings as /proc/PID/maps has them now, in the middle of calls. */
static void compare(struct growth_replay *replay)
{
	struct growth_mapping mapping[PAGES];
	size_t nr = 0;
	uint64_t mapped = 0;

	for (unsigned i = 1; i < PAGES; i++) {
		if (!kernel[i])
			continue;
		mapped += STEP;
		if (nr && mapping[nr - 1].end == i * STEP)
			mapping[nr - 1].end += STEP;
		else
			mapping[nr++] = (struct growth_mapping){ i * STEP, (i + 1) * STEP };
	}
	CU_ASSERT_PTR_NULL(growth_replay_compare(replay, mapping, nr, ++now));
	CU_ASSERT(replay->held.bytes[HELD_BRK] + replay->held.bytes[HELD_MMAP] +
		  replay->held.bytes[HELD_SHM] <= mapped);
}

static void simulate(bool compares)
{
	CLEANUP(growth_replay_free) struct growth_replay replay = { .kinds = 7 };

	memset(kernel, 0, sizeof(kernel));
	memset(threads, 0, sizeof(threads));
	for (unsigned i = 0; i < STEPS; i++) {
		one_step(&replay, &threads[random_number() % THREADS]);
		if (compares && random_number() % 64 == 0)
			compare(&replay);
		if (random_number() % 512)
			continue;
		finish_all(&replay);
		check_as_kernel(&replay);
	}
}

TEST("threads")
{
	simulate(false);
}

/* An answer in the middle of calls loses nothing that a late event says. */
TEST("compared in between")
{
	simulate(true);
}

static struct growth_replay replay_;

static void event(enum growth_call call, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		  uint64_t result)
{
	struct growth_event event = { .call = call, .arg = { a, b, c, d }, .result = result };

	event.entered = ++now;
	event.left = ++now;
	event.stack = ++calls;
	CU_ASSERT_PTR_NULL(growth_replay_event(&replay_, &event, &world));
}

static void begin(void)
{
	replay_ = (struct growth_replay){ .kinds = 7 };
}

TEST("brk")
{
	struct growth_world heap = { .heap_start = 16 * STEP, .shm_size = shm_size };
	struct growth_event event = { .call = GROWTH_CALL_BRK, .entered = 5, .left = 6 };
	static const struct {
		uint64_t to, held;
	} steps[] = {
		{ 0, 0 }, { 20 * STEP, 4 }, { 20 * STEP + 1, 5 }, { 3 * STEP, 5 }, { 18 * STEP, 2 },
		{ UINT64_MAX, 2 }, { 16 * STEP, 0 },
	};

	begin();
	for (unsigned i = 0; i < ARRAY_SIZE(steps); i++) {
		event.arg[0] = steps[i].to;
		event.entered += 10;
		event.left += 10;
		CU_ASSERT_PTR_NULL(growth_replay_event(&replay_, &event, &heap));
		CU_ASSERT_EQUAL(replay_.held.bytes[HELD_BRK], steps[i].held * STEP);
	}
	/* Where events were lost, the heap's end is not known before the first call. */
	growth_replay_forget(&replay_);
	replay_.lost = 1;
	event.arg[0] = 30 * STEP;
	CU_ASSERT_PTR_NULL(growth_replay_event(&replay_, &event, &heap));
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_BRK], 0);
	event.arg[0] = 31 * STEP;
	event.entered = event.left += 10;
	CU_ASSERT_PTR_NULL(growth_replay_event(&replay_, &event, &heap));
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_BRK], STEP);
	growth_replay_free(&replay_);
}

TEST("shm")
{
	begin();
	size_of_segment = 0;
	event(GROWTH_CALL_SHMAT, 7, 0, 0, 0, 8 * STEP);
	CU_ASSERT(replay_.unsized == 1 && replay_.held.nr == 0);
	event(GROWTH_CALL_SHMGET, 1, 3 * STEP - 5, 0, 0, 7);
	event(GROWTH_CALL_SHMAT, 7, 0, 0, 0, 8 * STEP);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_SHM], 3 * STEP);
	size_of_segment = 4 * STEP;
	event(GROWTH_CALL_SHMAT, 7, 0, 0, 0, 64 * STEP);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_SHM], 7 * STEP);
	/* A part of it is covered, and stays when the rest goes. */
	event(GROWTH_CALL_MMAP, 65 * STEP, STEP, 0, MAP_FIXED, 65 * STEP);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_SHM], 6 * STEP);
	event(GROWTH_CALL_SHMDT, 64 * STEP + 1, 0, 0, 0, UINT32_MAX);
	CU_ASSERT(replay_.failed == 1 && replay_.held.bytes[HELD_SHM] == 6 * STEP);
	event(GROWTH_CALL_SHMDT, 64 * STEP, 0, 0, 0, 0);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_SHM], 3 * STEP);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_MMAP], STEP);
	event(GROWTH_CALL_SHMCTL, 7, 0, 0, 0, 0);
	CU_ASSERT_EQUAL(growth_replay_gone(&replay_), 0);
	growth_replay_free(&replay_);
}

TEST("mremap")
{
	begin();
	event(GROWTH_CALL_MMAP, 0, 4 * STEP, 0, 0, 8 * STEP);
	event(GROWTH_CALL_MMAP, 0, 1, 0, MAP_HUGETLB, 0x40000000);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_MMAP], 4 * STEP + (2 << 20));
	event(GROWTH_CALL_MMAP, 0, 1, 0, MAP_HUGETLB | 16u << 26, 0x80000000);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_MMAP], 4 * STEP + (2 << 20) + (64 << 10));
	/* Both are there; and a second mapping of shared pages. */
	event(GROWTH_CALL_MREMAP, 8 * STEP, 4 * STEP, 4 * STEP, 5, 32 * STEP);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_MMAP], 8 * STEP + (2 << 20) + (64 << 10));
	event(GROWTH_CALL_MREMAP, 8 * STEP, 0, 2 * STEP, 1, 48 * STEP);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_MMAP], 10 * STEP + (2 << 20) + (64 << 10));
	event(GROWTH_CALL_MREMAP, 8 * STEP, 4 * STEP, 8 * STEP, 1, UINT64_MAX);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_MMAP], 10 * STEP + (2 << 20) + (64 << 10));
	/* What was not seen being made stays so when it moves; only what is added is new. */
	event(GROWTH_CALL_MREMAP, 100 * STEP, 4 * STEP, 5 * STEP, 1, 120 * STEP);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_MMAP], 11 * STEP + (2 << 20) + (64 << 10));
	growth_replay_free(&replay_);
}

/* Kinds that were not asked for take away, but are not held. */
TEST("kinds")
{
	begin();
	replay_.kinds = 1u << HELD_SHM;
	size_of_segment = 4 * STEP;
	event(GROWTH_CALL_SHMAT, 7, 0, 0, 0, 64 * STEP);
	event(GROWTH_CALL_MMAP, 64 * STEP, STEP, 0, MAP_FIXED, 64 * STEP);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_SHM], 3 * STEP);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_MMAP], 0);
	growth_replay_free(&replay_);
}

/* What a bare system call has taken is counted. */
TEST("gone")
{
	const struct growth_mapping rest[] = { { 0, 9 * STEP }, { 10 * STEP, 12 * STEP } };

	begin();
	event(GROWTH_CALL_MMAP, 0, 4 * STEP, 0, 0, 8 * STEP);
	CU_ASSERT_PTR_NULL(growth_replay_compare(&replay_, rest, 2, ++now));
	CU_ASSERT(growth_replay_gone(&replay_) == STEP && replay_.held.nr == 2);
	/* It was not a call that was under way: this one was entered later. */
	event(GROWTH_CALL_MUNMAP, 8 * STEP, 4 * STEP, 0, 0, 0);
	CU_ASSERT(growth_replay_gone(&replay_) == STEP && replay_.held.nr == 0);
	CU_ASSERT_PTR_NULL(growth_replay_compare(&replay_, rest, 2, ++now));
	CU_ASSERT_EQUAL(growth_replay_gone(&replay_), STEP);
	/* The place of a piece is given out again, and nobody has unmapped it. */
	event(GROWTH_CALL_MMAP, 0, STEP, 0, 0, 8 * STEP);
	event(GROWTH_CALL_MMAP, 0, STEP, 0, 0, 8 * STEP);
	CU_ASSERT_EQUAL(growth_replay_gone(&replay_), 2 * STEP);
	CU_ASSERT_EQUAL(replay_.held.bytes[HELD_MMAP], STEP);
	growth_replay_free(&replay_);
}
