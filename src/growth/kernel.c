/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads kernel.bpf.c, and reads its tables (theory in kernel.h). */

#include "growth/kernel.h"

#include "base/compiler.h"

#ifdef HAVE_LIBBPF

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/trace.h"
#include "growth/kernel_tables.h"
#include "os/procfs.h"

#define BTF		"/sys/kernel/btf/vmlinux"
#define BUCKETS_MAX	(1u << 18)	/* 2 million allocations, 50 MB */
#define BUCKETS_MIN	(1u << 10)
#define STACKS		(1u << 14)
#define USERS		(1u << 14)
#define CPUS_MAX	1024u

/* gen/kernel.bpf.o, in obj/kernel_bpf.o */
extern const char kernel_bpf[];
extern const uint64_t kernel_bpf_len;

struct kernel_growth {
	struct bpf_object *object;
	struct kernel_bucket *buckets;
	const struct kernel_stack *stacks;
	const struct kernel_user *users;
	const struct kernel_cpu *cpus;
	uint32_t nr_buckets, nr_cpus;
	VEC(struct bpf_link *) links;
};

/* A tracepoint with the arguments that the programs expect (since Linux 6.1). */
static const struct {
	const char *name;
	unsigned args;		/* with the first one, which no program sees */
} expected[] = {
	{ "btf_trace_kmalloc", 7 }, { "btf_trace_kmem_cache_alloc", 6 },
	{ "btf_trace_kfree", 3 }, { "btf_trace_mm_page_alloc", 5 }, { "btf_trace_mm_page_free", 3 },
};

static int keep_message(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[256];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	trace_line("%s", line);
	return 0;
}

static struct err *failed(int errnum, const char *what)
{
	struct err *err;

	errno = errnum;
	err = err_sys("the kernel's allocations: %s", what);
	if (err->code != ERR_PERM)
		return err;
	return err_hint(err, "BPF takes root, or CAP_BPF and CAP_PERFMON "
			"(kernel.unprivileged_bpf_disabled)");
}

/* A typedef of a pointer to a function. */
static unsigned nr_args(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	type = type ? btf__type_by_id(btf, type->type) : NULL;
	type = type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
	return type && btf_is_func_proto(type) ? btf_vlen(type) : 0;
}

static struct err *check_kernel(void)
{
	struct utsname name = { .release = "?" };
	struct btf *btf = btf__load_vmlinux_btf();

	uname(&name);
	if (!btf)
		return err_hint(err_create(ERR_UNSUPPORTED, "the kernel's allocations: " BTF
					   " cannot be read"),
				"the kernel needs CONFIG_DEBUG_INFO_BTF");
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		if (nr_args(btf, expected[i].name) == expected[i].args)
			continue;
		btf__free(btf);
		return err_create(ERR_UNSUPPORTED,
				  "the kernel's allocations: %s of Linux %.64s is not known",
				  expected[i].name + strlen("btf_trace_"), name.release);
	}
	btf__free(btf);
	return NULL;
}

static struct bpf_map *map_of(struct kernel_growth *growth, const char *name)
{
	return bpf_object__find_map_by_name(growth->object, name);
}

static uint32_t power_below(uint64_t nr)
{
	return 1u << (63 - __builtin_clzll(nr));
}

/* The programs' constants are in the order in which they are defined. */
static struct err *set_constants(struct kernel_growth *growth, uint64_t most, bool sample)
{
	uint64_t buckets = MAX(MIN(most / sizeof(struct kernel_bucket), BUCKETS_MAX), BUCKETS_MIN);
	struct bpf_map *constants = NULL, *map;
	uint32_t *masks;
	size_t len = 0;

