/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cells for figures of the kernel. */

#include "report/number_cell.h"

#include <inttypes.h>

#include "growth/machine_look.h"
#include "report/out.h"
#include "report/text_table.h"

void number_cell_bytes(struct table *table, const struct out *out, uint64_t bytes)
{
	if (bytes == KERNEL_NO_LIMIT)
		text_table_cell(table, "no limit");
	else if (bytes == KERNEL_UNKNOWN)
		text_table_cell(table, "-");
	else
		text_table_cell(table, "%s", number_text_size(out, bytes).at);
}

void number_cell_count(struct table *table, uint64_t count)
{
	if (kernel_is_number(count))
		text_table_cell(table, "%" PRIu64, count);
	else
		text_table_cell(table, "-");
}

void number_cell_signed(struct table *table, const struct out *out, bool known, int64_t change)
{
	uint64_t size = change < 0 ? -(uint64_t)change : (uint64_t)change;
	const char *sign = change > 0 ? "+" : change < 0 ? "-" : "";

	if (!known)
		text_table_cell(table, "-");
	else if (out)
		text_table_cell(table, "%s%s", sign, number_text_size(out, size).at);
	else
		text_table_cell(table, "%s%" PRIu64, sign, size);
}

void number_cell_change(struct table *table, const struct out *out, uint64_t before, uint64_t now)
{
	int64_t change = 0;
	bool known = machine_look_change(before, now, &change);

	number_cell_signed(table, out, known, change);
}

void number_cell_percent(struct table *table, uint64_t hundredths)
{
	if (kernel_is_number(hundredths))
		text_table_cell(table, "%" PRIu64 ".%02u %%", hundredths / 100,
				(unsigned)(hundredths % 100));
	else
		text_table_cell(table, "-");
}
