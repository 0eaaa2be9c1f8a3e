/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads /proc/PID/smaps: proc(5), Documentation/filesystems/proc.rst. */

#include "os/smaps.h"

#include <errno.h>

#include "base/cleanup.h"
#include "os/procparse.h"

static const struct {
	const char *key;
	size_t len;
} figure_keys[SMAPS_FIGURES] = {
#define KEY(figure, key)	[figure] = { key, sizeof(key) - 1 }
	KEY(SMAPS_RSS, "Rss"),
	KEY(SMAPS_PSS, "Pss"),
	KEY(SMAPS_SHARED_DIRTY, "Shared_Dirty"),
	KEY(SMAPS_PRIVATE_DIRTY, "Private_Dirty"),
	KEY(SMAPS_ANONYMOUS, "Anonymous"),
	KEY(SMAPS_SWAP, "Swap"),
	KEY(SMAPS_LOCKED, "Locked"),
	KEY(SMAPS_HUGE_ANONYMOUS, "AnonHugePages"),
	KEY(SMAPS_HUGE_SHARED, "ShmemPmdMapped"),
	KEY(SMAPS_HUGE_FILE, "FilePmdMapped"),
	KEY(SMAPS_HUGETLB_SHARED, "Shared_Hugetlb"),
	KEY(SMAPS_HUGETLB_PRIVATE, "Private_Hugetlb"),
	KEY(SMAPS_SHARED_CLEAN, "Shared_Clean"),
	KEY(SMAPS_LAZY_FREE, "LazyFree"),
#undef KEY
};

/* Flags are two letters each, with a blank before and behind. */
static bool has_flag(const char *flags, size_t len, const char *flag)
{
	for (size_t i = 1; i + 1 < len; i++)
		if (flags[i - 1] == ' ' && flags[i] == flag[0] && flags[i + 1] == flag[1] &&
		    (i + 2 == len || flags[i + 2] == ' '))
			return true;
	return false;
}

/* Take " rd wr mr mw me ac sd" of the last mapping. */
static struct err *take_flags(struct smaps *smaps, const char *flags, size_t len)
{
	const struct proc_map *map = &smaps->maps.vec.at[smaps->maps.vec.nr - 1];

	smaps->has_flags = true;
	smaps->figures.at[smaps->figures.nr - 1].device =
		has_flag(flags, len, "io") || has_flag(flags, len, "pf");
	smaps->userfault |= has_flag(flags, len, "um") || has_flag(flags, len, "uw") ||
			    has_flag(flags, len, "ui");
	if (!has_flag(flags, len, "dc") && !has_flag(flags, len, "wf"))
		return NULL;
	return vec_push(&smaps->unforked, ((struct smaps_range){ map->start, map->end }));
}

/* Take "      123 kB" of the last mapping. */
static void take_figure(struct smaps *smaps, enum smaps_figure figure, const char *text)
{
	uint64_t kb;
	char *end;

	errno = 0;
	kb = strtoull(text, &end, 10);
	if (end == text || errno || kb > SMAPS_UNKNOWN >> 10 || strncmp(end, " kB", 3))
		return;
	smaps->figures.at[smaps->figures.nr - 1].figure[figure] = kb << 10;
	if (figure == SMAPS_ANONYMOUS)
		smaps->anonymous += kb << 10;
}

/* The kernel's names begin with capital letters, other than addresses. */
static struct err *take_line(struct smaps *smaps, const char *line, size_t len)
{
	size_t key_len = strcspn(line, ":\n");

	if (!smaps->figures.nr || key_len >= len)
		return NULL;
	if (key_len == 7 && !memcmp(line, "VmFlags", 7))
		return take_flags(smaps, line + 8, len - 8);
	for (unsigned i = 0; i < SMAPS_FIGURES; i++)
		if (figure_keys[i].len == key_len && !memcmp(line, figure_keys[i].key, key_len)) {
			take_figure(smaps, i, line + key_len + 1);
			break;
		}
	return NULL;
}

static struct err *take_map(struct smaps *smaps, const char *line, size_t len)
{
	struct smaps_figures none = { .device = false };
	struct err *err = procparse_add_map(&smaps->maps, line, len);

	if (err)
		return err;
	memset(none.figure, 0xff, sizeof(none.figure));
	/* Mappings that are contradicted by this one have gone. */
	smaps->figures.nr = MIN(smaps->figures.nr, smaps->maps.vec.nr - 1);
	return vec_push(&smaps->figures, none);
}

struct err *smaps_parse(const char *text, struct smaps *ret)
{
	struct smaps smaps = SMAPS_INIT;
	struct err *err = NULL;

	while (*text && !err) {
		size_t len = strcspn(text, "\n");

		err = *text >= 'A' && *text <= 'Z' ? take_line(&smaps, text, len) :
						     take_map(&smaps, text, len);
		text += len + (text[len] == '\n');
	}
	if (err) {
		smaps_free(&smaps);
		return err;
	}
	*ret = smaps;
	return NULL;
}

struct err *smaps_read(pid_t tid, struct smaps *ret)
{
	AUTO_FREE char *text = NULL;
	struct err *err = procfs_file(tid, "smaps", &text, NULL);

	return err ? err : smaps_parse(text, ret);
}

/* smaps_rollup has the form of smaps, with one line for all mappings. */
struct err *smaps_whole_pss(pid_t tid, uint64_t *ret)
{
	AUTO_FREE char *text = NULL;
	struct smaps smaps;
	struct err *err = procfs_file(tid, "smaps_rollup", &text, NULL);

	if (!err)
		err = smaps_parse(text, &smaps);
	if (err)
		return err;
	if (smaps.figures.nr == 1)
		*ret = smaps.figures.at[0].figure[SMAPS_PSS];
	else
		err = err_create(ERR_NOTFOUND, "smaps_rollup: no sums");
	smaps_free(&smaps);
	return err;
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
	procparse_maps_free(&smaps->maps);
	vec_free(&smaps->figures);
	vec_free(&smaps->unforked);
}
