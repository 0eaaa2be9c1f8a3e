/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose files mdbg trusts. Nothing else decides that.
 *
 * mdbg often runs as root, in somebody else's environment: HOME is another user's, the current
 * folder is /tmp. What it opens, makes or removes by itself must be nobody else's: the file of
 * commands, the history, the cache, scripts, what libraries read by their own rules. Two users
 * are trusted, since they can do to mdbg what they like anyway: root, and the user who runs it.
 *
 * A file or folder is trusted if it is theirs, nobody else may write to it, and the same holds for
 * each folder and each symbolic link on the way from the root of the file system. A folder on the
 * way may be open to all if it has the sticky bit (/tmp): others can make files there, but not
 * rename or remove ours. A name that is not there is trusted only in a folder without that: in
 * /tmp somebody could make it a moment later. So what was found to be trusted stays what it is,
 * also for a later open() of the same path.
 *
 * What a user names (`export FILE`, `> FILE`, `source DIR/FILE`) need not be trusted: he may name
 * what he likes. But a name in a folder that others may write to may not mean what he thinks, so
 * there the kernel's rules for sticky folders hold for it, whatever fs.protected_regular,
 * protected_fifos, protected_symlinks and protected_hardlinks are set to (proc_sys_fs(5)), and with
 * or without the sticky bit: a file, a FIFO or a link that belongs neither to us, nor to root, nor
 * to the folder's owner, and a file with a second name, is one that somebody has planted.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "os/path_walk.h"

/* Is this file or folder root's or our own, and may nobody else write to it? */
bool trust_stat(const struct stat *st);
/*
 * Get an O_PATH descriptor of the regular file at path if it is trusted. ERR_PERM says who else
 * could have written it; fd_ret may be NULL.
 */
struct err *trust_file(const char *path, int *fd_ret) MUST_CHECK;
/* The same, where files and folders of one more user are trusted: he owns this program. */
struct err *trust_file_of(const char *path, uid_t owner, int *fd_ret) MUST_CHECK;
/*
 * The same for a folder in which nobody else can make a file. make: it is made if it is missing,
 * with those above it, if these are trusted.
 */
struct err *trust_folder(const char *path, bool make, int *fd_ret) MUST_CHECK;
/* Can nobody else decide what path leads to, be it a file, a folder, or nothing? */
struct err *trust_path(const char *path) MUST_CHECK;
/* Can we make files at path that stay ours? It may be open to all if it has the sticky bit. */
struct err *trust_shared_folder(const char *path) MUST_CHECK;
/* Get $HOME if it is trusted; ERR_NOTFOUND if there is none. */
struct err *trust_home(const char **ret) MUST_CHECK;
/* Can nobody else decide what this name leads to in the folder home? */
bool trust_below_home(const char *home, const char *name);
/*
 * The path of mdbg's folder: below the folder that the variable names (XDG_CACHE_HOME), or else
 * below that folder of $HOME (.cache). It is malloc'ed, and was not looked at. NULL: there is
 * neither.
 */
char *trust_user_folder(const char *variable, const char *below_home);
/* The rule above for what the user names: is this entry of a folder planted? */
bool trust_is_planted(const struct stat *dir, const struct stat *entry);
/* The same, as a rule of a walk. */
struct err *trust_named(const struct path_step *step) MUST_CHECK;
