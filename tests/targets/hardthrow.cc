/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that throws: through frames that hold blocks, out of an operator new that has nothing left (the C++
 * library's), by a constructor inside a new expression.
 *
 *	throw N		N exceptions through 10 frames with a block each, freed on the way out
 *	alloc N		N times operator new fails: bad_alloc is caught
 *	construct N	N objects whose constructor throws, by new: the block is freed again
 *	strict N	N times strict_alloc gives a block, and throws for being asked for too much
 *	keep N		N objects of 321 bytes by new, kept
 *	verify, quit
 */
#include "target.h"

#include <new>
#include <stdexcept>

#define KEPT_MAX	4096

static void *kept[KEPT_MAX];
static int nr_kept, held, bad;
static volatile size_t none;

/* A block for as long as its scope lasts. */
struct scoped {
	void *block;
	size_t size;

	explicit scoped(size_t bytes) : block(malloc(bytes)), size(bytes)
	{
		canary_fill(block, size);
		held++;
	}

	~scoped()
	{
		bad += !canary_holds(block, size);
		free(block);
		held--;
	}
};

struct thrower {
	char bytes[200];

	thrower()
	{
		KEEP(held);
		throw std::runtime_error("from a constructor");
	}
};

static NOINLINE void down(int depth)
{
	scoped mine((size_t)depth * 8 + 100);

	if (depth == 0)
		throw std::runtime_error("from below");
	down(depth - 1);
	KEEP(depth);
}

static int throw_through(int n)
{
	int caught = 0;

	for (int i = 0; i < n; i++) {
		try {
			down(10);
		} catch (const std::runtime_error &error) {
			caught += strcmp(error.what(), "from below") == 0 && held == 0;
		}
	}
	return caught;
}

static int throw_bad_alloc(int n)
{
	int caught = 0;

	for (int i = 0; i < n; i++) {
		try {
			scoped mine(64);
			void *p = ::operator new(((size_t)1 << 62) + none);

			KEEP(p);
			::operator delete(p);
		} catch (const std::bad_alloc &) {
			caught += held == 0;
		}
	}
	return caught;
}

/* An allocator that throws rather than give too much. */
extern "C" __attribute__((noinline)) void *strict_alloc(size_t size)
{
	void *p = malloc(size);

	if (size <= 1000)
		return p;
	free(p);
	throw std::runtime_error("too much");
}

static int throw_by_strict(int n)
{
	int caught = 0;

	for (int i = 0; i < n; i++) {
		free(strict_alloc(100));
		try {
			free(strict_alloc(2000));
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	return caught;
}

static int throw_in_constructor(int n)
{
	int caught = 0;

	for (int i = 0; i < n; i++) {
		try {
			thrower *p = new thrower;

			KEEP(p);
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	return caught;
}

static int keep(int n)
{
	int i;

	for (i = 0; i < n && nr_kept < KEPT_MAX; i++, nr_kept++) {
		kept[nr_kept] = ::operator new(321);
		canary_fill(kept[nr_kept], 321);
	}
	return i;
}

static bool verify(void)
{
	int i;

	for (i = 0; i < nr_kept; i++)
		bad += !canary_holds(kept[i], 321);
	return bad == 0 && held == 0;
}

int main(void)
{
	const char *rest;
	char *line;

	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if ((rest = after(line, "throw")))
			say("%s", throw_through(atoi(rest)) == atoi(rest) ? "ok" : "bad");
		else if ((rest = after(line, "alloc")))
			say("%s", throw_bad_alloc(atoi(rest)) == atoi(rest) ? "ok" : "bad");
		else if ((rest = after(line, "construct")))
			say("%s", throw_in_constructor(atoi(rest)) == atoi(rest) ? "ok" : "bad");
		else if ((rest = after(line, "strict")))
			say("%s", throw_by_strict(atoi(rest)) == atoi(rest) ? "ok" : "bad");
		else if ((rest = after(line, "keep")))
			say("%s", keep(atoi(rest)) == atoi(rest) ? "ok" : "bad");
		else if (after(line, "verify"))
			say("%s", verify() ? "ok" : "bad");
		else
			say("bad command %s", line);
	}
	return !verify();
}
