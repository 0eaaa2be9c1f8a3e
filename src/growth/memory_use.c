/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tells the kinds of mappings, and adds them up. */

#include "growth/memory_use.h"

#include <string.h>

#include "base/cleanup.h"

#define PAGEMAP_BUDGET	(4ull << 30)	/* takes some 20 ms */

const char *const memory_kind_names[MEMORY_KINDS] = {
	[MEMORY_HEAP] = "heap",
	[MEMORY_MAPPED] = "mapped",
	[MEMORY_ANONYMOUS] = "anonymous",
	[MEMORY_STACKS] = "stacks",
	[MEMORY_MAIN_STACK] = "main-stack",
	[MEMORY_FILES] = "files",
	[MEMORY_SHARED] = "shared",
	[MEMORY_DEVICE] = "device",
	[MEMORY_OWN] = "mdbg",
	[MEMORY_KERNEL] = "kernel",
};

#define UNKNOWN_SUM	{ { [0 ... MEMORY_FIGURES - 1] = MEMORY_UNKNOWN } }

const struct memory_sum memory_sum_unknown = UNKNOWN_SUM;

void memory_use_add(uint64_t *a, uint64_t b)
{
	if (b == MEMORY_UNKNOWN)
		return;
	if (*a == MEMORY_UNKNOWN)
		*a = 0;
	if (__builtin_add_overflow(*a, b, a))
		*a = MEMORY_UNKNOWN - 1;
}

static void add_sum(struct memory_sum *a, const struct memory_sum *b)
{
	for (unsigned i = 0; i < MEMORY_FIGURES; i++)
		memory_use_add(&a->at[i], b->at[i]);
}

static bool begins(const char *path, const char *with)
{
	return !strncmp(path, with, strlen(with));
}

