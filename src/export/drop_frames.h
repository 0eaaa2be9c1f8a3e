/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pprof's drop_frames: which functions its readers leave out, so that what a function holds itself
 * (`flat`) is the program's, not malloc's. The field is a regular expression. Go's reader goes
 * through a stack from the outermost function on, and drops the first one whose name, up to its
 * parameters, matches as a whole, with all that it has called.
 *
 * So a name must not stand here because it is a wrapper's (`set skip`): std::thread, too, is passed
 * over, and all that a thread of a C++ program does is called by it. Only names stand here that
 * the stacks of this model have nowhere but between the allocator and the frame that a site is named
 * after. Each is written out and quoted.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct model;

/* Add the expression; nothing, if no function is to be dropped. */
struct err *drop_frames_add(const struct model *model, struct str *ret) MUST_CHECK;
