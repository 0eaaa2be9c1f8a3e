/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose files are trusted, and what in a folder of others' is planted. */

#include "os/trust.h"

#include <fcntl.h>

#include "os/output.h"
#include "tree.h"
#include "unit.h"

#define OTHER	12345

static struct tree tree;

static const char *at(const char *name)
{
	static char path[2][512];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", tree.at, name);
	return path[turn];
}

static void make_files(void)
{
	tree_make(&tree);
	chmod(tree.at, 0755);
	tree_put(&tree, "plain", "text");
	tree_put(&tree, "in/plain", "text");
	tree_folder(&tree, "open");
	CU_ASSERT_FATAL(!mkfifo(at("fifo"), 0644) && !chmod(at("in"), 0755) &&
			!chmod(at("open"), 01777) && !chmod(at("plain"), 0644) &&
			!chmod(at("in/plain"), 0644) && !symlink("plain", at("link")) &&
			!symlink("../in/plain", at("in/relative")));
}

static void remove_files(void)
{
	tree_remove(&tree);
}

EACH(make_files, remove_files);

/* Does it fail for this reason? */
static bool fails(const struct err *err, enum err_code code, const char *why)
{
	if (err && err->code == code && strstr(err->msg, why))
		return true;
	fprintf(stderr, "not '%s': %s\n", why, err ? err->msg : "no error");
	return false;
}

static struct err *check(const char *name)
{
	return trust_file(at(name), NULL);
}

TEST("files")
{
	struct err *err;
	int fd = -1;

	CU_ASSERT_PTR_NULL(check("plain"));
	CU_ASSERT_PTR_NULL(check("link"));
	CU_ASSERT_PTR_NULL(check("in/relative"));
	err = trust_file(at("in/plain"), &fd);
	CU_ASSERT(!err && fd >= 0);
	close(fd);
	CU_ASSERT(fails(check("fifo"), ERR_FORMAT, "not a regular file"));
	CU_ASSERT(fails(check("none"), ERR_SYS, "No such file"));
	chmod(at("in/plain"), 0664);
	err = check("in/plain");
	CU_ASSERT(fails(err, ERR_PERM, "group"));
	CU_ASSERT(err && strstr(err->hint, "chmod go-w"));
	chmod(at("in/plain"), 0644);
	chmod(at("in"), 0757);
	CU_ASSERT(fails(check("in/plain"), ERR_PERM, "folder"));
	/* The link lies in a folder of others', and so may lead elsewhere in a moment. */
	CU_ASSERT(fails(check("in/relative"), ERR_PERM, "folder"));
	/* Others may make files in it, but not replace this one. */
	chmod(at("in"), 01777);
	CU_ASSERT_PTR_NULL(check("in/plain"));
	chmod(at("in"), 0755);
}

TEST("folders")
{
	struct stat st;

	CU_ASSERT_PTR_NULL(trust_folder(at("in"), false, NULL));
	CU_ASSERT(fails(trust_folder(at("open"), false, NULL), ERR_PERM, "others may write"));
	CU_ASSERT(fails(trust_folder(at("plain"), false, NULL), ERR_FORMAT, "not a folder"));
	CU_ASSERT(fails(trust_folder(at("in/a/b"), false, NULL), ERR_SYS, "No such file"));
	CU_ASSERT_PTR_NULL(trust_folder(at("in/a/b"), true, NULL));
	CU_ASSERT(!stat(at("in/a/b"), &st) && st.st_mode == (S_IFDIR | 0700));
	/* Nothing is made where others may write. */
	CU_ASSERT(fails(trust_folder(at("open/a"), true, NULL), ERR_PERM, "others may write"));
	CU_ASSERT(access(at("open/a"), F_OK));
	CU_ASSERT_PTR_NULL(trust_shared_folder(at("open")));
	CU_ASSERT_PTR_NULL(trust_shared_folder(at("in")));
	chmod(at("open"), 0777);
	CU_ASSERT(fails(trust_shared_folder(at("open")), ERR_PERM, "others may write"));
	chmod(at("open"), 01777);
}

TEST("paths that may lead nowhere")
{
	CU_ASSERT_PTR_NULL(trust_path(at("in")));
	CU_ASSERT_PTR_NULL(trust_path(at("in/none")));
	CU_ASSERT_PTR_NULL(trust_path(at("in/none/none")));
	CU_ASSERT(fails(trust_path(at("open")), ERR_PERM, "others may write"));
	/* Somebody could make it in a moment. */
	CU_ASSERT(fails(trust_path(at("open/none")), ERR_PERM, "others may write"));
	CU_ASSERT(fails(trust_path("none"), ERR_PERM, "does not begin with /"));
}

