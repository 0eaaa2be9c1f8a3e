/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of allocators' functions. */

#include "probe/allocators.h"

#include <string.h>

#include "base/compiler.h"

#define NEW(sym, text, size_arg) \
	{ .symbol = sym, .name = text, .role = ALLOC_NEW, .size = size_arg, .count = ALLOC_NO_ARG, \
	  .ptr = ALLOC_NO_ARG }
#define NEW_COUNT(sym, text, count_arg, size_arg) \
	{ .symbol = sym, .name = text, .role = ALLOC_NEW, .size = size_arg, .count = count_arg, \
	  .ptr = ALLOC_NO_ARG }
#define RESIZE(sym, text, ptr_arg, size_arg) \
	{ .symbol = sym, .name = text, .role = ALLOC_RESIZE, .size = size_arg, .count = ALLOC_NO_ARG, \
	  .ptr = ptr_arg }
#define RESIZE_COUNT(sym, text, ptr_arg, count_arg, size_arg) \
	{ .symbol = sym, .name = text, .role = ALLOC_RESIZE, .size = size_arg, .count = count_arg, \
	  .ptr = ptr_arg }
#define FREE(sym, text, ptr_arg) \
	{ .symbol = sym, .name = text, .role = ALLOC_FREE, .size = ALLOC_NO_ARG, .count = ALLOC_NO_ARG, \
	  .ptr = ptr_arg }
#define BY_REF(sym, text, ptr_arg, size_arg) \
	{ .symbol = sym, .name = text, .role = ALLOC_NEW_BY_REF, .size = size_arg, \
	  .count = ALLOC_NO_ARG, .ptr = ptr_arg }
#define OP_NEW(sym, text, twin, args) \
	{ .symbol = sym, .name = text, .role = ALLOC_NEW, .size = 0, .count = ALLOC_NO_ARG, \
	  .ptr = ALLOC_NO_ARG, .nothrow = twin, .nr_args = args, .cxx = true }
#define OP_NEW_NOTHROW(sym, text) \
	{ .symbol = sym, .name = text, .role = ALLOC_NEW, .size = 0, .count = ALLOC_NO_ARG, \
	  .ptr = ALLOC_NO_ARG, .cxx = true }
#define OP_DELETE(sym, text) \
	{ .symbol = sym, .name = text, .role = ALLOC_FREE, .size = ALLOC_NO_ARG, .count = ALLOC_NO_ARG, \
	  .ptr = 0, .cxx = true }

