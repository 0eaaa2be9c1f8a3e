/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits for data by io_uring, without a library. Requests that block (a splice from one pipe to another) are carried
 * out by threads that the kernel makes in the process (iou-wrk). None may fail, and each gets its data.
 *
 *	workers		the ids of the kernel's threads: a line each, then `end N`
 *	done N		N requests more were done: `ok`
 *	verify		none has failed: `ok`
 *	quit
 */
#include "target.h"

#include <dirent.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>

#define PIPES	8
#define DATA	8

struct ring {
	int fd;
	unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static struct ring ring;
static int from[PIPES][2], to[PIPES][2];
static volatile unsigned long nr_done;
static volatile int failed;		/* the result of one that did */

static bool ring_begin(void)
{
	struct io_uring_params params = { .flags = 0 };
	char *sq, *cq;

	ring.fd = (int)syscall(SYS_io_uring_setup, 16, &params);
	if (ring.fd < 0)
		return false;
	sq = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED,
		  ring.fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, params.cq_off.cqes + params.cq_entries * sizeof(*ring.cqes), PROT_READ | PROT_WRITE, MAP_SHARED,
		  ring.fd, IORING_OFF_CQ_RING);
	ring.sqes = mmap(NULL, params.sq_entries * sizeof(*ring.sqes), PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
			 IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || (void *)ring.sqes == MAP_FAILED)
		return false;
	ring.sq_tail = (unsigned *)(void *)(sq + params.sq_off.tail);
	ring.sq_mask = (unsigned *)(void *)(sq + params.sq_off.ring_mask);
	ring.sq_array = (unsigned *)(void *)(sq + params.sq_off.array);
	ring.cq_head = (unsigned *)(void *)(cq + params.cq_off.head);
	ring.cq_tail = (unsigned *)(void *)(cq + params.cq_off.tail);
	ring.cq_mask = (unsigned *)(void *)(cq + params.cq_off.ring_mask);
	ring.cqes = (struct io_uring_cqe *)(void *)(cq + params.cq_off.cqes);
	return true;
}

static void submit(unsigned i)
{
	unsigned tail = *ring.sq_tail, index = tail & *ring.sq_mask;

	ring.sqes[index] = (struct io_uring_sqe){
		.opcode = IORING_OP_SPLICE, .fd = to[i][1], .splice_fd_in = from[i][0], .off = UINT64_MAX,
		.splice_off_in = UINT64_MAX, .len = DATA, .user_data = i,
	};
	ring.sq_array[index] = index;
	__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
	while (syscall(SYS_io_uring_enter, ring.fd, 1, 0, 0, NULL, 0) < 0 && errno == EINTR)
		;
}

static void finish_one(void)
{
	struct io_uring_cqe done = ring.cqes[*ring.cq_head & *ring.cq_mask];
	unsigned i = (unsigned)done.user_data;
	char data[DATA];

	__atomic_store_n(ring.cq_head, *ring.cq_head + 1, __ATOMIC_RELEASE);
	if (done.res != DATA || read(to[i][0], data, DATA) != DATA) {
		failed = done.res ? done.res : -1;
		return;
	}
	free(malloc(100));
	nr_done++;
	submit(i);
}

static void *serve(void *arg)
{
	for (unsigned i = 0; i < PIPES; i++)
		submit(i);
	while (!failed) {
		while (*ring.cq_head == __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE))
			if (syscall(SYS_io_uring_enter, ring.fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0 &&
			    errno != EINTR)
				failed = -errno;
		finish_one();
	}
	return arg;
}

/* The other side, a process of its own. */
static void feed(void)
{
	for (;;)
		for (unsigned i = 0; i < PIPES; i++) {
			if (write(from[i][1], "12345678", DATA) != DATA || getppid() == 1)
				_exit(0);
			nap_us(500);
		}
}

static void list_workers(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned nr = 0;

	while (tasks && (entry = readdir(tasks))) {
		char path[300], name[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "re");
		if (file && fgets(name, sizeof(name), file) && !strncmp(name, "iou-wrk", 7)) {
			say("%s", entry->d_name);
			nr++;
		}
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
	say("end %u", nr);
}

static bool go_on(unsigned long more)
{
	unsigned long until = nr_done + more;

	for (int i = 0; i < 20000 && nr_done < until && !failed; i++)
		nap_us(1000);
	return nr_done >= until && !failed;
}

static void answer(bool good)
{
	if (good)
		say("ok");
	else
		say("bad: a request has ended with %d", failed);
}

int main(void)
{
	const char *line, *rest;
	pthread_t thread;

	if (!ring_begin()) {
		say("none");
		return 77;
	}
	for (unsigned i = 0; i < PIPES; i++)
		if (pipe(from[i]) || pipe(to[i]))
			return 2;
	if (!fork())
		feed();
	if (pthread_create(&thread, NULL, serve, NULL))
		return 2;
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if (after(line, "workers"))
			list_workers();
		else if ((rest = after(line, "done")))
			answer(go_on(strtoul(rest, NULL, 10)));
		else if (after(line, "verify"))
			answer(!failed);
		else
			say("bad command");
	}
	return 0;
}
