/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file that an export writes: the old one as it was, or the new one whole. */

#include "export/export_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/cancel.h"
#include "folder.h"
#include "unit.h"

FIXTURE(folder_enter, folder_leave);

EACH(NULL, folder_clear);

static mode_t mode_of(const char *name)
{
	struct stat st;

	CU_ASSERT_EQUAL_FATAL(lstat(name, &st), 0);
	return st.st_mode;
}

static struct err *write_text(const char *name, const char *text)
{
	struct export_file *file;
	struct err *err = export_file_begin(name, false, &file);

	if (err)
		return err;
	export_file_text(file, text);
	return export_file_end(file, NULL);
}

/* It fails, and names the file; the number of files stays. */
static void refuses(const char *name, bool plain, const char *why)
{
	unsigned files = folder_files();
	struct export_file *file;
	struct err *err = export_file_begin(name, plain, &file);

	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	if (!strstr(err->msg, name) || !strstr(err->msg, why))
		fprintf(stderr, "not '%s': %s\n", why, err->msg);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, name));
	CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, why));
	CU_ASSERT_EQUAL(folder_files(), files);
}

TEST("makes new files")
{
	mode_t mask = umask(027);

	CU_ASSERT_PTR_NULL(write_text("new", "text\n"));
	CU_ASSERT(folder_has("new", "text\n"));
	CU_ASSERT_EQUAL(mode_of("new"), S_IFREG | 0640);
	CU_ASSERT_PTR_NULL(write_text("./beside", ""));
	CU_ASSERT(folder_has("beside", ""));
	CU_ASSERT_EQUAL(folder_files(), 2);
	umask(mask);
}

TEST("keeps modes")
{
	folder_put("old", "old\n");
	CU_ASSERT_EQUAL(chmod("old", 0604), 0);
	CU_ASSERT_PTR_NULL(write_text("old", "new\n"));
	CU_ASSERT(folder_has("old", "new\n"));
	CU_ASSERT_EQUAL(mode_of("old"), S_IFREG | 0604);
	CU_ASSERT_EQUAL(folder_files(), 1);
}

/* What is written is beside, under another name, and nobody else's to read. */
TEST("writes beside")
{
	struct export_file *file;
	struct err *err;

	folder_put("old", "old\n");
	CU_ASSERT_PTR_NULL_FATAL(export_file_begin("old", true, &file));
	CU_ASSERT_EQUAL(mode_of(export_file_path(file)), S_IFREG | 0600);
	CU_ASSERT(!strncmp(strrchr(export_file_path(file), '/'), "/.mdbg-", 7));
	for (unsigned i = 0; i < 100000; i++)
		export_file_f(file, "line %u\n", i);
	CU_ASSERT_PTR_NULL(export_file_check(file));
	CU_ASSERT(folder_has("old", "old\n"));
	err = export_file_end(file, err_create(ERR_NOMEM, "the format's own"));
	CU_ASSERT_STRING_EQUAL(err->msg, "the format's own");
	CU_ASSERT(folder_has("old", "old\n"));
	CU_ASSERT_EQUAL(folder_files(), 1);
}

TEST("keeps first errors")
{
	struct export_file *file;
	struct err *err;

	CU_ASSERT_PTR_NULL_FATAL(export_file_begin("new", false, &file));
	export_file_fail(file, err_create(ERR_FORMAT, "first"));
	export_file_fail(file, err_create(ERR_FORMAT, "second"));
	export_file_number(file, 17);
	err = export_file_end(file, NULL);
	CU_ASSERT_STRING_EQUAL(err->msg, "first");
	CU_ASSERT_EQUAL(folder_files(), 0);
}

TEST("follows links")
{
	CU_ASSERT_EQUAL(mkdir("folder", 0755), 0);
	folder_put("folder/old", "old\n");
	CU_ASSERT_EQUAL(symlink("folder/old", "link"), 0);
	CU_ASSERT_PTR_NULL(write_text("link", "new\n"));
	CU_ASSERT(S_ISLNK(mode_of("link")));
	CU_ASSERT(S_ISREG(mode_of("folder/old")));
	CU_ASSERT(folder_has("folder/old", "new\n"));
	CU_ASSERT_EQUAL(unlink("folder/old"), 0);
	refuses("link", false, "leads nowhere");
}

TEST("refuses what is no file")
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CU_ASSERT_EQUAL(mkdir("folder", 0755), 0);
	refuses("missing/file", false, "No such file or directory");
	refuses("folder", false, "a folder");
	refuses("new/", false, "a file");
	refuses("socket", false, "a socket");
	refuses("", false, "");
	close(fd);
}

TEST("refuses read-only files")
{
	if (!geteuid()) {
		unit_skip("root may write to any file");
		return;
	}
	folder_put("old", "old\n");
	CU_ASSERT_EQUAL(chmod("old", 0444), 0);
	refuses("old", false, "Permission denied");
	CU_ASSERT(folder_has("old", "old\n"));
}

