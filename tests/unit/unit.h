/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every unit test sees: CUnit, and how to skip. */
#pragma once

#include <CUnit/Basic.h>

/* Generated from the names of the files: the layer, and a call of each suite_NAME. */
extern const char unit_layer[];
void unit_add_suites(void);

/*
 * This test cannot run here (a missing privilege, say): print why, count it as skipped; the caller
 * returns.
 */
void unit_skip(const char *why);
