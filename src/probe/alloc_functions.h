/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a file of an allocator writes down its functions (struct alloc_function). */
#ifndef PROBE_ALLOC_FUNCTIONS_H
#define PROBE_ALLOC_FUNCTIONS_H

#include "base/compiler.h"
#include "probe/allocators.h"

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

/* For struct allocator. */
#define FUNCTIONS(table)	.functions = (table), .nr_functions = ARRAY_SIZE(table)

#endif
