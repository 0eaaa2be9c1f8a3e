/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks that are allocated through layers of functions, to be stripped of some of their names. All
 * blocks are kept. Orders, each N times:
 *
 *	rows N		three static functions allocate 900, 300 and 100 bytes; open_table calls them
 *	nodes N		palloc, which is a known wrapper and has a static part, for the static make_node,
 *			which parse_query calls
 *	own N		memory_get, a wrapper that nobody knows: it passes its argument on, with a head,
 *			for load_index and load_pages, of several sizes; 20 blocks in all
 *	fixed N		object_new, which everybody calls, too, but allocates 64 bytes always
 */
#include "target.h"

#define KEPT	200000

#define NAMED	NOINLINE	/* and not static: the others are stripped of their names */

static void *kept[KEPT];
static size_t nr;

static void *keep(void *p)
{
	if (!p || nr == KEPT)
		abort();
	KEEP(p);
	return kept[nr++] = p;
}

/* Keeps a call from becoming a tail call, which would not be in the stack. */
#define KEEP_LAST(call)	({ void *last = (call); KEEP(last); last; })

static NOINLINE void *row_large(void) { return keep(malloc(900)); }
static NOINLINE void *row_middle(void) { return keep(malloc(300)); }
static NOINLINE void *row_small(void) { return keep(malloc(100)); }

NAMED void *open_table(void)
{
	row_large();
	row_middle();
	return KEEP_LAST(row_small());
}

static NOINLINE void *context_alloc(size_t size)
{
	return keep(malloc(size));
}

NAMED void *palloc(size_t size)
{
	return KEEP_LAST(context_alloc(size));
}

static NOINLINE void *make_node(void)
{
	return KEEP_LAST(palloc(56));
}

NAMED void *parse_query(void)
{
	return KEEP_LAST(make_node());
}

NAMED void *memory_get(size_t size)
{
	size_t *head = keep(malloc(size + sizeof(*head)));

	*head = size;
	return head + 1;
}

NAMED void *load_index(size_t size)
{
	return KEEP_LAST(memory_get(size));
}

NAMED void *load_pages(size_t size)
{
	return KEEP_LAST(memory_get(size));
}

NAMED void *object_new(void)
{
	return keep(malloc(64));
}

NAMED void *make_user(void) { return KEEP_LAST(object_new()); }
NAMED void *make_group(void) { return KEEP_LAST(object_new()); }

static void run(const char *word, long n)
{
	for (long i = 0; i < n; i++) {
		if (!strcmp(word, "rows")) {
			open_table();
		} else if (!strcmp(word, "nodes")) {
			parse_query();
		} else if (!strcmp(word, "own")) {
			for (size_t j = 0; j < 10; j++) {
				load_index(40 + 8 * j);
				load_pages(4000 + 8 * j);
			}
		} else {
			make_user();
			make_group();
		}
	}
}

int main(void)
{
	char *line, *rest;

	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		rest = strchr(line, ' ');
		if (rest)
			*rest++ = '\0';
		run(line, rest ? atol(rest) : 1);
		say("ok");
	}
	return 0;
}
