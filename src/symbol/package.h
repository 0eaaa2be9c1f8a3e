/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the Debian package that a file belongs to, by dpkg's own lists. They are read directly and
 * no program is run: dpkg would take the path for a pattern, and the packages of a container are in
 * its own lists.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

/*
 * Append the package that has the debug file of the file at path: libc6-dbg, bash-dbgsym. Nothing
 * is appended if no package has the file. root_fd: the root that path is relative to; -1: mdbg's
 * own.
 */
struct err *package_of_debug(int root_fd, const char *path, struct str *ret) MUST_CHECK;
