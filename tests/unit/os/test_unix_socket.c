/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Unix socket: whose it is, what it replaces, and what it leaves. */

#include "os/unix_socket.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tree.h"
#include "unit.h"

static struct tree tree;
static char path[512];

static void make_folder(void)
{
	tree_make(&tree);
	chmod(tree.at, 0755);
	snprintf(path, sizeof(path), "%s/socket", tree.at);
}

static void remove_folder(void)
{
	tree_remove(&tree);
}

EACH(make_folder, remove_folder);

static int connect_to(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", path);
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	close(fd);
	return -1;
}

static bool is_there(void)
{
	struct stat st;

	return !lstat(path, &st);
}

static enum err_code code_of(const char *at)
{
	struct unix_socket sock;
	struct err *err = unix_socket_listen(at, &sock);

	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	return err->code;
}

TEST("a connection is taken, by a socket of its owner's alone")
{
	struct unix_socket sock;
	struct stat st;
	int client, server;
	mode_t mask = umask(0);

	CU_ASSERT_PTR_NULL_FATAL(unix_socket_listen(path, &sock));
	umask(mask);
	CU_ASSERT_TRUE(!lstat(path, &st) && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0600);
	CU_ASSERT_PTR_NULL(unix_socket_accept(&sock, &server));
	CU_ASSERT_EQUAL(server, -1);
	client = connect_to();
	CU_ASSERT_TRUE(client >= 0);
	CU_ASSERT_PTR_NULL(unix_socket_accept(&sock, &server));
	CU_ASSERT_TRUE_FATAL(server >= 0);
	CU_ASSERT_TRUE(fcntl(server, F_GETFL) & O_NONBLOCK && fcntl(server, F_GETFD) & FD_CLOEXEC);
	close(server);
	close(client);
	unix_socket_end(&sock);
	CU_ASSERT_FALSE(is_there());
	unix_socket_end(&sock);
}

TEST("only a socket that nobody listens to makes room")
{
	struct unix_socket sock, again;

	CU_ASSERT_PTR_NULL_FATAL(unix_socket_listen(path, &sock));
	CU_ASSERT_EQUAL(code_of(path), ERR_BUSY);
	CU_ASSERT_TRUE(is_there());
	/* As kill -9 leaves it. */
	sock.inode = 0;
	unix_socket_end(&sock);
	CU_ASSERT_TRUE(is_there());
	CU_ASSERT_PTR_NULL_FATAL(unix_socket_listen(path, &again));
	unix_socket_end(&again);
	CU_ASSERT_FALSE(is_there());
}

TEST("a name that is another socket's by now stays")
{
	struct unix_socket sock, again;

	CU_ASSERT_PTR_NULL_FATAL(unix_socket_listen(path, &sock));
	CU_ASSERT_TRUE(!unlink(path));
	CU_ASSERT_PTR_NULL_FATAL(unix_socket_listen(path, &again));
	unix_socket_end(&sock);
	CU_ASSERT_TRUE(is_there());
	unix_socket_end(&again);
	CU_ASSERT_FALSE(is_there());
}

TEST("files, links and folders of others stay")
{
	char name[600];

	tree_put(&tree, "socket", "text");
	CU_ASSERT_EQUAL(code_of(path), ERR_USAGE);
	CU_ASSERT_TRUE(!unlink(path) && !symlink("nothing", path));
	CU_ASSERT_EQUAL(code_of(path), ERR_USAGE);
	CU_ASSERT_TRUE(is_there());
	snprintf(name, sizeof(name), "%s/", tree.at);
	CU_ASSERT_EQUAL(code_of(name), ERR_USAGE);
	snprintf(name, sizeof(name), "%s/..", tree.at);
	CU_ASSERT_EQUAL(code_of(name), ERR_USAGE);
	snprintf(name, sizeof(name), "%s/none/socket", tree.at);
	CU_ASSERT_EQUAL(code_of(name), ERR_SYS);
	chmod(tree.at, 01777);
	snprintf(name, sizeof(name), "%s/other", tree.at);
	CU_ASSERT_EQUAL(code_of(name), ERR_PERM);
}
