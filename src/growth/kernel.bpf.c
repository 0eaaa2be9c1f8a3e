/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel allocates and has not freed, summed up in the kernel (theory in kernel.h). This
 * file is compiled for BPF.
 *
 * An address has one owner at a time, so no two programs write to the slot of one allocation. A
 * slot is taken by a compare and swap of the key. What a processor has for itself is written by one
 * program at a time: the kernel lets no program interrupt itself (and counts that, as misses), and
 * one that has interrupted another one that records does not record (`nested`).
 *
 * To walk the kernel's stack takes microseconds. The walk of an allocation is cached by where it
 * begins: the call and the stack pointer. If all words that had the return addresses have them
 * still, it is the same walk, since each frame's size follows from its return address. Interrupts
 * have a stack of their own (half of the allocations of a network's loopback are in them), whose
 * last word is the stack pointer of what was interrupted: its words follow as if they were there.
 */
#include <stddef.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "growth/kernel_tables.h"

#define STACK_BYTES	0x4000ull	/* of a kernel stack on x86_64, which it is aligned to */
#define OWN_FRAMES	2		/* of learn and of the program, which are on the stack */
#define MIX		0x9e3779b97f4a7c15ull
#define IN_ORDER()	asm volatile("" : : : "memory")	/* the compiler moves no access over it */

/* Set before they are loaded: the sizes of the tables, less one; they are powers of two. */
const volatile __u32 bucket_mask, stack_mask, cpu_mask;
/* KERNEL_SHIFT_MAX; 0: all are recorded. */
const volatile __u32 shift_max;

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
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_walk);
} walks SEC(".maps");

struct kmem_cache {
	unsigned int size;
} __attribute__((preserve_access_index));

/* Clear what is behind the last PC, and hash them all. */
static __always_inline __u64 hash_pcs(struct kernel_cpu *cpu, __u32 nr)
{
	__u64 hash = nr;

	for (__u32 i = 0; i < KERNEL_DEPTH; i++) {
		if (i >= nr)
			cpu->pc[i] = 0;
		hash = (hash ^ cpu->pc[i]) * MIX;
		hash ^= hash >> 29;
	}
	return hash | 1;
}

/* The number of the stack that cpu->pc has. */
static __always_inline __u32 intern(struct kernel_cpu *cpu, __u32 nr)
{
	__u64 hash = hash_pcs(cpu, nr);

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
	cpu->stackless++;
	return KERNEL_NO_STACK;
}

struct search {
	struct kernel_cpu *cpu;
	struct kernel_walk *walk;
	__u32 found, nr;
};

/* Is word i of the stack the next return address? */
static long find_word(__u32 i, void *ctx)
{
	struct search *search = ctx;
	__u32 k = search->found;

	if (k >= search->nr)
		return 1;
	/* The verifier is to see these bounds. */
	asm volatile("" : "+r"(i), "+r"(k));
	i &= 2 * KERNEL_WORDS - 1;
	k &= KERNEL_PLACES - 1;
	if (search->cpu->word[i] == search->cpu->pc[k]) {
		search->walk->pc[k] = search->cpu->pc[k];
		search->walk->at[k] = i;
		search->found++;
	}
	return 0;
}

/*
 * Where the kernel's stack is: the frame pointer of a function of its own, which has few variables,
 * is of that stack; that of a larger one may be of memory that the kernel keeps for BPF. All calls
 * come from the same place, so that sp tells the depth.
 */
static __noinline __u64 stack_pointer(__u32 nr)
{
	struct kernel_cpu *cpu = bpf_map_lookup_elem(&cpus, &nr);
	__u64 sp;

	if (!cpu)
		return 0;
	asm volatile("*(u64 *)(%1 + 0) = r10\n%0 = *(u64 *)(%1 + 0)"
		     : "=r"(sp) : "r"(cpu) : "memory");
	return sp;
}

/* Copy so many words of a stack from sp up, but not beyond its end. Returns how many; 0: none. */
static __always_inline __u64 read_part(__u64 *to, __u64 sp, __u64 words)
{
	__u64 rest = (STACK_BYTES - (sp & (STACK_BYTES - 1))) / 8;

	if (words > rest)
		words = rest;
	if (words > KERNEL_WORDS)
		words = KERNEL_WORDS;
	return bpf_probe_read_kernel(to, words * 8, (void *)sp) ? 0 : words;
}

/* The same to cpu->word, and beyond the end of a stack what it has interrupted. */
static __noinline __u32 read_stack(__u32 nr, __u64 sp, __u32 words)
{
	struct kernel_cpu *cpu = bpf_map_lookup_elem(&cpus, &nr);
	__u64 got, next;

	if (!cpu)
		return 0;
	got = read_part(cpu->word, sp, words);
	if (!got || got >= words || (sp + got * 8) & (STACK_BYTES - 1))
		return got;
	next = cpu->word[(got - 1) & (KERNEL_WORDS - 1)];
	/* The end of a task's stack has registers of the user, or nothing. */
	if (next >> 47 != 0x1ffff || next & 7)
		return got;
	return got + read_part(cpu->word + got, next, words - got);
}

