/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks from 10,000 distinct stacks of C++ functions with long names: 100 containers by 100 callers.
 * Commands: make N (more blocks, from all stacks by turns), verify, quit.
 */
#include "target.h"

#include <sys/mman.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#define BLOCK_SIZE	48
#define BLOCKS_MAX	(16l << 20)
#define KINDS		100

static void **block;
static size_t nr;

struct Order {
	std::string customer;
	std::vector<int> items;
};

/* N is used, or the linker's and the compiler's folding would make one function of a hundred. */
template <class Key, class Value, unsigned N> struct Store {
	NOINLINE static uint64_t insert(const std::map<Key, Value> *, uint64_t arg)
	{
		void *p = operator new(BLOCK_SIZE);
		uint64_t ret = arg * (N + 3);

		KEEP(p);
		block[nr++] = p;
		KEEP(ret);
		return ret + N;
	}
};

template <class Key, class Value, unsigned N> struct Desk {
	NOINLINE static uint64_t accept(uint64_t (*insert)(const std::map<Key, Value> *, uint64_t), uint64_t arg)
	{
		uint64_t ret = insert(NULL, arg + N);

		KEEP(ret);
		return ret * (N + 3);
	}
};

typedef std::string Key;
typedef std::vector<std::pair<std::string, Order>> Value;
typedef uint64_t insert_fn(const std::map<Key, Value> *, uint64_t);
typedef uint64_t accept_fn(insert_fn *, uint64_t);

template <unsigned... N> static void tables(insert_fn **insert, accept_fn **accept, std::integer_sequence<unsigned, N...>)
{
	insert_fn *const inserts[] = { Store<Key, Value, N>::insert... };
	accept_fn *const accepts[] = { Desk<Key, Value, N>::accept... };

	memcpy(insert, inserts, sizeof(inserts));
	memcpy(accept, accepts, sizeof(accepts));
}

static NOINLINE bool make(long n)
{
	insert_fn *insert[KINDS];
	accept_fn *accept[KINDS];
	uint64_t sum = 0;

	if (n < 0 || n > BLOCKS_MAX - (long)nr)
		return false;
	tables(insert, accept, std::make_integer_sequence<unsigned, KINDS>());
	for (long i = 0; i < n; i++) {
		sum += accept[i % KINDS](insert[i / KINDS % KINDS], 1);
		canary_fill(block[nr - 1], BLOCK_SIZE);
	}
	KEEP(sum);
	return true;
}

static bool verify(void)
{
	for (size_t i = 0; i < nr; i++)
		if (!canary_holds(block[i], BLOCK_SIZE))
			return false;
	return true;
}

int main(void)
{
	const char *line, *rest;

	block = (void **)mmap(NULL, BLOCKS_MAX * sizeof(*block), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (block == MAP_FAILED)
		return 2;
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		bool good = (rest = after(line, "make")) ? make(atol(rest)) :
			    after(line, "verify") ? verify() : false;

		say("%s %zu", good ? "ok" : "bad", nr);
	}
	return !verify();
}
