/* SPDX-License-Identifier: GPL-3.0-or-later */
/* glibc, and the functions of ISO C and POSIX, which every other allocator may define. */

#include "probe/alloc_functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_file.h"
#include "heap/heap_walk.h"
#include "tracee/module.h"

static const struct alloc_function functions[] = {
	/* ISO C, POSIX, glibc (malloc(3), posix_memalign(3)) */
	NEW("malloc", "malloc", 0),
	FREE("free", "free", 0),
	NEW_COUNT("calloc", "calloc", 0, 1),
	RESIZE("realloc", "realloc", 0, 1),
	RESIZE_COUNT("reallocarray", "reallocarray", 0, 1, 2),
	NEW("memalign", "memalign", 1),
	NEW("aligned_alloc", "aligned_alloc", 1),
	BY_REF("posix_memalign", "posix_memalign", 0, 2),
	NEW("valloc", "valloc", 0),
	NEW("pvalloc", "pvalloc", 0),
	FREE("cfree", "cfree", 0),
	FREE("free_sized", "free_sized", 0),
	FREE("free_aligned_sized", "free_aligned_sized", 0),
};

/*
 * "2.36" from the banner in libc's constants ("GNU C Library (...) stable release version 2.36."),
 * or "".
 */
static void find_version(const struct module *module, char *ret, size_t room)
{
	static const char banner[] = "release version ";
	size_t len;

	*ret = '\0';
	for (size_t i = 0; i < ALLOCATOR_CONSTANTS; i++) {
		AUTO_FREE char *bytes = allocator_constants(module, i, &len);
		char *found = bytes ? memmem(bytes, len, banner, sizeof(banner) - 1) : NULL;

		if (found) {
			found += sizeof(banner) - 1;
			snprintf(ret, room, "%.*s", (int)strspn(found, "0123456789."), found);
			/* the sentence's full stop */
			ret[strlen(ret) ? strlen(ret) - 1 : 0] = '\0';
			return;
		}
	}
}

const struct allocator allocator_glibc = {
	.name		= "glibc",
	.algorithm	= "ptmalloc",
	.files		= { "libc.so", "libc-2." },
	.version	= find_version,
	.frees_own	= true,
	.spaced_from	= 1,		/* MINSIZE is 32 */
	FUNCTIONS(functions),
	.walk		= glibc_walk,
	.pulse		= glibc_pulse,
	.ranges		= glibc_ranges,
	.arena		= "main_arena",
	.headed		= true,
	.trim		= "malloc_trim",
};
