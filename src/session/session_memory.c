/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks at the memory of the process by kind (theory in session_memory.h). */

#include "session/session_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "inspect/account.h"
#include "inspect/memory_owners.h"
#include "os/pagemap.h"
#include "os/page_runs.h"
#include "probe/pools.h"
#include "session/pool/session_pools.h"
#include "session/private.h"
#include "session/replay/session_replay_figures.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define TABLE_SPAN	(2ull << 20)	/* of memory, that a page table is for */
#define FREE_NS		60000000ull	/* for lists of free chunks: 40,000 or more of them */
#define FILES_MOST	4096u		/* descriptors that are looked at: 3 us each ... */
#define SHARED_MOST	256u		/* ... and mappings of shared memory: 5 us */
#define TASKS_MOST	256u		/* ... and threads that may have children: 8 us */

/* Is it so large that smaps takes too long? Memory of hugetlbfs is for smaps to tell apart. */
static bool is_large(const struct proc_status *status)
{
	return status->rss_kb > SESSION_MEMORY_LARGE >> 10 && !status->hugetlb_kb;
}

/* Read smaps, or what is there in place of it; *quick_ret: page tables only. */
static struct err *read_live(struct session *session, pid_t tid, bool quick, struct smaps *ret,
			     bool *quick_ret)
{
	struct err *err = quick ? smaps_scan(tid, ret) : NULL;

	*quick_ret = quick && !err;
	if (err && err->code == ERR_UNSUPPORTED)
		err_ignore(err);
	else if (err || quick)
		return err;
	err = smaps_read(tid, ret);
	/* A kernel may be without smaps (CONFIG_PROC_PAGE_MONITOR): then only sizes are known. */
	if (err && err->code == ERR_NOTFOUND) {
		err_ignore(err);
		err = session_maps(session, &ret->maps);
	}
	return err;
}

static struct err *read_maps(struct session *session, const struct proc_status *status, bool all,
			     struct smaps *ret, bool *quick_ret)
{
	struct err *err = read_live(session, session->current->target->mem.tid,
				    !all && is_large(status), ret, quick_ret);

	if (!err && !ret->maps.vec.nr)
		err = err_create(ERR_GONE, "process %d has ended", session->current->pid);
	return err;
}

/* What the kernel has for the process as a whole only. */
static struct err *add_process(struct session *session, const struct proc_status *status,
			       struct memory_use *use)
{
	struct memory_sum *kernel = &use->look.kind[MEMORY_KERNEL], *all = &use->look.all;
	struct proc_stat stat;
	struct err *err = procfs_stat(session->current->pid, &stat);
	uint64_t pss, own = use->look.kind[MEMORY_OWN].at[MEMORY_PSS];

	if (err)
		return err;
	use->min_faults = stat.min_faults;
	use->maj_faults = stat.maj_faults;
	if (status->page_tables_kb)
		kernel->at[MEMORY_RSIZE] = (status->page_tables_kb << 10) -
			MIN(status->page_tables_kb << 10, use->look.own_tables);
	if (use->quick) {
		memory_use_set_locked(use, status->locked_kb << 10);
	} else if (all->at[MEMORY_RSIZE] == MEMORY_UNKNOWN && status->has_vm) {
		all->at[MEMORY_RSIZE] = status->rss_kb << 10;
		all->at[MEMORY_SWAP] = status->swap_kb << 10;
	} else {
		err = smaps_whole_pss(session->current->target->mem.tid, &pss);
		/* It was read a moment later than the others, when more may have been in memory. */
		if (!err && pss != SMAPS_UNKNOWN)
			all->at[MEMORY_PSS] = MIN(pss > own ? pss - own : 0,
						  all->at[MEMORY_RSIZE]);
	}
	return err && err->code != ERR_NOTFOUND ? err : NULL;
}

