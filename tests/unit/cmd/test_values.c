/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dicts of large answers, which share their keys and values. */

#include "cmd/shell/dict.h"
#include "harness.h"
#include "unit.h"

#define MANY	20000u

static bool number_is(Tcl_Obj *dict, const char *key, uint64_t want)
{
	Tcl_Obj *name = Tcl_NewStringObj(key, -1), *value = NULL;
	Tcl_WideInt number = -1;

	Tcl_IncrRefCount(name);
	Tcl_DictObjGet(NULL, dict, name, &value);
	if (value)
		Tcl_GetWideIntFromObj(NULL, value, &number);
	Tcl_DecrRefCount(name);
	return number == (Tcl_WideInt)want;
}

struct some {
	uint64_t unique, again, some, address;
	int64_t value;
	const char *text;
};

#define SOME(kind, member)	#member, NULL, NULL, COLUMN(kind, struct some, member)

static const struct column some_columns[] = {
	{ SOME(NUMBER, unique) }, { SOME(NUMBER, again) }, { SOME(NUMBER, some) },
	{ SOME(TEXT, text) }, { SOME(ADDRESS, address) }, { SOME(CHANGE, value) },
};

static const struct relation some_relation = RELATION("some", some_columns, struct some);

/* Values of which some come again and some take the place of others that are shared. */
static Tcl_Obj *make_dict(struct dicts *dicts, uint64_t i)
{
	char text[32];
	const struct some row = { .unique = i, .again = i % 7, .some = i % 2000, .text = text,
				  .address = i, .value = (int64_t)i + 1 };

	snprintf(text, sizeof(text), "%u", (unsigned)i % 3000);
	return dicts_row(dicts, &row);
}

TEST("keeps values apart")
{
	struct dicts dicts;
	Tcl_Obj *list = Tcl_NewObj();
	unsigned bad = 0;

	harness_shell();
	CU_ASSERT_PTR_NULL_FATAL(dicts_init(&dicts, &some_relation));
	for (uint64_t i = 0; i < MANY; i++)
		Tcl_ListObjAppendElement(NULL, list, make_dict(&dicts, i));
	dicts_free(&dicts);
	for (unsigned i = 0; i < MANY; i++) {
		Tcl_Obj *dict;

		Tcl_ListObjIndex(NULL, list, (int)i, &dict);
		bad += !number_is(dict, "unique", i) || !number_is(dict, "again", i % 7) ||
		       !number_is(dict, "some", i % 2000) || !number_is(dict, "text", i % 3000) ||
		       !number_is(dict, "address", i) || !number_is(dict, "value", i + 1);
	}
	CU_ASSERT_EQUAL(bad, 0);
	Tcl_IncrRefCount(list);
	Tcl_DecrRefCount(list);
}

/* Keys are one object for all dicts, and so is a value that comes again. */
TEST("shares what comes again")
{
	static const struct column columns[] = {
		{ SOME(TEXT, text) }, { SOME(NUMBER, again) }, { SOME(NUMBER, unique) },
	};
	static const struct relation relation = RELATION("shared", columns, struct some);
	struct dicts dicts;
	Tcl_Obj *dict[2], **words[2];
	int nr;

	harness_shell();
	CU_ASSERT_PTR_NULL_FATAL(dicts_init(&dicts, &relation));
	for (unsigned i = 0; i < 2; i++) {
		const struct some row = { .text = "same", .again = 7, .unique = i };

		dict[i] = dicts_row(&dicts, &row);
		Tcl_IncrRefCount(dict[i]);
		CU_ASSERT_EQUAL(Tcl_ListObjGetElements(NULL, dict[i], &nr, &words[i]), TCL_OK);
		CU_ASSERT_EQUAL_FATAL(nr, 6);
	}
	for (int i = 0; i < 5; i++)
		CU_ASSERT_PTR_EQUAL(words[0][i], words[1][i]);
	CU_ASSERT_PTR_NOT_EQUAL(words[0][5], words[1][5]);
	dicts_free(&dicts);
	CU_ASSERT_STRING_EQUAL(Tcl_GetString(dict[1]), "text same again 7 unique 1");
	Tcl_DecrRefCount(dict[0]);
	Tcl_DecrRefCount(dict[1]);
}

