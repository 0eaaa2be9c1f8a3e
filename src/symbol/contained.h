/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls foreign code on data that somebody else has chosen, so that a crash or an endless loop in
 * it costs the result of this call, and not mdbg, which would take threads of the target with it.
 *
 *	crash		SIGSEGV, SIGFPE and SIGILL jump out of the call, by a handler that has a stack of
 *			its own
 *	no end		a timer of the thread's own processor time jumps out of a call that has taken
 *			CONTAINED_MS milliseconds at least, and twice that at most
 *	stack		on the caller's, or on one of `stack` bytes with a guard of CONTAINED_GUARD
 *
 * A jump out leaves what the code has: so it must hold no lock and be in no call of malloc. The
 * demangler of C++ names has no memory of its own. That of Rust names takes some for identifiers
 * that are not ASCII, and symbol/demangle.c sees to it that such names come to an end.
 *
 * A guard helps only against code that moves its stack pointer by less than the guard has at a
 * time; who calls code that has arrays of any length on its stack bounds them first.
 */
#pragma once

#include <stddef.h>

#define CONTAINED_MS		250
#define CONTAINED_GUARD		((size_t)1 << 20)

enum contained_end {
	CONTAINED_DONE,
	CONTAINED_CRASHED,
	CONTAINED_ENDLESS,
	CONTAINED_NOT_RUN,	/* there is no memory for its stack */
};

/* stack is 0 for the caller's own. It does not nest. */
enum contained_end contained_call(void (*fn)(void *arg), void *arg, size_t stack);
