/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes whose code is not what the processor runs: valgrind, qemu-user, DynamoRIO and Pin run
 * a translation of it, in which no patch of ours ever is, and rr replays what it has recorded, in
 * which nothing may be added. They are known by the files that they have mapped as code.
 */
#pragma once

struct proc_maps;

struct translator {
	const char *what;	/* "it runs under valgrind, …": why nothing can be seen there */
	const char *instead;	/* what to do there, for a hint */
};

/* NULL: there is none that is known. */
const struct translator *translator_find(const struct proc_maps *maps);
