/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `memory account`: a part each. */
#pragma once

#include "answer/answer.h"

struct session;
struct session_account;

struct account_row {
	const char *part;	/* one word */
	const char *where;	/* in, sum, of, beside (enum account_where) */
	const char *note;
	uint64_t bytes;		/* UINT64_MAX: not known */
	double share;		/* of the sum, in percent */
	bool shared;		/* share is known: it is a part of the sum */
};

extern const struct relation account_relation;

/* The same of what a recording has at its cursor; *time_ret is when that was taken. ERR_NOTFOUND. */
struct err *account_rows_recorded(struct session *session, bool all, uint64_t *time_ret,
				  struct answer *ret) MUST_CHECK;
/* all: also parts that there are none of, or that are not known. */
struct err *account_rows(const struct session_account *account, bool all,
			 struct answer *ret) MUST_CHECK;
