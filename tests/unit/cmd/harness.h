/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A shell over the fake session, whose standard output and standard error are looked at. */
#pragma once

#include <stdbool.h>

#include "cmd/shell/shell.h"
#include "fake_session.h"

/* The one shell of the test program, with nothing attached and no settings changed. */
struct shell *harness_shell(void);
/* The same, attached, with two blocks of one stack and one without. */
struct shell *harness_attached(void);

struct outcome {
	bool ok;
	char *out, *err;
};

/* A line, as from -c. Its text is valid until the next run. */
struct outcome harness_line(const char *line);
/* The status that mdbg would end with after this line; HARNESS_STAYED: it goes on. Runs in a fork.
 */
int harness_left(const char *line);
#define HARNESS_STAYED	99
/* A whole script file with this text. */
struct outcome harness_script(const char *text);
/* The result of a Tcl script, or its error. */
const char *harness_value(const char *script);
