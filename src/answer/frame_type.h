/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The type that a stack says of its blocks: the template argument of the function that asks for
 * the memory of one type, and for nothing else.
 *
 *	std::__new_allocator<T>::allocate, std::allocator<T>::allocate (libstdc++, libc++)
 *	std::basic_string<CHAR, ...>: its buffer
 *	alloc::boxed::Box<T>::new, alloc::raw_vec::RawVec<T> (Rust; its older mangling does not
 *	tell T)
 *	std::make_unique<T>, alloc::vec::Vec<T>: only where the debug information tells which
 *	functions of T were inlined into it
 *
 * It must be the first function behind those that allocate for everybody: a function further out may
 * have had another one inlined into it, of which a program without debug information knows nothing.
 * The block is a T, or several side by side.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct stack_names;

enum frame_type {
	FRAME_TYPE_NONE,	/* its blocks may be of any type */
	FRAME_TYPE_PASS,	/* it allocates for its caller */
	FRAME_TYPE_FOUND,
};

/*
 * function is a name in full; NULL: it has none. lines: its debug information is there. The type is
 * added to *ret if it is FRAME_TYPE_FOUND. ERR_NOMEM.
 */
struct err *frame_type_of(const char *function, bool lines, struct str *ret,
			  enum frame_type *kind_ret) MUST_CHECK;
/* Add the type of a stack; nothing, if it does not say any. */
struct err *frame_type_of_stack(struct stack_names *names, uint32_t stack,
				struct str *ret) MUST_CHECK;
