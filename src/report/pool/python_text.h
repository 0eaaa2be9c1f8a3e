/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is printed of Python's objects (session/pool/session_python.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct out;
struct python_sums;
struct session;
struct session_python;
struct stack_names;

/* The rows, the largest first. */
struct err *python_text_print_rows(struct stack_names *names, const struct python_sums *sums,
				   struct out *out) MUST_CHECK;
/* Of lost objects whose making was recorded: the stacks. */
struct err *python_text_print_stacks(struct session *session, struct stack_names *names,
				     const struct python_sums *sums, struct out *out) MUST_CHECK;
/* How much there is in all; lost: and how much of it is lost. */
void python_text_print_sums(const struct session_python *python, const struct python_sums *sums,
			    bool lost, struct out *out);
/*
 * The part of `malloc leaks` that is about Python's objects: nothing, if the process is none of
 * Python's or has lost none. At most `limit` rows; brief: without stacks. What keeps it from being
 * looked at is said.
 */
struct err *python_text_print_lost(struct session *session, struct stack_names *names, size_t limit,
				   bool brief, struct out *out) MUST_CHECK;