static const struct alloc_function table[] = {
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
	/* Itanium C++ ABI: operator new and delete of those who replace them */
	OP_NEW("_Znwm", "operator new(unsigned long)", "_ZnwmRKSt9nothrow_t", 1),
	OP_NEW("_Znam", "operator new[](unsigned long)", "_ZnamRKSt9nothrow_t", 1),
	OP_NEW("_ZnwmSt11align_val_t", "operator new(unsigned long, std::align_val_t)",
	       "_ZnwmSt11align_val_tRKSt9nothrow_t", 2),
	OP_NEW("_ZnamSt11align_val_t", "operator new[](unsigned long, std::align_val_t)",
	       "_ZnamSt11align_val_tRKSt9nothrow_t", 2),
	OP_NEW_NOTHROW("_ZnwmRKSt9nothrow_t", "operator new(unsigned long, std::nothrow_t const&)"),
	OP_NEW_NOTHROW("_ZnamRKSt9nothrow_t",
		       "operator new[](unsigned long, std::nothrow_t const&)"),
	OP_NEW_NOTHROW("_ZnwmSt11align_val_tRKSt9nothrow_t",
		       "operator new(unsigned long, std::align_val_t, std::nothrow_t const&)"),
	OP_NEW_NOTHROW("_ZnamSt11align_val_tRKSt9nothrow_t",
		       "operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)"),
	OP_DELETE("_ZdlPv", "operator delete(void*)"),
	OP_DELETE("_ZdaPv", "operator delete[](void*)"),
	OP_DELETE("_ZdlPvm", "operator delete(void*, unsigned long)"),
	OP_DELETE("_ZdaPvm", "operator delete[](void*, unsigned long)"),
	OP_DELETE("_ZdlPvRKSt9nothrow_t", "operator delete(void*, std::nothrow_t const&)"),
	OP_DELETE("_ZdaPvRKSt9nothrow_t", "operator delete[](void*, std::nothrow_t const&)"),
	OP_DELETE("_ZdlPvSt11align_val_t", "operator delete(void*, std::align_val_t)"),
	OP_DELETE("_ZdaPvSt11align_val_t", "operator delete[](void*, std::align_val_t)"),
	OP_DELETE("_ZdlPvmSt11align_val_t",
		  "operator delete(void*, unsigned long, std::align_val_t)"),
	OP_DELETE("_ZdaPvmSt11align_val_t",
		  "operator delete[](void*, unsigned long, std::align_val_t)"),
	OP_DELETE("_ZdlPvSt11align_val_tRKSt9nothrow_t",
		  "operator delete(void*, std::align_val_t, std::nothrow_t const&)"),
	OP_DELETE("_ZdaPvSt11align_val_tRKSt9nothrow_t",
		  "operator delete[](void*, std::align_val_t, std::nothrow_t const&)"),
	/* jemalloc(3), "Non-standard API" */
	NEW("mallocx", "mallocx", 0),
	RESIZE("rallocx", "rallocx", 0, 1),
	FREE("dallocx", "dallocx", 0),
	FREE("sdallocx", "sdallocx", 0),
	/* mimalloc.h */
	NEW("mi_malloc", "mi_malloc", 0),
	NEW("mi_zalloc", "mi_zalloc", 0),
	NEW("mi_malloc_small", "mi_malloc_small", 0),
	NEW("mi_zalloc_small", "mi_zalloc_small", 0),
	NEW_COUNT("mi_calloc", "mi_calloc", 0, 1),
	NEW_COUNT("mi_mallocn", "mi_mallocn", 0, 1),
	RESIZE("mi_realloc", "mi_realloc", 0, 1),
	RESIZE_COUNT("mi_reallocn", "mi_reallocn", 0, 1, 2),
	RESIZE_COUNT("mi_reallocarray", "mi_reallocarray", 0, 1, 2),
	NEW("mi_malloc_aligned", "mi_malloc_aligned", 0),
	NEW("mi_zalloc_aligned", "mi_zalloc_aligned", 0),
	RESIZE("mi_realloc_aligned", "mi_realloc_aligned", 0, 1),
	NEW("mi_memalign", "mi_memalign", 1),
	NEW("mi_aligned_alloc", "mi_aligned_alloc", 1),
	BY_REF("mi_posix_memalign", "mi_posix_memalign", 0, 2),
	FREE("mi_free", "mi_free", 0),
	FREE("mi_free_size", "mi_free_size", 0),
	FREE("mi_free_aligned", "mi_free_aligned", 0),
	FREE("mi_free_size_aligned", "mi_free_size_aligned", 0),
	/* gperftools/tcmalloc.h */
	NEW("tc_malloc", "tc_malloc", 0),
	FREE("tc_free", "tc_free", 0),
	FREE("tc_free_sized", "tc_free_sized", 0),
	NEW_COUNT("tc_calloc", "tc_calloc", 0, 1),
	RESIZE("tc_realloc", "tc_realloc", 0, 1),
	NEW("tc_memalign", "tc_memalign", 1),
	BY_REF("tc_posix_memalign", "tc_posix_memalign", 0, 2),
	NEW("tc_valloc", "tc_valloc", 0),
	NEW("tc_pvalloc", "tc_pvalloc", 0),
};

const struct alloc_function *alloc_function_find(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].symbol[0] == symbol[0] && !strcmp(table[i].symbol, symbol))
			return &table[i];
	return NULL;
}

size_t alloc_function_rank(const struct alloc_function *fn)
{
	return (size_t)(fn - table);
}

bool alloc_module_is_cxx_library(const char *name)
{
	return !strncmp(name, "libstdc++.", strlen("libstdc++.")) ||
		!strncmp(name, "libc++.", strlen("libc++.")) ||
		!strncmp(name, "libc++abi.", strlen("libc++abi."));
}

bool alloc_module_is_private(const char *name)
{
	return !strncmp(name, "ld-linux", strlen("ld-linux"));
}
