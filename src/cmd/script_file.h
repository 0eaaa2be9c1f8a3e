/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which file a script's name means, as with sh(1): a file of that name or, if there is none and the
 * name has no slash, mdbg's own script of that name. Those are in the folder `scripts` beside the
 * program (a build folder has it) or where they are installed. An mdbg with files inside of it
 * (embedded.h) has them there, and takes none from the machine.
 */
#pragma once

#include "base/compiler.h"
#include "base/err.h"

struct str;

/* ret is empty, and gets the name of the file: `name` as it is, if there is no such file anywhere. */
struct err *script_file(const char *name, struct str *ret) MUST_CHECK;
