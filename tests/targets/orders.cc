/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A C++ target with the names of templates in its stacks: containers in containers, a comparison
 * and an allocator of its own, a lambda, an anonymous namespace, and wrappers of malloc. Each
 * function allocates blocks of a size that nothing else has.
 *
 *	fill		allocate, once each
 *	verify, quit
 */
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "target.h"

struct Order {
	int number;
	char text[1200];
};

template <typename T> struct Counted {
	typedef T value_type;
	static long count;

	Counted() = default;
	template <typename U> Counted(const Counted<U> &) {}
	NOINLINE T *allocate(size_t n)
	{
		count++;
		return static_cast<T *>(::operator new(n * sizeof(T)));
	}
	void deallocate(T *p, size_t) { ::operator delete(p); }
	bool operator==(const Counted &) const { return true; }
	bool operator!=(const Counted &) const { return false; }
};

template <typename T> long Counted<T>::count;

typedef std::map<std::string, Order> Orders;
typedef std::vector<int, Counted<int> > Numbers;

static Orders orders;
static std::map<int, Order, std::greater<int> > latest;
static std::unordered_map<std::string, std::vector<Order> > by_name;
static std::shared_ptr<Order> shared;
static Numbers numbers;
static char *table, *row, *lines;

/* Takes containers by reference, so that their types are in its name. */
template <typename Container> NOINLINE void add_order(Container &container, const Order &order)
{
	Container *at = &container;

	container["a name that is longer than a string holds"] = order;
	KEEP(at);
}

/* 3001 bytes. */
namespace {
struct Reader {
	NOINLINE char *read(const std::vector<std::string> &names)
	{
		char *text = new char[3000 + names.size()];

		KEEP(text);
		return text;
	}
};
}

/* A wrapper that no list of mdbg's has; and two that one has. */
extern "C" NOINLINE void *shop_alloc(size_t size)
{
	void *p = malloc(size);

	KEEP(p);
	return p;
}

extern "C" NOINLINE void *xmalloc(size_t size)
{
	void *p = malloc(size);

	KEEP(p);
	return p;
}

extern "C" NOINLINE void *xmalloc_zeroed(size_t size)
{
	void *p = xmalloc(size);

	memset(p, 0, size);
	KEEP(p);
	return p;
}

/* 5003 and 7001 bytes. */
NOINLINE static char *load_table()
{
	char *p = static_cast<char *>(shop_alloc(5003));

	KEEP(p);
	return p;
}

NOINLINE static char *load_row()
{
	char *p = static_cast<char *>(xmalloc_zeroed(7001));

	KEEP(p);
	return p;
}

NOINLINE static void share(const std::function<std::shared_ptr<Order>(int)> &make)
{
	shared = make(9);
}

NOINLINE static void fill()
{
	Order order = { 7, "seven" };
	std::vector<std::string> names(1, "name");

	add_order(orders, order);
	latest[7] = order;
	by_name["another name that is longer than a string holds"].push_back(order);
	for (int i = 0; i < 1000; i++)
		numbers.push_back(i);
	share([](int number) {
		auto made = std::make_shared<Order>();

		made->number = number;
		return made;
	});
	table = load_table();
	row = load_row();
	lines = Reader().read(names);
}

static bool all_well()
{
	if (!table)
		return orders.empty();
	return orders.begin()->second.number == 7 && latest[7].number == 7 && numbers[999] == 999 &&
	       by_name.begin()->second[0].number == 7 && shared->number == 9 && row[7000] == 0 && lines &&
	       Counted<int>::count > 1;
}

int main()
{
	const char *line;

	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		if (!strcmp(line, "fill")) {
			fill();
			say("ok");
		} else if (!strcmp(line, "verify")) {
			say(all_well() ? "ok" : "bad data");
		} else {
			say("bad command");
		}
	}
	return 0;
}
