/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that holds many blocks from its beginning, and replaces them by others of the same size.
 *
 *	renewer N	holds N blocks of 24 to 88 bytes, N / 50 of 10008 and 4 of 1 MB, every second one made by
 *			operator new
 *	renew N		replace the next N of them: frees the old one and makes a new one: `ok BYTES`, of the old ones
 *	resize N	the same by realloc, of those that malloc has made
 *	fail		a realloc of an old block that fails: `ok 0`
 *	leak N		N blocks of 100 bytes more: `ok BYTES`
 *	verify, quit
 */
#include "target.h"

#include <malloc.h>

/* malloc has room for no more than was asked for, but for 8 bytes in a block that it maps. */
#define MAPPED	0x100fe8u

struct held {
	unsigned char *at;
	size_t size;
	bool by_new;
};

static struct held *held;
static size_t nr_held, next;

static NOINLINE unsigned char *make(size_t size, bool by_new)
{
	void *p = by_new ? operator new(size) : malloc(size);

	KEEP(p);
	canary_fill(p, size);
	return (unsigned char *)p;
}

static void take(struct held *block)
{
	if (block->by_new)
		operator delete(block->at);
	else
		free(block->at);
}

static struct held *step(void)
{
	next = (next + 1) % nr_held;
	return &held[next];
}

static unsigned long renew(long n)
{
	unsigned long bytes = 0;

	for (; n > 0; n--) {
		struct held *block = step();

		bytes += malloc_usable_size(block->at);
		take(block);
		block->at = make(block->size, block->by_new);
	}
	return bytes;
}

static unsigned long resize(long n)
{
	unsigned long bytes = 0;

	for (; n > 0;) {
		struct held *block = step();
		void *p;

		if (block->by_new)
			continue;
		bytes += malloc_usable_size(block->at);
		p = realloc(block->at, block->size);
		KEEP(p);
		block->at = (unsigned char *)p;
		n--;
	}
	return bytes;
}

static unsigned long fail(void)
{
	volatile size_t much = PTRDIFF_MAX;
	struct held *block = step();

	if (block->by_new)
		block = step();
	return realloc(block->at, much) != NULL;
}

static unsigned long leak(long n)
{
	for (long i = 0; i < n; i++)
		make(100, false);
	return 100ul * (unsigned long)n;
}

static bool verify(void)
{
	for (size_t i = 0; i < nr_held; i++)
		if (!canary_holds(held[i].at, held[i].size))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	size_t small = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, large = small / 50;
	const char *line, *rest;

	nr_held = small + large + 4;
	held = (struct held *)calloc(nr_held, sizeof(*held));
	for (size_t i = 0; i < nr_held; i++) {
		size_t size = i < small ? 24 + 16 * (i % 5) : i < small + large ? 10008 : MAPPED;

		held[i] = { make(size, i % 2), size, i % 2 != 0 };
	}
	say_ready();
	while ((line = hear())) {
		bool good = true;
		unsigned long said = 0;

		if ((rest = after(line, "renew")))
			said = renew(atol(rest));
		else if ((rest = after(line, "resize")))
			said = resize(atol(rest));
		else if (after(line, "fail"))
			said = fail();
		else if ((rest = after(line, "leak")))
			said = leak(atol(rest));
		else if (after(line, "verify"))
			good = verify();
		else if (after(line, "quit"))
			break;
		else
			good = false;
		say("%s %lu", good ? "ok" : "bad", said);
	}
	return verify() ? 0 : 1;
}