/* What the kernel gives out as shared memory, under these names (mm/shmem.c, ipc/shm.c). */
static bool is_shared_memory(const char *path)
{
	static const char *const names[] = {
		"/dev/zero", "/SYSV", "/dev/shm/", "/run/shm/", "/memfd:", "/anon_hugepage",
		"[anon_shmem:",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (begins(path, names[i]))
			return true;
	return false;
}

static bool is_device_path(const char *path)
{
	return begins(path, "/dev/") || begins(path, "anon_inode:") || begins(path, "socket:") ||
	       begins(path, "[v") || !strcmp(path, "[uprobes]");
}

/* The kind of a mapping that no owner is known of. */
static enum memory_kind kind_of(const struct proc_map *map, const struct smaps_figures *figures)
{
	const char *path = map->path;

	if (!strcmp(path, "[heap]"))
		return MEMORY_HEAP;
	if (!strcmp(path, "[stack]"))
		return MEMORY_MAIN_STACK;
	if (begins(path, "[stack:"))
		return MEMORY_STACKS;
	if (!*path || begins(path, "[anon:"))
		return map->shared ? MEMORY_SHARED : MEMORY_ANONYMOUS;
	if (is_shared_memory(path)) {
		if (map->shared)
			return MEMORY_SHARED;
		/* The kernel has no file behind these two if they are private. */
		return begins(path, "/dev/zero") || begins(path, "/anon_hugepage") ?
		       MEMORY_ANONYMOUS : MEMORY_FILES;
	}
	if ((figures && figures->device) || is_device_path(path))
		return MEMORY_DEVICE;
	return MEMORY_FILES;
}

/* The same; what malloc has may be all that nobody else has. */
static enum memory_kind kind_of_rest(const struct memory_owners *owners, const struct proc_map *map,
				     const struct smaps_figures *figures)
{
	enum memory_kind kind = kind_of(map, figures);

	return kind == MEMORY_ANONYMOUS && owners->rest_is_heap && !*map->path && map->write ?
	       MEMORY_HEAP : kind;
}

static void take_figures(const struct smaps_figures *from, struct memory_sum *sum)
{
	static const uint8_t place[SMAPS_FIGURES] = {
		[SMAPS_RSS] = MEMORY_RSIZE,
		[SMAPS_PSS] = MEMORY_PSS,
		[SMAPS_SHARED_DIRTY] = MEMORY_DIRTY,
		[SMAPS_PRIVATE_DIRTY] = MEMORY_DIRTY,
		[SMAPS_ANONYMOUS] = MEMORY_PRIVATE,
		[SMAPS_SHARED_CLEAN] = MEMORY_OTHERS,
		[SMAPS_LAZY_FREE] = MEMORY_LAZY,
		[SMAPS_SWAP] = MEMORY_SWAP,
		[SMAPS_LOCKED] = MEMORY_LOCKED,
		[SMAPS_HUGE_ANONYMOUS] = MEMORY_HUGE,
		[SMAPS_HUGE_SHARED] = MEMORY_HUGE,
		[SMAPS_HUGE_FILE] = MEMORY_HUGE,
		[SMAPS_HUGETLB_SHARED] = MEMORY_HUGE,
		[SMAPS_HUGETLB_PRIVATE] = MEMORY_HUGE,
	};

	for (unsigned i = 0; from && i < SMAPS_FIGURES; i++)
		memory_use_add(&sum->at[place[i]], from->figure[i]);
	if (from)
		memory_use_add(&sum->at[MEMORY_OTHERS], from->figure[SMAPS_SHARED_DIRTY]);
}

COMPARE_BY(by_start, struct memory_owner, x, x->start)

/* Put the owners in order. Where two overlap, the one that begins later has the rest. */
static void sort_owners(struct memory_owners *owners)
{
	vec_sort(&owners->vec, by_start);
	for (size_t i = 0; i + 1 < owners->vec.nr; i++)
		owners->vec.at[i].end = MIN(owners->vec.at[i].end, owners->vec.at[i + 1].start);
}

/* What a sum is made of. */
struct making {
	struct memory_use use;
	const struct memory_owners *owners;
	struct pagemap *pagemap;
	size_t first;		/* owners before it end before this mapping and all that follow */
	uint64_t budget;	/* bytes of address space that may still be looked at in pagemap */
};

/* The parts of one mapping. */
struct parts {
	uint64_t bytes[MEMORY_KINDS];
	uint64_t touched[MEMORY_KINDS];	/* in memory or swapped out; 0: not looked at */
};

/*
 * Private anonymous memory and [heap] have owners, and mdbg owns what it says. What the kernel says
 * of other mappings is certain.
 */
static bool may_own(const struct memory_owner *owner, const struct proc_map *map,
		    enum memory_kind kind)
{
	return owner->kind == MEMORY_OWN || (!map->shared && (kind == MEMORY_ANONYMOUS ||
							      kind == MEMORY_HEAP));
}

/* Find the parts, and whose the largest is. */
static void find_parts(struct making *making, struct memory_map *is, struct parts *ret)
{
	const struct memory_owners *owners = making->owners;
	const struct proc_map *map = is->map;
	enum memory_kind kind = is->kind;
	uint64_t rest = map->end - map->start, most = 0;

	while (making->first < owners->vec.nr && owners->vec.at[making->first].end <= map->start)
		making->first++;
	for (size_t i = making->first;
	     i < owners->vec.nr && owners->vec.at[i].start < map->end; i++) {
		const struct memory_owner *owner = &owners->vec.at[i];
		uint64_t start = MAX(owner->start, map->start), end = MIN(owner->end, map->end);

		if (start >= end || !may_own(owner, map, kind))
			continue;
		rest -= end - start;
		ret->bytes[owner->kind] += end - start;
		if (end - start > most) {
			most = end - start;
			is->thread = owner->thread;
		}
	}
	ret->bytes[kind] += rest;
	for (enum memory_kind other = 0; other < MEMORY_KINDS; other++)
		if (ret->bytes[other] > ret->bytes[is->kind])
			is->kind = other;
	if (is->kind != MEMORY_STACKS)
		is->thread = 0;
}

static uint64_t touched(struct pagemap *pagemap, uint64_t start, uint64_t end)
{
	uint64_t bytes = 0, from, to;

	for (; start < end && pagemap_next(pagemap, start, end, &from, &to); start = to)
		bytes += to - from;
	return bytes;
}

/* How much of each part of a mapping the process has touched. */
static void find_touched(struct making *making, const struct proc_map *map, enum memory_kind kind,
			 struct parts *parts)
{
	const struct memory_owners *owners = making->owners;
	uint64_t len = map->end - map->start, at = map->start;

	if (!making->pagemap || len > making->budget)
		return;
	making->budget -= len;
	for (size_t i = making->first;
	     i < owners->vec.nr && owners->vec.at[i].start < map->end; i++) {
		const struct memory_owner *owner = &owners->vec.at[i];
		uint64_t start = MAX(owner->start, at), end = MIN(owner->end, map->end);

		if (start >= end || !may_own(owner, map, kind))
			continue;
		parts->touched[kind] += touched(making->pagemap, at, start);
		parts->touched[owner->kind] += touched(making->pagemap, start, end);
		at = end;
	}
	parts->touched[kind] += touched(making->pagemap, at, map->end);
}

static uint64_t sum_of(const uint64_t part[MEMORY_KINDS])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MEMORY_KINDS; i++)
		sum += part[i];
	return sum;
}

/*
 * Divide the figures of a mapping among its parts: the sizes are known, and all else goes with what
 * is touched.
 */
