/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of the target in files. They are shown as mdbg prints them (base/outside.h): a control
 * character, a byte that is no UTF-8, or what changes the direction of text is \n, \x1b, \u202e.
 * What then still means something in a format is replaced or quoted by that format.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct export_file;

/* Each character of `separators`, which are ASCII, is written as `instead`. */
void text_write(struct export_file *file, const char *text, const char *separators, char instead);
/* For libraries: *ret is the text as it is to be written, until the next call with it. */
struct err *text_clean(struct str *ret, const char *text) MUST_CHECK;
