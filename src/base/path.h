/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths as text. */
#pragma once

/* Returns the part of path behind its last slash; all of it if there is none. */
const char *path_base(const char *path);