/* Is there the right to make files of another user? */
static bool gives_away(const char *name)
{
	if (!lchown(at(name), OTHER, OTHER))
		return true;
	unit_skip("not allowed to give a file away");
	return false;
}

TEST("somebody else's")
{
	if (!gives_away("in"))
		return;
	CU_ASSERT(fails(check("in/plain"), ERR_PERM, "user 12345"));
	CU_ASSERT(fails(trust_path(at("in/none")), ERR_PERM, "user 12345"));
	CU_ASSERT_PTR_NULL(check("plain"));
	CU_ASSERT_PTR_NULL(trust_file_of(at("in/plain"), OTHER, NULL));
	CU_ASSERT(fails(trust_file_of(at("in/plain"), OTHER + 1, NULL), ERR_PERM, "user 12345"));
	CU_ASSERT_EQUAL(chown(at("in"), geteuid(), getegid()), 0);
}

/* What the user names */

static struct err *write_to(const char *name)
{
	int fd = -1;
	struct err *err = output_open(at(name), O_TRUNC, 0666, &fd);

	if (!err)
		close(fd);
	return err;
}

TEST("output to files of our own")
{
	struct stat st;

	CU_ASSERT_PTR_NULL(write_to("new"));
	CU_ASSERT_PTR_NULL(write_to("new"));
	CU_ASSERT_PTR_NULL(write_to("open/new"));
	CU_ASSERT_PTR_NULL(write_to("open/new"));
	CU_ASSERT_PTR_NULL(write_to("link"));
	CU_ASSERT(!stat(at("plain"), &st) && !st.st_size);
	CU_ASSERT(fails(write_to("fifo"), ERR_USAGE, "nobody reads"));
	CU_ASSERT(fails(write_to("in"), ERR_USAGE, "a folder"));
	CU_ASSERT(fails(write_to("in/"), ERR_USAGE, "no name of a file"));
	CU_ASSERT(fails(write_to("none/new"), ERR_SYS, "No such file"));
	CU_ASSERT_EQUAL(symlink("later", at("open/ahead")), 0);
	CU_ASSERT_PTR_NULL(write_to("open/ahead"));
	CU_ASSERT_EQUAL(access(at("open/later"), F_OK), 0);
	CU_ASSERT_EQUAL(link(at("plain"), at("open/second")), 0);
	CU_ASSERT(fails(write_to("open/second"), ERR_PERM, "second name"));
	CU_ASSERT_PTR_NULL(write_to("plain"));
	unlink(at("open/second"));
}

TEST("output to devices and to the kernel's links")
{
	int fd = -1, out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char name[32];

	CU_ASSERT_PTR_NULL(output_open("/dev/null", O_APPEND, 0666, &fd));
	close(fd);
	snprintf(name, sizeof(name), "/dev/fd/%d", out);
	CU_ASSERT_PTR_NULL(output_open(name, O_APPEND, 0666, &fd));
	close(fd);
	close(out);
}

TEST("output to what somebody has planted")
{
	tree_put(&tree, "open/file", "text");
	CU_ASSERT_EQUAL(mkfifo(at("open/fifo"), 0666), 0);
	CU_ASSERT_EQUAL(symlink("../plain", at("open/link")), 0);
	CU_ASSERT_EQUAL(symlink("../in", at("open/folder")), 0);
	if (!gives_away("open/file") || !gives_away("open/fifo") || !gives_away("open/link") ||
	    !gives_away("open/folder"))
		return;
	/* The sticky bit makes no difference to who may have made it. */
	for (mode_t mode = 0777; mode <= 01777; mode += 01000) {
		chmod(at("open"), mode);
		CU_ASSERT(fails(write_to("open/file"), ERR_PERM, "user 12345"));
		CU_ASSERT(fails(write_to("open/fifo"), ERR_PERM, "user 12345"));
		CU_ASSERT(fails(write_to("open/link"), ERR_PERM, "user 12345"));
		CU_ASSERT(fails(write_to("open/folder/plain"), ERR_PERM, "user 12345"));
	}
	/* In his own folder, who names it means his file. */
	CU_ASSERT_EQUAL(chown(at("open"), OTHER, OTHER), 0);
	CU_ASSERT_PTR_NULL(write_to("open/file"));
	CU_ASSERT_EQUAL(chown(at("open"), geteuid(), getegid()), 0);
	chmod(at("open"), 0755);
	CU_ASSERT_PTR_NULL(write_to("open/file"));
	chmod(at("open"), 01777);
}
