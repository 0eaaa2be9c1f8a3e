/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `-each VAR BODY`, the last words of commands whose value is a list (CMD_EACH). BODY runs once for
 * each element, which is in VAR then, as with `foreach VAR [COMMAND] BODY`; but only one element at
 * a time exists as a Tcl value. break, continue, return and errors do what they do in foreach;
 * there is no result.
 *
 * The answer is complete before BODY runs for the first time, and does not depend on the session:
 * it has copies of its numbers and names. So BODY may run any command, also this one, may detach,
 * attach to another process or reset the log. The target is not stopped meanwhile. The file that
 * keeps an answer says how much memory it takes (block_values.h: 40 bytes a block).
 */
#pragma once

#include <stddef.h>
#include <tcl.h>

#include "base/compiler.h"
#include "base/err.h"

struct call;

/*
 * Take -each, VAR and BODY from the end of the call's words, which are argv, if they are there.
 * ERR_USAGE if one of the three is missing, if they are not at the end, if they are there twice, or
 * if -each is misspelt.
 */
struct err *each_take(struct call *call, const char **argv) MUST_CHECK;
/*
 * The answer has nr elements, which `element` makes one by one. Run BODY for each or, without
 * -each, make a list of them. After an error *ret may be set, and the caller drops it.
 */
struct err *each_give(struct call *call, size_t nr, Tcl_Obj *(*element)(void *ctx, size_t i),
		      void *ctx, Tcl_Obj **ret) MUST_CHECK;
