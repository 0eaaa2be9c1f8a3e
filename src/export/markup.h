/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of the target in SVG, in HTML and in the data of a report. As everywhere (text.h), control
 * characters and bytes that are no UTF-8 are shown; here what is left cannot end a text, an
 * attribute in quotes or a script either.
 */
#pragma once

#include <stddef.h>

struct export_file;

#define MARKUP_WHOLE	((size_t)-1)

/*
 * Write text for an element, or for an attribute's value in quotes. Of a longer text the first
 * `most` bytes are written, cut between characters, and an ellipsis.
 */
void markup_write(struct export_file *file, const char *text, size_t most);
/* Write a JSON string, with its quotes, that may stand in a <script>. */
void markup_json(struct export_file *file, const char *text, size_t most);
