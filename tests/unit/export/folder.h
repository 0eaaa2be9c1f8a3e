/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder of a test's own, and the files in it. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* For a suite: a new folder in which the tests then are; and away with it. */
int folder_enter(void);
int folder_leave(void);
/* Make a file with this text. */
void folder_put(const char *name, const char *text);
/* What a file has in it, added to text. */
void folder_get(const char *name, struct str *text);
/* Does a file have exactly this text? */
bool folder_has(const char *name, const char *text);
/* How many files there are, and remove all of them. */
unsigned folder_files(void);
void folder_clear(void);