	growth->nr_buckets = power_below(buckets);
	growth->nr_cpus = MIN((uint32_t)libbpf_num_possible_cpus(), CPUS_MAX);
	if (growth->nr_cpus & (growth->nr_cpus - 1))
		growth->nr_cpus = power_below(growth->nr_cpus) * 2;
	bpf_object__for_each_map(map, growth->object)
		if (strstr(bpf_map__name(map), ".rodata"))
			constants = map;
	/* It is const volatile for the programs, and not loaded yet. */
	masks = constants ? (uint32_t *)bpf_map__initial_value(constants, &len) : NULL;
	if (len < 5 * sizeof(*masks))
		return err_create(ERR_FORMAT, "the kernel's allocations: no constants");
	masks[0] = growth->nr_buckets - 1;
	masks[1] = STACKS - 1;
	masks[2] = growth->nr_cpus - 1;
	masks[3] = sample ? KERNEL_SHIFT_MAX : 0;
	masks[4] = USERS - 1;
	if (bpf_map__set_max_entries(map_of(growth, "buckets"), growth->nr_buckets) ||
	    bpf_map__set_max_entries(map_of(growth, "counts"),
				     growth->nr_buckets / KERNEL_COUNTS) ||
	    bpf_map__set_max_entries(map_of(growth, "stacks"), STACKS) ||
	    bpf_map__set_max_entries(map_of(growth, "users"), USERS) ||
	    bpf_map__set_max_entries(map_of(growth, "cpus"), growth->nr_cpus))
		return failed(EINVAL, "size the tables");
	return NULL;
}

static struct err *map_table(struct kernel_growth *growth, const char *name, size_t len,
			     const void **ret)
{
	int fd = bpf_map__fd(map_of(growth, name));
	void *at = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return failed(errno, "map a table");
	*ret = at;
	return NULL;
}

static struct err *map_tables(struct kernel_growth *growth)
{
	struct err *err = map_table(growth, "buckets",
				    growth->nr_buckets * sizeof(*growth->buckets),
				    (const void **)&growth->buckets);

	if (!err)
		err = map_table(growth, "stacks", STACKS * sizeof(*growth->stacks),
				(const void **)&growth->stacks);
	if (!err)
		err = map_table(growth, "users", USERS * sizeof(*growth->users),
				(const void **)&growth->users);
	return err ? err : map_table(growth, "cpus", growth->nr_cpus * sizeof(*growth->cpus),
				     (const void **)&growth->cpus);
}

/* Frees first, so that nothing is recorded whose free is missed. */
static struct err *attach_all(struct kernel_growth *growth)
{
	struct bpf_program *program;

	for (int allocs = 0; allocs < 2; allocs++) {
		bpf_object__for_each_program(program, growth->object) {
			struct bpf_link *link;

			if (allocs == (strstr(bpf_program__name(program), "free") != NULL))
				continue;
			link = bpf_program__attach(program);
			if (!link)
				return failed(errno, bpf_program__name(program));
			if (vec_push(&growth->links, link)) {
				bpf_link__destroy(link);
				return err_nomem;
			}
		}
	}
	return NULL;
}

static struct err *open_all(struct kernel_growth *growth, uint64_t most, bool sample)
{
	const struct bpf_object_open_opts opts = { .sz = sizeof(opts), .object_name = "mdbg" };
	struct err *err = check_kernel();
	int errnum;

	if (err)
		return err;
	growth->object = bpf_object__open_mem(kernel_bpf, kernel_bpf_len, &opts);
	if (!growth->object)
		return failed(errno, "read the programs");
	err = set_constants(growth, most, sample);
	if (err)
		return err;
	errnum = -bpf_object__load(growth->object);
	if (errnum)
		return failed(errnum, "load the programs");
	err = map_tables(growth);
	return err ? err : attach_all(growth);
}

struct err *kernel_growth_open(uint64_t most, bool sample, struct kernel_growth **ret)
{
	struct kernel_growth *growth = calloc(1, sizeof(*growth));
	struct err *err;

	if (!growth)
		return err_nomem;
	libbpf_set_print(keep_message);
	err = open_all(growth, most, sample);
	if (err)
		kernel_growth_close(growth);
	else
		*ret = growth;
	return err;
}

static void unmap(const void *at, size_t len)
{
	if (at)
		munmap((void *)at, len);
}

void kernel_growth_close(struct kernel_growth *growth)
{
	if (!growth)
		return;
	unmap(growth->buckets, growth->nr_buckets * sizeof(*growth->buckets));
	unmap(growth->stacks, STACKS * sizeof(*growth->stacks));
	unmap(growth->users, USERS * sizeof(*growth->users));
	unmap(growth->cpus, growth->nr_cpus * sizeof(*growth->cpus));
	vec_each_value(link, &growth->links)
		bpf_link__destroy(link);
	vec_free(&growth->links);
	bpf_object__close(growth->object);
	free(growth);
}

