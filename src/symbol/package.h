/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which Debian package has a file, by dpkg's own lists. They are read: no program is run,
 * which would take the path for a pattern, and the packages of a container are found by its own
 * lists.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

/*
 * Add the package that has the debug file of the file at path: libc6-dbg, bash-dbgsym. Nothing
 * is added if no package has the file. root_fd: the root that path is of; -1: mdbg's own.
 */
struct err *package_of_debug(int root_fd, const char *path, struct str *ret) MUST_CHECK;
