/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a core file: its threads, files and memory. */

#include <stdlib.h>

#include "elf/core_file.h"
#include "memory_array.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Segments and files are sorted, do not overlap, and have no more than the file has. */
static void check_order(const struct core_file *core, size_t len)
{
	uint64_t end = 0;

	for (size_t i = 0; i < core->segments.nr; i++) {
		const struct core_segment *segment = &core->segments.at[i];

		if (segment->start < end || segment->end <= segment->start ||
		    segment->len > segment->end - segment->start ||
		    (segment->len && (segment->offset > len || segment->len > len - segment->offset)))
			abort();
		end = segment->end;
	}
	end = 0;
	for (size_t i = 0; i < core->mapped.nr; i++) {
		const struct core_mapped *mapped = &core->mapped.at[i];

		if (mapped->start < end || mapped->end <= mapped->start || !mapped->path)
			abort();
		end = mapped->end;
	}
}

static void read_all(struct core_file *core)
{
	uint8_t buf[256];
	uint64_t start, end;
	size_t got;

	for (size_t i = 0; i < core->segments.nr; i++) {
		const struct core_segment *segment = &core->segments.at[i];

		err_ignore(memory_read_some(&core->memory, segment->start, buf, sizeof(buf), &got));
		err_ignore(memory_read_some(&core->memory, segment->end - 8, buf, sizeof(buf), &got));
		if (core_file_next(core, segment->start, segment->end, &start, &end) &&
		    (start < segment->start || end > segment->end || start >= end))
			abort();
	}
	for (size_t i = 0; i < core->threads.nr; i++)
		err_ignore(core_file_vector(core, &core->threads.at[i], buf, sizeof(buf), &got));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct memory_array file;
	struct core_file *core;
	uint64_t value;

	memory_array_init(&file, bytes, 0, len);
	if (core_file_from(&file.memory, len, "fuzz", &core))
		return 0;
	if (!core->threads.nr)
		abort();
	check_order(core, len);
	read_all(core);
	err_ignore(core_file_auxv(core, 33, &value));
	core_file_close(core);
	return 0;
}
