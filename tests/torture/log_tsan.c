/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The hammers of tests/unit/log, as a program: built with ThreadSanitizer by log_tsan.sh. The
 * argument multiplies the operations.
 */

#include <stdio.h>
#include <stdlib.h>

#include "deferred_hammer.h"
#include "free_history_hammer.h"
#include "hammer.h"

int main(int argc, char **argv)
{
	unsigned long times = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, failures = 0;
	const struct hammer_spec specs[] = {
		{ .writers = 2, .readers = 2, .operations = 20000 * times, .addresses = 4, .allocate = 42 },
		{ .writers = 4, .readers = 1, .operations = 20000 * times, .addresses = 100,
		 .allocate = 42 },
		{ .writers = 3, .readers = 2, .operations = 10000 * times, .addresses = 100000,
		 .allocate = 60 },
		{ .writers = 3, .readers = 2, .operations = 5000 * times, .addresses = 40,
		 .allocate = 42, .directory = 1 },
		{ .writers = 3, .readers = 1, .operations = 5000 * times, .addresses = 5000,
		 .allocate = 50, .directory = 1 },
		{ .writers = 3, .readers = 2, .operations = 5000 * times, .addresses = 40,
		 .allocate = 42, .directory = 1, .halves = 1 },
		{ .writers = 4, .readers = 1, .operations = 20000 * times, .addresses = 32,
		 .allocate = 42, .samples = 1 },
	};
	const struct free_history_spec freed[] = {
		{ .writers = 3, .readers = 2, .operations = 20000 * times, .history = 2 },
		{ .writers = 2, .readers = 2, .operations = 5000 * times, .history = 100 },
	};
	const struct deferred_spec deferred[] = {
		{ .writers = 3, .kinds = 4, .operations = 2000 * times },
		{ .writers = 2, .kinds = 200, .operations = 2000 * times },
	};

	for (unsigned i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		failures += hammer(&specs[i]);
	for (unsigned i = 0; i < sizeof(freed) / sizeof(freed[0]); i++)
		failures += free_history_hammer(&freed[i]);
	for (unsigned i = 0; i < sizeof(deferred) / sizeof(deferred[0]); i++)
		failures += deferred_hammer(&deferred[i]);
	printf("log_tsan: %lu failures\n", failures);
	return failures != 0;
}
