/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings that are set by a wrong name (theory in slip.h). */

#include "cmd/slip.h"

#include <stdbool.h>
#include <string.h>

#include "cmd/near.h"
#include "cmd/report.h"
#include "cmd/settings.h"
#include "cmd/shell.h"

struct slip {
	const char *name;	/* that was set */
	const char *setting;	/* that was meant; NULL */
	bool is_one;		/* it is a setting's own */
};

static bool look(const char *setting, void *ctx)
{
	struct slip *slip = ctx;

	if (!strcmp(slip->name, setting))
		slip->is_one = true;
	else if (near_same(slip->name, setting) ||
		 (strchr(slip->name, '-') && near_word(slip->name, setting)))
		slip->setting = setting;
	return false;
}

static void look_at_name(struct shell *shell, const char *name)
{
	struct slip slip = { .name = name };

	settings_complete(NULL, look, &slip);
	if (slip.is_one || !slip.setting || Tcl_GetVar(shell->tcl, name, TCL_GLOBAL_ONLY))
		return;
	report_err(shell, err_hint(err_create(ERR_USAGE, "set: %s is no setting, but a new variable",
					      name),
				   "near it: %s; `set` lists the settings", slip.setting));
}

/* A word without anything to be replaced; NULL: there is something. */
static const Tcl_Token *plain_word(const Tcl_Token *word)
{
	return word->type == TCL_TOKEN_SIMPLE_WORD ? word + 1 : NULL;
}

static void look_at_command(struct shell *shell, const Tcl_Parse *parse)
{
	const Tcl_Token *first = parse->tokenPtr, *command, *name;
	char text[64];

	if (parse->numWords != 3)
		return;
	command = plain_word(first);
	name = plain_word(first + first->numComponents + 1);
	if (!command || !name || command->size != 3 || memcmp(command->start, "set", 3) ||
	    (size_t)name->size >= sizeof(text))
		return;
	memcpy(text, name->start, (size_t)name->size);
	text[name->size] = '\0';
	look_at_name(shell, text);
}

void slip_warn(struct shell *shell, const char *text, size_t len)
{
	const char *end = text + len;
	Tcl_Parse parse;

	while (text < end && Tcl_ParseCommand(NULL, text, (int)(end - text), 0, &parse) == TCL_OK) {
		look_at_command(shell, &parse);
		text = parse.commandStart + parse.commandSize;
		Tcl_FreeParse(&parse);
	}
}
