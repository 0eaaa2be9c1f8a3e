/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All commands: those of CMD_LIST, and their twins for scripts. */

#include "cmd/commands.h"

#include "base/compiler.h"

static const struct cmd *const own[] = {
#define CMD_ROW(name)	&cmd_##name,
	CMD_LIST(CMD_ROW)
};

static struct cmd twins[ARRAY_SIZE(own)];
const struct cmd *commands[2 * ARRAY_SIZE(own) + 1];

static struct cmd twin_of(const struct cmd *cmd)
{
	const struct twin *twin = cmd->twin;
	struct cmd ret = *cmd;

	ret.name = twin->name;
	ret.usage = twin->usage ? twin->usage : cmd->usage;
	ret.brief = twin->brief;
	ret.help = twin->help;
	ret.print_words = NULL;
	ret.example = twin->example;
	ret.run = NULL;
	ret.act = NULL;
	ret.value = twin->value;
	ret.rows = twin->rows;
	ret.of = twin->of;
	ret.twin = NULL;
	ret.flags = (cmd->flags & ~(unsigned)(CMD_BRIEF | CMD_VERBOSE)) | twin->flags;
	return ret;
}

/* The twins are made of the commands that have one, before anything else runs. */
__attribute__((constructor)) static void make_table(void)
{
	size_t nr = 0, nr_twins = 0;

	for (int values = 0; values < 2; values++)
		for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
			if (cmd_is_value(own[i]) == values)
				commands[nr++] = own[i];
			if (values && own[i]->twin) {
				twins[nr_twins] = twin_of(own[i]);
				commands[nr++] = &twins[nr_twins++];
			}
		}
}
