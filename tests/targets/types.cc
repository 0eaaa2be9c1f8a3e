/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects whose class the program knows: with one base, several, virtual ones, local to the file, of a template; and
 * blocks that have none.
 *
 *	make N		N of each, as three are made before it is ready
 *	fill N		N blocks of a list and of a vector, which stacks know
 *	list		a line for each: ADDRESS TYPE, the blanks of the type as `_`; `plain` if only debug information says it; `end NUMBER`
 *	verify, quit
 */
#include <list>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "target.h"

struct shape {
	virtual ~shape() {}
	virtual int area() { return 0; }
};

struct named {
	virtual ~named() {}
	char name[16];
};

struct circle : shape {
	int radius;
	int area() override { return radius; }
};

struct both : named, shape {
	int x;
	int area() override { return x; }
};

struct shared : virtual shape {
	int v;
	int area() override { return v; }
};

namespace {
struct hidden : shape {
	int area() override { return 9; }
};
}

template <class T> struct box : shape {
	T t;
};

/* No functions: what it begins with is a table's address plus 8, and code that looks like one. */
struct plain {
	const void *word[5];
};

struct block {
	const void *address;
	const char *type;
};

static std::vector<block> blocks;

template <class T> static T *note(T *object, const char *type)
{
	blocks.push_back({ object, type });
	return object;
}

static const void *table_of(const void *object)
{
	return *(const void *const *)object;
}

static NOINLINE void make(int nr)
{
	for (int i = 0; i < nr; i++) {
		const void *table = table_of(note(new circle, "circle"));

		note(new both, "both");
		note(new shared, "shared");
		note(new hidden, "(anonymous_namespace)::hidden");
		note(new box<double>, "box<double>");
		note(new plain{ { (const char *)table + 8, table } }, "plain");
		note(new plain{ { (const char *)table - 8, table } }, "plain");
		note(new plain{ { (const char *)table - 16, table } }, "plain");
		note(new plain{ { (const void *)make, table } }, "plain");
		note(new plain{ { &blocks, table } }, "plain");
		/* The table of its second part. */
		both object;
		note(new plain{ { table_of(static_cast<shape *>(&object)), table } }, "plain");
	}
}

/* What stands before an object, as of an allocator that needs the size. */
struct header {
	size_t key, size, flags;
};

static void *behind_header(size_t size, size_t noted, const char *type)
{
	struct header *header = (struct header *)malloc(sizeof(*header) + size);

	*header = { 0, noted, 0 };
	note(header, type);
	return header + 1;
}

/* Objects that are not where their blocks begin; and what looks like them. */
static NOINLINE void make_behind(int nr)
{
	for (int i = 0; i < nr; i++) {
		new (behind_header(sizeof(both), sizeof(both) | 2, "both")) both;
		new (behind_header(sizeof(both), sizeof(both) / 2, "plain")) both;
		note((size_t *)(void *)new circle[3 + i] - 1, "circle");
		note(new plain{ { (const void *)2, table_of(note(new circle, "circle")) } }, "plain");
	}
}

/* Memory of one type: known by the allocator that is in the stack. */
static NOINLINE void fill(int nr)
{
	static std::vector<std::list<plain>> lists;
	static std::vector<std::vector<plain>> vectors;

	for (int i = 0; i < nr; i++) {
		std::list<plain> list(1);

		/* Its links come first. */
		note((const void **)&list.front() - 2, "std::_List_node<plain>");
		lists.push_back(std::move(list));
		vectors.push_back(std::vector<plain>(3, plain{ { (const void *)1 } }));
		note(vectors.back().data(), "plain");
	}
}

static void list(void)
{
	for (const block &is : blocks)
		say("0x%lx %s", (unsigned long)is.address, is.type);
	say("end %zu", blocks.size());
}

int main(void)
{
	blocks.reserve(100000);
	make(3);
	make_behind(3);
	say_ready();
	for (char *line = hear(); line; line = hear()) {
		if (!strncmp(line, "make ", 5)) {
			make(atoi(line + 5));
			make_behind(atoi(line + 5));
		} else if (!strncmp(line, "fill ", 5)) {
			fill(atoi(line + 5));
		} else if (!strcmp(line, "list")) {
			list();
			continue;
		} else if (!strcmp(line, "quit")) {
			_exit(0);
		} else if (strcmp(line, "verify")) {
			say("bad %s", line);
			continue;
		}
		say("ok");
	}
}
