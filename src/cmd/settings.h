/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The settings. Each is a global Tcl variable of that name: reading it gives the value,
 * writing it checks and applies it, so that `set pager off` is Tcl's own `set`.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct session_config;
struct shell;

/* Make the variables. */
struct err *settings_init(struct shell *shell) MUST_CHECK;
/* Set one; ERR_USAGE for an unknown name or a value that it does not take. */
struct err *settings_set(struct shell *shell, const char *name, const char *value) MUST_CHECK;
/* Set one that belongs to an attach in config alone, whatever that is of: ERR_USAGE. */
struct err *settings_store(struct session_config *config, const char *name,
			   const char *value) MUST_CHECK;
/* The name of setting i; with a name, the value i of one that has few. NULL: there are no more. */
const char *settings_word(const char *name, size_t i);
