/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel allocates and has not freed, summed up in the kernel (theory in kernel.h). This
 * file is compiled for BPF.
 *
 * An address has one owner at a time, so no two programs write to the slot of one allocation. A
 * slot is taken by a compare and swap of the key. What a processor has for itself is written by one
 * program at a time: the kernel lets no program interrupt itself (and counts that, as misses), and
 * one that has interrupted another one that records does not record (`nested`).
 */
#include <stddef.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "growth/kernel_tables.h"

#define OWN_FRAMES	2		/* of stack_of and of the program, which are on the stack */
#define MIX		0x9e3779b97f4a7c15ull
#define IN_ORDER()	asm volatile("" : : : "memory")	/* the compiler moves no access over it */

/* Set before they are loaded: the sizes of the tables, less one; they are powers of two. */
const volatile __u32 bucket_mask, stack_mask, cpu_mask;
/* KERNEL_SHIFT_MAX; 0: all are recorded. */
const volatile __u32 shift_max;
/* As the masks above. */
const volatile __u32 user_mask;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_bucket);
} buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_stack);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_user);
} users SEC(".maps");

struct kmem_cache {
	unsigned int size;
} __attribute__((preserve_access_index));

static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * MIX;
	return hash ^ hash >> 29;
}

/* Clear what is behind the last PC, and hash them all. */
static __always_inline __u64 hash_pcs(__u64 *pc, __u32 most, __u32 nr, __u64 hash)
{
	for (__u32 i = 0; i < most; i++) {
		if (i >= nr)
			pc[i] = 0;
		hash = mix(hash, pc[i]);
	}
	return hash | 1;
}

/* The number of the stack that cpu->pc has. */
static __always_inline __u32 intern(struct kernel_cpu *cpu, __u32 nr)
{
	__u64 hash = hash_pcs(cpu->pc, KERNEL_DEPTH, nr, nr);

	for (__u32 i = 0; i < KERNEL_PROBES; i++) {
		__u32 id = ((__u32)(hash >> 32) + i) & stack_mask;
		struct kernel_stack *stack = bpf_map_lookup_elem(&stacks, &id);

		if (!stack)
			break;
		if (stack->hash == hash)
			return id;
		if (stack->hash || __sync_val_compare_and_swap(&stack->hash, 0, hash))
			continue;
		for (__u32 k = 0; k < KERNEL_DEPTH; k++)
			stack->pc[k] = cpu->pc[k];
		stack->nr = nr;
		return id;
	}
	return KERNEL_NO_STACK;
}

/* The number of the stack that the kernel walks here. */
static __noinline __u32 stack_of(void *ctx, __u32 nr)
{
	struct kernel_cpu *cpu = bpf_map_lookup_elem(&cpus, &nr);
	long bytes;

	if (!cpu)
		return KERNEL_NO_STACK;
	bytes = bpf_get_stack(ctx, cpu->pc, KERNEL_DEPTH * sizeof(__u64), OWN_FRAMES);
	return bytes <= 0 ? KERNEL_NO_STACK : intern(cpu, bytes / 8);
}

/* The number of cpu->who. */
static __always_inline __u32 intern_user(struct kernel_cpu *cpu, __u64 hash)
{
	for (__u32 i = 0; i < KERNEL_PROBES; i++) {
		__u32 id = ((__u32)(hash >> 32) + i) & user_mask;
		struct kernel_user *user = bpf_map_lookup_elem(&users, &id);

		if (!user)
			break;
		if (user->hash == hash)
			return id;
		if (user->hash || __sync_val_compare_and_swap(&user->hash, 0, hash))
			continue;
		user->who = cpu->who;
		IN_ORDER();
		user->ready = 1;
		return id;
	}
	return KERNEL_NO_STACK;
}

/*
 * The number of the process that allocates here, and of the place in its code. The kernel follows
 * frame pointers there. A thread of its own has no such stack, nor a page that is not resident.
 */
