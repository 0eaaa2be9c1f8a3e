/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scripts and style sheets of the exports, which are files of this folder. The build puts them into
 * mdbg (scripts/dev/embed-files).
 */
#pragma once

struct export_file;

/* Write one of them whole, by its name in this folder. */
void assets_write(struct export_file *file, const char *name);
