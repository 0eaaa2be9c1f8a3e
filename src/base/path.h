/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths as text. */
#pragma once

/* The part of path behind its last slash; all of it where there is none. */
const char *path_base(const char *path);
