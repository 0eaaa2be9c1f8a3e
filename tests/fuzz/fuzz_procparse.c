/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts of /proc, as a torn or hostile one might be. The first byte picks the parser. */

#include <stdlib.h>
#include <string.h>

#include "os/procparse.h"
#include "os/smaps.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* What maps promise: sorted, no overlap. */
static void check_maps(const char *text)
{
	struct proc_maps maps;
	uint64_t end = 0;
	size_t i;

	if (procparse_maps(text, &maps))
		return;
	for (i = 0; i < maps.vec.nr; i++) {
		if (maps.vec.at[i].start < end || maps.vec.at[i].end <= maps.vec.at[i].start)
			abort();
		end = maps.vec.at[i].end;
	}
	procparse_maps_free(&maps);
}

/* The same of smaps, and a figure for each of the maps. */
static void check_smaps(const char *text)
{
	struct smaps smaps;

	if (smaps_parse(text, &smaps))
		return;
	if (smaps.figures.nr != smaps.maps.vec.nr)
		abort();
	for (size_t i = 0; i < smaps.figures.nr; i++)
		for (unsigned j = 0; j < SMAPS_FIGURES; j++)
			if (smaps.figures.at[i].figure[j] % 1024 &&
			    smaps.figures.at[i].figure[j] != SMAPS_UNKNOWN)
				abort();
	smaps_free(&smaps);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct proc_status status;
	struct proc_stat stat;
	struct proc_tasks tasks;
	uint64_t word;
	char *text;

	if (len == 0)
		return 0;
	text = malloc(len);
	if (!text)
		return 0;
	memcpy(text, bytes + 1, len - 1);
	text[len - 1] = '\0';
	switch (bytes[0] % 5) {
	case 0:
		check_maps(text);
		check_smaps(text);
		break;
	case 1:
		err_ignore(procparse_status(text, &status));
		break;
	case 2:
		err_ignore(procparse_stat(text, &stat));
		break;
	case 3:
		if (!procparse_pids(text, &tasks))
			vec_free(&tasks.vec);
		break;
	case 4:
		err_ignore(procparse_auxv(bytes + 1, len - 1, 33, &word));
		break;
	}
	free(text);
	return 0;
}
