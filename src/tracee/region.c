/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shared region (theory in region.h). */

#include "tracee/region.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "agent/state.h"
#include "base/cleanup.h"
#include "base/trace.h"
#include "tracee/patch.h"
#include "tracee/remote.h"
#include "tracee/room.h"
#include "tracee/share.h"

/*
 * Descriptors beyond the limit: some may be in use there, if the limit was lowered, and one must be
 * free.
 */
#define MORE_FILES	1024

static void region_cleanup(struct region **region)
{
	region_free(*region);
}

static struct region *make(uint64_t size, uint32_t threads)
{
	struct region *region = calloc(1, sizeof(*region));

	if (region)
		*region = (struct region){ .fd = -1, .lock = -1, .size = size, .threads = threads };
	return region;
}

/* A file that was made just now is still empty. Any other file must not be cut to another size. */
static struct err *look_at(pid_t tid, uint64_t fd, int *path_fd_ret, struct file_id *ret)
{
	char path[64];
	struct stat stat;
	struct err *err;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, (int)fd);
	err = memfd_look(path, JOURNAL_MEMFD_NAME, path_fd_ret, &stat);
	if (err)
		return err;
	*ret = file_id_of(&stat);
	return stat.st_size ? err_create(ERR_BUSY, "descriptor %" PRIu64 " of process %d is not "
					 "the memory that was made for the log", fd, tid) : NULL;
}

/*
 * Examine the file of the journal that is mapped at address, by its link. The kernel lets nobody
 * follow that without CAP_CHECKPOINT_RESTORE.
 */
static bool stat_journal(pid_t tid, uint64_t address, struct stat *ret)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, tid, address,
		 address + JOURNAL_SIZE);
	return !stat(path, ret);
}

/* The file that is mapped at address in the process of tid, whose threads are stopped. */
static struct err *file_at(pid_t tid, uint64_t address, struct file_id *ret)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	const struct proc_map *map;
	struct stat st;
	struct err *err;

	if (stat_journal(tid, address, &st)) {
		*ret = file_id_of(&st);
		return NULL;
	}
	/* To read all maps of a large process takes some time. */
	err = procfs_maps(tid, &maps);
	map = err ? NULL : procparse_maps_find(&maps, address);
	*ret = map && undo_is_journal(map) ? file_id_of_map(map) : (struct file_id){ .inode = 0 };
	return err;
}

