/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variables and types of this very program, by its debug information. */

#include <stdbool.h>

#include "type/member_path.h"
#include "unit.h"
#include "world.h"

#define SEEN	__attribute__((used))

struct types_node {
	struct types_node *next;
	int v;
};

union types_union {
	int i;
	char c[4];
};

enum types_color { TYPES_RED, TYPES_GREEN = 5, TYPES_HIGH = 200 };
enum types_flags { FLAG_A = 1, FLAG_B = 2, FLAG_C = 4 };

typedef struct {
	int x, y;
} types_point;

struct types_whole {
	char name[16];
	const char *text;
	types_point point;
	union types_union both;
	struct {
		int inner;
	};
	unsigned bits : 3;
	int negative : 5;
	bool set : 1;
	enum types_color color;
	struct types_node *nodes[2];
	double real;
};

struct types_unknown;

SEEN static struct types_node types_second = { NULL, 2 }, types_first = { &types_second, 1 };
SEEN static struct types_whole types_whole = {
	"hello", "world", { 1, 2 }, { 7 }, { 9 }, 5, -3, true, TYPES_GREEN,
	{ &types_first, NULL }, 3.25,
};
SEEN static int types_grid[3][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
SEEN static int types_zeros[300];
SEEN static enum types_flags types_flags = FLAG_A | FLAG_C, types_more = (enum types_flags)9;
SEEN static enum types_color types_high = TYPES_HIGH;
SEEN static struct types_node *types_ring = &types_first;
SEEN static struct types_unknown *types_opaque = (struct types_unknown *)&types_first;
SEEN static void *types_wild = (void *)0x10;

static struct value_world world;

TEST("values are shown as gdb shows them")
{
	static const struct {
		const char *text, *is;
	} rows[] = {
		{ "types_whole.name", "\"hello\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\"" },
		{ "types_whole.point", "{x = 1, y = 2}" },
		{ "types_whole.both", "{i = 7, c = \"\\a\\000\\000\"}" },
		{ "types_whole.inner", "9" }, { "types_whole.bits", "5" },
		{ "types_whole.negative", "-3" }, { "types_whole.set", "true" },
		{ "types_whole.color", "TYPES_GREEN" }, { "types_high", "TYPES_HIGH" },
		{ "types_whole.nodes[0]->next->v", "2" }, { "types_whole.real", "3.25" },
		{ "types_whole.text[1]", "111 'o'" }, { "*types_whole.text@3", "\"wor\"" },
		{ "types_grid", "{{1, 2}, {3, 4}, {5, 6}}" }, { "types_grid[1][1]", "4" },
		{ "*types_grid[2]@2", "{5, 6}" }, { "types_zeros", "{0 <repeats 300 times>}" },
		{ "types_flags", "(FLAG_A | FLAG_C)" }, { "types_more", "(FLAG_A | unknown: 0x8)" },
		{ "TYPES_GREEN", "TYPES_GREEN" }, { "TYPES_GREEN + 1", "6" },
		{ "(enum types_color)5", "TYPES_GREEN" }, { "*types_ring->next", "{next = 0x0, v = 2}" },
		{ "((struct types_node *)types_ring)->v", "1" },
		{ "sizeof(struct types_whole)", NULL }, { "&types_grid[2] - &types_grid[0]", "2" },
		{ "*types_opaque", "<incomplete type>" },
		{ "types_opaque->x", "UNSUPPORTED: types_unknown is an incomplete type: its members "
		  "are not known" },
		{ "types_whole.nosuch", "NOTFOUND: there is no member nosuch in types_whole" },
		{ "types_grid.x", "USAGE: what has the member x is no struct" },
		{ "*(int *)types_wild", "MEMORY: cannot read memory at 0x10" },
		{ "types_ring->next->next->next", "MEMORY: cannot read memory at 0x0" },
		{ "'test_types.c'::types_high", "TYPES_HIGH" },
		{ "'nosuch.c'::types_high",
		  "NOTFOUND: no variable types_high in a file nosuch.c" },
	};

	if (!world_of_self(&world)) {
		unit_skip("this program has no debug information");
		world_free(&world);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char size[16];
		const char *is = world_print(&world, rows[i].text);

		snprintf(size, sizeof(size), "%zu", sizeof(struct types_whole));
		if (strcmp(is, rows[i].is ? rows[i].is : size))
			printf("%s: %s\n", rows[i].text, is);
		CU_ASSERT_STRING_EQUAL(is, rows[i].is ? rows[i].is : size);
	}
	world_free(&world);
}

TEST("types are named as C writes them")
{
	static const char *const rows[][2] = {
		{ "types_whole", "struct types_whole" }, { "&types_whole", "struct types_whole *" },
		{ "types_grid", "int [3][2]" }, { "&types_grid[1]", "int (*)[2]" },
		{ "types_whole.point", "types_point" }, { "types_whole.text", "const char *" },
		{ "types_whole.nodes", "struct types_node *[2]" }, { "types_high", "enum types_color" },
		{ "TYPES_RED", "enum types_color" }, { "types_whole.both", "union types_union" },
		{ "struct types_node", "struct types_node" },
	};

	if (!world_of_self(&world))
		unit_skip("this program has no debug information");
	else
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			CU_ASSERT_STRING_EQUAL(world_whatis(&world, rows[i][0]), rows[i][1]);
	world_free(&world);
}

TEST("an offset is a member")
{
	struct str path AUTO_STR = STR_INIT;
	struct type *type, *in;
	bool found;

	if (!world_of_self(&world)) {
		unit_skip("this program has no debug information");
		world_free(&world);
		return;
	}
	CU_ASSERT_PTR_NULL(types_find_tag(world.types, TYPE_STRUCT, "types_whole", &type, &found));
	CU_ASSERT_TRUE_FATAL(found);
	CU_ASSERT_PTR_NULL(member_path_add(type, offsetof(struct types_whole, point.y), &path, &in));
	CU_ASSERT_STRING_EQUAL(str_text(&path), ".point.y");
	str_clear(&path);
	CU_ASSERT_PTR_NULL(member_path_add(type, offsetof(struct types_whole, nodes[1]) + 3, &path,
					   &in));
	CU_ASSERT_STRING_EQUAL(str_text(&path), ".nodes[1]+3");
	world_free(&world);
}
