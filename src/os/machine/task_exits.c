/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Listens to the ends of processes: generic netlink, whose family has its number from the kernel
 * (linux/genetlink.h), and then one message for each end, with a struct taskstats in it.
 */

#include "os/machine/task_exits.h"

#include <errno.h>
#include <linux/acct.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/file.h"

#define BUFFER		(8 << 20)	/* bytes of ends that wait for us: some 5,000 */
#define VERSION_LEAST	12		/* it says which thread was the last one */
#define READ_MOST	100000u		/* at a time */

struct request {
	struct nlmsghdr head;
	struct genlmsghdr what;
	struct nlattr attr;
	char text[256];
};

static struct err *ask(int fd, uint16_t family, uint8_t command, uint16_t attr, const char *text)
{
	struct request request = { .attr.nla_type = attr };
	size_t len = strlen(text) + 1;

	if (len > sizeof(request.text))
		return err_create(ERR_RANGE, "taskstats: '%s' is too long", text);
	memcpy(request.text, text, len);
	request.attr.nla_len = (uint16_t)(NLA_HDRLEN + len);
	request.what.cmd = command;
	request.what.version = TASKSTATS_GENL_VERSION;
	request.head = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)(NLMSG_LENGTH(GENL_HDRLEN) + NLA_ALIGN(request.attr.nla_len)),
		.nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
	};
	if (send(fd, &request, request.head.nlmsg_len, 0) < 0)
		return err_sys("taskstats");
	return NULL;
}

/* The first attribute of this type; NULL: there is none. */
static const struct nlattr *find(const void *bytes, size_t len, uint16_t type)
{
	const char *at = bytes;

	while (len >= NLA_HDRLEN) {
		const struct nlattr *attr = (const struct nlattr *)at;
		size_t step;

		if (attr->nla_len < NLA_HDRLEN || attr->nla_len > len)
			return NULL;
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
		step = NLA_ALIGN(attr->nla_len);
		if (step > len)
			return NULL;
		at += step;
		len -= step;
	}
	return NULL;
}

/* The attributes of a message of generic netlink; *len_ret is 0 if it is none. */
static const void *attrs(const struct nlmsghdr *head, size_t len, size_t *len_ret)
{
	*len_ret = 0;
	if (len < NLMSG_LENGTH(GENL_HDRLEN) || head->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN) ||
	    head->nlmsg_len > len)
		return NULL;
	*len_ret = head->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
	return (const char *)head + NLMSG_LENGTH(GENL_HDRLEN);
}

/* The answer to a request: an error, or a message, which *ret gets, and then the sign that it was taken. */
static struct err *answer(int fd, struct request *ret)
{
	for (;;) {
		union { struct request is; char bytes[4096]; } got;
		ssize_t len = recv(fd, &got, sizeof(got), 0);
		int error;

		if (len < (ssize_t)sizeof(got.is.head))
			return err_sys("taskstats");
		if (got.is.head.nlmsg_type != NLMSG_ERROR) {
			*ret = got.is;
			continue;
		}
		memcpy(&error, got.bytes + NLMSG_HDRLEN, sizeof(error));
		errno = -error;
		return error ? err_sys("taskstats") : NULL;
	}
}

static struct err *find_family(int fd, uint16_t *ret)
{
	struct request got = { .head.nlmsg_len = 0 };
	const struct nlattr *id;
	const void *at;
	size_t len;
	struct err *err = ask(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
			      TASKSTATS_GENL_NAME);

	if (!err)
		err = answer(fd, &got);
	if (err)
		return err;
	at = attrs(&got.head, sizeof(got), &len);
	id = at ? find(at, len, CTRL_ATTR_FAMILY_ID) : NULL;
	if (!id || id->nla_len < NLA_HDRLEN + sizeof(*ret))
		return err_create(ERR_UNSUPPORTED, "taskstats: the kernel has no number for it");
	memcpy(ret, (const char *)id + NLA_HDRLEN, sizeof(*ret));
	return NULL;
}

