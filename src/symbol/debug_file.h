/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Separate debug files: by build-id, by .gnu_debuglink, and dwz's shared ones (.gnu_debugaltlink).
 * Looked for on the own file system and below the target's root, never on the network; taken only
 * if build-id or CRC-32 agree.
 */
#ifndef SYMBOL_DEBUG_FILE_H
#define SYMBOL_DEBUG_FILE_H

#include <elfutils/libdw.h>
#include <libelf.h>

struct debug_search {
	char *path;	/* directories, separated by colons */
	int root_fd;	/* the target's root; -1: none */
};

/*
 * Open a regular file of an untrusted file system: links and `..` stay below root_fd (AT_FDCWD: the
 * own root), and nothing else (FIFO, device) can make it hang. -1 if it is not there.
 */
int debug_open_below(int root_fd, const char *path);
/* The debug file of main, whose path as the target sees it is module_path. A descriptor, or -1. */
int debug_file_find(const struct debug_search *search, Elf *main, const char *module_path);
/*
 * The dwz file that dwarf refers to, where dwarf was read from fd; NULL if none is needed or found.
 * Ended by dwarf_end.
 */
Dwarf *debug_alt_find(const struct debug_search *search, Dwarf *dwarf, int fd);

#endif