/* The bytes that an object of shared memory has; MEMORY_UNKNOWN: that may not be seen. */
static uint64_t object_bytes(pid_t pid, const struct proc_map *map)
{
	char path[80];
	struct statx stx;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, map->start,
		 map->end);
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_BLOCKS, &stx) ?
		MEMORY_UNKNOWN : stx.stx_blocks * 512;
}

/* Those of all that are mapped, each once: mappings of one are mostly neighbours. */
static uint64_t shared_there(pid_t pid, const struct memory_use *use)
{
	struct file_id last = { .inode = 0 };
	uint64_t bytes = 0;
	unsigned nr = 0;

	for (size_t i = 0; i < use->vec.nr; i++) {
		const struct file_id id = file_id_of_map(use->vec.at[i].map);
		uint64_t has;

		if (use->vec.at[i].kind != MEMORY_SHARED || file_id_same(&id, &last))
			continue;
		has = object_bytes(pid, use->vec.at[i].map);
		if (nr++ == SHARED_MOST || has == MEMORY_UNKNOWN)
			return MEMORY_UNKNOWN;
		bytes += has;
		last = id;
	}
	return bytes;
}

/* A checksum of the parent and the children. */
static uint64_t family_of(pid_t tid, pid_t parent)
{
	uint64_t sum = (uint64_t)parent;
	struct proc_tasks tasks = { VEC_INIT }, children;
	struct err *err = procfs_tasks(tid, &tasks);

	for (size_t i = 0; !err && i < MIN(tasks.vec.nr, (size_t)TASKS_MOST); i++) {
		err = procfs_children(tasks.vec.at[i], &children);
		if (err)
			break;
		vec_each_value(child, &children.vec)
			sum = sum * 1000003 + (uint64_t)child;
		vec_free(&children.vec);
	}
	vec_free(&tasks.vec);
	if (err)
		err_ignore(err);
	return sum;
}

/* What lies outside its own private memory. What cannot be seen stays unknown. */
static void add_outside(struct session *session, const struct proc_status *status,
			struct memory_use *use)
{
	pid_t tid = session->current->target->mem.tid;
	struct held_files files = HELD_FILES_INIT;
	struct err *err = held_files_find(tid, FILES_MOST, &files);

	if (err)
		err_ignore(err);
	else if (!files.cut)
		use->look.descriptors = account_unmapped(use, &files);
	held_files_free(&files);
	use->look.shared_there = shared_there(tid, use);
	use->look.family = family_of(tid, status->ppid);
}

static void set_older(const struct log *log, const struct log_accounts *accounts,
		      struct memory_look *look)
{
	const struct log_older older = log_older_of(log, accounts);

	look->older = older.bytes;
	look->unsized = older.known ? older.unsized : MEMORY_UNKNOWN;
}

/*
 * The bytes that blocks hold, by the log. A log that samples is scanned for it. The log of several
 * processes does not tell what one of them holds.
 */
static struct err *add_held(struct session *session, struct memory_look *look)
{
	struct moment moment = MOMENT_INIT;
	struct log_accounts accounts;
	struct err *err;

	if (!session_recorded(session) || !session_armed(session) || session->nr_processes > 1)
		return NULL;
	accounts = reader_accounts(session_log(session));
	look->log = log_clock_begin(session_log(session));
	look->unrecorded = accounts.table_full + accounts.voided;
	look->held = accounts.alloc_bytes - MIN(accounts.alloc_bytes, accounts.free_bytes);
	set_older(session_log(session), &accounts, look);
	if (!log_config(session_log(session)).sample)
		return NULL;
	err = session_history_moment(session, &moment);
	if (!err)
		look->held = moment_total(&moment).bytes;
	moment_free(&moment);
	return err;
}

/* The command that lists what a pool of the process keeps in memory that it maps by itself. */
static struct err *find_pools(struct session *session, const char **ret)
{
	struct session_pools is;
	struct err *err = session_pools(session, &is);