static __noinline __u32 user_of(void *ctx, __u32 nr)
{
	struct kernel_cpu *cpu = bpf_map_lookup_elem(&cpus, &nr);
	__u64 hash;
	long bytes;

	if (!cpu)
		return KERNEL_NO_STACK;
	cpu->who.pid = bpf_get_current_pid_tgid() >> 32;
	if (bpf_get_current_comm(cpu->who.comm, sizeof(cpu->who.comm)))
		cpu->who.comm[0] = cpu->who.comm[1] = 0;
	bytes = bpf_get_stack(ctx, cpu->who.pc, sizeof(cpu->who.pc), BPF_F_USER_STACK);
	hash = mix(mix(mix(1, cpu->who.pid), cpu->who.comm[0]), cpu->who.comm[1]);
	hash = hash_pcs(cpu->who.pc, KERNEL_USER_DEPTH, bytes <= 0 ? 0 : (__u32)bytes / 8, hash);
	return intern_user(cpu, hash);
}

/*
 * Count one that is recorded. A window with more than its share of them doubles the sampling at
 * once, and one with less than a quarter halves it.
 */
static __always_inline void pace(struct kernel_cpu *cpu, __u64 now)
{
	if (++cpu->taken > KERNEL_BUDGET) {
		if (cpu->shift < shift_max)
			cpu->shift++;
	} else if (now - cpu->window < KERNEL_WINDOW) {
		return;
	} else if (cpu->taken < KERNEL_BUDGET / 4 && cpu->shift) {
		cpu->shift--;
	}
	cpu->taken = 0;
	cpu->window = now;
}

static __always_inline __u32 bucket_nr(__u64 key)
{
	return (__u32)(key * MIX >> 32) & bucket_mask;
}

static __always_inline struct kernel_slot *find_slot(struct kernel_bucket *bucket, __u64 key)
{
	for (int i = 0; i < KERNEL_WAYS; i++)
		if (bucket->slot[i].key == key)
			return &bucket->slot[i];
	return 0;
}

static __always_inline struct kernel_slot *take_slot(struct kernel_bucket *bucket, __u64 key)
{
	for (int i = 0; i < KERNEL_WAYS; i++)
		if (!bucket->slot[i].key &&
		    !__sync_val_compare_and_swap(&bucket->slot[i].key, 0, key))
			return &bucket->slot[i];
	return 0;
}

/*
 * The word that has 4 bits for the number of slots that are taken in a bucket. Most frees are of
 * what is not recorded. These words stay in a processor's cache, where the buckets have no room.
 * The number is never too small for a free: a slot is counted before its address is given out, and
 * it is uncounted by the free of this address alone. And never too large for 4 bits, since it is
 * uncounted before another one can take it.
 */
static __always_inline __u64 *count_of(__u32 at)
{
	at /= KERNEL_COUNTS;
	return bpf_map_lookup_elem(&counts, &at);
}

static __always_inline __u64 one_in_count(__u32 at)
{
	return 1ull << at % KERNEL_COUNTS * 4;
}

/*
 * The figures of this processor, if it is to record this allocation; 0: it has failed, or is passed
 * over. Most are, so that all else comes after this.
 */
static __always_inline struct kernel_cpu *choose(__u64 key)
{
	__u32 nr = bpf_get_smp_processor_id() & cpu_mask;
	struct kernel_cpu *cpu = bpf_map_lookup_elem(&cpus, &nr);

	/* A failed one; and what kmalloc(0) gives. */
	if (key <= 16 || !cpu ||
	    key * MIX >> (64 - KERNEL_SHIFT_MAX) & ((1 << cpu->shift) - 1))
		return 0;
	return cpu;
}

/* A record at this address whose free was missed is replaced. */
static __always_inline struct kernel_slot *slot_for(struct kernel_bucket *bucket, __u64 key,
						    __u32 at)
{
	struct kernel_slot *slot = find_slot(bucket, key);
	__u64 *count = count_of(at);

	if (slot || !count)
		return slot;
	slot = take_slot(bucket, key);
	if (slot)
		__sync_fetch_and_add(count, one_in_count(at));
	return slot;
}

