/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's image and all that mdbg would have laid down for it. */

#include "world.h"

#include <pthread.h>
#include <sys/mman.h>

#include "agent/agent.h"
#include "agent_offsets.h"
#include "log/log_deferred.h"
#include "log/log_layout.h"
#include "unit.h"

#define PAGE		4096u
#define LOG_BYTES	(64ull << 20)
#define TCB_BYTES	2048u	/* of a control block, in which to look */
#define FRAME_BYTES	256u
#define PAINT		0xa5

struct world world;

static const struct agent_probe probes[SCRIPT_FUNCTIONS] = {
	[MALLOC] = { NULL, 0x1000, AGENT_NEW, 0, -1, -1, 0, { .resize = 0 }, 0, 0 },
	[CALLOC] = { NULL, 0x2000, AGENT_NEW, 1, 0, -1, 0, { .resize = 0 }, 0, 0 },
	[REALLOC] = { NULL, 0x3000, AGENT_RESIZE, 1, -1, 0, 0, { .resize = 1, .entered = 1 }, 0, 0 },
	[REALLOCARRAY] = { NULL, 0x4000, AGENT_RESIZE, 2, 1, 0, 0, { .resize = 1, .entered = 1 }, 0, 0 },
	[FREE] = { NULL, 0x5000, AGENT_FREE, -1, -1, 0, 0, { .resize = 0 }, 0, 0 },
	[MEMALIGN_BY_REF] = { NULL, 0x6000, AGENT_NEW_BY_REF, 2, -1, 0, 0, { .resize = 0 }, 0, 0 },
	[NEW] = { NULL, 0x7000, AGENT_NEW, 0, -1, -1, 0, { .throwing = 1, .entered = 1 }, 0, 0 },
	[DELETE] = { NULL, 0x8000, AGENT_FREE, -1, -1, 0, 0, { .wraps = 1 }, 0, 0 },
};

static void *map_zero(uint64_t bytes, int flags)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static const volatile char *thread_pointer(void)
{
	return __builtin_thread_pointer();
}

/* Where things stand in the control block of a thread that is not the main one. */
static void *find_fields(void *unused)
{
	const volatile char *tp = thread_pointer();
	pthread_attr_t attr;
	void *low;
	size_t size;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	for (uint32_t at = 8; at < TCB_BYTES; at += 4)
		if (!world.state->tid_offset && *(const volatile int *)(tp + at) == gettid())
			world.state->tid_offset = at;
	for (uint32_t at = 8; at < TCB_BYTES; at += 8) {
		const volatile uint64_t *block = (const volatile uint64_t *)(tp + at);

		/* With a guard or without. */
		if (block[0] && block[0] <= (uintptr_t)low &&
		    block[0] + block[1] == (uintptr_t)low + size)
			world.state->stack_offset = at;
		if (block[0] == (uintptr_t)tp)
			world.state->self_offset = at;
	}
	return unused;
}

static int create_state(void)
{
	struct agent_state *state = map_zero(sizeof(*state), MAP_PRIVATE);
	pthread_t thread;

	world.state = state;
	if (!state || madvise(state, LOG_PAGE, MADV_WIPEONFORK) ||
	    pthread_create(&thread, NULL, find_fields, NULL) || pthread_join(thread, NULL))
		return -1;
	memcpy(state->probe, probes, sizeof(probes));
	for (unsigned i = 0; i < SCRIPT_FUNCTIONS; i++)
		state->probe[i].state = state;
	state->ledger.depth = 32;
	state->ledger.facts.complete = 1;
	state->map = &world.map;
	state->setting = cache_setting(world.map.generation, state->ledger.depth);
	state->threads = world.threads;
	state->threads_shift = 64 - __builtin_ctz(AGENT_THREADS);
	state->enabled = 1;
	return 0;
}

static int create_stack(void)
{
	world.stack = map_zero(3 * PAGE, MAP_PRIVATE);
	if (!world.stack)
		return -1;
	world.stack_end = world.stack + 2 * (size_t)PAGE;
	return mprotect(world.stack_end, PAGE, PROT_NONE);
}

int world_create(void)
{
	world.map.generation = 1;
	world.fast = true;
	world.image = map_zero(agent_image_len, MAP_PRIVATE);
	world.threads = map_zero(AGENT_THREADS * sizeof(struct agent_thread), MAP_PRIVATE);
	if (!world.image || !world.threads || create_stack() || create_state())
		return -1;
	memcpy(world.image, agent_image, agent_image_len);
	return mprotect(world.image, agent_image_len, PROT_READ | PROT_EXEC);
}

static int destroy_log(void)
{
	return world.log.base ? munmap(world.log.base, LOG_BYTES) : 0;
}

int world_destroy(void)
{
	int ret = munmap(world.image, agent_image_len) | munmap(world.stack, 3 * PAGE) |
		  munmap(world.threads, AGENT_THREADS * sizeof(struct agent_thread)) |
		  munmap(world.state, sizeof(*world.state)) | destroy_log();

	memset(&world, 0, sizeof(world));
	return ret;
}

