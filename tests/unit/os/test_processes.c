/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes by name: children of the test's own, which choose theirs. */

#include "os/processes.h"

#include <sys/prctl.h>

#include "base/path.h"
#include "child.h"
#include "unit.h"

static char chosen[16];

static void take_name(void *arg UNUSED)
{
	prctl(PR_SET_NAME, chosen);
	child_ready(1);
	child_wait();
}

static size_t count(const char *name, pid_t pid)
{
	struct process_names found;
	size_t nr = 0;

	CU_ASSERT_PTR_NULL_FATAL(processes_named(name, &found));
	vec_each(process, &found.vec) {
		nr += !pid || process->pid == pid;
		CU_ASSERT_TRUE(!name || process->pid != getpid());
	}
	vec_free(&found.vec);
	return nr;
}

TEST("finds by name")
{
	struct child one, two;
	uint64_t word;

	snprintf(chosen, sizeof(chosen), "u%d", getpid());
	CU_ASSERT_EQUAL(count(chosen, 0), 0);
	CU_ASSERT_TRUE_FATAL(child_start(&one, take_name, NULL) && child_word(&one, &word));
	CU_ASSERT_EQUAL(count(chosen, 0), 1);
	CU_ASSERT_TRUE_FATAL(child_start(&two, take_name, NULL) && child_word(&two, &word));
	CU_ASSERT_EQUAL(count(chosen, 0), 2);
	CU_ASSERT_EQUAL(count(chosen, two.pid), 1);
	CU_ASSERT_EQUAL(count(NULL, one.pid), 1);
	child_end(&two);
	CU_ASSERT_EQUAL(count(chosen, 0), 1);
	child_end(&one);
	CU_ASSERT_EQUAL(count(chosen, 0), 0);
}

/* Whatever name it has chosen, it runs the test's own program. */
TEST("finds by program")
{
	char program[4096];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	CLEANUP(child_end) struct child child;
	uint64_t word;

	CU_ASSERT_TRUE_FATAL(len > 0);
	program[len] = '\0';
	snprintf(chosen, sizeof(chosen), "other");
	CU_ASSERT_TRUE_FATAL(child_start(&child, take_name, NULL) && child_word(&child, &word));
	CU_ASSERT_EQUAL(count(path_base(program), child.pid), 1);
	CU_ASSERT_EQUAL(count(path_base(program), getpid()), 0);
}
