/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All commands. */
#pragma once

#include "cmd/shell/cmd.h"

/* The commands of CMD_LIST, those for scripts behind the others; ends with NULL. */
extern const struct cmd *commands[];
