/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * 10,000 sites: 1,600 functions with containers of containers in their names, each called by 7 that
 * take turns. Compilers need ten seconds for as many templates.
 *
 *	make N		N blocks of 32 bytes, which stay
 *	verify, quit
 */
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "target.h"

#define SIDE	40
#define CALLERS	7
#define SITES	10000

template <size_t N> struct Tag {};

template <typename Container> NOINLINE void *make()
{
	void *p = malloc(32);

	KEEP(p);
	return p;
}

typedef void *(*maker)();

template <size_t... I> static const maker *makers(std::index_sequence<I...>)
{
	static const maker table[] = {
		make<std::map<std::string, std::unordered_map<Tag<I / SIDE>, std::vector<Tag<I % SIDE> > > > >...
	};

	return table;
}

template <size_t I> NOINLINE void *call(maker make_one)
{
	void *p = make_one();

	KEEP(p);
	return p;
}

typedef void *(*caller)(maker);

template <size_t... I> static const caller *callers(std::index_sequence<I...>)
{
	static const caller table[] = { call<I>... };

	return table;
}

int main()
{
	const maker *make_one = makers(std::make_index_sequence<SIDE * SIDE>());
	const caller *called_by = callers(std::make_index_sequence<CALLERS>());
	const char *line, *number;
	unsigned long made = 0;

	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		number = after(line, "make");
		for (unsigned long n = number ? strtoul(number, NULL, 10) : 0; n; n--, made++)
			called_by[made % SITES / (SIDE * SIDE)](make_one[made % SITES % (SIDE * SIDE)]);
		say("ok %lu", made);
	}
	return 0;
}
