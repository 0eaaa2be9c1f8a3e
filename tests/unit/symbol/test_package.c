/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packages by dpkg's lists, below a root that is made here. */

#include "symbol/package.h"

#include <fcntl.h>

#include "fixture.h"
#include "unit.h"

static char folder[4096];

/* The packages of files, asked for at once, one a line in the order of their paths. */
static bool are(size_t nr, const char *const *paths, const char *want)
{
	int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct package_files wanted = { VEC_INIT };
	struct package_file files[8];
	struct str got AUTO_STR = STR_INIT;
	struct err *err = root < 0 ? err_sys("root") : NULL;

	for (size_t i = 0; i < nr && !err; i++) {
		files[i] = (struct package_file){ .path = paths[i], .package = STR_INIT };
		err = vec_push(&wanted.vec, &files[i]);
	}
	if (!err)
		err = packages_of_debug(root, &wanted);
	for (size_t i = 0; i < nr && !err; i++) {
		err = str_addf(&got, "%s%s", i ? "\n" : "", str_text(&files[i].package));
		str_free(&files[i].package);
	}
	if (err || strcmp(str_text(&got), want))
		printf("[%s: %s] ", paths[0], err ? err->msg : str_text(&got));
	vec_free(&wanted.vec);
	close(root);
	return !err && !strcmp(str_text(&got), want);
}

static bool is(const char *path, const char *want)
{
	return are(1, &path, want);
}

TEST("lists of files")
{
	static const char *const several[] = {
		"/usr/lib/libc.so.6", "/usr/bin/redis-server", "/usr/bin/mine",
		"/usr/bin/redis-server-old", "/lib/libc.so.6",
	};

	snprintf(folder, sizeof(folder), "%s/root", fixture_enter());
	CU_ASSERT_TRUE_FATAL(fixture_shell(
		"mkdir -p root/var/lib/dpkg/info && cd root/var/lib/dpkg/info && "
		"printf '/.\\n/lib\\n/lib/libc.so.6\\n' >libc6:amd64.list && "
		"printf '/.\\n/usr/bin/redis-server-old\\n/opt/usr/bin/redis-server\\n' >other.list && "
		"printf '/usr/bin/redis-server' >redis-server.list && "
		"printf '/usr/bin/mine\\n' >'Not a Package.list' && "
		"printf '/usr/bin/mine\\n' >mine.conffiles && mkfifo fifo.list && "
		"ln -s redis-server.list link.list && mkdir folder.list && : >empty.list"));
	CU_ASSERT_TRUE(is("/usr/bin/redis-server", "redis-server-dbgsym"));
	/* Where /lib is a link to /usr/lib. */
	CU_ASSERT_TRUE(is("/usr/lib/libc.so.6", "libc6-dbg"));
	CU_ASSERT_TRUE(is("/lib/libc.so.6", "libc6-dbg"));
	CU_ASSERT_TRUE(is("/bin/redis-server", "redis-server-dbgsym"));
	/* Part of a line is no line. */
	CU_ASSERT_TRUE(is("/usr/bin/redis-serve", ""));
	CU_ASSERT_TRUE(is("/usr/bin/redis", ""));
	CU_ASSERT_TRUE(is("/usr/bin/redis-server-old", "other-dbgsym"));
	CU_ASSERT_TRUE(is("/usr/bin/mine", ""));
	CU_ASSERT_TRUE(is("/.\n/lib", ""));
	CU_ASSERT_TRUE(is("[vdso]", ""));
	CU_ASSERT_TRUE(are(ARRAY_SIZE(several), several,
			   "libc6-dbg\nredis-server-dbgsym\n\nother-dbgsym\nlibc6-dbg"));
	CU_ASSERT_TRUE(fixture_shell("rm -r root/var && ln -s / root/var"));
	CU_ASSERT_TRUE(is("/usr/bin/redis-server", ""));
	fixture_leave();
}
