/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hints about files that cannot be read. */

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/str.h"
#include "cmd/shell/suggest.h"
#include "unit.h"

#define NOBODY	65534

static char folder[] = "/tmp/mdbg-unread-XXXXXX";
static char before[PATH_MAX];

static int make_files(void)
{
	if (!getcwd(before, sizeof(before)) || !mkdtemp(folder) || chdir(folder))
		return 1;
	close(open("script.tcl", O_WRONLY | O_CREAT, 0644));
	close(open(".hidden", O_WRONLY | O_CREAT, 0644));
	close(open("secret", O_WRONLY | O_CREAT, 0));
	return symlink("nowhere", "link") || mkdir("closed", 0);
}

static int remove_files(void)
{
	unlink("script.tcl");
	unlink(".hidden");
	unlink("secret");
	unlink("link");
	rmdir("closed");
	return chdir(before) || rmdir(folder);
}

FIXTURE(make_files, remove_files);

static bool says(const char *path, const char *what)
{
	AUTO_STR struct str why = STR_INIT;

	return !suggest_file(path, &why) && !strcmp(str_text(&why), what);
}

TEST("tells what is missing")
{
	char no_such[PATH_MAX];

	snprintf(no_such, sizeof(no_such), "%s has no file of that name", folder);
	CU_ASSERT_TRUE(says("scirpt.tcl", "near it: script.tcl"));
	CU_ASSERT_TRUE(says("../unlikely/other", "there is no folder ../unlikely"));
	CU_ASSERT_TRUE(says("/unlikely/folder/other", "there is no folder /unlikely"));
	CU_ASSERT_TRUE(says("other", no_such));
	CU_ASSERT_TRUE(says("/unlikely", "/ has no file of that name"));
	CU_ASSERT_TRUE(says("link", "link is a link to nowhere, which is not there"));
	/* Neither `.` nor what is hidden is near a short name. */
	CU_ASSERT_TRUE(says("x", no_such));
	CU_ASSERT_TRUE(says(".hiden", "near it: .hidden"));
	CU_ASSERT_TRUE(says("", "the name is empty"));
}

TEST("tells what is no file")
{
	CU_ASSERT_TRUE(says("..", "it is a folder: name a file in it"));
	CU_ASSERT_TRUE(says("/", "it is a folder: name a file in it"));
	CU_ASSERT_TRUE(says("script.tcl/x", "script.tcl is no folder"));
	CU_ASSERT_TRUE(says("script.tcl", ""));
	CU_ASSERT_TRUE(says("//dev///null", ""));
}

static void look_as_nobody(void)
{
	char owner[128], door[128];
	uid_t maker = geteuid(), user = maker ? maker : NOBODY;

	if (!maker && (chmod(folder, 0755) || setresuid(NOBODY, NOBODY, NOBODY)))
		_exit(1);
	snprintf(owner, sizeof(owner), "it is user %u's, and user %u may not read it", maker, user);
	snprintf(door, sizeof(door), "user %u may not look into closed", user);
	_exit(!says("secret", owner) || !says("closed/x", door) || !says("closed/x/y", door));
}

TEST("tells who may not")
{
	int status;
	pid_t pid = fork();

	if (!pid)
		look_as_nobody();
	CU_ASSERT_TRUE(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
}

TEST("names that are near")
{
	CU_ASSERT_TRUE(suggest_is_near("p", "pc"));
	CU_ASSERT_TRUE(suggest_is_near("ab", "cb"));
	CU_ASSERT_TRUE(suggest_is_near("m", "M"));
	/* No letter is the same. */
	CU_ASSERT_FALSE(suggest_is_near("p", "M"));
}

TEST("keeps a hint")
{
	struct err *err = err_hint(err_create(ERR_SYS, "open"), "of its own");

	CU_ASSERT_STRING_EQUAL(suggest_file_hint(err, "/")->hint, "of its own");
	CU_ASSERT_STRING_EQUAL(suggest_file_hint(err_create(ERR_SYS, "open"), "script.tcl")->hint, "");
	CU_ASSERT_STRING_EQUAL(suggest_file_hint(err_create(ERR_SYS, "open"), "/")->hint,
			       "it is a folder: name a file in it");
}

