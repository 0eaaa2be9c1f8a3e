/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pool of the program's own: static functions that cut blocks out of chunks of malloc's, the first at the very address
 * of its chunk. Commands: `alloc N` (blocks of 48 bytes), `get N` (of 80 bytes, by reference), `cells N` (of 96 bytes,
 * which is no argument), `rows N` (4 times 12 bytes), `refs N` (N references to the first block that are given back, and N
 * that are not), `grow N` (the first N become
 * blocks of 64 bytes elsewhere), `drop` (all back to the pool), `spans N` (N times a block that comes with its length, given back with six arguments; the reply is what
 * arrived), `list` (addresses and sizes), `chunks` (addresses), verify, quit.
 */
#include "target.h"

#define CHUNK		(64 << 10)
#define BLOCKS_MAX	20000

struct block {
	char *at;
	size_t size;
};

struct pool {
	char *chunk[64];
	size_t nr_chunks, used;
	char *recycled[BLOCKS_MAX];		/* 80 bytes at least */
	size_t nr_recycled;
};

static struct pool pool;
static struct block block[BLOCKS_MAX];
static size_t nr;

/* No compiler may drop an argument that is the same in all calls, as clang does of static functions. */
#define CALLED_AS_DECLARED	__attribute__((used))

static NOINLINE CALLED_AS_DECLARED void *pool_alloc(struct pool *from, size_t size)
{
	void *p;

	if (from->nr_recycled)
		return from->recycled[--from->nr_recycled];
	if (!from->nr_chunks || from->used + 96 > CHUNK) {
		from->chunk[from->nr_chunks++] = (char *)malloc(CHUNK);
		from->used = 0;
	}
	p = from->chunk[from->nr_chunks - 1] + from->used;
	from->used += size > 96 ? size : 96;
	return p;
}

static NOINLINE CALLED_AS_DECLARED int pool_get(void **ret, struct pool *from, int unused, size_t size)
{
	KEEP(unused);
	if (size > 96)
		return 12;
	*ret = pool_alloc(from, size);
	return 0;
}

/* All cells have one size. */
static NOINLINE CALLED_AS_DECLARED void *cell_get(struct pool *from)
{
	return pool_alloc(from, 96);
}

static NOINLINE CALLED_AS_DECLARED void *rows_alloc(size_t rows, size_t bytes)
{
	return pool_alloc(&pool, rows * bytes);
}

static NOINLINE CALLED_AS_DECLARED void pool_free(struct pool *to, void *p)
{
	KEEP(p);
	to->recycled[to->nr_recycled++] = (char *)p;
}

struct span {
	char *at;
	size_t len;
};

/* The ABI hands out both in registers. */
static NOINLINE CALLED_AS_DECLARED struct span span_alloc(size_t size)
{
	struct span span = { pool.chunk[0], size * 3 };

	KEEP(span.len);
	return span;
}

/* Arguments that nobody tells mdbg of arrive, too; and as callees may, this one changes their registers. */
static NOINLINE CALLED_AS_DECLARED long span_free(char *at, size_t len, const char *file, long line, long tag, long more)
{
	long arrived = at && file ? (long)len + line + tag + more : 0;

	KEEP(arrived);
	CHANGE_ARGUMENTS();
	return arrived;
}

static NOINLINE long use_spans(long n)
{
	long arrived = 0;

	while (n-- > 0) {
		struct span span = span_alloc(100);

		arrived += span_free(span.at, span.len, __FILE__, 10000, 2000000, 300000000);
	}
	return arrived;
}

static NOINLINE void make(long n, int by_reference)
{
	while (n-- > 0) {
		size_t size = by_reference ? 80 : 48;
		void *p;

		if (!by_reference)
			p = pool_alloc(&pool, size);
		else if (pool_get(&p, &pool, 1, 1000) == 0 || pool_get(&p, &pool, 1, size) != 0)
			return;
		KEEP(p);
		block[nr].at = (char *)p;
		block[nr++].size = size;
		canary_fill(p, size);
	}
}

static NOINLINE void make_cells(long n, int rows)
{
	while (n-- > 0) {
		size_t size = rows ? 48 : 96;
		void *p = rows ? rows_alloc(4, 12) : cell_get(&pool);

		KEEP(p);
		block[nr].at = (char *)p;
		block[nr++].size = size;
		canary_fill(p, size);
	}
}

static NOINLINE CALLED_AS_DECLARED void *pool_resize(struct pool *of, void *p, size_t size)
{
	char *to = NULL;

	if (of->nr_recycled)
		return NULL;
	to = (char *)pool_alloc(of, size);
	memcpy(to, p, 48);
	pool_free(of, p);
	return to;
}

static NOINLINE void grow(long n)
{
	for (long i = 0; i < n; i++) {
		void *none;

		pool.nr_recycled = 0;
		block[i].at = (char *)pool_resize(&pool, block[i].at, 64);
		block[i].size = 64;
		canary_fill(block[i].at, 64);
		none = pool_resize(&pool, block[i].at, 80);	/* refused: nothing changes */
		KEEP(none);
	}
	pool.nr_recycled = 0;
}

static long references;

static NOINLINE CALLED_AS_DECLARED void *block_ref(void *p)
{
	references++;
	KEEP(p);
	return p;
}

static NOINLINE CALLED_AS_DECLARED void block_unref(struct pool *of, void *p)
{
	references--;
	KEEP(of);
	KEEP(p);
}

static NOINLINE void borrow(long n)
{
	while (n-- > 0) {
		block_unref(&pool, block_ref(block[0].at));
		KEEP(n);
	}
}

static NOINLINE void forget(long n)
{
	while (n-- > 0) {
		block_ref(block[0].at);
		KEEP(n);
	}
}

static NOINLINE void drop(void)
{
	while (nr)
		pool_free(&pool, block[--nr].at);
}

static size_t verify(void)
{
	size_t i, bad = 0;

	for (i = 0; i < nr; i++)
		bad += !canary_holds(block[i].at, block[i].size);
	return bad;
}

static void answer(const char *line)
{
	const char *rest;
	size_t i;

	if (after(line, "list")) {
		for (i = 0; i < nr; i++)
			say("0x%llx %zu", (unsigned long long)(uintptr_t)block[i].at, block[i].size);
		say("end %zu", nr);
		return;
	}
	if (after(line, "chunks")) {
		for (i = 0; i < pool.nr_chunks; i++)
			say("0x%llx", (unsigned long long)(uintptr_t)pool.chunk[i]);
		say("end %zu", pool.nr_chunks);
		return;
	}
	if ((rest = after(line, "spans"))) {
		say("%ld", use_spans(atol(rest)));
		return;
	}
	if ((rest = after(line, "alloc")))
		make(atol(rest), 0);
	else if ((rest = after(line, "get")))
		make(atol(rest), 1);
	else if ((rest = after(line, "cells")))
		make_cells(atol(rest), 0);
	else if ((rest = after(line, "rows")))
		make_cells(atol(rest), 1);
	else if ((rest = after(line, "grow")))
		grow(atol(rest));
	else if ((rest = after(line, "refs"))) {
		borrow(atol(rest));
		forget(atol(rest));
	} else if (after(line, "drop"))
		drop();
	say("%s %zu", verify() ? "bad" : "ok", nr);
}

int main(void)
{
	char *line;

	say_ready();
	while ((line = hear()) && !after(line, "quit"))
		answer(line);
	return verify() != 0;
}
