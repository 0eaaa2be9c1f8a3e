/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers for texts. */

#include "base/text_set.h"
#include "unit.h"

TEST("numbers texts once")
{
	struct text_set set = TEXT_SET_INIT;
	char same[] = "load";
	uint32_t nr = 9;

	CU_ASSERT_PTR_NULL(text_set_number(&set, "load", &nr));
	CU_ASSERT_EQUAL(nr, 0);
	CU_ASSERT_PTR_NULL(text_set_number(&set, "save", &nr));
	CU_ASSERT_EQUAL(nr, 1);
	CU_ASSERT_PTR_NULL(text_set_copy(&set, same, &nr));
	CU_ASSERT_EQUAL(nr, 0);
	CU_ASSERT_EQUAL(set.copies.nr, 0);
	CU_ASSERT(text_set_has(&set, same) && !text_set_has(&set, "other"));
	text_set_free(&set);
	CU_ASSERT(!text_set_has(&set, same));
}

TEST("keeps copies")
{
	struct text_set set = TEXT_SET_INIT;
	char text[16];
	uint32_t nr;

	for (unsigned i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "f%u", i % 2500);
		CU_ASSERT_PTR_NULL_FATAL(text_set_copy(&set, text, &nr));
		CU_ASSERT_EQUAL(nr, i % 2500);
	}
	CU_ASSERT_EQUAL(set.vec.nr, 2500);
	CU_ASSERT_STRING_EQUAL(set.vec.at[2499], "f2499");
	text_set_free(&set);
}

