/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recognises processes whose own code is not what the processor runs. valgrind, qemu-user,
 * DynamoRIO and Pin run a translation of it, which never has our patches; rr replays what it has
 * recorded, to which nothing may be added. They are recognised by the files that they have mapped
 * as code.
 */
#pragma once

struct proc_maps;

struct translator {
	const char *what;	/* "it runs under valgrind, …": why nothing can be seen there */
	const char *instead;	/* what to do there, for a hint */
};

/* NULL: no known translator was found. */
const struct translator *translator_find(const struct proc_maps *maps);
