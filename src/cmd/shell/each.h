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
 * keeps an answer says how much memory it takes (answer/block_rows.h: 48 bytes a block).
 */
#pragma once

#include <tcl.h>

#include "answer/answer.h"
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
 * The rows of an answer as dicts, which are made one by one. Run BODY for each or, without -each, make
 * a list of them. After an error *ret may be set, and the caller drops it. Frees the rows.
 */
struct err *each_give(struct call *call, struct answer *rows, Tcl_Obj **ret) MUST_CHECK;
