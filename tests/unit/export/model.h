/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model that is made by hand, with names that mean something to every format. */
#pragma once

#include "export/model.h"

#define MODEL_LONG	10000	/* letters of the longest name */

/*
 *	malloc < hostile < main		30 bytes in 2 blocks; of all time 100 in 5
 *	malloc < f < f < main		20 bytes in 1 block; of all time the same
 *	malloc < long < main		10 bytes in 1 block
 *	(allocated before attach)	7 bytes in 1 block
 *	malloc < f < main		nothing; of all time 50 in 3
 */
void model_make(struct model *model);
/* The name of `hostile`: markup, quotes, separators, a newline, an escape, a stray byte. */
extern const char model_hostile[];
/* That of `long`. */
const char *model_long(void);
