/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packs segments in a thread of its own. */

#include "record/packing.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/trace.h"

#define NICE	10

struct record_packing {
	pthread_t thread;
	int dir_fd;
	uint64_t numbers[RECORD_PACKING_MOST];
	size_t nr;
	uint64_t every;
	bool stop, done;		/* atomic */
	struct record_packed made;
	bool failed;
	struct err why;
};

static void *run(void *arg)
{
	struct record_packing *packing = arg;
	struct err *err;

	/* Of Linux this is the thread's alone; what it does is never urgent. */
	if (setpriority(PRIO_PROCESS, (id_t)gettid(), NICE))
		trace_line("record: %s", strerror(errno));
	err = record_pack(packing->dir_fd, packing->numbers, packing->nr, packing->every,
				      &packing->stop, &packing->made);

	packing->failed = err;
	if (err)
		err_copy(&packing->why, err);
	__atomic_store_n(&packing->done, true, __ATOMIC_RELEASE);
	return NULL;
}

struct err *record_packing_begin(int dir_fd, const uint64_t *numbers, size_t nr, uint64_t every,
				 struct record_packing **ret)
{
	struct record_packing *packing = calloc(1, sizeof(*packing));
	sigset_t all, before;
	int error;

	if (!packing)
		return err_nomem;
	packing->dir_fd = dir_fd;
	packing->nr = nr;
	packing->every = every;
	memcpy(packing->numbers, numbers, nr * sizeof(*numbers));
	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&packing->thread, NULL, run, packing);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		free(packing);
		errno = error;
		return err_sys("pack in a thread");
	}
	*ret = packing;
	return NULL;
}

bool record_packing_is_done(const struct record_packing *packing)
{
	return __atomic_load_n(&packing->done, __ATOMIC_ACQUIRE);
}

struct err *record_packing_end(struct record_packing *packing, struct record_packed *ret)
{
	struct err *err = NULL;

	pthread_join(packing->thread, NULL);
	if (packing->failed)
		err = err_adopt(&packing->why);
	else
		*ret = packing->made;
	free(packing);
	return err;
}

void record_packing_stop(struct record_packing *packing)
{
	struct record_packed made;

	if (!packing)
		return;
	__atomic_store_n(&packing->stop, true, __ATOMIC_RELAXED);
	err_ignore(record_packing_end(packing, &made));
}
