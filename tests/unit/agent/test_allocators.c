/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Real allocators after the death of mdbg: an int3 in each of their functions, nobody but the
 * handler to answer, threads that allocate. What they get must hold what they put there.
 *
 * Each runs in this program executed anew, since an allocator loaded late may not find room for its
 * thread-local variables (jemalloc) unless the loader was told to leave some.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "arch/arch.h"
#include "image.h"
#include "unit.h"

#define THREADS	4
#define ROUNDS	4000
#define BLOCKS	64
#define SLOT	DISPLACED_MAX
#define AREA	8192
#define ALLOCATOR	"AGENT_TEST_ALLOCATOR"

/* What is called here, and so has to be probed. */
struct functions {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t nr, size_t size);
	void *(*realloc)(void *p, size_t size);
	void *(*memalign)(size_t align, size_t size);
	void *(*aligned_alloc)(size_t align, size_t size);
	int (*posix_memalign)(void **ret, size_t align, size_t size);
	void (*free)(void *p);
};

static const char *const names[] = {
	"malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "free",
};

static union {
	struct functions by_name;
	void *at[ARRAY_SIZE(names)];
} functions;

/* Exit statuses of the child. */
enum { RIGHT, NOT_THERE, NOT_PROBED, WRONG };

static int by_pc(const void *a, const void *b)
{
	const struct agent_trap *x = a, *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

static bool plant(uint8_t *at)
{
	uint8_t *page = (uint8_t *)((uintptr_t)at & ~4095ul);

	if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	*(volatile uint8_t *)at = 0xcc;
	return !mprotect(page, 8192, PROT_READ | PROT_EXEC);
}

/* Displace all, fill the table, then patch: from the first int3 on the handler is needed. */
static bool probe_all(void)
{
	struct agent_trap trap[ARRAY_SIZE(names)];
	uint8_t *area = image_map_near(functions.at[0], AREA);
	uint32_t nr = 0;

	if (!area)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint8_t *code = functions.at[i], *slot = area + i * SLOT;
		struct entry_insn first = { 0, 0 };
		struct displaced displaced;
		uint64_t pc;

		arch_host()->entry_insn(code, 16, 3, &first);
		pc = (uintptr_t)code + first.len;
		if (arch_host()->displace(code, 32, (uintptr_t)code, (uintptr_t)slot, first.len + 1,
					  &displaced))
			return false;
		memcpy(slot, displaced.code, displaced.len);
		for (uint32_t n = 0; n <= nr; n++) {
			if (n == nr)
				trap[nr++] = (struct agent_trap){
					.pc = pc + 1,
					.displaced = (uintptr_t)slot +
						     displaced.insn[first.len ? 1 : 0].to,
				};
			if (trap[n].pc == pc + 1)
				break;		/* memalign and aligned_alloc may be one */
		}
	}
	qsort(trap, nr, sizeof(*trap), by_pc);
	image_replace(trap, nr, (struct agent_range){ (uintptr_t)area, (uintptr_t)area + AREA });
	image_install();
	if (mprotect(area, AREA, PROT_READ | PROT_EXEC))
		return false;
	for (uint32_t i = 0; i < nr; i++)
		if (!plant((uint8_t *)trap[i].pc - 1))
			return false;
	return true;
}

static void *allocate(unsigned how, void *old, size_t size)
{
	const struct functions *f = &functions.by_name;
	void *p;

	if (how < 2)
		return f->realloc(old, size);
	f->free(old);
	switch (how) {
	case 2:
		return f->calloc(size, 1);
	case 3:
		return f->memalign(64, size);
	case 4:
		return f->aligned_alloc(64, (size + 63) & ~(size_t)63);
	case 5:
		return f->posix_memalign(&p, 128, size) ? NULL : p;
	default:
		return f->malloc(size);
	}
}

struct block {
	unsigned char *at;
	size_t size;
	unsigned char fill;
};

static bool is_intact(const struct block *block)
{
	for (size_t i = 0; i < block->size; i++)
		if (block->at[i] != block->fill)
			return false;
	return true;
}

static void *churn(void *arg)
{
	struct block block[BLOCKS] = { { NULL, 0, 0 } };
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct block *b = &block[rand_r(&seed) % BLOCKS];
		unsigned how = rand_r(&seed) % 10;
		size_t size = 1 + rand_r(&seed) % (round % 50 ? 500 : 200000), kept = b->size;

		if (!is_intact(b))
			return "changed by somebody else";
		b->at = allocate(how, b->at, size);
		if (!b->at || (how > 2 && how < 6 && (uintptr_t)b->at % 64))
			return "no block, or not aligned";
		b->size = how < 2 ? MIN(kept, size) : how == 2 ? size : 0;
		if (how == 2)
			b->fill = 0;
		if (!is_intact(b))
			return "realloc or calloc went wrong";
		b->size = size;
		b->fill = (unsigned char)rand_r(&seed);
		memset(b->at, b->fill, size);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		functions.by_name.free(block[i].at);
	return NULL;
}

/* Before main, in the program executed anew. */
__attribute__((constructor)) static void child(void)
{
	const char *path = getenv(ALLOCATOR);
	void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	pthread_t thread[THREADS];

	if (!path)
		return;
	if (!lib)
		_exit(NOT_THERE);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		functions.at[i] = dlsym(lib, names[i]);
		if (!functions.at[i])
			_exit(NOT_THERE);
	}
	if (image_load() || !probe_all())
		_exit(NOT_PROBED);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, churn, (void *)(i + 1)))
			_exit(WRONG);
	for (unsigned i = 0; i < THREADS; i++) {
		void *ret;

		pthread_join(thread[i], &ret);
		if (ret)
			_exit(WRONG);
	}
	_exit(RIGHT);
}

static void run(const char *path)
{
	pid_t pid = fork();
	int status;

	CU_ASSERT_FATAL(pid >= 0);
	if (!pid) {
		setenv(ALLOCATOR, path, 1);
		setenv("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=16384", 1);
		execl("/proc/self/exe", "unit", NULL);
		_exit(NOT_THERE);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_THERE) {
		unit_skip("cannot be loaded");
		return;
	}
	if (status)
		printf("status %#x ", (unsigned)status);
	CU_ASSERT_EQUAL(status, 0);
}

TEST("libc")
{
	run("libc.so.6");
}

TEST("libjemalloc")
{
	run("libjemalloc.so.2");
}

TEST("libtcmalloc_minimal")
{
	run("libtcmalloc_minimal.so.4");
}

TEST("libmimalloc")
{
	run("libmimalloc.so.2");
}
