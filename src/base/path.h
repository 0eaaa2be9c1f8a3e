/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths as text. */
#pragma once

#include <stdbool.h>

/* Returns the part of path behind its last slash; all of it if there is none. */
const char *path_base(const char *path);
/*
 * Returns the part of a source file's path by which people know it: behind the last slash; of a
 * module of Rust that is called as any other (mod.rs, lib.rs, main.rs) with the folder before,
 * "vec/mod.rs", and with one more before a `src`, "hashbrown/src/lib.rs".
 */
const char *path_source(const char *path);
/*
 * Cut off the " (deleted)" that the kernel adds to the name of a file that has none any more.
 * False: it is not there.
 */
bool path_cut_deleted(char *path);
