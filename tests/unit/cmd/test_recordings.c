/* SPDX-License-Identifier: GPL-3.0-or-later */
/* recordings, mdbg::recordings: what they say of a recording that is not read as a whole. */

#include "harness.h"
#include "record/make.h"

TEST("processes that there are too many of are counted as left out")
{
	struct made made;
	char script[256];

	made_begin(&made, 3);
	made_open(&made);
	made_add(&made, 0);
	made_marks(&made, 0, 40000);
	made_close(&made);
	snprintf(script, sizeof(script), "dict get [lindex [mdbg::recordings %s] 0] leftout", made.dir);
	CU_ASSERT_STRING_EQUAL(harness_value(script), "0");
	made_open(&made);
	made_marks(&made, 40000, 70000);
	made_close(&made);
	CU_ASSERT_STRING_EQUAL(harness_value(script), "4465");
	snprintf(script, sizeof(script), "recordings %s", made.dir);
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line(script).out, " 65536 "));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line(script).out, " 4465 "));
	made_end(&made);
}
