/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What libraries may read by the environment (theory in environment.h). */

#include "os/environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "os/trust.h"

#define KEPT	"MDBG_UNTRUSTED_"

/* A path, or several with colons between them. In a folder for temporary files others may work. */
static const struct {
	const char *name;
	bool temporary;
} variables[] = {
	{ "TCL_LIBRARY", false }, { "INPUTRC", false },
	{ "TERMINFO", false }, { "TERMINFO_DIRS", false }, { "TERMCAP", false }, { "TERMPATH", false },
	{ "LOCPATH", false }, { "GCONV_PATH", false }, { "NLSPATH", false },
	{ "TMPDIR", true }, { "SQLITE_TMPDIR", true },
};

static struct err *check(const char *name, const char *value, bool temporary)
{
	AUTO_FREE char *paths = strdup(value);
	struct err *err = paths ? NULL : err_nomem;
	char *state, *path;

	for (path = paths ? strtok_r(paths, ":", &state) : NULL; path && !err;
	     path = strtok_r(NULL, ":", &state))
		err = temporary ? trust_shared_folder(path) : trust_path(path);
	return err && err != err_nomem ? err_wrap(err, "%s is not used", name) : err;
}

/* TERMCAP may be an entry itself. */
static bool is_no_path(const char *name, const char *value)
{
	return !strcmp(name, "TERMCAP") && *value != '/';
}

static struct err *hide(const char *name, const char *value)
{
	AUTO_STR struct str kept = STR_INIT;
	struct err *err = str_addf(&kept, KEPT "%s", name);

	if (!err && setenv(kept.at, value, 1))
		err = err_nomem;
	return err || !unsetenv(name) ? err : err_sys("unsetenv %s", name);
}

struct err *environment_clean(void)
{
	struct err *err = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(variables) && !err; i++) {
		const char *name = variables[i].name, *value = getenv(name);

		if (!value || !*value || is_no_path(name, value))
			continue;
		err = check(name, value, variables[i].temporary);
		if (err && err != err_nomem)
			err = hide(name, value);
	}
	return err;
}

struct err *environment_next(unsigned *at)
{
	struct err *err = NULL;

	while (*at < ARRAY_SIZE(variables) && !err) {
		AUTO_STR struct str kept = STR_INIT;
		const char *name = variables[*at].name, *value;

		err = str_addf(&kept, KEPT "%s", name);
		value = err ? NULL : getenv(kept.at);
		if (value)
			err = check(name, value, variables[*at].temporary);
		++*at;
	}
	return err;
}

/*
 * Returns the variable under its old name, if it was renamed and the old one was not set anew;
 * otherwise returns it as it is.
 */
static char *restored(char *variable)
{
	char name[64];
	char *plain = variable + strlen(KEPT);

	if (strncmp(variable, KEPT, strlen(KEPT)))
		return variable;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(plain, "="), plain);
	return getenv(name) ? variable : plain;
}

char **environment_for_programs(void)
{
	size_t nr = 0;
	char **all;

	while (environ[nr])
		nr++;
	all = calloc(nr + 1, sizeof(*all));
	for (size_t i = 0; all && i < nr; i++)
		all[i] = restored(environ[i]);
	return all;
}
