/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Macros by which the file of an allocator lists its functions (struct alloc_function). */
#pragma once

#include "base/compiler.h"
#include "probe/allocators.h"

#define FUNCTION(sym, text, what, size_arg, count_arg, ptr_arg) \
	.symbol = sym, .name = text, .role = ALLOC_##what, .size = size_arg, .count = count_arg, \
	.ptr = ptr_arg
#define NEW_COUNT(sym, text, count, size)	{ FUNCTION(sym, text, NEW, size, count, ALLOC_NO_ARG) }
#define NEW(sym, text, size)			NEW_COUNT(sym, text, ALLOC_NO_ARG, size)
#define RESIZE_COUNT(sym, text, ptr, count, size) { FUNCTION(sym, text, RESIZE, size, count, ptr) }
#define RESIZE(sym, text, ptr, size)		RESIZE_COUNT(sym, text, ptr, ALLOC_NO_ARG, size)
#define FREE(sym, text, ptr)	{ FUNCTION(sym, text, FREE, ALLOC_NO_ARG, ALLOC_NO_ARG, ptr) }
#define BY_REF(sym, text, ptr, size)	{ FUNCTION(sym, text, NEW_BY_REF, size, ALLOC_NO_ARG, ptr) }
#define OP_NEW(sym, text, twin, args) \
	{ FUNCTION(sym, text, NEW, 0, ALLOC_NO_ARG, ALLOC_NO_ARG), .cxx = true, .nothrow = twin, \
	  .nr_args = args }
#define OP_NEW_NOTHROW(sym, text)	OP_NEW(sym, text, NULL, 0)
#define OP_DELETE(sym, text) \
	{ FUNCTION(sym, text, FREE, ALLOC_NO_ARG, ALLOC_NO_ARG, 0), .cxx = true }

/* For struct allocator. */
#define FUNCTIONS(table)	.functions = (table), .nr_functions = ARRAY_SIZE(table)
