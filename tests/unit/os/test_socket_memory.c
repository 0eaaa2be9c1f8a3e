/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buffers of the sockets of this test, beside what the kernel says of each to who has it. */

#include "os/machine/socket_memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

#ifndef SO_MEMINFO
#define SO_MEMINFO	55
#endif

static const struct held_socket *find(const struct held_files *files, int fd)
{
	vec_each(is, &files->sockets)
		if (is->fd == fd)
			return is;
	return NULL;
}

/* By getsockopt. */
static uint64_t truth(int fd)
{
	uint32_t words[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(words);

	CU_ASSERT_EQUAL_FATAL(getsockopt(fd, SOL_SOCKET, SO_MEMINFO, words, &len), 0);
	return (uint64_t)words[SK_MEMINFO_RMEM_ALLOC] +
	       MAX(words[SK_MEMINFO_WMEM_ALLOC], words[SK_MEMINFO_WMEM_QUEUED]) +
	       words[SK_MEMINFO_FWD_ALLOC] + words[SK_MEMINFO_OPTMEM] + words[SK_MEMINFO_BACKLOG];
}

static struct err *look(struct held_files *files)
{
	struct err *err = held_files_find(getpid(), 1000, files);

	return err ? err : socket_memory_find(getpid(), files);
}

/* What was sent may still be on its way in the kernel: looked at until it is the same before and after. */
static void check_socket(int fd, uint64_t least)
{
	struct held_files files;
	uint64_t before, bytes;

	do {
		before = truth(fd);
		CU_ASSERT_PTR_NULL_FATAL(look(&files));
		CU_ASSERT_PTR_NOT_NULL_FATAL(find(&files, fd));
		bytes = find(&files, fd)->bytes;
		held_files_free(&files);
	} while (before != truth(fd));
	CU_ASSERT_EQUAL(bytes, before);
	CU_ASSERT(bytes >= least);
}

TEST("Unix sockets, each once")
{
	static const char message[1000];
	struct held_files files;
	int pair[2], again;

	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	again = dup(pair[0]);
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(send(pair[0], message, sizeof(message), 0), sizeof(message));
	check_socket(pair[0], 5 * sizeof(message));
	check_socket(pair[1], 0);
	CU_ASSERT_PTR_NULL_FATAL(look(&files));
	CU_ASSERT_PTR_NULL(find(&files, again));
	held_files_free(&files);
	close(again);
	close(pair[0]);
	close(pair[1]);
}

/* What nobody reads lies in both ends of a connection, and is all told. */
TEST("TCP and UDP")
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	AUTO_CLOSE int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	AUTO_CLOSE int out = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	AUTO_CLOSE int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	AUTO_CLOSE int in = -1;
	static const char bytes[1 << 16];
	socklen_t len = sizeof(to);

	CU_ASSERT_EQUAL_FATAL(bind(listener, (struct sockaddr *)&to, len), 0);
	CU_ASSERT_EQUAL_FATAL(listen(listener, 1), 0);
	CU_ASSERT_EQUAL_FATAL(getsockname(listener, (struct sockaddr *)&to, &len), 0);
	CU_ASSERT_FATAL(!connect(out, (struct sockaddr *)&to, len) || errno == EINPROGRESS);
	in = accept(listener, NULL, NULL);
	CU_ASSERT_FATAL(in >= 0);
	while (send(out, bytes, sizeof(bytes), 0) > 0)
		;
	to.sin_port = 0;
	CU_ASSERT_EQUAL_FATAL(bind(udp, (struct sockaddr *)&to, sizeof(to)), 0);
	CU_ASSERT_EQUAL_FATAL(getsockname(udp, (struct sockaddr *)&to, &len), 0);
	CU_ASSERT_EQUAL(sendto(udp, bytes, 2000, 0, (struct sockaddr *)&to, len), 2000);
	check_socket(in, sizeof(bytes));
	check_socket(out, sizeof(bytes));
	check_socket(udp, 2000);
}

TEST("other kinds are not known")
{
	AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct held_files files;

	CU_ASSERT_PTR_NULL_FATAL(look(&files));
	CU_ASSERT_PTR_NOT_NULL_FATAL(find(&files, fd));
	CU_ASSERT_EQUAL(find(&files, fd)->bytes, SOCKET_MEMORY_UNKNOWN);
	held_files_free(&files);
}

/* A child in a network namespace of its own, with a socket. */
TEST("another network namespace")
{
	struct held_files files = HELD_FILES_INIT;
	struct err *err = NULL;
	int ready[2], status;
	char byte = 0;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		byte = !unshare(CLONE_NEWUSER | CLONE_NEWNET) &&
		       socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
	if (byte)
		err = held_files_find(pid, 1000, &files);
	CU_ASSERT_PTR_NULL(err);
	if (byte) {
		err = socket_memory_find(pid, &files);
		CU_ASSERT_PTR_NOT_NULL_FATAL(err);
		CU_ASSERT_EQUAL(err->code, ERR_UNSUPPORTED);
	}
	held_files_free(&files);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(ready[0]);
	close(ready[1]);
	if (!byte)
		unit_skip("this kernel lets nobody make a network namespace");
}
