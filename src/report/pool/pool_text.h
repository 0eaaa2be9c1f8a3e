/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said of the pools of a program (probe/pools.h). */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct out;
struct session;

/*
 * The pools that hand out parts of malloc's blocks and are not probed, in one line without its
 * newline: "GLib's slices lie in ... `probe pool gslice` ...". Empty if there are none.
 */
struct err *pool_text_offer(struct session *session, struct str *ret) MUST_CHECK;
/* Print that as a line, if there are any. */
struct err *pool_text_print(struct session *session, struct out *out) MUST_CHECK;
/* Print which probed pools may have lost blocks that are none, since they were freed as a whole. */
struct err *pool_text_print_whole(struct session *session, struct out *out) MUST_CHECK;
