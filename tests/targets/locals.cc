/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program with local variables of all kinds, which waits in the innermost of its functions: on the stack, in registers,
 * in both, in parts, inlined, of a method, and parameters that nobody has kept. It says `ready PID` there, and a line
 * lets it go on: `ok N`, the sum of all.
 */
#include "target.h"

#include <string>
#include <vector>

struct Point {
	int x, y;
};

struct Node {
	int id;
	const char *name;
	Node *next;
	double weight;
};

int shadowed = 1;
static volatile int zero;

static inline __attribute__((always_inline)) int inlined(const Node *of, int factor)
{
	int twice = factor * 2 + of->id;
	char buffer[32];

	snprintf(buffer, sizeof(buffer), "twice %d", twice);
	say("ready %d", (int)getpid());
	hear();
	return twice + buffer[0];
}

NOINLINE static int leaf(const Node *item, double real, Point point, long wide, unsigned char narrow)
{
	static int calls = 41;
	Point both = { point.x + 1, point.y + 2 };
	bool flag = wide > 3;
	int array[3] = { point.x, point.y, (int)wide };

	calls++;
	KEEP(both);
	return inlined(item, array[zero + 1]) + both.x + both.y + (int)real + flag + narrow;
}

NOINLINE static int hop(const Node *hopped, int step)
{
	return leaf(hopped, 2.5 * step, Point{ step, step + 1 }, 7 + step, 200);
}

NOINLINE static int jumps(const Node *jumping, int step)
{
	int before = step * 3;

	KEEP(before);
	return hop(jumping, before + 1) + before;
}

NOINLINE static int recursive(const Node *list, int depth, const char *text)
{
	int shadowed = depth * 100, sum;
	const char *rest = text + depth;

	if (depth)
		sum = recursive(list->next ? list->next : list, depth - 1, text + 1);
	else
		sum = jumps(list, 5);
	return sum + shadowed + *rest + *text;
}

class Counter {
public:
	explicit Counter(int start) : count_(start), name_("counter") {}
	NOINLINE int run(const Node &first, const std::string &label)
	{
		std::vector<int> seen = { count_, count_ + 1 };
		int before = count_;

		made += 1;
		count_ += recursive(&first, 2, label.c_str());
		return before + (int)seen.size() + (int)name_.size();
	}

	static int made;

private:
	int count_;
	std::string name_;
};

int Counter::made = 5;

int main(int argc, char **argv)
{
	Node last = { 3, "three", NULL, 3.5 }, middle = { 2, "two", &last, 2.5 };
	Node first = { 1, "one", &middle, 1.5 };
	Counter counter(10);
	std::string label = "abcdefgh";
	int sum = counter.run(first, label);

	say("ok %d", sum + shadowed + argc + (argv[0] != NULL));
	return 0;
}
