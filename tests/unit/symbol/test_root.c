/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target with a file system of its own: debug files and the perf map are found below its root, and a link
 * in there does not lead out of it.
 */

#include <signal.h>
#include <sys/wait.h>

#include "fixture.h"
#include "symbol/symbol.h"
#include "symbol/symbol_private.h"
#include "unit.h"

#define BIAS	0x7f0000000000

static int done[2];

/* A process with the folder's `root` as its root, that lives until end_child. 0: not allowed. */
static pid_t start_child(void)
{
	char root[4200], c = 0;
	int ready[2];
	pid_t pid;

	snprintf(root, sizeof(root), "%s/root", fixture_folder());
	CU_ASSERT_FATAL(!pipe(ready) && !pipe(done));
	pid = fork();
	if (!pid) {
		close(done[1]);
		c = chroot(root) == 0;
		if (write(ready[1], &c, 1) == 1 && read(done[0], &c, 1) == 0)
			_exit(0);
		_exit(1);
	}
	close(done[0]);
	close(ready[1]);
	CU_ASSERT_FATAL(pid > 0 && read(ready[0], &c, 1) == 1);
	close(ready[0]);
	if (c)
		return pid;
	close(done[1]);
	waitpid(pid, NULL, 0);
	return 0;
}

static void end_child(pid_t pid)
{
	int status;

	close(done[1]);
	CU_ASSERT(waitpid(pid, &status, 0) == pid && status == 0);
}

static bool enter(void)
{
	fixture_enter();
	if (fixture_has_lines() &&
	    fixture_shell("mkdir -p root/opt root/tmp root/usr/lib/debug/opt && "
			  "objcopy --only-keep-debug \"$PROGRAM\" bare.debug 2>/dev/null && "
			  "objcopy --strip-all \"$PROGRAM\" bare && "
			  "objcopy --add-gnu-debuglink=bare.debug bare"))
		return true;
	fixture_leave();
	unit_skip("no objcopy, or built without -g");
	return false;
}

/* Is fixture_real known in the target's /opt/bare? The target is gone when it is asked. */
static bool is_known(bool *allowed_ret)
{
	uint64_t pc = BIAS + fixture_file_address(fixture_real);
	struct symbol_module module;
	struct symbols *symbols;
	char path[4200];
	pid_t pid = start_child();
	bool known;

	*allowed_ret = pid != 0;
	if (!pid)
		return false;
	snprintf(path, sizeof(path), "%s/bare", fixture_folder());
	module = fixture_file(path, BIAS);
	module.path = "/opt/bare";
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(pid, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	end_child(pid);
	close(module.fd);
	known = !strcmp(fixture_function(symbols, pc), "fixture_real");
	symbols_destroy(symbols);
	return known;
}

TEST("debug files")
{
	bool allowed;

	if (!enter())
		return;
	CU_ASSERT(!is_known(&allowed));
	if (!allowed) {
		fixture_leave();
		unit_skip("not allowed to chroot");
		return;
	}
	CU_ASSERT(fixture_shell("mv bare.debug root/usr/lib/debug/opt/"));
	CU_ASSERT(is_known(&allowed));
	CU_ASSERT(fixture_shell("mv root/usr/lib/debug/opt/bare.debug root/opt/"));
	CU_ASSERT(is_known(&allowed));
	/* A link of the target's, absolute: its own root is meant. */
	CU_ASSERT(fixture_shell("mv root/opt/bare.debug root/tmp/ && ln -s /tmp/bare.debug root/opt/"));
	CU_ASSERT(is_known(&allowed));
	CU_ASSERT(fixture_shell("mv root/tmp/bare.debug . && ln -sf \"$PWD/bare.debug\" root/opt/bare.debug"));
	CU_ASSERT(!is_known(&allowed));
	CU_ASSERT(fixture_shell("ln -sf ../../bare.debug root/opt/bare.debug"));
	CU_ASSERT(!is_known(&allowed));
	fixture_leave();
}

TEST("perf map")
{
	struct symbols *symbols;
	pid_t pid;

	if (!enter())
		return;
	pid = start_child();
	if (!pid) {
		fixture_leave();
		unit_skip("not allowed to chroot");
		return;
	}
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(pid, &symbols));
	CU_ASSERT(fixture_shell("echo '10000 20 inside' >root/tmp/perf-%d.map", pid));
	CU_ASSERT_STRING_EQUAL(symbols_text(symbols, 0x10004, 1, false, SYMBOL_NAMES_SHORT), "inside+0x4");
	end_child(pid);
	/* It was open. */
	CU_ASSERT_STRING_EQUAL(symbols_text(symbols, 0x10005, 1, false, SYMBOL_NAMES_SHORT), "inside+0x5");
	symbols_destroy(symbols);
	fixture_leave();
}

/* Is a file of this process read once for both? */
static bool is_shared(int pid, int other_pid)
{
	struct symbol_module module = fixture_file("/proc/self/exe", BIAS);
	uint64_t pc = BIAS + fixture_file_address(fixture_real);
	struct symbols *symbols, *files;
	const char *path;
	bool shared;

	CU_ASSERT_PTR_NULL_FATAL(symbols_create(pid, &files));
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(other_pid, &symbols));
	symbols_share(symbols, files);
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(files, &module));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	close(module.fd);
	shared = symbols_image(symbols, 0, &path) == symbols_image(files, 0, &path);
	CU_ASSERT_STRING_EQUAL(fixture_function(symbols, pc), "fixture_real");
	symbols_destroy(symbols);
	CU_ASSERT_STRING_EQUAL(fixture_function(files, pc), "fixture_real");
	symbols_destroy(files);
	return shared;
}

TEST("shared files")
{
	pid_t pid;

	CU_ASSERT(is_shared(getpid(), getpid()));
	CU_ASSERT(is_shared(0, 0));
	CU_ASSERT(!is_shared(0, getpid()));
	if (!enter())
		return;
	pid = start_child();
	if (pid) {
		CU_ASSERT(!is_shared(getpid(), pid));
		end_child(pid);
	}
	fixture_leave();
}
