/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words in shared memory that report the end of one of our threads to other processes.
 *
 * The kernel's robust futexes (set_robust_list(2), Documentation/locking/robust-futexes.rst) do
 * this for locks: when a thread ends, for whatever reason, the kernel sets FUTEX_OWNER_DIED in each
 * word of its list that holds its id. It does so before it releases the thread's tracees (do_exit:
 * exit_mm comes before exit_notify). A process that shares the word needs no system call to look at
 * it, and its pid namespace does not matter.
 *
 *	word	0			nobody's
 *		the thread's id		it lives
 *		FUTEX_OWNER_DIED	it has ended; alone, without the id
 *
 * The list itself is in private memory, as the kernel follows its pointers: processes that share
 * the words can change them, but cannot lead the kernel astray. The kernel wants one distance from
 * entry to word for the whole list, so that each entry has a page in front of a mapping of its
 * word's page.
 */
#pragma once

#include <linux/futex.h>
#include <stdint.h>

#include "base/err.h"

/*
 * The list of one thread, which uses no robust mutexes of libc. If it is zeroed, it has no words.
 */
struct robust {
	struct robust_list_head head;
};

struct robust_word;

/*
 * Let the calling thread own the aligned word at offset in the first page of the file fd. The list
 * must be that of the calling thread. offset is the same for all words of a list.
 */
struct err *robust_add(struct robust *robust, int fd, uint32_t offset,
		       struct robust_word **ret) MUST_CHECK;
/*
 * Set the word to 0, nobody's. It may be NULL. Only the list's thread may call this, or anybody
 * after that thread has ended.
 */
void robust_drop(struct robust_word *word);
/* Free the list after its thread has ended; the words stay until they are dropped. */
void robust_end(struct robust *robust);
