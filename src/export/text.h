/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of the target in files. Files have them as mdbg prints them (base/outside.h): control
 * characters, bytes that are no UTF-8, and characters that change the direction of text become \n,
 * \x1b or \u202e. If a character then still has a meaning in a format, the format replaces or quotes
 * it.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct export_file;

/* Write a text, with each character that is one of `separators` (ASCII) replaced by `instead`. */
void text_write(struct export_file *file, const char *text, const char *separators, char instead);
/* Replace *ret by the text as it is to be written, for formats that a library writes. */
struct err *text_clean(struct str *ret, const char *text) MUST_CHECK;
