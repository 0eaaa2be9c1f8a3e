/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A Unix socket that nobody but mdbg's own user and root can connect to. Its mode is 0600 from the
 * moment that it has a name, and its folder must be trusted (os/trust.h), so that nobody else could
 * have put another in its place. The last name is never followed as a link.
 *
 * A socket that an mdbg has left behind, and that nobody listens to, makes room for the new one;
 * anything else of that name stays, and is an error. At the end the name is removed if it still is
 * that of this socket. (Its inode is this socket's as long as the socket is open: no other file gets
 * the number meanwhile.)
 */
#pragma once

#include <limits.h>
#include <sys/types.h>

#include "base/err.h"

struct unix_socket {
	int fd;			/* it listens, and no call on it waits */
	int dir_fd;
	dev_t dev;
	ino_t inode;
	char name[NAME_MAX + 1];	/* in that folder */
};

/*
 * ERR_PERM: the folder is not trusted; ERR_BUSY: somebody listens to that socket; ERR_USAGE: there
 * is something else of that name, or the path ends with no name.
 */
struct err *unix_socket_listen(const char *path, struct unix_socket *ret) MUST_CHECK;
/*
 * Take the next connection, whose descriptor does not wait either; *ret is -1 if there is none.
 * ERR_SYS: there is one that cannot be taken now (no descriptor is left).
 */
struct err *unix_socket_accept(const struct unix_socket *sock, int *ret) MUST_CHECK;
void unix_socket_end(struct unix_socket *sock);
