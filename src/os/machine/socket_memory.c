/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of sockets' buffers (socket_memory.h). */

#include "os/machine/socket_memory.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"

#define ROOM		(1u << 16)	/* of an answer's part: the kernel sends at most half of it */
#define WAIT_S		5
#define ALL_STATES	UINT32_MAX

/* The sockets that one question is about; protocol 0: Unix sockets. */
static const struct {
	uint8_t family, protocol;
} asked[] = {
	{ AF_INET, IPPROTO_TCP }, { AF_INET6, IPPROTO_TCP }, { AF_INET, IPPROTO_UDP },
	{ AF_INET6, IPPROTO_UDP }, { AF_UNIX, 0 },
};

struct dump {
	int fd;
	struct map sockets;	/* inode → struct held_socket */
};

/* The words of SK_MEMINFO. What is to be sent is in both of two, where it is in both. */
static uint64_t bytes_of(const uint32_t *words, size_t nr)
{
	if (nr <= SK_MEMINFO_OPTMEM)
		return SOCKET_MEMORY_UNKNOWN;
	return (uint64_t)words[SK_MEMINFO_RMEM_ALLOC] +
	       MAX(words[SK_MEMINFO_WMEM_ALLOC], words[SK_MEMINFO_WMEM_QUEUED]) +
	       words[SK_MEMINFO_FWD_ALLOC] + words[SK_MEMINFO_OPTMEM] +
	       (nr > SK_MEMINFO_BACKLOG ? words[SK_MEMINFO_BACKLOG] : 0);
}

/* The attributes of one socket begin behind a head of `head` bytes. */
static void take_bytes(struct dump *dump, const struct nlmsghdr *msg, size_t head, uint64_t inode,
		 unsigned short type)
{
	struct held_socket *is = map_get(&dump->sockets, inode);
	int left = (int)(msg->nlmsg_len - NLMSG_LENGTH(head));
	const struct rtattr *at = (const void *)((const char *)NLMSG_DATA(msg) + NLMSG_ALIGN(head));

	for (; is && RTA_OK(at, left); at = RTA_NEXT(at, left))
		if (at->rta_type == type)
			is->bytes = bytes_of(RTA_DATA(at), RTA_PAYLOAD(at) / sizeof(uint32_t));
}

static void take_socket(struct dump *dump, const struct nlmsghdr *msg, uint8_t family)
{
	const struct inet_diag_msg *inet = NLMSG_DATA(msg);
	const struct unix_diag_msg *local = NLMSG_DATA(msg);

	if (family == AF_UNIX && msg->nlmsg_len >= NLMSG_LENGTH(sizeof(*local)))
		take_bytes(dump, msg, sizeof(*local), local->udiag_ino, UNIX_DIAG_MEMINFO);
	else if (family != AF_UNIX && msg->nlmsg_len >= NLMSG_LENGTH(sizeof(*inet)))
		take_bytes(dump, msg, sizeof(*inet), inet->idiag_inode, INET_DIAG_SKMEMINFO);
}

static struct err *send_question(int fd, uint8_t family, uint8_t protocol)
{
	struct {
		struct nlmsghdr head;
		union {
			struct inet_diag_req_v2 inet;
			struct unix_diag_req local;
		};
	} question = { .head = { .nlmsg_type = SOCK_DIAG_BY_FAMILY,
				 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };

	if (family == AF_UNIX) {
		question.head.nlmsg_len = NLMSG_LENGTH(sizeof(question.local));
		question.local = (struct unix_diag_req){ .sdiag_family = AF_UNIX,
							 .udiag_states = ALL_STATES,
							 .udiag_show = UDIAG_SHOW_MEMINFO };
	} else {
		question.head.nlmsg_len = NLMSG_LENGTH(sizeof(question.inet));
		question.inet = (struct inet_diag_req_v2){
			.sdiag_family = family, .sdiag_protocol = protocol,
			.idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1), .idiag_states = ALL_STATES,
		};
	}
	if (send(fd, &question, question.head.nlmsg_len, 0) < 0)
		return err_sys("sock_diag");
	return NULL;
}

/* A kernel without the module for this kind of sockets says so: nothing is known of them. */
static struct err *read_answer(struct dump *dump, uint8_t family, void *buffer)
{
	for (;;) {
		ssize_t len = recv(dump->fd, buffer, ROOM, 0);
		const struct nlmsghdr *msg = buffer;

		if (len < 0)
			return err_sys("sock_diag");
		for (; NLMSG_OK(msg, (size_t)len); msg = NLMSG_NEXT(msg, len)) {
			if (msg->nlmsg_type == NLMSG_DONE || msg->nlmsg_type == NLMSG_ERROR)
				return NULL;
			take_socket(dump, msg, family);
		}
	}
}

static struct err *dump_all(struct dump *dump)
{
	const struct timeval wait = { .tv_sec = WAIT_S };
	AUTO_FREE void *buffer = malloc(ROOM);
	struct err *err = buffer ? NULL : err_nomem;

	if (!err && setsockopt(dump->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)))
		err = err_sys("sock_diag");
	for (size_t i = 0; !err && i < ARRAY_SIZE(asked); i++) {
		err = send_question(dump->fd, asked[i].family, asked[i].protocol);
		if (!err)
			err = read_answer(dump, asked[i].family, buffer);
	}
	return err;
}

/* Two processes have one network namespace if these files are one. */
static struct err *check_namespace(pid_t pid)
{
	struct stat own, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	if (stat("/proc/self/ns/net", &own) || stat(path, &theirs))
		return err_sys("its network namespace");
	if (own.st_ino == theirs.st_ino && own.st_dev == theirs.st_dev)
		return NULL;
	return err_create(ERR_UNSUPPORTED, "it has a network namespace of its own");
}

struct err *socket_memory_find(pid_t pid, struct held_files *files)
{
	AUTO_CLOSE int fd = -1;
	struct dump dump = { .sockets = MAP_INIT };
	struct err *err = files->sockets.nr ? check_namespace(pid) : NULL;

	if (err || !files->sockets.nr)
		return err;
	fd = dump.fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0)
		return err_create(ERR_UNSUPPORTED, "the kernel does not tell it (%s)",
				  strerror(errno));
	vec_each(is, &files->sockets)
		if (!err)
			err = map_put(&dump.sockets, is->inode, is);
	if (!err)
		err = dump_all(&dump);
	map_free(&dump.sockets, NULL);
	return err;
}