/*
 * An address is in the sample or not, whoever allocates it, so a free needs to know nothing of it.
 * Both stacks come before the slot, or the verifier follows all of its paths for each slot.
 */
static __always_inline void add(void *ctx, struct kernel_cpu *cpu, __u64 key, __u32 size,
				__u32 pages)
{
	__u32 nr = bpf_get_smp_processor_id() & cpu_mask, at = bucket_nr(key);
	__u32 stack = stack_of(ctx, nr) & KERNEL_NO_STACK;
	__u32 user = user_of(ctx, nr);
	struct kernel_bucket *bucket = bpf_map_lookup_elem(&buckets, &at);
	struct kernel_slot *slot = bucket ? slot_for(bucket, key, at) : 0;
	__u64 now = bpf_ktime_get_ns();

	if (!slot) {
		cpu->full++;
		return;
	}
	slot->time = 0;
	IN_ORDER();
	slot->size = size;
	slot->stack = stack | pages | cpu->shift << KERNEL_SHIFT_AT;
	slot->user = user;
	IN_ORDER();
	slot->time = now;
	pace(cpu, now);
}

static __always_inline int record(void *ctx, struct kernel_cpu *cpu, __u64 key,
				  __u32 size, __u32 pages)
{
	if (cpu->busy) {
		cpu->nested++;
		return 0;
	}
	cpu->busy = 1;
	IN_ORDER();
	add(ctx, cpu, key, size, pages);
	IN_ORDER();
	cpu->busy = 0;
	return 0;
}

static __always_inline int remove(__u64 key)
{
	__u32 at = bucket_nr(key);
	__u64 *count = count_of(at);
	struct kernel_bucket *bucket;
	struct kernel_slot *slot;

	if (!count || !(*count & 15 * one_in_count(at)) || !key)
		return 0;
	bucket = bpf_map_lookup_elem(&buckets, &at);
	slot = bucket ? find_slot(bucket, key) : 0;
	if (!slot)
		return 0;
	__sync_fetch_and_sub(count, one_in_count(at));
	slot->time = 0;
	IN_ORDER();
	slot->key = 0;
	return 0;
}

/* (call_site, ptr, bytes_req, bytes_alloc, ...) */
SEC("raw_tp/kmalloc")
int on_kmalloc(__u64 *ctx)
{
	struct kernel_cpu *cpu = choose(ctx[1]);

	return cpu ? record(ctx, cpu, ctx[1], ctx[3], 0) : 0;
}

/* (call_site, ptr, s, ...) since Linux 6.1 */
SEC("raw_tp/kmem_cache_alloc")
int on_cache_alloc(__u64 *ctx)
{
	struct kmem_cache *cache = (void *)ctx[2];
	struct kernel_cpu *cpu = choose(ctx[1]);

	return cpu ? record(ctx, cpu, ctx[1], BPF_CORE_READ(cache, size), 0) : 0;
}

/* (call_site, ptr, ...) */
SEC("raw_tp/kfree")
int on_kfree(__u64 *ctx)
{
	return remove(ctx[1]);
}

SEC("raw_tp/kmem_cache_free")
int on_cache_free(__u64 *ctx)
{
	return remove(ctx[1]);
}

/* (page, order, ...) */
SEC("raw_tp/mm_page_alloc")
int on_page_alloc(__u64 *ctx)
{
	struct kernel_cpu *cpu = choose(ctx[0]);

	return cpu ? record(ctx, cpu, ctx[0], 4096u << (ctx[1] & 15), KERNEL_PAGES) : 0;
}

SEC("raw_tp/mm_page_free")
int on_page_free(__u64 *ctx)
{
	return remove(ctx[0]);
}

/* The kernel gives its stacks to programs under the GPL only. */
const char gpl[] SEC("license") = "GPL";
