/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shared region (theory in region.h). */

#include "target/region.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/state.h"
#include "base/trace.h"
#include "os/procfs.h"
#include "target/remote.h"
#include "target/room.h"
#include "target/share.h"
#include "target/target.h"

/* Beyond the limit: numbers that are in use there, as it was lowered, and one that is free. */
#define MORE_FILES	1024
/* A target that made the file smaller would end mdbg by SIGBUS. */
#define SEALS		(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Made just now: a memfd, still empty. What it names by now must not be cut to another size, else. */
static bool is_new(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat stat;

	return seals >= 0 && !(seals & F_SEAL_SEAL) && !fstat(fd, &stat) && !stat.st_size;
}

/* Open the target's descriptor, give the file its size, map it here. */
static struct err *map_here(struct region *region, pid_t tid, uint64_t fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, (int)fd);
	region->fd = open(path, O_RDWR | O_CLOEXEC);
	if (region->fd < 0)
		return err_sys("open the log's memory");
	if (!is_new(region->fd))
		return err_create(ERR_BUSY, "descriptor %" PRIu64 " of process %d is not the "
				  "memory that was made for the log", fd, tid);
	if (ftruncate(region->fd, (off_t)share_file_size(region->size, region->threads)) < 0) {
		struct err *err = err_sys("give the log %llu bytes",
					  (unsigned long long)region->size);

		return err->errnum == EFBIG ? err_hint(err, "ulimit -f unlimited") : err;
	}
	if (fcntl(region->fd, F_ADD_SEALS, SEALS) < 0)
		return err_sys("seal the log's size");
	region->base = mmap(NULL, region->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			    region->fd, 0);
	if (region->base == MAP_FAILED) {
		region->base = NULL;
		return err_hint(
			err_sys("map a log of %llu bytes", (unsigned long long)region->size),
			"a smaller log: --log-limit SIZE");
	}
	region->journal = region->base;
	journal_init_zeroed(region->journal, region->size, JOURNAL_SIZE);
	return NULL;
}

