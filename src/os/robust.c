/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words that report the end of a thread (theory in robust.h). */

#include "os/robust.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/page.h"

struct robust_word {
	struct robust_list entry;
	struct robust *robust;		/* the list that it is in; NULL: the list is gone */
	uint32_t *value;
};

static struct err *begin(struct robust *robust, uint32_t offset)
{
	struct robust_list_head *head = &robust->head;

	if (head->list.next)
		return head->futex_offset == (long)(PAGE + offset) ? NULL :
			err_create(ERR_RANGE, "words of a robust list must have the same offset");
	head->list.next = &head->list;
	head->futex_offset = PAGE + offset;
	if (!syscall(SYS_set_robust_list, head, sizeof(*head)))
		return NULL;
	head->list.next = NULL;
	return err_sys("set_robust_list");
}

/* Map a page for the entry, and behind it the page of the word. */
static struct err *map_pages(int fd, void **ret)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);

	if (pages == MAP_FAILED)
		return err_sys("map a page");
	if (mmap(pages + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED) {
		struct err *err = err_sys("map a page of a file");

		munmap(pages, 2 * PAGE);
		return err;
	}
	*ret = pages;
	return NULL;
}

struct err *robust_add(struct robust *robust, int fd, uint32_t offset, struct robust_word **ret)
{
	struct err *err = begin(robust, offset);
	struct robust_word *word;
	void *pages = NULL;

	if (!err)
		err = map_pages(fd, &pages);
	if (err)
		return err;
	word = pages;
	word->robust = robust;
	word->value = (uint32_t *)((char *)pages + PAGE + offset);
	word->entry.next = robust->head.list.next;
	/* The list is valid at every moment at which the thread may be killed. */
	__atomic_store_n(&robust->head.list.next, &word->entry, __ATOMIC_RELEASE);
	__atomic_store_n(word->value, (uint32_t)gettid(), __ATOMIC_RELEASE);
	*ret = word;
	return NULL;
}

void robust_drop(struct robust_word *word)
{
	if (!word)
		return;
	__atomic_store_n(word->value, 0, __ATOMIC_RELEASE);
	if (word->robust) {
		struct robust_list *at = &word->robust->head.list;

		while (at->next != &word->entry)
			at = at->next;
		__atomic_store_n(&at->next, word->entry.next, __ATOMIC_RELEASE);
	}
	munmap(word, 2 * PAGE);
}

void robust_end(struct robust *robust)
{
	struct robust_list *end = &robust->head.list;

	for (struct robust_list *at = end->next; at && at != end; at = at->next)
		((struct robust_word *)at)->robust = NULL;
	end->next = NULL;
}

_Static_assert(offsetof(struct robust_word, entry) == 0, "an entry is its word");