/* A FIFO stays one: its reader gets the text. */
TEST("writes to FIFOs")
{
	char buf[16] = "";
	int fd;

	CU_ASSERT_EQUAL(mkfifo("fifo", 0600), 0);
	refuses("fifo", false, "a FIFO that nobody reads");
	refuses("fifo", true, "no regular file");
	fd = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CU_ASSERT_PTR_NULL(write_text("fifo", "text\n"));
	CU_ASSERT_EQUAL(read(fd, buf, sizeof(buf)), 5);
	CU_ASSERT_STRING_EQUAL(buf, "text\n");
	CU_ASSERT(S_ISFIFO(mode_of("fifo")));
	close(fd);
}

TEST("tells of readers that leave")
{
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	struct export_file *file;
	struct err *err;
	int fd;

	CU_ASSERT_EQUAL(mkfifo("fifo", 0600), 0);
	fd = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CU_ASSERT_PTR_NULL_FATAL(export_file_begin("fifo", false, &file));
	CU_ASSERT_PTR_NULL(export_file_path(file));
	close(fd);
	export_file_text(file, "text\n");
	err = export_file_end(file, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_STRING_EQUAL(err->msg, "write to fifo: Broken pipe");
	CU_ASSERT_EQUAL(err->code, ERR_SYS);
	CU_ASSERT(S_ISFIFO(mode_of("fifo")));
	signal(SIGPIPE, before);
}

static void on_signal(int number UNUSED)
{
	cancel_request();
}

/* A reader that takes nothing more does not hold mdbg once Ctrl-C was typed. */
TEST("wakes from full pipes")
{
	struct export_file *file;
	struct err *err;
	int fd;
	pid_t pid;

	CU_ASSERT_EQUAL(mkfifo("fifo", 0600), 0);
	fd = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CU_ASSERT_PTR_NULL_FATAL(export_file_begin("fifo", false, &file));
	/* The signal comes when the pipe has all that it has room for. */
	signal(SIGUSR1, on_signal);
	pid = fork();
	if (!pid) {
		int room = fcntl(fd, F_GETPIPE_SZ), full = 0;

		while (full < room / 2)
			if (ioctl(fd, FIONREAD, &full))
				_exit(1);
		_exit(kill(getppid(), SIGUSR1));
	}
	for (unsigned i = 0; i < 100000; i++)
		export_file_text(file, "0123456789abcdef");
	err = export_file_end(file, NULL);
	CU_ASSERT_FATAL(err && err->code == ERR_CANCELLED);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, "fifo"));
	cancel_clear();
	signal(SIGUSR1, SIG_DFL);
	CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
	close(fd);
}

TEST("tells of full disks")
{
	struct rlimit before, small = { 100000, 100000 };
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	struct export_file *file;
	struct err *err = write_text("/dev/full", "text\n");

	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_STRING_EQUAL(err->msg, "write to /dev/full: No space left on device");
	CU_ASSERT(S_ISCHR(mode_of("/dev/full")));
	/* The same of a file that may not become so long. */
	folder_put("old", "old\n");
	getrlimit(RLIMIT_FSIZE, &before);
	small.rlim_max = before.rlim_max;
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &small), 0);
	CU_ASSERT_PTR_NULL_FATAL(export_file_begin("old", false, &file));
	for (unsigned i = 0; i < 100000; i++)
		export_file_text(file, "0123456789abcdef");
	CU_ASSERT_PTR_NOT_NULL(export_file_check(file));
	err = export_file_end(file, NULL);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, handler);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_STRING_EQUAL(err->msg, "write to old: File too large");
	CU_ASSERT(folder_has("old", "old\n"));
	CU_ASSERT_EQUAL(folder_files(), 1);
}

TEST("ends when cancelled")
{
	struct export_file *file;
	struct err *err;

	folder_put("old", "old\n");
	CU_ASSERT_PTR_NULL_FATAL(export_file_begin("old", false, &file));
	export_file_text(file, "new\n");
	cancel_request();
	err = export_file_end(file, NULL);
	cancel_clear();
	CU_ASSERT_FATAL(err && err->code == ERR_CANCELLED);
	CU_ASSERT(folder_has("old", "old\n"));
	CU_ASSERT_EQUAL(folder_files(), 1);
}

TEST("survives kills")
{
	pid_t pid;
	int status;

	folder_put("old", "old\n");
	pid = fork();
	if (!pid) {
		struct export_file *file;

		if (export_file_begin("old", false, &file))
			_exit(1);
		for (unsigned i = 0; i < 100000; i++)
			export_file_text(file, "0123456789abcdef");
		raise(SIGKILL);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CU_ASSERT(folder_has("old", "old\n"));
}

