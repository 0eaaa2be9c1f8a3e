/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Along pointers, by the debug information of this very program. */

#include "base/cleanup.h"
#include "type/pointer_step.h"
#include "unit.h"
#include "world.h"

struct step_leaf { long value; struct step_leaf *next; };
struct step_tree {
	char name[16];
	struct step_leaf *leaf, *leaves[4];
	struct { struct step_leaf *first; } inner;
	union { struct step_leaf *either; long number; } any;
	void *other;
	char *text;
	struct step_tree **children;
	unsigned bits : 3;
};

/* What refers to a type keeps it in the debug information. */
static struct step_tree step_one;

static void check(const struct value_world *world, const char *tag, uint64_t offset, bool alone,
		  const char *want, const char *leads)
{
	AUTO_STR struct str way = STR_INIT;
	struct type *type, *to = NULL;
	bool found;

	CU_ASSERT_PTR_NULL_FATAL(types_find_tag(world->types, TYPE_STRUCT, tag, &type, &found));
	CU_ASSERT_TRUE_FATAL(found);
	if (!alone)
		type = type_pointer(type);
	CU_ASSERT_PTR_NULL(pointer_step_add(type, offset, alone, &way, &to, &found));
	CU_ASSERT_EQUAL(found, want != NULL);
	CU_ASSERT_STRING_EQUAL(str_text(&way), want ? want : "");
	CU_ASSERT_EQUAL(to != NULL, leads != NULL);
	if (to && leads)
		CU_ASSERT_STRING_EQUAL(type_plain(to)->name ? type_plain(to)->name : "*", leads);
}

#define AT(member)	offsetof(struct step_tree, member)

TEST("in which member a pointer is, and where it leads")
{
	struct value_world world;

	step_one.bits = 1;
	if (!world_of_self(&world)) {
		unit_skip("this program has no debug information");
		world_free(&world);
		return;
	}
	check(&world, "step_tree", AT(leaf), true, ".leaf", "step_leaf");
	check(&world, "step_tree", AT(leaves[2]), true, ".leaves[2]", "step_leaf");
	check(&world, "step_tree", AT(inner.first), true, ".inner.first", "step_leaf");
	check(&world, "step_tree", AT(children), true, ".children", "*");
	/* It is a pointer, and nobody knows to what. */
	check(&world, "step_tree", AT(other), true, ".other", NULL);
	check(&world, "step_tree", AT(text), true, ".text", NULL);
	/* No pointer, one in a union, none at this byte, and behind the value. */
	check(&world, "step_tree", AT(name), true, NULL, NULL);
	check(&world, "step_tree", AT(any), true, NULL, NULL);
	check(&world, "step_tree", AT(leaf) + 4, true, NULL, NULL);
	check(&world, "step_tree", sizeof(struct step_tree), true, NULL, NULL);
	check(&world, "step_tree", UINT64_MAX - 7, true, NULL, NULL);
	/* An array of pointers; of a variable there is one. */
	check(&world, "step_tree", 0, false, "", "step_tree");
	check(&world, "step_tree", 24, false, "[3]", "step_tree");
	check(&world, "step_tree", 20, false, NULL, NULL);
	world_free(&world);
}
