/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The settings. Each is a global Tcl variable of that name. Reading it gives the value; writing it
 * checks the value and applies it. So `set pager off` is Tcl's own `set`.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct session_config;
struct shell;

/* Make the variables of all settings. */
struct err *settings_init(struct shell *shell) MUST_CHECK;
/* Set one setting; ERR_USAGE for an unknown name or a wrong value. */
struct err *settings_set(struct shell *shell, const char *name, const char *value) MUST_CHECK;
/*
 * Set one setting of an attach, in config alone, which need not be the session's; ERR_USAGE for a
 * wrong value.
 */
struct err *settings_store(struct session_config *config, const char *name,
			   const char *value) MUST_CHECK;
/*
 * The name of setting i; if name is given, value i of that setting, if it has a fixed set of
 * values. NULL: there are no more.
 */
const char *settings_word(const char *name, size_t i);
