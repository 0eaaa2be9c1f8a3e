/* SPDX-License-Identifier: GPL-3.0-or-later */
/* struct err: messages read outside-in, codes come from errno, err_nomem stays as it is. */

#include "base/err.h"

#include <pthread.h>

#include "unit.h"

TEST("create")
{
	struct err *err = err_create(ERR_NOTFOUND, "no function %s in %d modules", "foo", 3);

	CU_ASSERT_EQUAL(err->code, ERR_NOTFOUND);
	CU_ASSERT_EQUAL(err->errnum, 0);
	CU_ASSERT_STRING_EQUAL(err->msg, "no function foo in 3 modules");
	CU_ASSERT_STRING_EQUAL(err->hint, "");
}

TEST("codes from errno")
{
	static const struct {
		int errnum;
		enum err_code code;
	} cases[] = {
		{ EPERM, ERR_PERM },
		{ EACCES, ERR_PERM },
		{ ESRCH, ERR_GONE },
		{ ENOMEM, ERR_NOMEM },
		{ ENOENT, ERR_SYS },
		{ EIO, ERR_SYS },
	};
	char want[128];
	struct err *err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		errno = cases[i].errnum;
		err = err_sys("ptrace seize %d", 42);
		CU_ASSERT_EQUAL(err->code, cases[i].code);
		CU_ASSERT_EQUAL(err->errnum, cases[i].errnum);
		CU_ASSERT_EQUAL(errno, cases[i].errnum);
		snprintf(want, sizeof(want), "ptrace seize 42: %s", strerror(cases[i].errnum));
		CU_ASSERT_STRING_EQUAL(err->msg, want);
	}
}

TEST("wrap reads outside-in")
{
	struct err *err;

	errno = EPERM;
	err = err_hint(err_sys("ptrace"), "be root");
	err = err_wrap(err_wrap(err, "thread %d", 2), "attach %d", 1);
	CU_ASSERT_EQUAL(err->code, ERR_PERM);
	CU_ASSERT_EQUAL(err->errnum, EPERM);
	CU_ASSERT_STRING_EQUAL(err->msg, "attach 1: thread 2: ptrace: Operation not permitted");
	CU_ASSERT_STRING_EQUAL(err->hint, "be root");
}

/* A chain as long as the ring must not overwrite what it wraps. */
TEST("wrap many times")
{
	struct err *err = err_create(ERR_STATE, "end");
	int i;

	for (i = 0; i < 3 * ERR_RING; i++)
		err = err_wrap(err, "%d", i % 10);
	CU_ASSERT_EQUAL(err->code, ERR_STATE);
	CU_ASSERT_EQUAL(strlen(err->msg), 3 * ERR_RING * 3 + 3);
	CU_ASSERT_STRING_EQUAL(err->msg + 3 * ERR_RING * 3, "end");
	CU_ASSERT_EQUAL(strncmp(err->msg, "7: 6: 5: ", 9), 0);
}

TEST("a long message is cut")
{
	char text[2000];
	struct err *err;

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	err = err_create(ERR_FORMAT, "%s", text);
	CU_ASSERT_EQUAL(strlen(err->msg), sizeof(err->msg) - 1);
	err = err_wrap(err, "reading");
	CU_ASSERT_EQUAL(strlen(err->msg), sizeof(err->msg) - 1);
	CU_ASSERT_EQUAL(strncmp(err->msg, "reading: aaa", 12), 0);
	CU_ASSERT_STRING_EQUAL(err->msg + sizeof(err->msg) - 5, "a...");
	err = err_wrap(err, "%s", text);
	CU_ASSERT_EQUAL(strlen(err->msg), sizeof(err->msg) - 1);
	errno = EIO;
	err = err_sys("%s", text);
	CU_ASSERT_EQUAL(strlen(err->msg), sizeof(err->msg) - 1);
}

TEST("err_nomem is constant")
{
	struct err *err = err_hint(err_nomem, "buy some");

	CU_ASSERT_PTR_NOT_EQUAL(err, err_nomem);
	CU_ASSERT_EQUAL(err->code, ERR_NOMEM);
	CU_ASSERT_STRING_EQUAL(err->hint, "buy some");
	CU_ASSERT_STRING_EQUAL(err_nomem->hint, "");
	err = err_recode(err_nomem, ERR_ATTACH);
	CU_ASSERT_EQUAL(err->code, ERR_ATTACH);
	CU_ASSERT_EQUAL(err_nomem->code, ERR_NOMEM);
	err = err_wrap(err_nomem, "reading the heap");
	CU_ASSERT_STRING_EQUAL(err->msg, "reading the heap: out of memory");
	CU_ASSERT_STRING_EQUAL(err_nomem->msg, "out of memory");
}

static void *make_error(void *copy)
{
	err_copy(copy, err_hint(err_create(ERR_BUSY, "from another thread"), "wait"));
	return NULL;
}

TEST("crosses threads")
{
	struct err copy, *err;
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, make_error, &copy), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_join(thread, NULL), 0);
	err = err_adopt(&copy);
	memset(&copy, 0, sizeof(copy));
	CU_ASSERT_EQUAL(err->code, ERR_BUSY);
	CU_ASSERT_STRING_EQUAL(err->msg, "from another thread");
	CU_ASSERT_STRING_EQUAL(err->hint, "wait");
}

/* Scripts trap by these names: all there, none twice. */
TEST("code names")
{
	int a, b;

	for (a = 0; a < ERR_CODES; a++) {
		const char *name = err_code_name((enum err_code)a);

		CU_ASSERT_PTR_NOT_NULL_FATAL(name);
		for (b = 0; b < a; b++)
			CU_ASSERT_STRING_NOT_EQUAL(name, err_code_name((enum err_code)b));
	}
	CU_ASSERT_STRING_EQUAL(err_code_name(ERR_ATTACH), "ATTACH");
	CU_ASSERT_STRING_EQUAL(err_code_name(ERR_CODES), "UNKNOWN");
}
