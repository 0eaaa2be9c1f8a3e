/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any memory as the control blocks of a few threads; the first byte says of how many, the next of
 * each where its block and its stack pointer are. What is derived is true of each.
 */

#include "tracee/tcb.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "named.h"
#include "writes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define THREADS		4u
#define FIRST_TID	0x40000001	/* no process has that */
#define TCB_LEN		4096u	/* no offset is beyond */

static const char *const names[] = { "_thread_db_pthread_tid", "__libc_stack_end", NULL };

static void make_threads(struct named *named, struct thread *threads, struct input *input)
{
	unsigned nr = 1 + input_byte(input) % THREADS;

	for (unsigned i = 0; i < nr; i++) {
		struct thread *thread = &threads[i];

		*thread = (struct thread){
			.target = &named->target, .tid = named->target.pid + (pid_t)i,
			.tgid = named->target.pid, .state = THREAD_STOPPED,
		};
		regs_set(&thread->regs, arch_host()->tp, NAMED_BASE + 8ull * input_byte(input));
		regs_set(&thread->regs, arch_host()->sp, NAMED_BASE + 16ull * input_byte(input));
		if (map_put(&named->target.threads, (uint64_t)thread->tid, thread))
			abort();
	}
}

static void check(const struct thread *thread, const struct tcb *tcb)
{
	struct target *target = thread->target;
	uint64_t tp = regs_get(&thread->regs, target->arch->tp), self;
	uint32_t tid;

	if (tcb->self_offset >= TCB_LEN || tcb->tid_offset >= TCB_LEN || tcb->stack_offset >= TCB_LEN)
		abort();
	if (memory_read_u64(target->memory, tp, &self))
		return;		/* it was passed over */
	if (tcb->has_self &&
	    (memory_read_u64(target->memory, tp + tcb->self_offset, &self) || self != tp))
		abort();
	if (tcb->tid_offset &&
	    (memory_read(target->memory, tp + tcb->tid_offset, &tid, sizeof(tid)) ||
	     tid != (uint32_t)thread->tid))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct named named;
	struct thread threads[THREADS];
	struct input input = { bytes, len };
	struct thread *thread;
	struct tcb tcb;

	if (!named.module.elf) {
		named_open(&named, names);
		named.target.pid = FIRST_TID;
	}
	make_threads(&named, threads, &input);
	named_memory(&named, input.at, input.len);
	tcb_derive(&named.target, &tcb);
	for_each_thread(thread, &named.target)
		check(thread, &tcb);
	map_free(&named.target.threads, NULL);
	return 0;
}