	*ret = NULL;
	for (unsigned i = 0; !err && i < POOLS && !*ret; i++)
		if (is.here & 1u << i)
			*ret = pools[i].lists;
	return err;
}

struct facts_job {
	const struct proc_maps *maps;
	struct memory_facts *facts;
	struct memory_owners *owners;
};

static struct err *facts_job(struct session *session, void *arg)
{
	const struct process *process = session->current;
	struct facts_job *job = arg;

	return memory_owners_facts(process->target, process->probes, job->maps, job->facts,
				   job->owners);
}

/* pagemap: not open for a core file. */
static struct err *find_owners(struct session *session, const struct smaps *smaps,
			       struct pagemap *pagemap, struct memory_owners *owners)
{
	const struct session_allocators *all = session_allocators(session);
	const struct target *target = session->current->target;
	const struct runtimes *runtimes = NULL;
	struct err *runtimes_err = session_allocator_runtimes(session, &runtimes);
	struct memory_facts facts = { .tid_offset = 0 };
	struct facts_job job = { &smaps->maps, &facts, owners };
	struct proc_tasks tasks = { VEC_INIT };
	const struct memory_owners_of of = {
		.pid = session->current->pid, .smaps = smaps, .memory = session_memory(session),
		.pagemap = pagemap, .tasks = target->kind->live ? &tasks : NULL,
		.unknown_heaps = all->partly || (!all->walkable && all->nr + all->others),
		.guessed_heaps = all->nr && !all->first, .runtimes = runtimes && runtimes->nr,
		.log = session_recorded(session) && session->nr_processes == 1 ?
			session_log(session) : NULL,
	};
	struct err *err = runtimes_err ? runtimes_err : session_call(session, facts_job, &job);

	if (!err && of.tasks)
		err = procfs_tasks(target->mem.tid, &tasks);
	if (!err)
		err = memory_owners_find(&of, &facts, owners);
	vec_free(&tasks.vec);
	return err;
}

/*
 * The page tables that the process has for mdbg's memory: one for each 2 MB in which there are
 * pages. They were not there before the attach.
 */
static struct err *find_own_tables(const struct memory_owners *owners, int pagemap, uint64_t *ret)
{
	struct page_runs pages = { VEC_INIT };
	uint64_t slot = UINT64_MAX, nr = 0;
	struct err *err = NULL;

	vec_each_while(owner, &owners->vec, pagemap >= 0 && !err) {
		if (owner->kind != MEMORY_OWN)
			continue;
		page_runs_free(&pages);
		err = page_runs_add(pagemap, owner->start, owner->end, &pages);
		vec_each(run, &pages.vec) {
			uint64_t first = run->start / TABLE_SPAN;
			uint64_t last = (run->end - 1) / TABLE_SPAN;

			nr += last - first + (first != slot);
			slot = last;
		}
	}
	page_runs_free(&pages);
	*ret = nr * PAGE;
	return err;
}

static struct err *make(struct session *session, struct smaps *smaps, struct memory_use *ret)
{
	const struct target *target = session->current->target;
	struct memory_owners owners = { .vec = VEC_INIT };
	struct pagemap pagemap = { .fd = -1 };
	uint64_t own_tables = 0;
	struct err *err;

	if (target->kind->live)
		pagemap_open(target->mem.tid, &pagemap);
	err = find_owners(session, smaps, &pagemap, &owners);
	if (!err)
		err = find_own_tables(&owners, pagemap.fd, &own_tables);
	if (!err)
		err = memory_use_make(smaps, &owners, pagemap.fd < 0 ? NULL : &pagemap, ret);
	if (!err)
		ret->look.own_tables = own_tables;
	pagemap_close(&pagemap);
	vec_free(&owners.vec);
	return err;
}

static struct err *use_core(struct session *session, struct memory_use *ret)
{
	struct smaps smaps = SMAPS_INIT;
	struct err *err = session_maps(session, &smaps.maps);

