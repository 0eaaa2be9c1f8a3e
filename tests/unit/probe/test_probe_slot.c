/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Places of probes whose modules have gone: this program is planned, is said to have gone and come back, and is
 * planned again. Nothing is put in.
 */

#include "probe/probe_slot.h"

#include <sys/mman.h>

#include "agent/state.h"
#include "probe/trap_ledger.h"
#include "probe/probe.h"
#include "self.h"
#include "tracee/target.h"
#include "unit.h"

#define SLOT	0x10000ull	/* of no mapping */

static struct target target;
static struct probes *probes;

static void start_over(void)
{
	probes = self_begin(&target, NULL);
	CU_ASSERT_PTR_NULL_FATAL(plan_probes(probes));
}

/* The newest one of the C library's malloc. */
static struct probe *find(void)
{
	for (size_t i = probes->all.nr; i-- > 0;)
		if (probes->all.at[i]->address == (uint64_t)(uintptr_t)malloc)
			return probes->all.at[i];
	CU_FAIL_FATAL("malloc is not planned");
	return NULL;
}

/* As if it had been put in, and its module had gone since. */
static struct probe *make_left(void)
{
	struct probe *probe = find();

	probe->slot = SLOT;
	probe->filled = true;
	probe->stub_trap = SLOT + 500;
	probe->thunk_at = SLOT + AGENT_SLOT_THUNK;
	probe->agent_index = 7;
	probe->state = PROBE_REFUSED;
	probe->module->replaced = true;
	return probe;
}

static void come_back(void)
{
	CU_ASSERT_PTR_NULL_FATAL(target_refresh(&target, NULL));
	CU_ASSERT_PTR_NULL_FATAL(plan_probes(probes));
}

/* One that is left, where other code lies now. */
static struct probe *leave_to_other_code(void)
{
	struct probe *left;

	start_over();
	left = make_left();
	left->expect[0] ^= 1;
	come_back();
	return left;
}

TEST("inherited by who comes back")
{
	struct probe *left, *heir;
	size_t nr;

	start_over();
	nr = probes->all.nr;
	left = make_left();
	come_back();
	heir = find();
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(heir, left);
	CU_ASSERT_EQUAL(heir->state, PROBE_PLANNED);
	CU_ASSERT_TRUE(heir->slot == SLOT && heir->filled && heir->agent_index == 7);
	CU_ASSERT_TRUE(!left->slot && !left->filled && !left->thunk_at);
	/* The library's other functions have gone, too, and were told of before that. */
	for (size_t i = 0; i < probes->all.nr; i++)
		if (probes->all.at[i]->module->died != UINT32_MAX)
			probes->all.at[i]->state = PROBE_REFUSED;
	/* One was elsewhere: its name must be known. */
	left->address -= 16;
	probe_slot_forget(probes);
	CU_ASSERT_EQUAL(probes->all.nr, nr);
	CU_ASSERT_PTR_EQUAL(find(), heir);
	CU_ASSERT_EQUAL_FATAL(probes->past_entries.nr, 1);
	CU_ASSERT_EQUAL(probes->past_entries.at[0].address, heir->address - 16);
	CU_ASSERT_STRING_EQUAL(probes->past_entries.at[0].name, "malloc");
	self_end(probes);
}

TEST("not by other code")
{
	struct probe *left = leave_to_other_code();

	CU_ASSERT_EQUAL(find()->slot, 0);
	CU_ASSERT_EQUAL(left->slot, SLOT);
	probe_slot_forget(probes);		/* not that which has a place */
	CU_ASSERT_TRUE(probes->all.nr && left->slot == SLOT);
	self_end(probes);
}

TEST("collected when there is no room")
{
	struct probe *left = leave_to_other_code();
	uint64_t entry;

	/* One is not worth it, but where there is no room. */
	probe_slot_collect(probes);
	CU_ASSERT_EQUAL(left->slot, SLOT);
	probes->nr_agent_probes = AGENT_PROBES;
	probe_slot_collect(probes);
	CU_ASSERT_EQUAL(left->slot, 0);
	CU_ASSERT_EQUAL_FATAL(probes->free_slots.nr, 1);
	CU_ASSERT_EQUAL(probes->free_slots.at[0], SLOT);
	CU_ASSERT_EQUAL_FATAL(probes->free_entries.nr, 1);
	entry = probes->free_entries.at[0];
	CU_ASSERT_EQUAL(entry, 7);
	self_end(probes);
}

