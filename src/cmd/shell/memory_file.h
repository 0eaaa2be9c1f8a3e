/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file in memory that has a text, for Tcl, which reads files. */
#pragma once

#include <stddef.h>

/* Returns a descriptor that reads from the start; -1 and errno. */
int memory_file_create(const char *text, size_t len);
