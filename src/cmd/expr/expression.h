/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `print`, `whatis` and `x` have in common: their words, and where they look. */
#pragma once

#include "base/str.h"
#include "cmd/shell/call.h"
#include "session/session.h"
#include "type/expr.h"
#include "type/frame.h"

/*
 * Get the format that stands behind a `/` ("4gx"; "" without one), and the expression, which is all
 * other words. ERR_USAGE: there is no expression, and needed is set.
 */
struct err *expression_words(const struct call *call, bool needed, char format[32],
			     struct str *text_ret) MUST_CHECK;

/*
 * Where expressions are evaluated: the session's memory, types and symbols as they are now, and a
 * frame of the current thread, whose local variables and registers have names.
 *
 * Of a process that runs, the frame is looked at in a stop of its own, and only if the user has chosen
 * it (`frame`), or if a name is known nowhere else: a global variable stops nobody. Its registers and
 * its part of the stack are as they were in that stop; all other memory is as it is now.
 */
struct expression_at {
	struct value_world world;
	struct session *session;
	pid_t lwp;		/* the thread that the frames are of, if world.frame is set */
	struct frame frame[SESSION_FRAMES];	/* the current one, and its callers */
	struct session_frame held;
	struct memory_patch memory;	/* with their part of the stack */
};

struct err *expression_begin(const struct call *call, struct expression_at *ret) MUST_CHECK;
void expression_end(struct expression_at *at);
/* Look at the current frame, if that was not done yet. */
struct err *expression_enter(const struct call *call, struct expression_at *at) MUST_CHECK;
/* Evaluate; names near an unknown one are in the error's hint. */
struct err *expression_evaluate(const struct call *call, struct expression_at *at,
				const char *text, struct expr *ret) MUST_CHECK;
/* The same of its type alone, for which no memory is read. */
struct err *expression_type(const struct call *call, struct expression_at *at, const char *text,
			    struct expr *ret) MUST_CHECK;
