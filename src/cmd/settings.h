/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What `set` knows. Each setting is a global Tcl variable of that name: reading it gives the value,
 * writing it checks and applies it, so that `set pager off` is Tcl's own `set`.
 */
#ifndef CMD_SETTINGS_H
#define CMD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct out;
struct shell;

/* Make the variables. */
struct err *settings_init(struct shell *shell) MUST_CHECK;
/* Set one; ERR_USAGE for an unknown name or a value that it does not take. */
struct err *settings_set(struct shell *shell, const char *name, const char *value) MUST_CHECK;
/* Mean bytes between samples, as a log can have it. */
struct err *settings_parse_sample(const char *value, uint64_t *ret) MUST_CHECK;
/* Bytes, as a log can have them. */
struct err *settings_parse_log_limit(const char *value, uint64_t *ret) MUST_CHECK;
/* Names (name is NULL), or the values of one that has few. */
void settings_complete(const char *name, bool (*fn)(const char *word, void *ctx), void *ctx);

#endif