	if (!err)
		err = make(session, &smaps, ret);
	smaps_free(&smaps);
	return err;
}

static struct err *use_live(struct session *session, unsigned flags, struct memory_use *ret)
{
	struct smaps smaps = SMAPS_INIT;
	struct proc_status status;
	bool quick = false;
	struct err *err = procfs_status(session->current->target->mem.tid, &status);

	if (!err)
		err = read_maps(session, &status, flags & SESSION_MEMORY_ALL, &smaps, &quick);
	if (!err)
		err = make(session, &smaps, ret);
	smaps_free(&smaps);
	if (err)
		return err;
	ret->quick = quick;
	ret->look.time_ns = procfs_clock(CLOCK_MONOTONIC);
	err = add_process(session, &status, ret);
	if (!err && flags & SESSION_MEMORY_JUDGE)
		add_outside(session, &status, ret);
	if (!err)
		err = add_held(session, &ret->look);
	if (!err)
		err = find_pools(session, &ret->look.pools);
	if (err)
		memory_use_free(ret);
	return err;
}

struct err *session_memory_use(struct session *session, unsigned flags,
			       struct memory_use *ret)
{
	struct err *err;

	if (session->replay)
		return session_replay_figures_memory(session, ret);
	err = session_need_view(session);
	if (err)
		return err;
	if (!session->current->target->kind->live)
		return use_core(session, ret);
	err = use_live(session, flags, ret);
	if (err && err->code == ERR_PERM)
		err = err_hint(err, "the kernel shows memory to root, and to the process' own "
			       "user with the right to trace it; see hidepid in proc(5)");
	return err;
}

/* Forget what was shown of another process: nothing is compared with it. */
static struct memory_last *last_of(struct session *session)
{
	struct memory_last *last = &session->memory_last;
	const struct target *target = session->current->target;
	pid_t pid = session->current->pid;
	uint64_t start = target ? target->start_time : 0;

	if (last->pid == pid && last->start_time == start)
		return last;
	session_memory_forget(session);
	last->pid = pid;
	last->start_time = start;
	return last;
}

void session_memory_forget(struct session *session)
{
	vec_free(&session->memory_last.maps);
	session->memory_last = (struct memory_last){ .maps = VEC_INIT };
}

const struct memory_look *session_memory_last(struct session *session)
{
	const struct memory_last *last = last_of(session);

	return last->has_look ? &last->look : NULL;
}

void session_memory_keep(struct session *session, const struct memory_look *look)
{
	struct memory_last *last = last_of(session);

	last->look = *look;
	last->has_look = true;
}

/* Take the sample of the history that is at most 10 s old for a look, as far as it has figures. */
static bool look_of_history(struct session *session, const struct memory_look *now,
			    struct memory_look *ret)
{
	uint64_t log_ns = session->replay ? session_replay_figures_taken(session) :
					    session_history_now(session);
	const struct history_sample *sample = session_history_growth(session, log_ns);

	if (!sample || !sample->rss)
		return false;
	*ret = (struct memory_look){
		.time_ns = now->time_ns - MIN(now->time_ns, log_ns - sample->time_ns),
		.all = memory_sum_unknown, .held = sample->bytes,
		.older = sample->moment.older.bytes,
		.unsized = sample->moment.older.known ? sample->moment.older.unsized :
							MEMORY_UNKNOWN,
	};
	ret->all.at[MEMORY_RSIZE] = sample->rss;
	return true;
}

/* What is free in the heaps; it stays unknown if it cannot be read. */
static struct err *find_free(struct session *session, struct heap_free *ret)
{
	const struct target *target = session->current->target;
	struct memory_facts facts = { .tid_offset = 0 };
	struct memory_owners owners = { .vec = VEC_INIT };
	struct smaps smaps = SMAPS_INIT;
	struct facts_job job = { &smaps.maps, &facts, &owners };
	struct pagemap pagemap;
	const struct memory_owners_of of = {
		.smaps = &smaps, .memory = session_memory(session), .pagemap = &pagemap,
	};
	struct err *err = session_maps(session, &smaps.maps);

