/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `-each VAR BODY`, the last words of commands whose value is a list (CMD_EACH): BODY runs for each
 * element, which VAR then has, as by `foreach VAR [COMMAND] BODY`, but of the elements only one is
 * there as a Tcl value. break, continue, return and errors do what they do in foreach; there is no
 * result.
 *
 * The answer is whole before BODY runs for the first time, and lives by itself: it has its numbers
 * and names, nothing of the session. So BODY may run any command, this one too, and detach, attach
 * to another process or reset the log. The target is not held meanwhile. What the answer takes is
 * said where it is kept (block_values.h: 40 bytes a block).
 */
#pragma once

#include <stddef.h>
#include <tcl.h>

#include "base/compiler.h"
#include "base/err.h"

struct call;

/*
 * Take -each, VAR and BODY from the end of the call's words, which are argv, if they are there.
 * ERR_USAGE if they are not whole, not at the end, there twice, or misspelt.
 */
struct err *each_take(struct call *call, const char **argv) MUST_CHECK;
/*
 * The answer has nr elements, which `element` makes one by one: run BODY for each, or, without
 * -each, make a list of them. After an error *ret may be set, and is to be dropped.
 */
struct err *each_give(struct call *call, size_t nr, Tcl_Obj *(*element)(void *ctx, size_t i),
		      void *ctx, Tcl_Obj **ret) MUST_CHECK;
