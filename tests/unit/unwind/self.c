/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * This process as a target. Nothing here allocates after self_map_init() and self_thread_init(): it
 * is called from signal handlers.
 */

#include "self.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unwind.h>

#include "base/vec.h"
#include "elf/elf_file.h"
#include "unwind/rows_compile.h"

struct collect {
	VEC(struct walk_module) modules;
	bool failed;
};

/* The image of the vDSO lies in memory only. */
static struct err *open_module(const struct dl_phdr_info *info, struct elf_file **ret)
{
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (vdso && !strncmp(path, "linux-vdso", 10))
		return elf_file_from_bytes(vdso, 8192, path, ret);
	return elf_file_open(open(path, O_RDONLY | O_CLOEXEC), path, ret);
}

static struct err *add_segment(struct collect *collect, struct elf_file *file, uint64_t bias,
			       const ElfW(Phdr) *phdr)
{
	struct walk_module module = {
		.start = bias + phdr->p_vaddr,
		.end = bias + phdr->p_vaddr + phdr->p_memsz,
	};
	struct err *err = rows_compile(file, phdr->p_vaddr, phdr->p_memsz, &module.rows);

	return err ? err : vec_push(&collect->modules, module);
}

static int add_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct collect *collect = ctx;
	struct elf_file *file;
	struct err *err = open_module(info, &file);

	(void)size;
	if (err) {
		collect->failed = true;
		return 1;
	}
	for (unsigned i = 0; i < info->dlpi_phnum && !err; i++) {
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
			err = add_segment(collect, file, info->dlpi_addr, &info->dlpi_phdr[i]);
	}
	elf_file_close(file);
	collect->failed = err;
	return collect->failed;
}

static int compare_start(const void *a, const void *b)
{
	const struct walk_module *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

bool self_map_init(struct walk_map *map)
{
	struct collect collect = { VEC_INIT, false };

	dl_iterate_phdr(add_module, &collect);
	if (collect.modules.nr)
		qsort(collect.modules.at, collect.modules.nr, sizeof(*collect.modules.at),
		      compare_start);
	*map = (struct walk_map){
		.module = collect.modules.at,
		.nr = (uint32_t)collect.modules.nr,
		.generation = 1,
	};
	return !collect.failed;
}

void self_map_deinit(struct walk_map *map)
{
	for (uint32_t i = 0; i < map->nr; i++)
		rows_free((struct rows *)&map->module[i].rows);
	free((struct walk_module *)map->module);
	map->module = NULL;
}

/* The sanitizers must not see what is read here: a stack has bytes that no variable owns. */
static void copy_raw(void *to, uint64_t from, uint64_t len)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len) : : "memory");
}

struct bounds {
	uint64_t low, high;
};

/* The thread's stack, found once for each thread: asking allocates. */
static _Thread_local struct bounds thread_stack;

void self_thread_init(void)
{
	pthread_attr_t attr;
	size_t size;
	void *low;

	if (thread_stack.high || pthread_getattr_np(pthread_self(), &attr))
		return;
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	thread_stack.low = (uint64_t)(uintptr_t)low;
	thread_stack.high = thread_stack.low + size;
}

static bool more(void *ctx, uint64_t addr, uint64_t *ret)
{
	const uint64_t *above = ctx;

	if (addr < *above || addr < thread_stack.low || addr > thread_stack.high - sizeof(*ret))
		return false;
	copy_raw(ret, addr, sizeof(*ret));
	return true;
}

static char copied[1 << 20];

void self_walk(const struct walk_map *map, const uint64_t *reg, uint32_t max, struct trace *ret)
{
	struct walk_regs regs = { .pc = reg[16], .sp = reg[7], .fp = reg[6], .regs = reg,
		.nr_regs = SELF_REGS };
	uint64_t above = 0;
	/*
	 * In an epilogue the CFI finds registers in the red zone: they have been popped, and the
	 * rule stays.
	 */
	struct walk_stack stack = { .copy = copied, .low = regs.sp - 128, .more = more,
		.ctx = &above };
	stack_t alternate;

	self_thread_init();
	stack.high = thread_stack.high;
	if (regs.sp < thread_stack.low || regs.sp >= thread_stack.high) {
		sigaltstack(NULL, &alternate);
		stack.high = (uint64_t)(uintptr_t)alternate.ss_sp + alternate.ss_size;
	} else {
		stack.more = NULL;
	}
	if (stack.high - stack.low > sizeof(copied))
		stack.high = stack.low + sizeof(copied);
	copy_raw(copied, stack.low, stack.high - stack.low);
	ret->nr = walk(&(struct walk_start){ map, &regs, &stack, NULL, false }, ret->pc, max,
		       &ret->end, NULL);
}

static _Unwind_Reason_Code truth_take(struct _Unwind_Context *context, void *ctx)
{
	struct trace *trace = ctx;

	if (trace->nr == SELF_FRAMES)
		return _URC_END_OF_STACK;
	trace->pc[trace->nr++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

void self_truth(struct trace *ret)
{
	ret->nr = 0;
	_Unwind_Backtrace(truth_take, ret);
	/* Behind the outermost frame comes a 0. */
	if (ret->nr && !ret->pc[ret->nr - 1])
		ret->nr--;
	/* The first is in this function. */
	ret->nr--;
	for (uint32_t i = 0; i < ret->nr; i++)
		ret->pc[i] = ret->pc[i + 1];
}

bool self_equal(const struct trace *got, uint32_t first_got, const struct trace *want,
		uint32_t first_want)
{
	if (got->nr - first_got != want->nr - first_want)
		return false;
	for (uint32_t i = 0; first_got + i < got->nr; i++) {
		if (got->pc[first_got + i] != want->pc[first_want + i])
			return false;
	}
	return true;
}
