/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Unix socket for mdbg's own user alone (unix_socket.h). */

#include "os/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "os/trust.h"

static struct err *make(int *ret)
{
	*ret = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return *ret < 0 ? err_sys("make a Unix socket") : NULL;
}

/* The kernel's name for it has a fixed length, whatever the folder's path has. */
static struct err *address_of(const struct unix_socket *sock, struct sockaddr_un *ret)
{
	int len;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", sock->dir_fd,
		       sock->name);
	return len >= (int)sizeof(ret->sun_path) ?
	       err_create(ERR_USAGE, "the name of the socket is too long") : NULL;
}

/* Remove a socket of that name which nobody listens to. */
static struct err *make_room(const struct unix_socket *sock, const struct sockaddr_un *address)
{
	AUTO_CLOSE int probe = -1;
	struct stat st;
	struct err *err;

	if (fstatat(sock->dir_fd, sock->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? NULL : err_sys("look at it");
	if (!S_ISSOCK(st.st_mode))
		return err_create(ERR_USAGE, "there is something else of this name");
	err = make(&probe);
	if (err)
		return err;
	if (!connect(probe, (const struct sockaddr *)address, sizeof(*address)) ||
	    errno != ECONNREFUSED)
		return err_create(ERR_BUSY, "somebody else listens to it");
	return unlinkat(sock->dir_fd, sock->name, 0) ? err_sys("remove the old one") : NULL;
}

static struct err *bind_it(struct unix_socket *sock)
{
	struct sockaddr_un address;
	struct stat st;
	struct err *err = address_of(sock, &address);

	if (!err)
		err = make_room(sock, &address);
	if (!err)
		err = make(&sock->fd);
	if (err)
		return err;
	/* The mode of the new name is that of the socket, less the umask (unix_bind_bsd). */
	if (fchmod(sock->fd, 0600) ||
	    bind(sock->fd, (const struct sockaddr *)&address, sizeof(address)))
		return err_sys("make it");
	if (fstatat(sock->dir_fd, sock->name, &st, AT_SYMLINK_NOFOLLOW))
		return err_sys("look at it");
	sock->dev = st.st_dev;
	sock->inode = st.st_ino;
	return listen(sock->fd, SOMAXCONN) ? err_sys("listen") : NULL;
}

static struct err *folder_of(const char *path, char *name, int *fd_ret)
{
	const char *last = path_base(path);
	AUTO_FREE char *folder = strndup(path, (size_t)(last - path));

	if (!folder)
		return err_nomem;
	if (!*last || !strcmp(last, ".") || !strcmp(last, "..") || strlen(last) > NAME_MAX)
		return err_create(ERR_USAGE, "this is no name of a socket");
	snprintf(name, NAME_MAX + 1, "%s", last);
	return trust_folder(*folder ? folder : ".", false, fd_ret);
}

struct err *unix_socket_listen(const char *path, struct unix_socket *ret)
{
	struct unix_socket sock = { .fd = -1, .dir_fd = -1 };
	struct err *err = folder_of(path, sock.name, &sock.dir_fd);

	if (!err)
		err = bind_it(&sock);
	if (err)
		unix_socket_end(&sock);
	else
		*ret = sock;
	return err ? err_wrap(err, "socket %s", path) : NULL;
}

struct err *unix_socket_accept(const struct unix_socket *sock, int *ret)
{
	*ret = accept4(sock->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (*ret >= 0 || errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return NULL;
	return err_sys("take a connection");
}

void unix_socket_end(struct unix_socket *sock)
{
	struct stat st;

	if (sock->inode && !fstatat(sock->dir_fd, sock->name, &st, AT_SYMLINK_NOFOLLOW) &&
	    st.st_dev == sock->dev && st.st_ino == sock->inode)
		unlinkat(sock->dir_fd, sock->name, 0);
	if (sock->fd >= 0)
		close(sock->fd);
	if (sock->dir_fd >= 0)
		close(sock->dir_fd);
	sock->inode = 0;
	sock->fd = sock->dir_fd = -1;
}
