/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why free memory is resident, in lines: of `malloc pins` and `malloc trim`. */
#pragma once

struct free_space;
struct out;

/* Print how much is free, and a line for each reason for which some of it is resident. */
void free_text_print(const struct free_space *space, struct out *out);
