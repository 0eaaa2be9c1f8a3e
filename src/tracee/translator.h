/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recognises processes whose own code is not run by the processor. valgrind, qemu-user, DynamoRIO
 * and Pin run a translation of it, which never contains our patches; rr replays a recording, to
 * which nothing may be added. They are recognised by the files that they have mapped as code.
 */
#pragma once

struct proc_maps;

struct translator {
	const char *what;	/* "it runs under valgrind, …": why mdbg can see nothing there */
	const char *instead;	/* what the user can do there, for a hint */
};

/* Returns NULL if no known translator was found. */
const struct translator *translator_find(const struct proc_maps *maps);
