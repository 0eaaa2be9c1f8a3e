/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Separate debug files: by build-id, by .gnu_debuglink, and dwz's shared ones (.gnu_debugaltlink).
 * They are looked for on mdbg's own file system and below the target's root, and then through
 * `fetch`; they are used only if build-id or CRC-32 agree.
 */
#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>

#include "base/err.h"
#include "base/str.h"

struct debug_search {
	char *path;	/* directories, separated by colons */
	int root_fd;	/* the target's root; -1: none */
	void (*warn)(void *ctx, const char *text);	/* NULL: no warnings */
	void *warn_ctx;
	/*
	 * Get the file with that build-id, for the module. Returns a descriptor, or -1. NULL:
	 * nothing is fetched.
	 */
	int (*fetch)(void *ctx, const char *build_id, const char *module_path);
	void *fetch_ctx;
};

/* Do both look for debug files below the same root? */
bool debug_file_same_root(const struct debug_search *search, const struct debug_search *other);
/* Report to `warn` and the trace that answers lack a file, with the reason in err. */
void debug_file_warn(const struct debug_search *search, const struct err *err);
/* Append the build-id of a file, in hex; nothing is appended if it has none. */
struct err *debug_file_build_id(Elf *elf, struct str *ret) MUST_CHECK;
/*
 * Find the debug file of main; module_path is the path of main as the target sees it. Returns a
 * descriptor, or -1.
 */
int debug_file_find(const struct debug_search *search, Elf *main, const char *module_path);
/*
 * Find the dwz file that dwarf, which was read from fd, refers to. Returns a descriptor; -1 if none
 * is needed or found.
 */
int debug_file_find_alt(const struct debug_search *search, Dwarf *dwarf, int fd);
/*
 * May libdw itself open the .dwo file that a skeleton unit names (debug_file.c)? ERR_NOTFOUND: there
 * is none where it says; other errors say why not.
 */
struct err *debug_file_check_dwo(Dwarf_Die *skeleton) MUST_CHECK;
