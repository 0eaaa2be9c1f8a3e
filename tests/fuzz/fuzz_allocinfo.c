/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /proc/allocinfo, torn or hostile. */

#include <stdlib.h>
#include <string.h>

#include "os/machine/allocinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	FILE *file = len ? fmemopen((void *)(uintptr_t)bytes, len, "r") : NULL;
	struct allocinfo info;

	if (!file)
		return 0;
	if (!allocinfo_parse(file, &info)) {
		for (size_t i = 0; i < info.vec.nr; i++) {
			const struct allocinfo_line *line = &info.vec.at[i];

			if (!line->bytes || strnlen(line->place, sizeof(line->place)) == sizeof(line->place) ||
			    (i && line[-1].bytes < line->bytes))
				abort();
		}
	}
	vec_free(&info.vec);
	fclose(file);
	return 0;
}
