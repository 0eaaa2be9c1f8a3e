/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths as text. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

/* The part of path behind its last slash; all of it where there is none. */
const char *path_base(const char *path);

#endif
