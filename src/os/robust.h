/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words in shared memory that tell other processes of the end of a thread of ours.
 *
 * The kernel's robust futexes (set_robust_list(2), Documentation/locking/robust-futexes.rst) do
 * that for locks: when a thread ends, however that comes, the kernel sets FUTEX_OWNER_DIED in each
 * word of its list that holds its id. It does so before the thread's tracees are let go (do_exit:
 * exit_mm comes before exit_notify). Who shares the word needs no system call to look at it, and it
 * does not matter in which pid namespace he is.
 *
 *	word	0			nobody's
 *		the thread's id		it lives
 *		FUTEX_OWNER_DIED	it has ended; alone, without the id
 *
 * The list itself is in private memory, as the kernel follows its pointers: who shares the words
 * can make them tell something else, but lead nobody astray. The kernel wants one distance from
 * entry to word for the whole list, so that each entry has a page in front of a mapping of its
 * word's page.
 */
#pragma once

#include <linux/futex.h>
#include <stdint.h>

#include "base/err.h"

/* The list of one thread, which uses no robust mutexes of libc. Zeroed: it has no words yet. */
struct robust {
	struct robust_list_head head;
};

struct robust_word;

/*
 * The aligned word at offset in the first page of the file fd becomes the calling thread's, which
 * is the list's. offset is the same for all words of a list.
 */
struct err *robust_add(struct robust *robust, int fd, uint32_t offset,
		       struct robust_word **ret) MUST_CHECK;
/* It becomes 0: nobody's. NULL is fine. By the list's thread, or when that has ended. */
void robust_drop(struct robust_word *word);
/* The thread has ended, and the list goes; the words stay until they are dropped. */
void robust_end(struct robust *robust);
