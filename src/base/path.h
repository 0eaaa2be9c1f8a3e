/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths as text. */
#pragma once

#include <stdbool.h>

/* Returns the part of path behind its last slash; all of it if there is none. */
const char *path_base(const char *path);
/*
 * Cut off the " (deleted)" that the kernel adds to the name of a file that has none any more.
 * False: it is not there.
 */
bool path_cut_deleted(char *path);
