/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each line of the kernel's source holds. */

#include "os/machine/allocinfo.h"

#include "base/cleanup.h"
#include "unit.h"

static void parse(const char *text, struct allocinfo *ret)
{
	AUTO_FCLOSE FILE *file = fmemopen((char *)(uintptr_t)text, strlen(text), "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_PTR_NULL_FATAL(allocinfo_parse(file, ret));
}

TEST("lines")
{
	struct allocinfo info;

	parse("allocinfo - version: 1.0\n"
	      "#     <size>  <calls> <tag info>\n"
	      "           0        0 init/main.c:1314 func:do_initcalls\n"
	      "     8974336     2191 mm/slub.c:2259 func:alloc_slab_page\n"
	      "    12345678        3 net/socket.c:1 [af_packet] func:packet_create\n"
	      "        4096\n"
	      "4096 1\n"
	      "        4096        1 mm/torn.c", &info);
	CU_ASSERT_EQUAL_FATAL(info.vec.nr, 3);
	CU_ASSERT_EQUAL(info.vec.at[0].bytes, 12345678);
	CU_ASSERT_EQUAL(info.vec.at[0].calls, 3);
	CU_ASSERT_STRING_EQUAL(info.vec.at[0].place,
			       "net/socket.c:1 [af_packet] func:packet_create");
	CU_ASSERT_STRING_EQUAL(info.vec.at[1].place, "mm/slub.c:2259 func:alloc_slab_page");
	CU_ASSERT_STRING_EQUAL(info.vec.at[2].place, "mm/torn.c");
	vec_free(&info.vec);
}

/* A name of any length is cut, and what follows it in the next piece is no line of its own. */
TEST("a long line")
{
	struct allocinfo info;
	char text[4096];

	memset(text, 'x', sizeof(text));
	memcpy(text, "4096 1 ", 7);
	memcpy(text + sizeof(text) - 2, "\n", 2);
	parse(text, &info);
	CU_ASSERT_EQUAL_FATAL(info.vec.nr, 1);
	CU_ASSERT_EQUAL(strlen(info.vec.at[0].place), ALLOCINFO_PLACE - 1);
	vec_free(&info.vec);
}

TEST("nothing")
{
	struct allocinfo info;

	parse("allocinfo - version: 1.0\n", &info);
	CU_ASSERT_EQUAL(info.vec.nr, 0);
	vec_free(&info.vec);
}

/* Most kernels do not count. That has a code of its own, since nothing is said of it then. */
TEST("of this kernel")
{
	struct allocinfo info;
	struct err *err = allocinfo_read(&info);

	CU_ASSERT(!err || err->code == ERR_NOTFOUND || err->code == ERR_PERM);
	vec_free(&info.vec);
}