static struct err *map_there(struct target *target, struct region *region, struct remote *remote,
			     uint64_t fd)
{
	struct journal_entry entry = { .kind = JOURNAL_REGION, .len = JOURNAL_SIZE };
	uint64_t unused;
	struct err *err;

	err = remote_syscall(remote, &region->address, SYS_mmap, 0, JOURNAL_SIZE,
			     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (err)
		return err_hint(err_wrap(err, "map the journal in process %d", target->pid),
				"its limits: `cat /proc/%d/limits` (address space), "
				"vm.max_map_count", target->pid);
	entry.address = region->address;
	err = journal_plan(region->journal, &entry, &region->entry);
	if (!err)
		err = remote_syscall(remote, &unused, SYS_madvise, region->address, JOURNAL_SIZE,
				     MADV_DONTDUMP);
	/* mlockall(MCL_FUTURE) locks this one, and all that are made from it would be. */
	if (!err)
		err = remote_syscall(remote, &unused, SYS_munlock, region->address, JOURNAL_SIZE);
	if (err) {
		err_ignore(remote_unmap(remote, region->address, JOURNAL_SIZE));
		region->address = 0;
		return err;
	}
	journal_done(region->journal, region->entry);
	return NULL;
}

static void own(struct region *region, const struct target *target)
{
	struct proc_stat stat;

	region->journal->owner = (uint32_t)getpid();
	region->journal->owner_start = procfs_stat(getpid(), &stat) ? 0 : stat.start_time;
	region->journal->target_start = target->start_time;
	region->journal->tracer = 0;
}

/*
 * A process that has no descriptor left is given some more, while it stands: what is opened is
 * closed again before it goes on.
 */
static struct err *open_beyond_limit(struct target *target, struct remote *remote, uint64_t name,
				     uint64_t *fd_ret)
{
	struct rlimit old, more;
	struct err *err;

	if (prlimit(target->pid, RLIMIT_NOFILE, NULL, &old) < 0)
		return err_sys("read RLIMIT_NOFILE");
	more.rlim_cur = old.rlim_cur + MORE_FILES;
	more.rlim_max = MAX(more.rlim_cur, old.rlim_max);
	if (prlimit(target->pid, RLIMIT_NOFILE, &more, NULL) < 0)
		return err_hint(err_sys("no descriptor is left, and RLIMIT_NOFILE (%llu) cannot be raised",
					(unsigned long long)old.rlim_cur),
				"prlimit --nofile=NUMBER -p %d", target->pid);
	err = remote_syscall(remote, fd_ret, SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (prlimit(target->pid, RLIMIT_NOFILE, &old, NULL) < 0 && !err)
		trace_line("RLIMIT_NOFILE of process %d stays raised", target->pid);
	return err;
}

static struct err *open_there(struct target *target, struct remote *remote, uint64_t *fd_ret)
{
	uint64_t name;
	struct err *err = remote_scratch(remote, JOURNAL_MEMFD_NAME, sizeof(JOURNAL_MEMFD_NAME),
					 &name);

	if (err)
		return err;
	err = remote_syscall(remote, fd_ret, SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return err && err->errnum == EMFILE ? open_beyond_limit(target, remote, name, fd_ret) : err;
}

struct err *region_create(struct target *target, struct remote *remote,
			  const struct log_config *config, const struct room *room,
			  struct region **ret)
{
	struct region *region = calloc(1, sizeof(*region));
	uint64_t fd, unused;
	struct err *err, *also;

	if (!region)
		return err_nomem;
	region->fd = -1;
	region->size = room ? room->log : config->limit;
	region->threads = room ? room->threads : AGENT_THREADS;
	region->tight = room && room->tight;
	err = open_there(target, remote, &fd);
	if (err) {
		free(region);
		return err_wrap(err, "make the log in process %d", target->pid);
	}
	err = map_here(region, remote->thread->tid, fd);
	if (!err) {
		own(region, target);
		err = map_there(target, region, remote, fd);
	}
	also = remote_syscall(remote, &unused, SYS_close, fd);
	err = err ? err : also;
	if (err) {
		region_free(region);
		return err;
	}
	*ret = target->region = region;
	return NULL;
}

struct err *region_format(struct region *region, const struct log_config *config)
{
	struct log_config own = *config;

	own.limit = region->size;
	return log_format_behind(region->base, &own, &region->log);
}

static struct err *make_empty(struct region *region)
{
	const struct log_config config = { .limit = LOG_LIMIT_MIN, .stack_depth = 1 };

	region->fd = -1;
	region->size = config.limit;
	region->base = mmap(NULL, region->size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region->base == MAP_FAILED) {
		region->base = NULL;
		return err_sys("map an empty log");
	}
	region->journal = region->base;
	journal_init_zeroed(region->journal, region->size, JOURNAL_SIZE);
	return region_format(region, &config);
}

struct err *region_create_empty(struct region **ret)
{
	struct region *region = calloc(1, sizeof(*region));
	struct err *err;

	if (!region)
		return err_nomem;
	err = make_empty(region);
	if (err)
		region_free(region);
	else
		*ret = region;
	return err;
}

/* The mapping of a region's journal that was made for this target. */
static struct err *find_journal(struct target *target, const struct proc_maps *maps,
				const struct proc_map **map_ret, struct journal *journal)
{
	for (size_t i = 0; i < maps->vec.nr; i++) {
		const struct proc_map *map = &maps->vec.at[i];

		if (map->offset || map->end - map->start != JOURNAL_SIZE ||
		    strcmp(map->path, "/memfd:" JOURNAL_MEMFD_NAME) ||
		    memory_read(&target->mem.memory, map->start, journal, sizeof(*journal)) ||
		    journal->target_start != target->start_time)
			continue;
		*map_ret = map;
		return NULL;
	}
	return err_create(ERR_NOTFOUND, "it has no log");
}

/* How many threads a file of this size has beside its log; 0: it is another version's. */
static uint32_t threads_of_file(uint64_t file_size, uint64_t log_size)
{
	for (uint32_t threads = AGENT_THREAD_WAYS; threads <= AGENT_THREADS; threads *= 2)
		if (share_file_size(log_size, threads) == file_size)
			return threads;
	return 0;
}

static struct err *open_file(struct region *region, pid_t tid, const struct proc_map *map,
			     uint64_t size)
{
	struct stat stat;
	char path[96];
	int seals;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, tid, map->start,
		 map->end);
	region->fd = open(path, O_RDWR | O_CLOEXEC);
	if (region->fd < 0)
		return err_sys("open its log (which needs CAP_CHECKPOINT_RESTORE)");
	if (fstat(region->fd, &stat) < 0)
		return err_sys("its log");
	if (size <= LOG_LIMIT_MAX)
		region->threads = threads_of_file((uint64_t)stat.st_size, size);
	if (!region->threads)
		return err_create(ERR_FORMAT, "another version of mdbg has made its log");
	seals = fcntl(region->fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS)
		return err_create(ERR_FORMAT, "the size of its log can be changed");
	region->size = size;
	region->base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			    region->fd, 0);
	if (region->base == MAP_FAILED) {
		region->base = NULL;
		return err_sys("map its log");
	}
	region->journal = region->base;
	region->address = map->start;
	return log_open(region->base, size, &region->log);
}

static struct err *adopt(struct target *target, struct region *region)
{
	struct proc_maps maps = { VEC_INIT };
	const struct proc_map *map = NULL;
	struct journal journal;
	struct err *err = procfs_maps(target->mem.tid, &maps);

	if (!err)
		err = find_journal(target, &maps, &map, &journal);
	if (!err)
		err = open_file(region, target->mem.tid, map, journal.region_size);
	proc_maps_free(&maps);
	return err;
}

struct err *region_adopt(struct target *target, struct region **ret)
{
	struct region *region = calloc(1, sizeof(*region));
	struct err *err;

	if (!region)
		return err_nomem;
	region->fd = -1;
	err = adopt(target, region);
	if (err) {
		region_free(region);
		return err;
	}
	for (uint32_t i = 0; i < journal_entries(region->journal); i++)
		if (region->journal->entry[i].kind == JOURNAL_REGION &&
		    region->journal->entry[i].state == JOURNAL_DONE)
			region->entry = i;
	own(region, target);
	*ret = target->region = region;
	return NULL;
}

static void let_go(struct target *target)
{
	target->region->journal->owner = 0;
	target->region->address = 0;
	target->region = NULL;
}

void region_keep(struct target *target)
{
	let_go(target);
}

struct err *region_withdraw(struct target *target, struct remote *remote)
{
	struct region *region = target->region;
	struct err *err;

	if (!region || !region->address)
		return NULL;
	if (region->log_address) {
		let_go(target);
		return NULL;
	}
	err = remote_unmap(remote, region->address, JOURNAL_SIZE);
	if (err)
		return err_wrap(err, "unmap the journal");
	journal_undone(region->journal, region->entry);
	let_go(target);
	return NULL;
}

struct err *region_withdraw_inherited(const struct region *region, struct remote *child)
{
	return remote_unmap(child, region->address, JOURNAL_SIZE);
}

void region_free(struct region *region)
{
	if (!region)
		return;
	share_free(region->share);
	if (region->base)
		munmap(region->base, region->size);
	if (region->fd >= 0)
		close(region->fd);
	free(region);
}