/* Of all processors that there may be. */
static struct err *listen_to(int fd)
{
	char cpus[sizeof(((struct request *)0)->text)] = "";
	struct request none;
	uint16_t family = 0;
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	bool read = file && fgets(cpus, sizeof(cpus), file);
	struct err *err;

	if (file)
		fclose(file);
	if (!read)
		return err_create(ERR_UNSUPPORTED, "taskstats: processors are not known");
	cpus[strcspn(cpus, "\n")] = '\0';
	err = find_family(fd, &family);
	if (!err)
		err = ask(fd, family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus);
	return err ? err : answer(fd, &none);
}

struct err *task_exits_open(int *fd_ret)
{
	AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	struct timeval patience = { .tv_sec = 1 };
	int room = BUFFER;
	struct err *err;

	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		return err_sys("taskstats");
	/* Without the right to more there is less, and what is lost is said. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		err_ignore(err_sys("taskstats"));
	err = listen_to(fd);
	if (!err)
		*fd_ret = take_fd(fd);
	return err;
}

static struct err *take_stats(const struct nlattr *of_task, task_exits_fn *fn, void *ctx)
{
	const struct nlattr *attr = find((const char *)of_task + NLA_HDRLEN,
					 of_task->nla_len - NLA_HDRLEN, TASKSTATS_TYPE_STATS);
	struct taskstats stats = { .version = 0 };
	struct task_exit exit;

	if (!attr)
		return NULL;
	memcpy(&stats, (const char *)attr + NLA_HDRLEN,
	       MIN((size_t)attr->nla_len - NLA_HDRLEN, sizeof(stats)));
	if (stats.version < VERSION_LEAST)
		return err_create(ERR_UNSUPPORTED, "taskstats: this takes Linux 5.19");
	exit = (struct task_exit){
		.parent = (pid_t)stats.ac_ppid, .last = stats.ac_flag & AGROUP,
		.failed = stats.ac_exitcode, .most = stats.hiwater_rss << 10,
		.cpu_ns = (stats.ac_utime + stats.ac_stime) * 1000,
		.faults = stats.ac_minflt + stats.ac_majflt,
	};
	snprintf(exit.name, sizeof(exit.name), "%.*s", (int)sizeof(exit.name) - 1, stats.ac_comm);
	fn(ctx, &exit);
	return NULL;
}

struct err *task_exits_take(const void *bytes, size_t len, task_exits_fn *fn, void *ctx)
{
	const struct nlmsghdr *head = bytes;
	const struct nlattr *of_task;
	const void *at = len < sizeof(*head) ? NULL : attrs(head, len, &len);

	/* The sums of a process with several threads follow in another attribute: they have no parent. */
	of_task = at ? find(at, len, TASKSTATS_TYPE_AGGR_PID) : NULL;
	return of_task ? take_stats(of_task, fn, ctx) : NULL;
}

struct err *task_exits_read(int fd, task_exits_fn *fn, void *ctx, bool *lost_ret)
{
	union { struct nlmsghdr head; char bytes[4096]; } got;

	struct err *err = NULL;

	for (unsigned i = 0; !err && i < READ_MOST; i++) {
		struct sockaddr_nl from = { .nl_pid = 0 };
		socklen_t room = sizeof(from);
		ssize_t len = recvfrom(fd, &got, sizeof(got), MSG_DONTWAIT, (struct sockaddr *)&from, &room);

		if (len < 0 && errno == ENOBUFS)
			*lost_ret = true;
		else if (len < 0 && errno != EINTR)
			return errno == EAGAIN ? NULL : err_sys("taskstats");
		else if (len > 0 && !from.nl_pid)	/* the kernel's own */
			err = task_exits_take(&got, (size_t)len, fn, ctx);
	}
	*lost_ret = true;
	return err;
}
