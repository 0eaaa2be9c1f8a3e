/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Translators, told by the mappings that they have. */

#include "tracee/translator.h"

#include "os/procparse.h"
#include "unit.h"

static const char *found_in(const char *text)
{
	struct proc_maps maps = { VEC_INIT };
	const struct translator *translator;

	CU_ASSERT_PTR_NULL_FATAL(procparse_maps(text, &maps));
	translator = translator_find(&maps);
	procparse_maps_free(&maps);
	return translator ? translator->what : "";
}

/* The code of one file among the mappings that each process has. */
static const char *found_with(const char *path)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "400000-401000 r--p 00000000 08:01 10 /usr/bin/cat\n"
		 "401000-406000 r-xp 00001000 08:01 10 /usr/bin/cat\n"
		 "580ab000-5829b000 r-xp 00001000 08:01 11 %s\n"
		 "7ffff7000-7ffff8000 rwxp 00000000 00:00 0\n"
		 "7ffff8000-7ffff9000 r-xp 00000000 00:00 0 [vdso]\n", path);
	return found_in(text);
}

TEST("told by their files")
{
	static const char *const pairs[][2] = {
		{ "/usr/libexec/valgrind/memcheck-amd64-linux", "under valgrind," },
		{ "/tmp/copy/massif-amd64-linux", "under valgrind," },
		{ "/opt/valgrind/lib/valgrind/newtool-amd64-linux", "under valgrind," },
		{ "/usr/libexec/valgrind/vgpreload_core-amd64-linux.so", "under valgrind," },
		{ "/usr/bin/qemu-x86_64", "under qemu-user," },
		{ "/usr/bin/qemu-x86_64-static", "under qemu-user," },
		{ "/usr/bin/qemu-aarch64", "under qemu-user," },
		{ "/usr/bin/qemu-arm-static", "under qemu-user," },
		{ "/usr/bin/qemu-hexagon", "under qemu-user," },
		{ "/usr/bin/qemu-hppa", "under qemu-user," },
		{ "/usr/bin/qemu-mips64el", "under qemu-user," },
		{ "/usr/bin/qemu-ppc64le-static", "under qemu-user," },
		{ "/usr/lib/rr/librrpreload.so", "under rr," },
		{ "/usr/share/rr/rr_page_64", "under rr," },
		{ "/opt/DynamoRIO/lib64/release/libdynamorio.so", "under DynamoRIO," },
		{ "/opt/DynamoRIO/lib64/release/libdynamorio.so.9.0", "under DynamoRIO," },
		{ "/opt/pin-3.28/intel64/bin/pinbin", "under Pin," },
		{ "/opt/pin-3.28/intel64/lib-ext/libpin3dwarf.so", "under Pin," },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const char *found = found_with(pairs[i][0]);

		if (!strstr(found, pairs[i][1]))
			printf("[%s: %s] ", pairs[i][0], found);
		CU_ASSERT_PTR_NOT_NULL(strstr(found, pairs[i][1]));
	}
}

TEST("others are not")
{
	static const char *const paths[] = {
		"/usr/bin/qemu-system-x86_64", "/usr/bin/qemu-system-aarch64", "/usr/bin/qemu-img",
		"/usr/bin/qemu-nbd", "/usr/bin/qemu-ga", "/usr/bin/qemu-io", "/usr/bin/qemu-storage-daemon",
		"/usr/bin/qemu-pr-helper", "/usr/bin/qemu-edid", "/usr/local/bin/prometheus-amd64-linux",
		"/usr/bin/valgrind", "/usr/bin/rr", "/opt/pin-3.28/pin", "/usr/lib/libpinyin.so",
		"/home/valgrind/a.out", "[vdso]", "",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const char *found = found_with(paths[i]);

		if (*found)
			printf("[%s: %s] ", paths[i], found);
		CU_ASSERT_STRING_EQUAL(found, "");
	}
}

/* Who reads such a file, as a debugger and a package manager do, does not run under it. */
TEST("data is no code")
{
	CU_ASSERT_STRING_EQUAL(found_in("400000-401000 r--p 00000000 08:01 10 /usr/bin/qemu-x86_64\n"
					"500000-501000 rw-s 00000000 08:01 11 "
					"/usr/libexec/valgrind/memcheck-amd64-linux\n"), "");
	CU_ASSERT_STRING_EQUAL(found_in(""), "");
}

