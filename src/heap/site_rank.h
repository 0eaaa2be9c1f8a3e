/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of sites. */
#pragma once

#include "heap/site.h"

/*
 * For qsort_r: ctx is an enum site_sort. The largest first, of equal ones those with more bytes,
 * ties by key.
 */
int site_rank_compare(const void *va, const void *vb, void *ctx);
