/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key by which compiled rows are kept: nobody may make a file of his that has the key of
 * somebody else's. (Whoever can, decides how other users' processes are unwound, and where mdbg
 * believes that no thread is.) There are two kinds of key.
 *
 * The identity of a file: device, inode, length, the times of the last change to its contents and
 * to its inode, by fstat of the descriptor that its rows are compiled from. It takes one
 * microsecond; libc's 200 KB of CFI take 700 to be read, parsed and digested. It is a key only for
 * a file that is trusted (os/trust.h: root's or our own, and nobody else's to write to), on a file
 * system that is mounted without nosuid, unchanged for two seconds. The argument:
 *  - The kernel sets st_ctime, and no system call does. So a later file cannot have the inode and
 *    the ctime of an earlier one, whatever was done with its contents, its mtime and its length.
 *    The two seconds are for two changes within a tick of the kernel's clock.
 *  - A file system that somebody else makes up (FUSE, an image of his on a loop device, a USB
 *    stick, squashfs of a container) can show any owner, inode and ctime, and get the device number
 *    of one that has gone. Such file systems are mounted nosuid (fusermount, udisks and Apptainer
 *    insist on it), since otherwise who makes them up could have a set-user-ID program of root's in
 *    them, and be root. In a user namespace of his own nobody is root as mdbg sees it.
 *  - A container's root without a user namespace is root. He makes files of root's, but cannot set
 *    their ctime either.
 *  - Who may write to the file decides what its processes do, and needs no forged rows for that.
 *
 * The digest, for all other files: SHA-256 of all that the rows are compiled from. The file's owner
 * is in it, too, so that even with a digest that was broken nothing would cross from one user's
 * file to another's.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/err.h"

struct elf_file;

struct rows_key {
	uint8_t bytes[DIGEST_BYTES];
	bool trusted;		/* it is the identity of a trusted file */
	uid_t owner;		/* of the file; ROWS_KEY_NOBODY: it has none */
};

#define ROWS_KEY_NOBODY	((uid_t)-1)

/* version is that of the rows' format. */
struct err *rows_key_make(struct elf_file *file, uint64_t vaddr, uint64_t size, uint32_t version,
			  struct rows_key *ret) MUST_CHECK;
bool rows_key_same(const struct rows_key *a, const struct rows_key *b);
