/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Errors as values. A fallible function returns a struct err *; NULL is success.
 *
 * An err is never freed: it is a constant (err_nomem) or a slot of a small ring of the calling
 * thread (ERR_RING slots), so it stays valid until that thread has made ERR_RING more errors. An
 * error that must live longer, or must cross to another thread, is copied (err_copy, err_adopt).
 */
#pragma once

#include "base/compiler.h"

#define ERR_RING	16

enum err_code {
	ERR_NOMEM,		/* out of memory */
	ERR_SYS,		/* a system call failed; errnum is its errno */
	ERR_ATTACH,		/* the process cannot be attached to */
	ERR_PERM,		/* not allowed */
	ERR_GONE,		/* the target, or the thread, has ended */
	ERR_TIMEOUT,		/* a bounded wait ran out */
	ERR_BUSY,		/* somebody else uses it; may pass later */
	ERR_NOTFOUND,		/* no such symbol, file, thread, ... */
	ERR_FORMAT,		/* bytes that do not have the expected format (ELF, CFI, log) */
	ERR_MEMORY,		/* an address of the target cannot be read or written */
	ERR_UNSUPPORTED,	/* a sensible request, but mdbg cannot do it (here) */
	ERR_USAGE,		/* the user's input is wrong */
	ERR_RANGE,		/* outside what a format, a file or a buffer can hold */
	ERR_STATE,		/* not possible now: no target, target is running, ... */
	ERR_CANCELLED,		/* Ctrl-C */
	ERR_CODES,
};

struct err {
	enum err_code code;
	/* errno of an ERR_SYS, ERR_PERM or ERR_GONE that comes from a system call; else 0 */
	int errnum;
	char msg[512];		/* "WHAT: WHY", no final newline */
	char hint[512];		/* a way out, or "" */
};

extern struct err err_nomem[1];

/* Make an err with a formatted message. It is never NULL. */
struct err *err_create(enum err_code code, const char *fmt, ...) PRINTF(2, 3) MUST_CHECK;
/*
 * Make an err from errno, which is read at once: the message is fmt and ": " and strerror(errno).
 * EPERM and EACCES give ERR_PERM, ESRCH gives ERR_GONE, ENOMEM gives ERR_NOMEM, all others ERR_SYS.
 * EMFILE has a hint.
 */
struct err *err_sys(const char *fmt, ...) PRINTF(1, 2) MUST_CHECK;
/*
 * Prefix the message with fmt and ": ", so that it reads from the outside in. Code, errnum and hint
 * are kept.
 */
struct err *err_wrap(struct err *err, const char *fmt, ...) PRINTF(2, 3) MUST_CHECK;
/* Set the hint (replacing one that is there) and return err. */
struct err *err_hint(struct err *err, const char *fmt, ...) PRINTF(2, 3) MUST_CHECK;
/* Replace the code of err. */
struct err *err_recode(struct err *err, enum err_code code) MUST_CHECK;
/* Copy to storage that the caller has. */
void err_copy(struct err *to, const struct err *from);
/* Copy an error that another thread has made into a slot of this thread's ring. */
struct err *err_adopt(const struct err *from) MUST_CHECK;
/*
 * Returns the first of two errors, for a second step that is done whether or not the first one
 * failed.
 */
static inline struct err *err_first(struct err *err, struct err *also)
{
	return err ? err : also;
}

/* For a caller that can do nothing about an error, and says why in a comment. */
static inline void err_ignore(const struct err *err)
{
	(void)err;
}

/* Returns "NOMEM", "ATTACH", ...: the KIND of a Tcl errorCode `MDBG KIND`. */
const char *err_code_name(enum err_code code);