static void add_parts(struct memory_look *look, const struct memory_sum *sum,
		      const struct parts *parts)
{
	uint64_t by_touch = sum_of(parts->touched);
	const uint64_t *weight = by_touch ? parts->touched : parts->bytes;
	uint64_t all = by_touch ? by_touch : sum_of(parts->bytes);
	struct memory_sum rest = *sum;

	for (unsigned kind = 0; kind < MEMORY_KINDS; kind++) {
		struct memory_sum part = memory_sum_unknown;

		if (!parts->bytes[kind])
			continue;
		for (unsigned i = 0; i < MEMORY_FIGURES; i++)
			if (rest.at[i] != MEMORY_UNKNOWN)
				part.at[i] = (uint64_t)((unsigned __int128)rest.at[i] *
							weight[kind] / all);
		part.at[MEMORY_VSIZE] = parts->bytes[kind];
		for (unsigned i = 0; i < MEMORY_FIGURES; i++)
			if (rest.at[i] != MEMORY_UNKNOWN)
				rest.at[i] -= part.at[i];
		all = MAX(all - weight[kind], 1ull);
		add_sum(&look->kind[kind], &part);
	}
}

static struct err *add_map(struct making *making, const struct proc_map *map,
			   const struct smaps_figures *figures)
{
	struct memory_look *look = &making->use.look;
	struct memory_map is = {
		.map = map, .sum = memory_sum_unknown, .kind = kind_of_rest(making->owners, map, figures),
		.counted = strcmp(map->path, "[vsyscall]"),
	};
	struct parts parts = { { 0 }, { 0 } };
	enum memory_kind kind = is.kind;

	is.sum.at[MEMORY_VSIZE] = map->end - map->start;
	take_figures(figures, &is.sum);
	find_parts(making, &is, &parts);
	if (parts.bytes[is.kind] != is.sum.at[MEMORY_VSIZE])
		find_touched(making, map, kind, &parts);
	if (is.counted) {
		add_sum(&look->all, &is.sum);
		add_parts(look, &is.sum, &parts);
	}
	return vec_push(&making->use.vec, is);
}

/* What mdbg has mapped has its own kind, and is no part of the process' sums. */
static void leave_own_out(struct memory_look *look)
{
	for (unsigned i = 0; i < MEMORY_FIGURES; i++)
		if (look->all.at[i] != MEMORY_UNKNOWN && look->kind[MEMORY_OWN].at[i] != MEMORY_UNKNOWN)
			look->all.at[i] -= MIN(look->all.at[i], look->kind[MEMORY_OWN].at[i]);
}

/* A kind without a mapping has nothing of what the kernel offers for others. */
static void fill_kinds(struct memory_look *look)
{
	for (unsigned kind = 0; kind < MEMORY_KERNEL; kind++)
		for (unsigned i = 0; i < MEMORY_FIGURES; i++)
			if (look->kind[kind].at[i] == MEMORY_UNKNOWN &&
			    look->all.at[i] != MEMORY_UNKNOWN)
				look->kind[kind].at[i] = 0;
}

struct err *memory_use_make(struct smaps *smaps, struct memory_owners *owners,
			    struct pagemap *pagemap, struct memory_use *ret)
{
	struct making making = {
		.use = {
			.look = {
				.all = UNKNOWN_SUM,
				.kind = { [0 ... MEMORY_KINDS - 1] = UNKNOWN_SUM },
				.by_kind = true, .divided = owners->whole,
				.held = MEMORY_UNKNOWN,
				.shared_there = MEMORY_UNKNOWN, .descriptors = MEMORY_UNKNOWN,
			},
			.min_faults = MEMORY_UNKNOWN, .maj_faults = MEMORY_UNKNOWN,
			.maps = smaps->maps, .vec = VEC_INIT,
		},
		.owners = owners, .pagemap = pagemap, .budget = PAGEMAP_BUDGET,
	};
	const struct proc_maps *maps = &making.use.maps;
	struct err *err = NULL;

	sort_owners(owners);
	for (size_t i = 0; i < maps->vec.nr && !err; i++)
		err = add_map(&making, &maps->vec.at[i],
			      i < smaps->figures.nr ? &smaps->figures.at[i] : NULL);
	if (err) {
		vec_free(&making.use.vec);
		return err;
	}
	fill_kinds(&making.use.look);
	leave_own_out(&making.use.look);
	smaps->maps = (struct proc_maps){ VEC_INIT };
	*ret = making.use;
	return NULL;
}

void memory_use_set_locked(struct memory_use *use, uint64_t bytes)
{
	if (bytes)
		return;
	use->look.all.at[MEMORY_LOCKED] = 0;
	for (unsigned kind = 0; kind < MEMORY_KERNEL; kind++)
		use->look.kind[kind].at[MEMORY_LOCKED] = 0;
	vec_each(map, &use->vec)
		map->sum.at[MEMORY_LOCKED] = 0;
}

void memory_use_free(struct memory_use *use)
{
	procparse_maps_free(&use->maps);
	vec_free(&use->vec);
}
