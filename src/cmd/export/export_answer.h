/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lists that `export FORMAT FILE ANSWER` can write: those of the commands that have rows. */
#pragma once

#include "base/err.h"

struct call;
struct cmd;
struct str;

/*
 * Find the command whose list the words name, "leaks" or "memory maps"; they may begin with malloc.
 * *used_ret is how many words that takes. NULL: they name none, or the sites.
 */
const struct cmd *export_answer_find(const struct call *call, int *used_ret);
/* Add the words for all lists but the sites, as export_answer_find takes them. */
struct err *export_answer_names(struct str *ret) MUST_CHECK;
