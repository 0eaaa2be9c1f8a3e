/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors as values: a ring of slots per thread, so that an error path allocates nothing. */

#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct err err_nomem[1] = { {
	.code = ERR_NOMEM,
	.errnum = ENOMEM,
	.msg = "out of memory",
} };

static _Thread_local struct err ring[ERR_RING];
static _Thread_local unsigned ring_next;

static const char *const code_names[ERR_CODES] = {
	[ERR_NOMEM]		= "NOMEM",
	[ERR_SYS]		= "SYS",
	[ERR_ATTACH]		= "ATTACH",
	[ERR_PERM]		= "PERM",
	[ERR_GONE]		= "GONE",
	[ERR_TIMEOUT]		= "TIMEOUT",
	[ERR_BUSY]		= "BUSY",
	[ERR_NOTFOUND]		= "NOTFOUND",
	[ERR_FORMAT]		= "FORMAT",
	[ERR_MEMORY]		= "MEMORY",
	[ERR_UNSUPPORTED]	= "UNSUPPORTED",
	[ERR_USAGE]		= "USAGE",
	[ERR_RANGE]		= "RANGE",
	[ERR_STATE]		= "STATE",
	[ERR_CANCELLED]		= "CANCELLED",
};

static struct err *slot(void)
{
	return &ring[ring_next++ % ERR_RING];
}

struct err *err_create(enum err_code code, const char *fmt, ...)
{
	struct err *err = slot();
	va_list ap;

	err->code = code;
	err->errnum = 0;
	err->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return err;
}

static enum err_code code_of_errno(int errnum)
{
	switch (errnum) {
	case EPERM:
	case EACCES:
		return ERR_PERM;
	case ESRCH:
		return ERR_GONE;
	case ENOMEM:
		return ERR_NOMEM;
	default:
		return ERR_SYS;
	}
}

struct err *err_sys(const char *fmt, ...)
{
	int errnum = errno;
	struct err *err = slot();
	size_t len;
	va_list ap;

	err->code = code_of_errno(errnum);
	err->errnum = errnum;
	err->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", strerror(errnum));
	if (errnum == EMFILE)
		snprintf(err->hint, sizeof(err->hint),
			 "`ulimit -n NUMBER` in the shell that starts mdbg lets it open more "
			 "files");
	errno = errnum;
	return err;
}

struct err *err_wrap(struct err *err, const char *fmt, ...)
{
	struct err *wrapped = slot();
	char msg[sizeof(err->msg)];
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	len = strlen(msg);
	if (snprintf(msg + len, sizeof(msg) - len, ": %s", err->msg) >= (int)(sizeof(msg) - len))
		memcpy(msg + sizeof(msg) - 4, "...", 4);
	if (wrapped != err)
		*wrapped = *err;
	memcpy(wrapped->msg, msg, sizeof(msg));
	return wrapped;
}

/* err_nomem is shared by all threads and must stay as it is. */
static struct err *writable(struct err *err)
{
	return err == err_nomem ? err_adopt(err) : err;
}

struct err *err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	err = writable(err);
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return err;
}

struct err *err_recode(struct err *err, enum err_code code)
{
	err = writable(err);
	err->code = code;
	return err;
}

void err_copy(struct err *to, const struct err *from)
{
	*to = *from;
}

struct err *err_adopt(const struct err *from)
{
	struct err *err = slot();

	if (err != from)
		*err = *from;
	return err;
}

const char *err_code_name(enum err_code code)
{
	return code < ERR_CODES ? code_names[code] : "UNKNOWN";
}
