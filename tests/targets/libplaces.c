/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library for `places`: its thread-local data. */
#include "target.h"

__thread int lib_own[500];

void places_fill(void);

void places_fill(void)
{
	lib_own[3] = 33;
	KEEP(lib_own[4]);
}
