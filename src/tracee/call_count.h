/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls that are under way, and will return into code of ours.
 *
 * Code may be unmapped only if nobody will return into it. Where a thread runs, and to where it
 * returns, its registers and its stack say (tracee/backtrace.h). But a coroutine that is suspended
 * in a call is on no thread's stack, and its own stack may lie anywhere. So for each function in
 * which one can be suspended, thunk and stub count the calls that have begun and not ended
 * (arch/arch.h). Such functions are those that the user has named, those of a program that only
 * have an allocator's names, and those that throw, which may call a new_handler. The allocators
 * that mdbg knows call nobody back, and are not counted, since it would take some 10 ns a pair.
 *
 * Where the count is. It is private memory of the process, one page behind each area with code that
 * counts (JOURNAL_DATA); `aux` of the area's entry in the journal is its address. So it is there
 * for every later mdbg, however the one that made it has ended, and a forked child, which has
 * copies of all coroutines, has a copy of the count, too.
 *
 *	0			nobody is in a call, or all threads that are will be seen on their stacks
 *	not 0			somebody may come back: areas, count and the agent's state stay, and so
 *				does the journal, which tells the next mdbg of them. It unmaps them if
 *				the count is 0 by then
 *	never 0 again		a call was left by longjmp, or with its thread; a child was forked in the
 *				middle of one by another thread. The pages stay as long as the process
 *
 * Nobody waits long for a count: whoever is suspended may be so for hours.
 */
#pragma once

#include <stdint.h>

struct memory;

/* The calls under way in the count at this address; 0 also if there is none. */
uint64_t call_count(struct memory *memory, uint64_t counts);
