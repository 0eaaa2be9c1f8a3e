/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which command's list `export FORMAT FILE ANSWER` means (export_answer.h). */

#include "cmd/export/export_answer.h"

#include <string.h>

#include "base/str.h"
#include "cmd/shell/cmd.h"

/*
 * The name of a command's list, as its twin's is, and the length of its first word: a `_` stands for
 * the blank before the second one. NULL: its answer is no list.
 */
static const char *list_name(const struct cmd *cmd, size_t *first_ret)
{
	const char *name = cmd->rows ? strrchr(cmd->name, ':') : NULL;

	if (!name)
		return NULL;
	*first_ret = strcspn(++name, "_");
	return name;
}

const struct cmd *export_answer_find(const struct call *call, int *used_ret)
{
	int at = call->argc > 1 && !strcmp(call->argv[0], "malloc");

	for (unsigned i = 0; at < call->argc && cmd_table[i]; i++) {
		size_t len;
		const char *word = call->argv[at], *name = list_name(cmd_table[i], &len);

		if (!name || strncmp(name, word, len) || word[len])
			continue;
		*used_ret = at + 1;
		if (!name[len])
			return strcmp(name, "sites") ? cmd_table[i] : NULL;
		++*used_ret;
		if (at + 1 < call->argc && !strcmp(call->argv[at + 1], name + len + 1))
			return cmd_table[i];
	}
	*used_ret = 0;
	return NULL;
}

struct err *export_answer_names(struct str *ret)
{
	struct err *err = NULL;
	bool first = true;

	for (unsigned i = 0; !err && cmd_table[i]; i++) {
		size_t len;
		const char *name = list_name(cmd_table[i], &len);

		if (!name || !strcmp(name, "sites"))
			continue;
		err = str_addf(ret, "%s%.*s", first ? "" : ", ", (int)len, name);
		if (!err && name[len])
			err = str_addf(ret, " %s", name + len + 1);
		first = false;
	}
	return err;
}
