/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is checked by scripts: the freestanding build, the hammer under ThreadSanitizer, the model.
 */

#include <sys/wait.h>

#include "unit.h"

/* Status 77: it cannot run here. */
static void run(const char *script)
{
	const char *source = getenv("MDBG_SOURCE");
	char command[4096];
	int status;

	if (UNIT_SANITIZED) {
		unit_skip("the scripts build what they test: it would be the same again");
		return;
	}

	if (!source) {
		unit_skip("MDBG_SOURCE is not set (run it through make)");
		return;
	}
	snprintf(command, sizeof(command), "cd '%s' && %s", source, script);
	fflush(stdout);
	status = system(command);
	CU_ASSERT_TRUE_FATAL(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		unit_skip("a tool is missing");
	else
		CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}

TEST("freestanding")
{
	run("tests/unit/log/freestanding.sh");
}

TEST("ThreadSanitizer")
{
	run("tests/torture/log_tsan.sh 1");
}

TEST("model")
{
	run("tests/torture/log_model.sh quick");
}
