/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Handles SIGBUS in a mapped file (theory in guard.h). A signal handler has no context, so it works
 * on a list that the whole process has, like the flag of base/cancel.c.
 */

#include "elf/guard.h"

#include <string.h>
#include <sys/mman.h>

#include "base/page.h"

static struct guard *volatile guards;
static struct sigaction before;

static struct guard *guard_at(const uint8_t *at)
{
	for (struct guard *guard = guards; guard; guard = guard->next)
		if (at >= guard->start && at < guard->start + guard->len)
			return guard;
	return NULL;
}

static void bus_error(int signal, siginfo_t *info, void *context)
{
	uint8_t *at = info->si_addr;
	struct guard *guard = info->si_code == BUS_ADRERR ? guard_at(at) : NULL;
	uint8_t *page = at - ((uintptr_t)at & (PAGE - 1));

	(void)signal, (void)context;
	if (guard && mmap(page, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
		guard->cut = 1;
		return;
	}
	/*
	 * It is not in one of our mappings. The signal comes again at the same instruction, for the
	 * handler that was there before.
	 */
	sigaction(SIGBUS, &before, NULL);
}

void guard_begin(struct guard *guard, void *start, size_t len)
{
	struct sigaction action = { .sa_sigaction = bus_error,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	guard->start = start;
	guard->len = len;
	guard->cut = 0;
	guard->next = guards;
	if (!guards)
		sigaction(SIGBUS, &action, &before);
	guards = guard;
}

void guard_end(struct guard *guard)
{
	struct guard *volatile *link = &guards;

	while (*link && *link != guard)
		link = &(*link)->next;
	if (!*link)
		return;
	*link = guard->next;
	if (!guards)
		sigaction(SIGBUS, &before, NULL);
}
