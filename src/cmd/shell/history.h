/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The history of the prompt's lines (theory in history.c). */
#pragma once

#include "base/err.h"

/*
 * Read the history file into readline's list. *file_ret is the file that history_save writes,
 * malloc'ed; NULL, which may also come with an error: it writes none. An error says why, and is no
 * failure.
 */
struct err *history_load(char **file_ret) MUST_CHECK;
struct err *history_save(const char *file) MUST_CHECK;
