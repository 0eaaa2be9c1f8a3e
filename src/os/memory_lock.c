/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks for the lock of a process's memory (theory in memory_lock.h). */

#include "os/memory_lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "os/errand.h"
#include "os/procfs.h"

#define LOCK_NS	1000000000ull

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static struct errands errands;

static struct err *locked(pid_t tid)
{
	return err_hint(err_create(ERR_TIMEOUT,
				   "its memory is locked: a thread of it, or who reads its memory, waits "
				   "in the kernel, perhaps for a file system that does not answer; or it "
				   "forks, and is very large"),
			"try again; for what its threads wait: cat /proc/%d/task/*/stack", tid);
}

struct err *memory_lock_check(pid_t tid)
{
	AUTO_CLOSE int pagemap = procfs_open(tid, "pagemap", O_RDONLY);
	struct err *err;
	uint8_t *bytes;
	long got;

	if (pagemap < 0)
		return NULL;
	pthread_mutex_lock(&turn);
	errands.refuse_until = 0;	/* the last one may have been about another process */
	err = errands_ready(&errands, &bytes);
	if (!err)
		err = errands_call(&errands, LOCK_NS, &got, SYS_pread64,
				   (long[6]){ pagemap, (long)bytes, sizeof(uint64_t), 0 });
	errands_end_idle(&errands);
	pthread_mutex_unlock(&turn);
	if (err && err->code == ERR_TIMEOUT) {
		err_ignore(err);
		return locked(tid);
	}
	err_ignore(err);
	return NULL;
}
