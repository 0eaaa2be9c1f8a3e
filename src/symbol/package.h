/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the Debian package that a file belongs to, by dpkg's own lists. They are read directly and
 * no program is run: dpkg would take the path for a pattern, and the packages of a container are in
 * its own lists.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct package_file {
	const char *path;
	struct str package;	/* of its debug file: libc6-dbg, bash-dbgsym; empty: not known */
};

struct package_files {
	VEC(struct package_file *) vec;
};

/*
 * Find the packages of these files; each list is read once. Files whose package is found are taken
 * from the vector, whose order changes. root_fd: the root that the paths are relative to; -1:
 * mdbg's own.
 */
struct err *packages_of_debug(int root_fd, struct package_files *wanted) MUST_CHECK;
