/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of `memory system` about control groups. */
#pragma once

#include "report/machine_text.h"

/* Print the groups above the look's process, the nearest limit, and when it is reached. */
struct err *machine_groups_text_print(const struct machine_view *view, struct out *out) MUST_CHECK;

/* A part of what counts as a group's use. */
struct group_figure {
	const char *key;	/* of mdbg::memory_system */
	const char *label;
	size_t offset;		/* in struct memory_group */
};

/* All parts; ends with a key that is NULL. */
extern const struct group_figure group_figures[];
uint64_t machine_groups_text_figure(const struct memory_group *group,
				    const struct group_figure *figure);
