/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of /proc/allocinfo as text; a filter where the kernel's names are hidden. */

#include "report/kernel.h"

#include "text_out.h"

TEST("lines of allocinfo")
{
	struct allocinfo info = { VEC_INIT };
	struct str text = STR_INIT;
	struct out out;

	for (uint64_t i = 3; i; i--)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&info.vec, ((struct allocinfo_line){
			i * 4096, i, "mm/a.c:1 func:\033f" })));
	CU_ASSERT_PTR_NULL_FATAL(out_init_text(&out, &text));
	kernel_print_allocinfo(&info, 2, &out);
	CU_ASSERT_PTR_NULL(out_finish(&out));
	CU_ASSERT_STRING_EQUAL(text.at,
			       "All that the kernel holds since boot, by line (/proc/allocinfo):\n\n"
			       "12288 bytes in 3  mm/a.c:1 func:\\x1bf\n"
			       "8192 bytes in 2  mm/a.c:1 func:\\x1bf\n"
			       "1 more lines hold less\n\n");
	str_free(&text);
	vec_free(&info.vec);
}

/* It is refused before anything is added up, so that it takes no kernel that records. */
TEST("hidden names")
{
	const char *words[] = { "function", "==", "x" };
	struct kernel_names names = { .known = false };
	struct kernel_sums sums = { .estimated = 0 };
	CLEANUP(filter_free) struct filter filter;
	struct err *err;

	err_copy(&names.why, err_hint(err_create(ERR_PERM, "hidden"), "a setting"));
	CU_ASSERT_PTR_NULL_FATAL(filter_parse(3, words, 1u << FILTER_FUNCTION, &filter, NULL,
					      NULL));
	err = kernel_add_up(NULL, &names, &filter, false, 0, &sums);
	CU_ASSERT_FATAL(err && err->code == ERR_PERM);
	CU_ASSERT_STRING_EQUAL(err->msg, "hidden");
	CU_ASSERT_STRING_EQUAL(err->hint, "a setting");
	vec_free(&sums.vec);
}
