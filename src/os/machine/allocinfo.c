/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads /proc/allocinfo: the kernel's Documentation/mm/allocation-profiling.rst. */

#include "os/machine/allocinfo.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"

#define PATH		"/proc/allocinfo"
#define LINE		1024
#define LINES_MAX	(1u << 20)

/* "       12288        3 mm/slub.c:2345 [module] func:NAME"; the heading has no number. */
static struct err *take_line(struct allocinfo *info, char *line)
{
	struct allocinfo_line one;
	int place = 0;

	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %n", &one.bytes, &one.calls, &place) < 2 ||
	    !place || !line[place] || !one.bytes)
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	snprintf(one.place, sizeof(one.place), "%s", line + place);
	return vec_push(&info->vec, one);
}

COMPARE_BY(by_bytes, struct allocinfo_line, line, ~line->bytes)

struct err *allocinfo_parse(FILE *file, struct allocinfo *ret)
{
	struct err *err = NULL;
	char line[LINE];

	*ret = (struct allocinfo){ VEC_INIT };
	while (!err && ret->vec.nr < LINES_MAX && fgets(line, sizeof(line), file))
		err = take_line(ret, line);
	if (!err && ferror(file))
		err = err_sys(PATH);
	if (!err)
		vec_sort(&ret->vec, by_bytes);
	return err;
}

struct err *allocinfo_read(struct allocinfo *ret)
{
	AUTO_FCLOSE FILE *file = fopen(PATH, "re");

	*ret = (struct allocinfo){ VEC_INIT };
	if (!file && errno == ENOENT)
		return err_create(ERR_NOTFOUND, PATH ": this kernel does not count by line");
	return file ? allocinfo_parse(file, ret) : err_sys(PATH);
}
