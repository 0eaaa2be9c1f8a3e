/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The same as values.c of C++: classes, namespaces, and containers of libstdc++. */
#include <cstdio>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <unordered_set>
#include <vector>

struct Base {
	int b = 1;
	virtual ~Base() {}
	virtual int f() { return b; }
};

struct Other {
	long o = 2;
};

struct Derived : Base, Other {
	double d = 2.5;
	static int count;
	int f() override { return 2; }
};

int Derived::count = 7;

struct Shared {
	int vb = 3;
	virtual ~Shared() {}
};

struct Left : virtual Shared {
	int l = 4;
};

struct Right : virtual Shared {
	int r = 5;
};

struct Diamond : Left, Right {
	int d2 = 6;
};

namespace ns {
enum Color { RED, GREEN };
enum class Mode : unsigned char { OFF, ON = 200 };
struct P {
	int x, y;
};
int value = 9;
static volatile int hidden = 10;
namespace in {
int deep = 11;
}
Color col = GREEN;
Mode mode = Mode::ON;
P point{ 1, 2 };
struct Outer {
	struct Inner {
		int q;
	};
	enum E { A1, B1 };
	static const int K = 5;
	Inner i;
	E e;
};
Outer outer{ { 3 }, Outer::B1 };
}

template <class T> struct Box {
	T v;
	Box *next;
};

Box<int> bi{ 4, nullptr };
Box<std::string> bs{ "boxed", nullptr };
Derived derived;
Base *pb = &derived;
Diamond diamond;
Base &rb = derived;
int &ri = ns::value;
std::string str = "hello", longstr(300, 'x'), empty, *ps = &str;
const std::string &rs = str;
std::vector<int> vi{ 1, 2, 3 }, ve;
std::vector<std::string> vs{ "a", "bb" };
std::vector<bool> vb{ true, false, true };
std::vector<std::vector<int>> vv{ { 1 }, { 2, 3 } };
std::map<std::string, int> msi{ { "one", 1 }, { "two", 2 } };
std::map<int, std::vector<int>> miv{ { 1, { 1, 2 } } };
std::map<int, int> me;
std::set<int> si{ 3, 1, 2 };
std::multimap<int, int> mm{ { 1, 1 }, { 1, 2 } };
std::unordered_map<std::string, int> um{ { "k", 5 } };
std::unordered_map<int, ns::P> ump{ { 1, { 2, 3 } } };
std::unordered_set<int> us{ 7 };
std::list<int> li{ 1, 2, 3 }, le;
std::unique_ptr<int> up(new int(5)), upe;
std::shared_ptr<ns::P> sp = std::make_shared<ns::P>(), sp2 = sp, spe;
std::weak_ptr<ns::P> wp = sp;
std::pair<int, std::string> pr{ 1, "p" };
struct Empty {
} emp;
struct OfEmpty : Empty {
	int z = 1;
} of_empty;
bool tt = true;
char16_t c16 = u'x';
char32_t c32 = U'y';
wchar_t wc = L'w';
union U {
	int i;
	float f;
} un{ 5 };
ns::P parr[2] = { { 1, 2 }, { 3, 4 } };
const char *cs = "c string";
__attribute__((used)) enum { ANON_A = 3, ANON_B } anon_enum = ANON_B;
long double ldv = 1.5L;
unsigned long long ull = ~0ull;

int fn(int a, const std::string &s)
{
	static volatile int calls = 21;

	return calls + a + static_cast<int>(s.size());
}

int main()
{
	char line[64];

	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strncmp(line, "quit", 4)) {
		printf("ok %d\n", fn(1, str) + ns::hidden + ns::in::deep + diamond.vb);
		fflush(stdout);
	}
	return 0;
}
