/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Texts of the kernel about memory and control groups, as a torn or odd one might be. The first
 * byte picks the parser. For groups the text is that of /proc/PID/cgroup up to an empty line, and
 * then mountinfo.
 */

#include <stdlib.h>
#include <string.h>

#include "os/machine/machine.h"
#include "os/memory_groups.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* No path leads out of what is mounted, whatever names there are. */
static void check_groups(char *text)
{
	char *mountinfo = strstr(text, "\n\n");
	struct memory_groups groups;

	if (mountinfo) {
		*mountinfo = '\0';
		mountinfo += 2;
	}
	if (memory_groups_of(text, mountinfo ? mountinfo : "", &groups))
		return;
	if (!groups.vec.nr && !*groups.why)
		abort();
	vec_each(group, &groups.vec)
		if (*group->path != '/' || !kernel_is_number(group->use))
			abort();
	memory_groups_free(&groups);
}

static void check_machine(void (*parse)(const char *text, struct machine *machine),
			  const char *text)
{
	struct machine machine;

	memset(&machine, 0xff, sizeof(machine));
	parse(text, &machine);
	machine_sum(&machine);
	if (machine.rest != KERNEL_UNKNOWN && machine.rest > machine.total)
		abort();
	if (kernel_is_number(machine.pressure.some_10) && machine.pressure.some_10 > 99999)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static void (*const parsers[])(const char *text, struct machine *machine) = {
		machine_parse_meminfo, machine_parse_vmstat, machine_parse_sockets,
		machine_parse_pressure,
	};
	char *text;

	if (!len)
		return 0;
	text = malloc(len);
	if (!text)
		return 0;
	memcpy(text, bytes + 1, len - 1);
	text[len - 1] = '\0';
	if (bytes[0] % 5 == 4)
		check_groups(text);
	else
		check_machine(parsers[bytes[0] % 5], text);
	free(text);
	return 0;
}
