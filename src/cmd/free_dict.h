/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Free memory of the heaps for scripts: the keys of mdbg::malloc and mdbg::trim. */
#pragma once

#include <stdbool.h>
#include <tcl.h>

struct free_sum;

/* paged: it is known which pages are resident. Otherwise only what is free and cached is added. */
void free_dict_add(Tcl_Obj *dict, const struct free_sum *sum, bool paged);