/* Walk, and remember the walk as number at. cpu->word has so many words of the stack. */
static __noinline __u32 learn(void *ctx, __u32 nr, __u32 at, __u32 words)
{
	struct kernel_cpu *cpu = bpf_map_lookup_elem(&cpus, &nr);
	struct kernel_walk *walk = bpf_map_lookup_elem(&walks, &at);
	struct search search = { cpu, walk, 0, 0 };
	long bytes;

	if (!cpu || !walk)
		return KERNEL_NO_STACK;
	walk->words = 0;
	cpu->misses++;
	bytes = bpf_get_stack(ctx, cpu->pc, KERNEL_DEPTH * sizeof(__u64), OWN_FRAMES);
	if (bytes <= 0)
		return KERNEL_NO_STACK;
	search.nr = bytes / 8;
	walk->stack = intern(cpu, search.nr);
	bpf_loop(words, find_word, &search, 0);
	if (search.found != search.nr)
		return walk->stack;
	/* The places that it does not need are as its first one. */
	for (__u32 i = 1; i < KERNEL_DEPTH; i++) {
		if (i < search.nr)
			continue;
		walk->pc[i] = walk->pc[0];
		walk->at[i] = walk->at[0];
	}
	walk->words = walk->at[(search.nr - 1) & (KERNEL_PLACES - 1)] + 1;
	return walk->stack;
}

/*
 * Are the return addresses of a cached walk where they were? All places are compared, without a
 * branch, each of which the verifier would follow.
 */
static __always_inline int is_same(const struct kernel_cpu *cpu, const struct kernel_walk *walk)
{
	__u64 differ = 0;

	for (__u32 i = 0; i < KERNEL_DEPTH; i++)
		differ |= cpu->word[walk->at[i] & (2 * KERNEL_WORDS - 1)] ^ walk->pc[i];
	return !differ;
}

static __always_inline int begins_at(const struct kernel_walk *walk, __u64 ip, __u64 sp)
{
	return walk->ip == ip && walk->sp == sp;
}

/* How many words are needed to compare all cached walks that begin so; 0: there is none. */
static __noinline __u32 words_of(__u32 set, __u64 ip, __u64 sp)
{
	__u32 words = 0;

	for (__u32 i = 0; i < KERNEL_ALIKE; i++) {
		__u32 at = set + i;
		struct kernel_walk *walk = bpf_map_lookup_elem(&walks, &at);

		if (walk && begins_at(walk, ip, sp) && words < walk->words)
			words = walk->words;
	}
	return words;
}

static __always_inline __u32 stack_of(void *ctx, struct kernel_cpu *cpu, __u32 nr, __u64 ip)
{
	__u64 sp = stack_pointer(nr), depth = sp & (STACK_BYTES - 1);
	__u32 set = nr * KERNEL_CACHE + ((ip ^ depth << 40) * MIX >> 40) % KERNEL_CACHE;
	__u32 at, words;
	struct kernel_walk *walk;

	set &= ~(KERNEL_ALIKE - 1u);
	words = words_of(set, ip, depth);
	if (words)
		words = read_stack(nr, sp, words);
	for (__u32 i = 0; words && i < KERNEL_ALIKE; i++) {
		at = set + i;
		walk = bpf_map_lookup_elem(&walks, &at);
		if (!walk || !walk->words || walk->words > words || !begins_at(walk, ip, depth) ||
		    !is_same(cpu, walk))
			continue;
		cpu->hits++;
		return walk->stack;
	}
	/* It takes the place of one of them, each in its turn. */
	at = set + cpu->misses % KERNEL_ALIKE;
	walk = bpf_map_lookup_elem(&walks, &at);
	words = read_stack(nr, sp, 2 * KERNEL_WORDS);
	if (!walk || !words)
		return KERNEL_NO_STACK;
	walk->ip = ip;
	walk->sp = depth;
	return learn(ctx, nr, at, words);
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
 * The stack comes before the slot, or the verifier follows all of its paths for each slot.
 */
static __always_inline void add(void *ctx, struct kernel_cpu *cpu, __u64 ip, __u64 key, __u32 size,
				__u32 pages)
{
	__u32 nr = bpf_get_smp_processor_id() & cpu_mask, at = bucket_nr(key);
	__u32 stack = stack_of(ctx, cpu, nr, ip) & KERNEL_NO_STACK;
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
	IN_ORDER();
	slot->time = now;
	pace(cpu, now);
}

static __always_inline int record(void *ctx, struct kernel_cpu *cpu, __u64 ip, __u64 key,
				  __u32 size, __u32 pages)
{
	if (cpu->busy) {
		cpu->nested++;
		return 0;
	}
	cpu->busy = 1;
	IN_ORDER();
	add(ctx, cpu, ip, key, size, pages);
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

	return cpu ? record(ctx, cpu, ctx[0], ctx[1], ctx[3], 0) : 0;
}

/* (call_site, ptr, s, ...) since Linux 6.1 */
SEC("raw_tp/kmem_cache_alloc")
int on_cache_alloc(__u64 *ctx)
{
	struct kmem_cache *cache = (void *)ctx[2];
	struct kernel_cpu *cpu = choose(ctx[1]);

	return cpu ? record(ctx, cpu, ctx[0], ctx[1], BPF_CORE_READ(cache, size), 0) : 0;
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

	return cpu ? record(ctx, cpu, 1, ctx[0], 4096u << (ctx[1] & 15), KERNEL_PAGES) : 0;
}

SEC("raw_tp/mm_page_free")
int on_page_free(__u64 *ctx)
{
	return remove(ctx[0]);
}

/* The kernel gives its stacks to programs under the GPL only. */
const char gpl[] SEC("license") = "GPL";
