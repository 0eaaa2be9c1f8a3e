/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An extension of Python's that keeps what it was given: a table of the last arguments, each with a reference of its own, and
 * nothing that drops one. The test loads it by ctypes, so no header of Python's is needed.
 */
#include <stdlib.h>

#define KEPT	4096u

/* Of the interpreter. */
extern void Py_IncRef(void *object) __attribute__((weak));

struct call { void *argument; unsigned long number; };

static struct call *calls;
static unsigned long nr;

void note_call(void *argument);

void note_call(void *argument)
{
	if (!calls)
		calls = calloc(KEPT, sizeof(*calls));
	if (!calls || !Py_IncRef || nr == KEPT)
		return;
	Py_IncRef(argument);
	calls[nr] = (struct call){ argument, nr };
	nr++;
}
