/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where Tcl finds its library and packages by itself. A folder that somebody else could write to is
 * none of these, whatever variable (TCLLIBPATH, TCL8_6_TM_PATH) or place of the program names it.
 */
#pragma once

#include <tcl.h>

/* Before Tcl_Init: it looks for its library in one folder, and not beside the program. */
void tcl_paths_fix_library(Tcl_Interp *tcl);
/* After it. */
void tcl_paths_clean(Tcl_Interp *tcl);
