/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LD_PRELOAD library for tests: writes every allocation and release of the first process that runs under it to the
 * file that ORACLE_FILE names, which must not exist yet. A forked child writes nothing.
 *
 * It depends on nothing of mdbg's and does it the plain way: a wrapper around each function, one atomic addition for a
 * place in the file. What an allocator calls of another (operator new calls malloc) comes twice; the outer one comes
 * last when a block is given, and first when it is taken.
 */
#include "oracle.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void *(*function)(uintptr_t a, uintptr_t b, uintptr_t c);

static struct oracle *oracle;
static char *mine;		/* 1; reads 0 in a forked child */

static _Noreturn void fail(const char *what)
{
	static const char who[] = "oracle: ";
	ssize_t n = write(2, who, sizeof(who) - 1);

	n += write(2, what, strlen(what));
	n += write(2, "\n", 1);
	_exit(n > 0 ? 98 : 99);
}

static void open_file(const char *path)
{
	size_t size = sizeof(*oracle) + ORACLE_EVENTS * sizeof(struct oracle_event);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return;		/* somebody else's, who was first */
	mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mine == MAP_FAILED || madvise(mine, 4096, MADV_WIPEONFORK) || ftruncate(fd, (off_t)size))
		fail("no room");
	oracle = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (oracle == MAP_FAILED)
		fail("cannot map the file");
	close(fd);
	oracle->magic = ORACLE_MAGIC;
	*mine = 1;
}

/* The first call comes before there are threads: the dynamic loader's, or a constructor's. */
static void begin(void)
{
	static int begun;
	const char *path;
	int saved = errno;

	if (begun)
		return;
	begun = 1;
	path = getenv("ORACLE_FILE");
	if (path)
		open_file(path);
	errno = saved;
}

static void append(enum oracle_kind kind, uintptr_t address, uint64_t size)
{
	struct oracle_event *event;
	uint64_t n;

	begin();
	if (!mine || !*mine || !address)
		return;
	n = __atomic_fetch_add(&oracle->next, 1, __ATOMIC_RELAXED);
	if (n >= ORACLE_EVENTS)
		return;
	event = &oracle->event[n];
	event->address = address;
	event->size = size;
	event->thread = (uint32_t)syscall(SYS_gettid);
	__atomic_store_n(&event->kind, (uint32_t)kind, __ATOMIC_RELEASE);
}

static function find(function *known, const char *symbol)
{
	function found = __atomic_load_n(known, __ATOMIC_RELAXED);

	if (!found) {
		*(void **)&found = dlsym(RTLD_NEXT, symbol);
		if (!found)
			fail(symbol);
		__atomic_store_n(known, found, __ATOMIC_RELAXED);
	}
	return found;
}

/* Arguments that a function does not have are passed all the same: they are in registers, and nobody looks. */
#define WRAPPER(id, symbol)							\
	void *wrap_##id(uintptr_t a, uintptr_t b, uintptr_t c) __asm__(symbol);	\
	void *wrap_##id(uintptr_t a, uintptr_t b, uintptr_t c)

#define GIVES(id, symbol, bytes)						\
	WRAPPER(id, symbol)							\
	{									\
		static function next;						\
		void *block = find(&next, symbol)(a, b, c);			\
										\
		append(ORACLE_GIVEN, (uintptr_t)block, bytes);			\
		return block;							\
	}

#define TAKES(id, symbol)							\
	WRAPPER(id, symbol)							\
	{									\
		static function next;						\
										\
		append(ORACLE_TAKEN, a, 0);					\
		return find(&next, symbol)(a, b, c);				\
	}

#define RESIZES(id, symbol, bytes)						\
	WRAPPER(id, symbol)							\
	{									\
		static function next;						\
		void *block;							\
										\
		append(ORACLE_TAKEN, a, 0);					\
		block = find(&next, symbol)(a, b, c);				\
		if (block)							\
			append(ORACLE_GIVEN, (uintptr_t)block, bytes);		\
		else if ((bytes) != 0)						\
			append(ORACLE_KEPT, a, 0);				\
		return block;							\
	}

GIVES(malloc, "malloc", a)
GIVES(calloc, "calloc", a * b)
GIVES(memalign, "memalign", b)
GIVES(aligned_alloc, "aligned_alloc", b)
GIVES(valloc, "valloc", a)
GIVES(pvalloc, "pvalloc", a)
TAKES(free, "free")
RESIZES(realloc, "realloc", b)
RESIZES(reallocarray, "reallocarray", b * c)

WRAPPER(posix_memalign, "posix_memalign")
{
	static function next;
	void *status = find(&next, "posix_memalign")(a, b, c);

	if (!(int)(uintptr_t)status)
		append(ORACLE_GIVEN, *(uintptr_t *)a, c);
	return status;
}

/* operator new and delete, in every form of the Itanium C++ ABI */
GIVES(new, "_Znwm", a)
GIVES(new_nothrow, "_ZnwmRKSt9nothrow_t", a)
GIVES(new_aligned, "_ZnwmSt11align_val_t", a)
GIVES(new_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", a)
GIVES(new_array, "_Znam", a)
GIVES(new_array_nothrow, "_ZnamRKSt9nothrow_t", a)
GIVES(new_array_aligned, "_ZnamSt11align_val_t", a)
GIVES(new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", a)
TAKES(delete, "_ZdlPv")
TAKES(delete_sized, "_ZdlPvm")
TAKES(delete_nothrow, "_ZdlPvRKSt9nothrow_t")
TAKES(delete_aligned, "_ZdlPvSt11align_val_t")
TAKES(delete_sized_aligned, "_ZdlPvmSt11align_val_t")
TAKES(delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t")
TAKES(delete_array, "_ZdaPv")
TAKES(delete_array_sized, "_ZdaPvm")
TAKES(delete_array_nothrow, "_ZdaPvRKSt9nothrow_t")
TAKES(delete_array_aligned, "_ZdaPvSt11align_val_t")
TAKES(delete_array_sized_aligned, "_ZdaPvmSt11align_val_t")
TAKES(delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t")
