/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can stand after some words: complete.c finds it, and complete_line.c puts it into the line. */
#pragma once

#include <stdbool.h>

#include "base/vec.h"

struct shell;

/* A name that can stand there. */
struct match {
	char *name;
	char *shown;		/* in the list of all; NULL: the name */
};

struct matches {
	const char *prefix;
	bool files;		/* a file name may stand there */
	bool globs;		/* the names are taken for globs */
	VEC(struct match) vec;
	unsigned functions;
};

void complete_matches_free(struct matches *matches);
/* Add a name if it begins with the prefix and is not there yet; without memory it is left out. */
void complete_offer(struct matches *matches, const char *name, const char *shown);
/* Find what can stand after these words of one command. */
void complete_find(struct shell *shell, int nr, const char *const *typed, struct matches *matches);
/* Is this one of a FILTER's relations, which are no redirections there? */
bool complete_is_relation(const char *name);
