/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files inside of mdbg: the mdbg of `make static` contains Tcl's library and mdbg's own scripts,
 * which Tcl reads as mdbg:/NAME. They cannot be changed. scripts/dev/embed-files makes the table;
 * an mdbg that was linked without it has no such files.
 */
#pragma once

#include <tcl.h>

#include "base/embedded_file.h"

/* They are sorted by name; the last entry has none. */
extern const struct embedded_file embedded_files[] __attribute__((weak));

/* What paths of files inside begin with. */
#define EMBEDDED_VOLUME	"mdbg:/"
/* The folder of Tcl's library, if it is inside. */
#define EMBEDDED_TCL	"tcl8.6"

/*
 * Call Tcl_Init, with the library that is inside if there is one; Tcl then finds no others by
 * itself. Returns what Tcl_Init returns.
 */
int embedded_tcl_init(Tcl_Interp *tcl);
