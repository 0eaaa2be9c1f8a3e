/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads /proc/PID/smaps: proc(5), Documentation/filesystems/proc.rst. */

#include "os/smaps.h"

#include <inttypes.h>

#include "base/cleanup.h"

static bool has_flag(const char *flags, const char *flag)
{
	const char *at = strstr(flags, flag);

	/* Each flag is two letters between blanks. */
	return at && at[-1] == ' ' && (at[2] == ' ' || at[2] == '\n' || !at[2]);
}

/* Parse "VmFlags: rd wr mr mw me ac sd". */
static struct err *take_flags(struct smaps *smaps, const struct smaps_range *range,
			      const char *flags)
{
	smaps->userfault |= has_flag(flags, "um") || has_flag(flags, "uw") || has_flag(flags, "ui");
	if (!has_flag(flags, "dc") && !has_flag(flags, "wf"))
		return NULL;
	return vec_push(&smaps->unforked, *range);
}

struct err *smaps_parse(FILE *file, struct smaps *ret)
{
	struct smaps smaps = { .unforked = VEC_INIT };
	struct smaps_range range = { 0, 0 };
	AUTO_FREE char *line = NULL;
	struct err *err = NULL;
	bool flags = false;
	size_t room = 0;
	uint64_t kb;

	while (!err && getline(&line, &room, file) > 0) {
		if (!strncmp(line, "VmFlags:", 8)) {
			flags = true;
			err = take_flags(&smaps, &range, line);
		} else if (sscanf(line, "Anonymous: %" SCNu64 " kB", &kb) == 1) {
			smaps.anonymous += kb << 10;
		} else if (strchr("0123456789abcdef", *line)) {
			sscanf(line, "%" SCNx64 "-%" SCNx64, &range.start, &range.end);
		}
	}
	if (!err && ferror(file))
		err = err_sys("smaps");
	if (!err && !flags)
		err = err_create(ERR_UNSUPPORTED, "the kernel does not say what a fork copies "
				 "(no VmFlags in smaps)");
	if (err) {
		smaps_free(&smaps);
		return err;
	}
	*ret = smaps;
	return NULL;
}

struct err *smaps_read(pid_t pid, struct smaps *ret)
{
	AUTO_FCLOSE FILE *file = NULL;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	file = fopen(path, "re");
	if (!file)
		return err_sys("%s", path);
	return smaps_parse(file, ret);
}

bool smaps_unforked(const struct smaps *smaps, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < smaps->unforked.nr; i++)
		if (smaps->unforked.at[i].start < end && start < smaps->unforked.at[i].end)
			return true;
	return false;
}

void smaps_free(struct smaps *smaps)
{
	vec_free(&smaps->unforked);
}
