/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cells of tables for figures of the kernel: what it does not offer is `-`, and never 0. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct out;
struct table;

/* Bytes; "no limit" for KERNEL_NO_LIMIT. */
void number_cell_bytes(struct table *table, const struct out *out, uint64_t bytes);
void number_cell_count(struct table *table, uint64_t count);
/* "+1536", "-1.5K", "0"; "-" if one of the two is no number. out: NULL: these are no bytes. */
void number_cell_change(struct table *table, const struct out *out, uint64_t before, uint64_t now);
void number_cell_signed(struct table *table, const struct out *out, bool known, int64_t change);
/* "1.25 %", of hundredths of a percent. */
void number_cell_percent(struct table *table, uint64_t hundredths);
