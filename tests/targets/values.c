/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Globals of all kinds, for `print`: the case compiles it in several ways, and compares with gdb. */
#include <stdbool.h>
#include <stddef.h>

#include "target.h"

struct node {
	struct node *next;
	int v;
};

union either {
	int i;
	float f;
	char c[4];
};

enum color { RED, GREEN = 5, BLUE = 200 };
enum flags { FA = 1, FB = 2, FC = 4 };

struct bits {
	unsigned a : 3;
	int b : 5;
	long c : 40;
	bool d : 1;
};

typedef int number;
typedef struct {
	int x, y;
} point;

struct whole {
	char name[16];
	char *p;
	point pt;
	union either un;
	struct {
		int q;
	};
	int arr[4];
	double d;
	int (*fn)(int);
	void *vp;
	enum color col;
	struct bits bits;
	const char *const cp;
	uint8_t bytes[8];
	int flex[];
};

static NOINLINE int add(int x)
{
	return x + 1;
}

struct node n2 = { NULL, 2 }, n1 = { &n2, 1 };
struct whole whole = {
	"hello", "world", { 1, 2 }, { 7 }, { 9 }, { 1, 2, 3, 4 }, 3.25, add, &n1, GREEN,
	{ 5, -3, 123456789, 1 }, "const", { 1, 2, 3 }, {},
};
int garr[3][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
int zeros[50], many[250];
/* Runs at the limits of what is shown. */
char text_run[300] = "abc", alternating[210], run_end[205], all_zero[2000];
int tail_run[500] = { 1, 2, 3 }, runs[250], ends_run[240];
short long_runs[400];
double one_double[30];
struct node zero_nodes[300];
unsigned char one_byte[400];
char big[300], buf8[8] = "hi", reps[30] = "aaaaaaaaaaaaaaaaaaaab";
char cc = '\n';
unsigned char uc = 200;
signed char sc = -1;
float ff = 0.1f;
double dd = 0.1, not_a_number, infinite;
long double ld = 1.25L;
bool bb = true;
short sh = -5;
unsigned long ul = ~0ul;
__int128 i128 = -5;
enum flags flags = FA | FC, flags2 = (enum flags)(FA | 8), no_flags;
enum color blue = BLUE, no_color = (enum color)77;
const volatile int cvi = 3;
int *ip = &garr[1][0], (*ap)[2] = &garr[1], *wild = (int *)0x10;
char *argvv[3] = { "a", "b", NULL }, *unread = (char *)0x10;
int (*fp)(int) = add;
number mi = 4;
const char msg[] = "message";
void *null;
struct node *np = &n1, nodes[3] = { { NULL, 1 }, { NULL, 1 }, { NULL, 1 } };
wchar_t wc = L'x';
static volatile int st = 11;

NOINLINE int counter(void)
{
	static volatile int calls = 42;

	return calls + 1;
}

int main(void)
{
	char *line;

	not_a_number = 0.0 / (double)zeros[0];
	infinite = 1.0 / zeros[1];
	for (int i = 0; i < 250; i++)
		many[i] = i;
	for (int i = 0; i < 299; i++)
		big[i] = (char)('a' + i % 26);
	for (int i = 0; i < 250; i++)
		runs[i] = i / 7;
	for (int i = 0; i < 400; i++)
		long_runs[i] = (short)(i / 20);
	for (int i = 0; i < 210; i++)
		alternating[i] = (char)('a' + i % 2);
	for (int i = 0; i < 202; i++)
		run_end[i] = i < 198 ? (char)('a' + i % 3) : 'z';
	for (int i = 0; i < 195; i++)
		ends_run[i] = i;
	one_double[2] = 1;
	/* All pages of these are there. */
	for (int i = 0; i < 300; i++)
		zero_nodes[i].v = i == 1;
	for (int i = 0; i < 2000; i++)
		((volatile char *)all_zero)[i] = 0;
	one_byte[3] = 1;
	say("ready %d", (int)getpid());
	while ((line = hear()) && strcmp(line, "quit"))
		say("ok %d %d", st, counter() - 43);
	return 0;
}