/* The programs write meanwhile: a slot is taken if key and time were the same before and after. */
static bool read_slot(const struct kernel_slot *slot, uint64_t now, struct kernel_held *ret)
{
	uint64_t key = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
	uint64_t time = __atomic_load_n(&slot->time, __ATOMIC_ACQUIRE);
	struct kernel_slot copy = { .key = key, .size = slot->size, .stack = slot->stack,
				    .time = time, .user = slot->user };

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!key || !time || __atomic_load_n(&slot->time, __ATOMIC_RELAXED) != time ||
	    __atomic_load_n(&slot->key, __ATOMIC_RELAXED) != key)
		return false;
	*ret = (struct kernel_held){
		.key = key,
		.age = now > copy.time ? now - copy.time : 0,
		.size = copy.size,
		.stack = copy.stack & KERNEL_NO_STACK,
		.user = copy.user,
		.weight = 1u << (copy.stack >> KERNEL_SHIFT_AT & 31),
		.pages = copy.stack & KERNEL_PAGES,
	};
	return true;
}

struct err *kernel_growth_each(struct kernel_growth *growth,
			       struct err *(*fn)(const struct kernel_held *held, void *ctx),
			       void *ctx)
{
	uint64_t now = procfs_clock(CLOCK_MONOTONIC);
	struct kernel_held held;
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < growth->nr_buckets; i++)
		for (unsigned k = 0; !err && k < KERNEL_WAYS; k++)
			if (read_slot(&growth->buckets[i].slot[k], now, &held))
				err = fn(&held, ctx);
	return err;
}

const uint64_t *kernel_growth_stack(struct kernel_growth *growth, uint32_t stack, uint32_t *nr_ret)
{
	*nr_ret = 0;
	if (stack >= STACKS)
		return NULL;
	*nr_ret = MIN(growth->stacks[stack].nr, (uint32_t)KERNEL_DEPTH);
	return (const uint64_t *)growth->stacks[stack].pc;
}

struct kernel_caller kernel_growth_caller(struct kernel_growth *growth, uint32_t user)
{
	struct kernel_caller caller = { .pid = -1 };
	const struct kernel_user *is = &growth->users[MIN(user, USERS - 1)];

	if (user >= USERS || !__atomic_load_n(&is->ready, __ATOMIC_ACQUIRE))
		return caller;
	caller.pid = (pid_t)is->who.pid;
	memcpy(caller.comm, is->who.comm, sizeof(caller.comm));
	caller.pcs = (const uint64_t *)is->who.pc;
	while (caller.nr < KERNEL_USER_DEPTH && caller.pcs[caller.nr])
		caller.nr++;
	return caller;
}

/* What the kernel did not run, since a program ran on the same processor. */
static uint64_t missed(const struct bpf_program *program)
{
	struct bpf_prog_info info = { .type = 0 };
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
		return 0;
	return info.recursion_misses;
}

void kernel_growth_figures(struct kernel_growth *growth, struct kernel_figures *ret)
{
	struct bpf_program *program;

	*ret = (struct kernel_figures){ .full = 0 };
	for (uint32_t i = 0; i < growth->nr_cpus; i++) {
		ret->full += growth->cpus[i].full;
		ret->missed += growth->cpus[i].nested;
	}
	bpf_object__for_each_program(program, growth->object)
		ret->missed += missed(program);
}

bool kernel_growth_built(void)
{
	return true;
}

#else

bool kernel_growth_built(void)
{
	return false;
}

struct err *kernel_growth_open(uint64_t most UNUSED, bool sample UNUSED,
			       struct kernel_growth **ret UNUSED)
{
	return err_hint(err_create(ERR_UNSUPPORTED,
				   "the kernel's allocations: this mdbg was built without libbpf"),
			"build it with libbpf-dev and clang (Debian's names)");
}

void kernel_growth_close(struct kernel_growth *growth UNUSED)
{
}

struct err *kernel_growth_each(struct kernel_growth *growth UNUSED,
			       struct err *(*fn)(const struct kernel_held *held, void *ctx) UNUSED,
			       void *ctx UNUSED)
{
	return NULL;
}

const uint64_t *kernel_growth_stack(struct kernel_growth *growth UNUSED, uint32_t stack UNUSED,
				    uint32_t *nr_ret)
{
	*nr_ret = 0;
	return NULL;
}

struct kernel_caller kernel_growth_caller(struct kernel_growth *growth UNUSED, uint32_t user UNUSED)
{
	return (struct kernel_caller){ .pid = -1 };
}

void kernel_growth_figures(struct kernel_growth *growth UNUSED, struct kernel_figures *ret)
{
	*ret = (struct kernel_figures){ .full = 0 };
}

#endif
