/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's names. */

#include "os/kallsyms.h"

#include "base/cleanup.h"
#include "unit.h"

static struct err *parse(const char *text, struct kallsyms *ret)
{
	AUTO_FCLOSE FILE *file = fmemopen((char *)(uintptr_t)text, strlen(text), "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	return kallsyms_parse(file, ret);
}

static const char *name_at(const struct kallsyms *syms, uint64_t address)
{
	const struct kallsyms_name *sym = kallsyms_find(syms, address);

	return sym ? kallsyms_text(syms, sym->name) : "-";
}

TEST("names")
{
	CLEANUP(kallsyms_free) struct kallsyms syms;

	CU_ASSERT_PTR_NULL_FATAL(parse("ffffffff81000200 T later\n"
				       "ffffffff81000000 T _text\n"
				       "ffffffff81000100 d data\n"
				       "0000000000000000 A fixed\n"
				       "torn\n"
				       "ffffffffc0000000 t in_module\t[nf_tables]\n", &syms));
	CU_ASSERT_EQUAL(syms.vec.nr, 3);
	CU_ASSERT_STRING_EQUAL(name_at(&syms, 0xffffffff810001ff), "_text");
	CU_ASSERT_STRING_EQUAL(name_at(&syms, 0xffffffff81000200), "later");
	CU_ASSERT_STRING_EQUAL(name_at(&syms, 0xffffffff80ffffff), "-");
	CU_ASSERT_STRING_EQUAL(name_at(&syms, 0xffffffffc0000010), "in_module");
	CU_ASSERT_STRING_EQUAL(kallsyms_text(&syms, kallsyms_find(&syms, UINT64_MAX)->module),
			       "nf_tables");
	CU_ASSERT_STRING_EQUAL(kallsyms_text(&syms, UINT32_MAX), "");
}

/* kernel.kptr_restrict shows zeros. */
TEST("hidden")
{
	struct kallsyms syms;
	struct err *err = parse("0000000000000000 T _text\n0000000000000000 T later\n", &syms);

	CU_ASSERT_FATAL(err && err->code == ERR_PERM);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->hint, "kptr_restrict"));
	kallsyms_free(&syms);
	CU_ASSERT_PTR_NOT_NULL(parse("\n", &syms));
	kallsyms_free(&syms);
}