void world_sample(uint64_t mean)
{
	world.log.header->sample = world.state->ledger.sample = mean;
	for (unsigned i = 0; i < SCRIPT_FUNCTIONS; i++)
		world.state->probe[i].fast = world.fast ?
			(uint8_t)agent_probe_fast(world.state, &world.state->probe[i]) : 0;
}

void world_head(bool headed)
{
	world.state->probe[FREE].ledger.headed = world.state->probe[REALLOC].ledger.headed = headed;
}

void world_provenance(uint32_t nr)
{
	CU_ASSERT_FATAL(!log_set_free_history(&world.log, nr));
	world.state->ledger.history = nr;
	world_sample(world.state->ledger.sample);
}

void world_threads(struct agent_thread *threads)
{
	world.state->threads = threads;
	world_sample(world.state->ledger.sample);
}

void world_reset(void)
{
	struct log_config config = { .region_size = LOG_BYTES, .stack_depth = 32 };
	void *base = map_zero(LOG_BYTES, MAP_SHARED);

	CU_ASSERT_PTR_NOT_NULL_FATAL(base);
	destroy_log();
	CU_ASSERT_FATAL(!log_format(base, &config, &world.log));
	world.log.deferred->used = DEFERRED_BUDGET;
	world.state->log = world.log;
	world.state->ledger.log = &world.state->log;
	world.state->ledger.history = 0;
	world_sample(0);
	world.state->main_low = world.state->main_high = 0;
	world.state->nr_areas = 0;
	madvise(world.threads, AGENT_THREADS * sizeof(struct agent_thread), MADV_DONTNEED);
}

void world_bound_stack(void)
{
	world.state->main_low = (uintptr_t)world.stack;
	world.state->main_high = (uintptr_t)world.stack_end;
}

struct agent_frame *world_frame(unsigned depth)
{
	return (struct agent_frame *)(world.stack_end - FRAME_BYTES * (size_t)(depth + 1));
}

uint64_t world_enter(struct agent_frame *frame, enum script_function probe)
{
	return ((__typeof__(agent_enter) *)(world.image + AGENT_ENTER))(
		frame, &world.state->probe[probe]);
}

void world_leave(struct agent_frame *frame, enum script_function probe, uint64_t ax)
{
	frame->ax = ax;
	((__typeof__(agent_leave) *)(world.image + AGENT_LEAVE))(frame,
								 &world.state->probe[probe]);
}

void world_release(uint64_t sp, enum script_function probe, uint64_t block)
{
	const struct agent_probe *at = &world.state->probe[probe];

	uint64_t said = ((__typeof__(agent_release) *)(world.image + AGENT_RELEASE))(block, sp, at);

	if (said)
		((__typeof__(agent_unknown_free) *)(world.image + AGENT_UNKNOWN_FREE))(block, sp,
										       at, 0, 0,
										       said);
}

static void fill(struct agent_frame *frame, uint64_t a, uint64_t b, uint64_t c)
{
	memset(frame, 0xee, sizeof(*frame));
	frame->arg[0] = a;
	frame->arg[1] = b;
	frame->arg[2] = c;
	frame->return_address = WORLD_RA;
}

uint64_t world_begin(unsigned depth, enum script_function probe, uint64_t a, uint64_t b, uint64_t c)
{
	fill(world_frame(depth), a, b, c);
	if (!world.state->probe[probe].ledger.entered)
		return 0;
	return world_enter(world_frame(depth), probe);
}

void world_end(unsigned depth, enum script_function probe, uint64_t ax)
{
	world_leave(world_frame(depth), probe, ax);
}

void world_free(unsigned depth, enum script_function probe, uint64_t block)
{
	struct agent_frame *frame = world_frame(depth);

	frame->return_address = WORLD_RA;
	world_release((uintptr_t)&frame->return_address, probe, block);
}

void world_new(unsigned depth, enum script_function probe, uint64_t size, uint64_t block)
{
	world_begin(depth, probe, probes[probe].count < 0 ? size : 1, size, size);
	world_end(depth, probe, block);
}

uint64_t world_leave_bytes(unsigned depth, enum script_function probe, uint64_t ax)
{
	struct agent_frame *frame = world_frame(depth);
	uint8_t *sp = (uint8_t *)ALIGN_DOWN((uintptr_t)frame, 16), *low = world.stack;

	frame->ax = ax;
	memset(low, PAINT, (size_t)(sp - low));
	__asm__ volatile("movq %%rsp, %%rbx; movq %0, %%rsp; call *%1; movq %%rbx, %%rsp"
			 : : "r" (sp), "r" (world.image + AGENT_LEAVE), "D" (frame),
			     "S" (&world.state->probe[probe])
			 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
	while (*low == PAINT)
		low++;
	return (uint64_t)(sp - low);
}

struct agent_thread *world_thread(void)
{
	for (uint32_t i = 0; i < AGENT_THREADS; i++)
		if (world.threads[i].ledger.key == (uintptr_t)thread_pointer())
			return &world.threads[i];
	return NULL;
}