	pagemap_open(target->mem.tid, &pagemap);
	if (!err)
		err = session_call(session, facts_job, &job);
	if (!err)
		err = memory_owners_free(&of, &facts, FREE_NS, ret);
	pagemap_close(&pagemap);
	smaps_free(&smaps);
	vec_free(&owners.vec);
	return err;
}

void session_memory_verdict(struct session *session, const struct memory_look *before,
			    struct memory_look *now, struct memory_verdict *ret)
{
	struct memory_look sampled;
	struct err *err;

	if (session_state(session) == SESSION_CORE) {
		*ret = (struct memory_verdict){
			.kind = MEMORY_NOTHING_GROWS, .ask = "memory maps",
			.text = "a core file is of one moment, and has the sizes of mappings only",
		};
		return;
	}
	/* Of a recording one may have gone back. */
	if (before && before->time_ns >= now->time_ns)
		before = NULL;
	if (!before && now->held != MEMORY_UNKNOWN && look_of_history(session, now, &sampled))
		before = &sampled;
	memory_verdict(before, now, ret);
	if (session->replay || !memory_verdict_wants_free(now, ret))
		return;
	err = find_free(session, &now->free);
	if (err)
		err_ignore(err);
	else
		memory_verdict(before, now, ret);
}

/*
 * What was resident of the mappings that are this one now; 0: it is new. It may have grown at either
 * end, or be one of the pieces of an old one, or several old ones in one. An old one counts for one
 * new one only, the first, so that the sum of all changes is right.
 */
static uint64_t resident_before(const struct memory_last *last, const struct proc_map *map,
				size_t *at)
{
	uint64_t sum = 0;

	for (; *at < last->maps.nr && last->maps.at[*at].start < map->end; (*at)++) {
		const struct memory_seen *seen = &last->maps.at[*at];
		bool same = seen->end > map->start && seen->inode == map->inode;

		/* The rest of it may be a mapping of its own. */
		if (seen->end > map->end && !(same && seen->start == map->start))
			break;
		if (same && seen->rsize == MEMORY_UNKNOWN)
			sum = MEMORY_UNKNOWN;
		else if (same && sum != MEMORY_UNKNOWN)
			sum += seen->rsize;
	}
	return sum;
}

static struct err *remember_maps(struct memory_last *last, const struct memory_use *use)
{
	struct err *err = NULL;

	vec_clear(&last->maps);
	last->has_maps = false;
	for (size_t i = 0; i < use->vec.nr && !err; i++) {
		const struct memory_map *map = &use->vec.at[i];

		err = vec_push(&last->maps, ((struct memory_seen){
			map->map->start, map->map->end, map->map->inode,
			map->sum.at[MEMORY_RSIZE] }));
	}
	last->has_maps = !err;
	return err;
}

struct err *session_memory_changes(struct session *session, const struct memory_use *use,
				   struct memory_changes *ret)
{
	struct memory_last *last = last_of(session);
	struct memory_changes changes = { .known = last->has_maps, .vec = VEC_INIT };
	struct err *err = NULL;
	size_t at = 0;

	for (size_t i = 0; i < use->vec.nr && !err; i++) {
		const struct memory_map *map = &use->vec.at[i];
		uint64_t was = resident_before(last, map->map, &at);
		uint64_t is = map->sum.at[MEMORY_RSIZE];

		if (is == MEMORY_UNKNOWN || was == MEMORY_UNKNOWN)
			is = was = 0;
		err = vec_push(&changes.vec, (int64_t)(is - was));
	}
	if (!err)
		err = remember_maps(last, use);
	if (err)
		vec_free(&changes.vec);
	else
		*ret = changes;
	return err;
}
