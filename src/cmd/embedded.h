/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files inside of mdbg: the mdbg of `make static` carries Tcl's library and its own scripts, which
 * Tcl reads as mdbg:/NAME. They cannot be changed. The table is made by scripts/dev/embed-files; an
 * mdbg that was made without it has no such files.
 */
#pragma once

#include <tcl.h>

struct embedded_file {
	const char *name;		/* "tcl8.6/init.tcl" */
	const char *start, *end;
};

/* Sorted by name; the last one has none. */
extern const struct embedded_file embedded_files[] __attribute__((weak));

/* Where Tcl's library is, if it is inside. */
#define EMBEDDED_TCL	"tcl8.6"

/*
 * Tcl_Init: with the library that is inside, if one is. Tcl then finds no others by itself. Its
 * result.
 */
int embedded_tcl_init(Tcl_Interp *tcl);
