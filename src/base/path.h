/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths as text. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

/* What stands behind the last slash; all of it where there is none. Part of path itself. */
const char *path_base(const char *path);

#endif
