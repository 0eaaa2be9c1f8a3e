/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long tasks waited for memory: /proc/pressure/memory of the machine, memory.pressure of a
 * control group (the kernel's Documentation/accounting/psi.rst).
 */
#pragma once

#include <stdint.h>

/*
 * Hundredths of a percent of the last 10 and 60 seconds: in which some tasks waited, and in which all
 * that were not idle did. KERNEL_UNKNOWN if the kernel does not offer it (os/kernel_text.h).
 */
struct pressure {
	uint64_t some_10, some_60, full_10, full_60;
};

/* What text does not say stays as it is in *pressure. */
void pressure_parse(const char *text, struct pressure *pressure);
