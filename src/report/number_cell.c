/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cells for figures of the kernel. */

#include "report/number_cell.h"

#include <inttypes.h>

#include "growth/machine_look.h"
#include "report/out.h"
#include "report/text_table.h"

void bytes_cell(struct table *table, const struct out *out, uint64_t bytes)
{
	if (bytes == KERNEL_NO_LIMIT)
		table_cell(table, "no limit");
	else if (bytes == KERNEL_UNKNOWN)
		table_cell(table, "-");
	else
		table_cell(table, "%s", size_text(out, bytes).at);
}

void count_cell(struct table *table, uint64_t count)
{
	if (kernel_is_number(count))
		table_cell(table, "%" PRIu64, count);
	else
		table_cell(table, "-");
}

void signed_cell(struct table *table, const struct out *out, bool known, int64_t change)
{
	uint64_t size = change < 0 ? -(uint64_t)change : (uint64_t)change;
	const char *sign = change > 0 ? "+" : change < 0 ? "-" : "";

	if (!known)
		table_cell(table, "-");
	else if (out)
		table_cell(table, "%s%s", sign, size_text(out, size).at);
	else
		table_cell(table, "%s%" PRIu64, sign, size);
}

void change_cell(struct table *table, const struct out *out, uint64_t before, uint64_t now)
{
	int64_t change = 0;
	bool known = machine_look_change(before, now, &change);

	signed_cell(table, out, known, change);
}
