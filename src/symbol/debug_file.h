/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Separate debug files: by build-id, by .gnu_debuglink, and dwz's shared ones (.gnu_debugaltlink).
 * Looked for on the own file system and below the target's root, and else where `fetch` may; taken
 * only if build-id or CRC-32 agree.
 */
#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>

#include "base/err.h"
#include "base/str.h"

struct debug_search {
	char *path;	/* directories, separated by colons */
	int root_fd;	/* the target's root; -1: none */
	void (*warn)(void *ctx, const char *text);	/* NULL: nobody */
	void *warn_ctx;
	/* Get the file of that build-id, of or for the module; a descriptor, or -1. NULL: nobody. */
	int (*fetch)(void *ctx, const char *build_id, const char *module_path);
	void *fetch_ctx;
};

/* Tell `warn` and the trace that answers lack a file, for the reason that err has. */
void debug_warn(const struct debug_search *search, const struct err *err);
/* The build-id of a file, in hex; nothing is added if it has none. */
struct err *debug_build_id(Elf *elf, struct str *ret) MUST_CHECK;
/* The debug file of main, whose path as the target sees it is module_path. A descriptor, or -1. */
int debug_file_find(const struct debug_search *search, Elf *main, const char *module_path);
/*
 * The dwz file that dwarf refers to, where dwarf was read from fd: a descriptor; -1 if none is
 * needed or found.
 */
int debug_alt_find(const struct debug_search *search, Dwarf *dwarf, int fd);
/*
 * May libdw open by itself the .dwo file that a skeleton unit names (debug_file.c)? ERR_NOTFOUND:
 * it names none, or there is none; else why not.
 */
struct err *debug_dwo_check(Dwarf_Die *skeleton) MUST_CHECK;