#define PAGE	4096

/* A page of zeros, and a guard: a stack with nothing on it. */
static uint64_t make_stack(void)
{
	uint8_t *stack = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_TRUE_FATAL(stack != MAP_FAILED && !mprotect(stack + PAGE, PAGE, PROT_NONE));
	memset(stack, 0, PAGE);		/* touched, as stacks are */
	return (uintptr_t)stack;
}

/* A thread that comes from nowhere, in a call of this probe's function. */
static void enter(struct thread *thread, struct thread_ops *ops, const struct probe *probe)
{
	memset(ops, 0, sizeof(*ops));
	ops->call[0].probe = probe;
	ops->nr = 1;
	*thread = (struct thread){
		.target = &target, .tid = gettid(), .state = THREAD_STOPPED, .data = ops,
	};
	regs_set(&thread->regs, target.arch->sp, make_stack());
	CU_ASSERT_PTR_NULL_FATAL(map_put(&target.threads, (uint64_t)thread->tid, thread));
}

static void leave(const struct thread *thread)
{
	uint64_t stack = regs_get(&thread->regs, target.arch->sp);

	CU_ASSERT_EQUAL(munmap((void *)(uintptr_t)stack, 2 * PAGE), 0);
	(void)map_remove(&target.threads, (uint64_t)thread->tid);
	map_free(&target.threads, NULL);
}

TEST("not with a call under way")
{
	struct thread thread;
	struct thread_ops ops;
	struct probe *left = leave_to_other_code();

	enter(&thread, &ops, left);
	probes->nr_agent_probes = AGENT_PROBES;
	probe_slot_collect(probes);
	CU_ASSERT_EQUAL(left->slot, SLOT);
	CU_ASSERT_EQUAL(probes->free_slots.nr, 0);
	ops.nr = 0;
	probe_slot_collect(probes);
	CU_ASSERT_EQUAL(left->slot, 0);
	CU_ASSERT_EQUAL(probes->free_slots.nr, 1);
	leave(&thread);
	self_end(probes);
}

TEST("which goes on as the heir's")
{
	struct thread thread;
	struct thread_ops ops;
	struct probe *left;

	start_over();
	left = make_left();
	enter(&thread, &ops, left);
	come_back();
	CU_ASSERT_PTR_NOT_EQUAL(find(), left);
	CU_ASSERT_PTR_EQUAL(ops.call[0].probe, find());
	leave(&thread);
	self_end(probes);
}

/* As if it were in (the code as it stands is taken for the patch), and its module were said to have gone all the same. */
static struct probe *make_in(void)
{
	struct probe *probe = find();

	probe->slot = SLOT;
	probe->filled = true;
	probe->put_len = 1;
	memcpy(probe->put, (const void *)(uintptr_t)probe->patch, probe->put_len);
	probe->state = PROBE_ACTIVE;
	probe->module->replaced = true;
	return probe;
}

/* Where there is a patch no second one is planned: the probe goes on as its heir's. */
TEST("one that is in goes on as it is")
{
	struct probe *probe;
	size_t nr;

	start_over();
	nr = probes->all.nr;
	probe = make_in();
	come_back();
	CU_ASSERT_PTR_EQUAL(find(), probe);
	CU_ASSERT_EQUAL(probe->state, PROBE_ACTIVE);
	CU_ASSERT_EQUAL(probe->slot, SLOT);
	CU_ASSERT_PTR_EQUAL(probe->module, modules_find(&target.modules, probe->address));
	/* The library's others were not in. */
	probe_slot_forget(probes);
	CU_ASSERT_EQUAL(probes->all.nr, nr);
	self_end(probes);
}

/* Nor where what lies under it would be other code, of which it does not become a probe. */
TEST("but not as other code's")
{
	struct probe *probe;

	start_over();
	probe = make_in();
	probe->expect[0] ^= 1;
	come_back();
	CU_ASSERT_PTR_EQUAL(find(), probe);
	CU_ASSERT_EQUAL(probe->state, PROBE_ACTIVE);
	CU_ASSERT_NOT_EQUAL(probe->module->died, UINT32_MAX);
	self_end(probes);
}