static struct err *map_there(struct target *target, struct region *region, struct remote *remote,
			     uint64_t fd, const struct file_id *file)
{
	struct file_id mapped;
	struct err *err;

	err = remote_syscall(remote, &region->address, SYS_mmap, 0, JOURNAL_SIZE,
			     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (err) {
		region->address = 0;
		return err_hint(err_wrap(err, "map the journal in process %d", target->pid),
				"its limits: `cat /proc/%d/limits` (address space), "
				"vm.max_map_count", target->pid);
	}
	err = file_at(remote->thread->tid, region->address, &mapped);
	if (!err && !file_id_same(&mapped, file))
		err = err_create(ERR_BUSY, "process %d has mapped another file than the one that "
				 "was made for the log", target->pid);
	return err;
}

static struct err *give_size(const struct region *region)
{
	uint64_t size = share_file_size(region->size, region->threads);

	if (ftruncate(region->fd, (off_t)size) < 0) {
		struct err *err = err_sys("give the log %" PRIu64 " bytes",
					  region->size);

		return err->errnum == EFBIG ? err_hint(err, "ulimit -f unlimited") : err;
	}
	if (fcntl(region->fd, F_ADD_SEALS, REGION_SEALS) < 0)
		return err_sys("seal the log's size");
	/* This marks the file as root's; the target's user cannot do that. */
	if (!geteuid() && fchown(region->fd, 0, 0))
		trace_line("the log's file stays the target's: %s", strerror(errno));
	return memfd_check_sealed(region->fd, size, REGION_SEALS);
}

static struct err *map_base(struct region *region)
{
	region->base = mmap(NULL, region->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			    region->fd, 0);
	if (region->base != MAP_FAILED)
		return NULL;
	region->base = NULL;
	return err_hint(err_sys("map a log of %" PRIu64 " bytes", region->size),
			"a smaller log: --log-limit SIZE");
}

/*
 * In one call, so that an mdbg that is killed has written all of it, or the file has no memory yet: by
 * the mapping there would first be a page of zeros, which nobody takes for an mdbg's.
 */
static struct err *write_header(const struct region *region)
{
	struct journal header = { .nr = 0 };

	journal_init_zeroed(&header, region->size, JOURNAL_SIZE);
	return pwrite(region->fd, &header, sizeof(header), 0) == sizeof(header) ? NULL :
		err_sys("write the head of the journal");
}

static struct err *map_here(struct region *region, int path_fd)
{
	struct err *err = memfd_open(path_fd, &region->fd);

	if (!err)
		err = give_size(region);
	if (!err)
		err = map_base(region);
	if (!err)
		err = write_header(region);
	if (!err)
		err = journal_writer_begin(&region->writer, region->base, region->size);
	region->journal = region->writer.own;
	return err;
}

static struct err *settle_there(struct region *region, struct remote *remote)
{
	struct journal_entry entry = { .kind = JOURNAL_REGION, .len = JOURNAL_SIZE,
				       .address = region->address };
	uint64_t unused;
	struct err *err = journal_writer_plan(&region->writer, &entry, &region->entry);

	if (!err)
		err = remote_syscall(remote, &unused, SYS_madvise, region->address, JOURNAL_SIZE,
				     MADV_DONTDUMP);
	/*
	 * mlockall(MCL_FUTURE) has locked this mapping, and those that are made from it would be
	 * locked, too.
	 */
	if (!err)
		err = remote_syscall(remote, &unused, SYS_munlock, region->address, JOURNAL_SIZE);
	if (!err)
		journal_writer_done(&region->writer, region->entry);
	return err;
}

/*
 * This mdbg is the journal's owner from now on, and holds the lock that says so to mdbgs in other PID
 * namespaces. If the kernel gives no lock at all, the journal does not say that there is one.
 */
static struct err *own(struct region *region, const struct target *target)
{
	struct proc_stat stat;
	struct journal_entry lock = { .kind = JOURNAL_LOCK, .address = (uint64_t)getpid() };
	struct err *err = memfd_lock(region->fd, &region->lock);
	uint32_t index;

	if (err && err->code == ERR_BUSY)
		return err_hint(err_recode(err_wrap(err, "process %d", target->pid), ERR_ATTACH),
				"another mdbg is at work there, or a process that holds its log open "
				"(grep OFDLCK /proc/locks)");
	lock.len = procfs_stat(getpid(), &stat) ? 0 : stat.start_time;
	journal_writer_own(&region->writer, (uint32_t)getpid(), lock.len, target->start_time);
	if (err) {
		trace_line("%s", err->msg);
		return NULL;
	}
	err = journal_writer_plan(&region->writer, &lock, &index);
	if (!err)
		journal_writer_undone(&region->writer, index);
	return err;
}

/* Note what forked copies of the target will have. */
static void set_origin(struct region *region, const struct file_id *file)
{
	region->origin.file = *file;
	region->origin.address = region->address;
	region->origin.journal = region->journal;
}

/*
 * If the process has no descriptor left, its limit is raised while it is stopped; what is opened is
 * closed again before it runs.
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
		return err_hint(err_sys("no descriptor is left, and RLIMIT_NOFILE (%" PRIu64
					") cannot be raised",
					old.rlim_cur),
				"prlimit --nofile=NUMBER -p %d", target->pid);
	err = remote_syscall(remote, fd_ret, SYS_memfd_create, name,
			     MFD_CLOEXEC | MFD_ALLOW_SEALING);
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
	err = remote_syscall(remote, fd_ret, SYS_memfd_create, name,
			     MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return err && err->errnum == EMFILE ? open_beyond_limit(target, remote, name, fd_ret) : err;
}

/* fd is open in the target. */
static struct err *make_from(struct target *target, struct region *region, struct remote *remote,
			     uint64_t fd)
{
	AUTO_CLOSE int path_fd = -1;
	struct file_id file;
	struct err *err = look_at(remote->thread->tid, fd, &path_fd, &file);

	if (!err)
		err = map_there(target, region, remote, fd, &file);
	if (!err)
		err = map_here(region, path_fd);
	if (!err) {
		set_origin(region, &file);
		err = settle_there(region, remote);
	}
	if (!err)
		err = own(region, target);
	if (err && region->address) {
		err_ignore(remote_unmap(remote, region->address, JOURNAL_SIZE));
		region->address = 0;
	}
	return err;
}

struct err *region_create(struct target *target, struct remote *remote,
			  const struct log_config *config, const struct room *room,
			  struct region **ret)
{
	CLEANUP(region_cleanup) struct region *region =
		make(room ? room->log : config->region_size, room ? room->threads : AGENT_THREADS);
	uint64_t fd, unused;
	struct err *err;

	if (!region)
		return err_nomem;
	region->tight = room && room->tight;
	err = origin_begin(&region->origin, target);
	if (!err)
		err = open_there(target, remote, &fd);
	if (err)
		return err_wrap(err, "make the log in process %d", target->pid);
	err = make_from(target, region, remote, fd);
	err = err_first(err, remote_syscall(remote, &unused, SYS_close, fd));
	if (!err)
		*ret = target->region = take(region);
	return err;
}

struct err *region_format(struct region *region, const struct log_config *config)
{
	struct log_config own = *config;

	own.region_size = region->size;
	return log_format_behind(region->base, &own, &region->log);
}

struct err *region_create_empty(const struct log_config *config, struct region **ret)
{
	static const struct log_config least = { .region_size = LOG_REGION_MIN, .stack_depth = 1 };
	CLEANUP(region_cleanup) struct region *region =
		make((config ? config : &least)->region_size, AGENT_THREADS);
	struct err *err;

	if (!region)
		return err_nomem;
	region->base = mmap(NULL, region->size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region->base == MAP_FAILED) {
		region->base = NULL;
		return err_sys("map an empty log");
	}
	err = journal_writer_begin(&region->writer, region->base, region->size);
	region->journal = region->writer.own;
	region->empty = !config;
	if (!err)
		err = region_format(region, config ? config : &least);
	if (!err)
		*ret = take(region);
	return err;
}

/* The mapping of a region's journal that was made for this target. */
static struct err *find_journal(struct target *target, const struct proc_maps *maps,
				const struct proc_map **map_ret, struct journal *journal)
{
	vec_each(map, &maps->vec) {
		if (!undo_is_journal(map) ||
		    memory_read(&target->mem.bring, map->start, journal, sizeof(*journal)) ||
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

/*
 * The target can write what it has mapped writable, so mdbg does not use rights here that the
 * target does not have.
 */
static struct err *open_file(struct region *region, pid_t tid, const struct proc_map *map,
			     uint64_t size)
{
	AUTO_CLOSE int path_fd = -1;
	struct file_id file = file_id_of_map(map), found;
	struct stat stat;
	char path[96];
	struct err *err;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, tid, map->start,
		 map->end);
	err = memfd_look(path, JOURNAL_MEMFD_NAME, &path_fd, &stat);
	if (err)
		return err_wrap(err, "open its log (which needs CAP_CHECKPOINT_RESTORE)");
	found = file_id_of(&stat);
	if (!file_id_same(&found, &file))
		return err_create(ERR_FORMAT, "its log was replaced");
	if (stat.st_uid && !identity_has_uid(&region->origin.identity, stat.st_uid))
		return err_create(ERR_FORMAT, "another user has made its log");
	if (size <= LOG_REGION_MAX)
		region->threads = threads_of_file((uint64_t)stat.st_size, size);
	if (!region->threads)
		return err_create(ERR_FORMAT, "another version of mdbg has made its log");
	err = memfd_open(path_fd, &region->fd);
	if (!err)
		err = memfd_check_sealed(region->fd, share_file_size(size, region->threads), REGION_SEALS);
	if (err)
		return err->code == ERR_BUSY ? err_recode(err, ERR_FORMAT) : err;
	region->size = size;
	region->address = map->start;
	err = map_base(region);
	if (!err)
		err = journal_writer_adopt(&region->writer, region->base, size);
	if (err)
		return err;
	region->journal = region->writer.own;
	set_origin(region, &file);
	return log_open(region->base, size, &region->log);
}

bool region_opens_again(const struct target *target)
{
	struct stat st;

	return target->region && stat_journal(target->mem.tid, target->region->address, &st);
}

struct err *region_adopt(struct target *target, struct region **ret)
{
	CLEANUP(region_cleanup) struct region *region = make(0, 0);
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	const struct proc_map *map = NULL;
	struct journal journal;
	bool told = false;
	struct err *err = region ? origin_begin(&region->origin, target) : err_nomem;

	if (!err)
		err = procfs_maps(target->mem.tid, &maps);
	if (!err)
		err = find_journal(target, &maps, &map, &journal);
	if (!err)
		err = open_file(region, target->mem.tid, map, journal.region_size);
	if (err)
		return err;
	for (uint32_t i = 0; i < journal_entries(region->journal); i++)
		if (region->journal->entry[i].kind == JOURNAL_REGION &&
		    region->journal->entry[i].state == JOURNAL_DONE &&
		    region->journal->entry[i].address == region->address) {
			region->entry = i;
			told = true;
		}
	err = told ? own(region, target) : err_create(ERR_FORMAT, "its journal does not tell of itself");
	if (!err)
		*ret = target->region = take(region);
	return err;
}

void region_unlock(struct region *region)
{
	if (region->lock >= 0)
		close(region->lock);
	region->lock = -1;
}

void region_keep(struct target *target)
{
	const struct journal *journal = target->region->journal;

	journal_writer_own(&target->region->writer, 0, journal->owner_start,
			   journal->target_start);
	region_unlock(target->region);
	target->region->address = 0;
	target->region = NULL;
}

/* Is code of ours still mapped, which a later mdbg is to take out? */
static bool holds_code(const struct region *region)
{
	for_each_entry(entry, region->journal)
		if (entry->kind == JOURNAL_MAPPING && entry->state == JOURNAL_DONE)
			return true;
	return false;
}

struct err *region_withdraw(struct target *target, struct remote *remote)
{
	struct region *region = target->region;
	struct err *err;

	if (!region || !region->address)
		return NULL;
	if (region->log_address || holds_code(region)) {
		region->left = !region->log_address;
		region_keep(target);
		return NULL;
	}
	err = patch_unmap_copy(remote, region, region->entry);
	if (err)
		return err_wrap(err, "unmap the journal");
	journal_writer_undone(&region->writer, region->entry);
	region_keep(target);
	return NULL;
}

struct err *region_withdraw_forked_copy(const struct region *region, struct remote *child)
{
	return patch_unmap_copy(child, region, region->entry);
}

void region_release_pages(const struct region *region)
{
	/* What is in no file would be lost. */
	if (region->fd >= 0 && madvise(region->base, region->size, MADV_DONTNEED))
		trace_line("the log's pages stay resident: %s", strerror(errno));
}

void region_free(struct region *region)
{
	if (!region)
		return;
	share_free(region->share);
	/* The target has its journal mapped, and with that the file: give the log's memory back. */
	if (region->left && fallocate(region->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				      JOURNAL_SIZE, (off_t)(region->size - JOURNAL_SIZE)) < 0)
		trace_line("the log of a journal that stays: %s", strerror(errno));
	journal_writer_free(&region->writer);
	origin_free(&region->origin);
	if (region->base)
		munmap(region->base, region->size);
	region_unlock(region);
	if (region->fd >= 0)
		close(region->fd);
	free(region);
}
