/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPython: "Memory Management" in its C API manual. */

#include "probe/runtimes/runtimes.h"

const struct runtime runtime_python = {
	.name		= "Python",
	.symbols	= { "PyObject_Malloc" },
	.heap		= "Python's objects of up to 512 bytes, unless it was started with "
			  "PYTHONMALLOC=malloc: they are in arenas that it maps by itself",
	.help		= "`malloc pymalloc` lists them by type; tracemalloc shows the lines of Python "
			  "that they come from",
};
