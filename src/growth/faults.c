/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records page faults (theory in faults.h). */

#include "growth/faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "arch/host.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/trace.h"
#include "log/log.h"
#include "tracee/target.h"

#define SAMPLE_REST	1024u		/* bytes that a sample has beside its stack, at most */
#define OWN		"/memfd:mdbg"	/* the log, whose pages the agent faults in */
#define CPUS_MAX	4096
#define MADE_MAX	256		/* mappings, before they are read again */
#define MAPS_AGE_NS	100000000ull	/* ... and at this age, or a hundred times what reading took */
#define DRAIN_MAX	200000		/* records of a ring in one drain */

static struct perf_event_attr attributes(bool major, uint32_t stack)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = major ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_FIELDS | PERF_SAMPLE_DATA_PAGE_SIZE,
		.sample_regs_user = PERF_REGS_MASK,
		.sample_stack_user = stack,
		.inherit = 1,
		.inherit_thread = 1,
		.remove_on_exec = 1,
		.mmap = !major,
		.mmap2 = !major,
		.mmap_data = !major,
		.exclude_hv = 1,
		.disabled = 1,
		.wakeup_events = 1 << 30,	/* nobody waits for the ring */
	};
}

/*
 * An old kernel (before 5.13) lets forked children inherit the event, too; their pid tells. And the
 * event stays when the process executes another program (faults_end). One before 5.11 says nothing of
 * the size of a page.
 */
static struct err *open_one(struct faults *faults, bool major, pid_t tid, int cpu, int *fd_ret)
{
	struct perf_event_attr attr = attributes(major, faults->stack);
	struct err *err;

	attr.exclude_kernel = faults->user_only;
	err = perf_event_open(&attr, tid, cpu, fd_ret);
	if (err && err->errnum == EINVAL) {
		attr.inherit_thread = attr.remove_on_exec = 0;
		err = perf_event_open(&attr, tid, cpu, fd_ret);
	}
	if (err && err->errnum == EINVAL) {
		attr.sample_type &= ~(uint64_t)PERF_SAMPLE_DATA_PAGE_SIZE;
		err = perf_event_open(&attr, tid, cpu, fd_ret);
		faults->sizeless = !err;
	}
	if (!err || err->code != ERR_PERM || faults->user_only)
		return err;
	attr.exclude_kernel = 1;
	err = perf_event_open(&attr, tid, cpu, fd_ret);
	faults->user_only = !err;
	return err;
}

/* The first event of a processor has the ring, and the others write to it. */
static struct err *add_event(struct faults *faults, bool major, pid_t tid, int cpu, int *first)
{
	struct perf_ring ring;
	int fd, kept;
	struct err *err = open_one(faults, major, tid, cpu, &fd);

	if (err)
		return err->code == ERR_GONE ? NULL : err;	/* the thread has ended */
	kept = fd_keep(fd);
	if (kept >= 0) {
		close(fd);
		fd = kept;
	}
	err = vec_push(&faults->fds, fd);
	if (err) {
		close(fd);
		return err;
	}
	if (*first >= 0)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, *first) < 0 ?
		       err_sys("join the events of a processor") : NULL;
	err = perf_ring_map(fd, major ? FAULTS_RING_MAJOR : faults->ring, &ring);
	if (err)
		return err;
	err = vec_push(&faults->rings, ring);
	if (err)
		perf_ring_unmap(&ring);
	*first = fd;
	return err;
}

static struct err *add_events(struct faults *faults, const struct proc_tasks *tasks, int cpu)
{
	struct err *err = NULL;

	for (int major = 0; !err && major < 2; major++) {
		int first = -1;

		for (size_t i = 0; !err && i < tasks->vec.nr; i++)
			err = add_event(faults, major, tasks->vec.at[i], cpu, &first);
		/* All threads have ended: there is nothing to record. */
		if (!err && first < 0)
			err = vec_push(&faults->rings, ((struct perf_ring){ .page = NULL }));
	}
	return err;
}

static struct err *enable(struct faults *faults)
{
	vec_each_value(fd, &faults->fds)
		if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return err_sys("begin to record page faults");
	return NULL;
}

static struct err *open_events(struct faults *faults)
{
	struct proc_tasks tasks = { VEC_INIT };
	int cpus[CPUS_MAX];
	unsigned nr = MIN(perf_cpus(cpus, CPUS_MAX), (unsigned)CPUS_MAX);
	struct err *err = procfs_tasks(faults->target->mem.tid, &tasks);

	faults->ring = MIN(FAULTS_RING, FAULTS_RINGS / nr);
	for (unsigned i = 0; !err && i < nr; i++)
		err = add_events(faults, &tasks, cpus[i]);
	vec_free(&tasks.vec);
	if (!err)
		err = target_maps(faults->target, &faults->maps);
	return err ? err : enable(faults);
}

struct err *faults_open(struct target *target, struct log *log, const struct walk_area *area,
			size_t most, size_t stack, struct faults **ret)
{
	struct faults *faults = calloc(1, sizeof(*faults));
	struct err *err;

	if (!faults)
		return err_nomem;
	faults->target = target;
	faults->log = log;
	faults->area = area;
	faults->stack = (uint32_t)(stack / 8 * 8);	/* the kernel wants whole words */
	fault_sums_init(&faults->sums, most);
	err = open_events(faults);
	if (err)
		faults_close(faults);
	else
		*ret = faults;
	return err ? err_wrap(err, "record page faults") : NULL;
}

void faults_close(struct faults *faults)
{
	if (!faults)
		return;
	vec_each(ring, &faults->rings)
		perf_ring_unmap(ring);
	vec_each_value(fd, &faults->fds)
		close(fd);
	vec_free(&faults->rings);
	vec_free(&faults->fds);
	vec_free(&faults->made);
	procparse_maps_free(&faults->maps);
	fault_sums_free(&faults->sums);
	free(faults);
}

/* The file of a new mapping, as /proc/PID/maps would have it without what it adds; 0: none. */
static uint32_t file_of_record(struct faults *faults, const char *path)
{
	AUTO_FREE char *name = NULL;

	if (path[0] != '/' || path[1] == '/')
		return 0;		/* "//anon", "[heap]", "[stack]" */
	name = strdup(path);
	if (!name)
		return 0;
	path_cut_deleted(name);
	return fault_sums_file(&faults->sums, name);
}

static void take_mapping(struct faults *faults, const struct perf_event_header *record)
{
	struct perf_mapping mapping;
	struct fault_mapping made;

	if (!perf_mapping_parse(record, &mapping) ||
	    (pid_t)mapping.pid != faults->target->pid)
		return;
	made = (struct fault_mapping){
		mapping.start, mapping.end, mapping.offset, mapping.inode,
		(uint64_t)mapping.dev_major << 32 | mapping.dev_minor,
		file_of_record(faults, mapping.path) };
	if (faults->made.nr >= MADE_MAX || vec_push(&faults->made, made))
		faults->maps_old = true;
}

static void read_maps(struct faults *faults)
{
	struct proc_maps maps = { VEC_INIT };
	uint64_t began = procfs_clock(CLOCK_MONOTONIC), ended;
	struct err *err = target_maps(faults->target, &maps);

	ended = procfs_clock(CLOCK_MONOTONIC);
	faults->maps_until = ended + MAX(MAPS_AGE_NS, 100 * (ended - began));
	faults->maps_old = false;
	vec_clear(&faults->made);
	if (err) {
		trace_line("%s", err->msg);	/* it has ended: what was known stays */
		return;
	}
	procparse_maps_free(&faults->maps);
	faults->maps = maps;
}

/* The mapping that holds an address; false: none is known. */
static bool find_mapping(struct faults *faults, uint64_t address, struct fault_mapping *ret)
{
	const struct proc_map *map;

	if (faults->maps_old)
		read_maps(faults);
	for (size_t i = faults->made.nr; i--; ) {
		*ret = faults->made.at[i];
		if (address - ret->start < ret->end - ret->start)
			return true;
	}
	map = procparse_maps_find(&faults->maps, address);
	if (!map)
		return false;
	*ret = (struct fault_mapping){
		map->start, map->end, map->offset, map->inode,
		(uint64_t)map->dev_major << 32 | map->dev_minor,
		/* The heap and the stacks are no files. */
		map->path[0] == '/' ? fault_sums_file(&faults->sums, map->path) : 0 };
	return true;
}

/* Which file the address is of, and the place there: one name may have been that of many files. */
static void set_file(struct faults *faults, struct fault *fault)
{
	struct fault_mapping mapping;

	if (!find_mapping(faults, fault->address, &mapping))
		return;
	fault->file = mapping.file;
	if (!mapping.inode)
		return;
	fault->inode = mapping.inode;
	fault->dev = mapping.dev;
	fault->offset = mapping.offset + (fault->address - mapping.start);
}

static uint32_t walk_sample(struct faults *faults, const struct perf_sample *sample,
			    uint64_t *pcs, enum walk_end *end)
{
	uint64_t dwarf[PERF_REGS_DWARF];
	const uint64_t *given = sample->regs;
	struct walk_regs regs = { given[PERF_REGS_PC], given[PERF_REGS_SP], given[PERF_REGS_FP],
				  dwarf, PERF_REGS_DWARF };
	struct walk_stack stack = { .copy = sample->stack, .low = regs.sp,
				    .high = regs.sp + sample->stack_len };
	struct walk_map map = faults->target->modules.map;
	const struct walk_start start = { &map, &regs, &stack, faults->area, false };
	uint32_t depth = MIN(log_config(faults->log).stack_depth, (uint32_t)LOG_DEPTH_MAX);

	perf_regs_sort(given, dwarf);
	map.cache = &faults->target->walk_cache;
	return walk(&start, pcs, depth, end, NULL);
}

static uint32_t stack_of(struct faults *faults, const struct perf_sample *sample)
{
	uint64_t pcs[LOG_DEPTH_MAX];
	enum walk_end end;
	uint32_t nr;

	if (sample->nr_regs != PERF_REGS_NR)
		return LOG_STACK_NONE;
	nr = walk_sample(faults, sample, pcs, &end);
	/* The copy was too short. */
	if (end == WALK_MEMORY && sample->stack_len + SAMPLE_REST >= faults->stack)
		end = WALK_COPY;
	/* A library may have been loaded since the last poll: the modules are read, once a drain. */
	if (end == WALK_NO_MODULE && !faults->refreshed) {
		struct err *err = target_refresh(faults->target, NULL);

		faults->refreshed = true;
		if (err)
			trace_line("%s", err->msg);
		else
			nr = walk_sample(faults, sample, pcs, &end);
	}
	return stack_table_insert(faults->log, pcs, nr, (uint8_t)end,
				  faults->target->modules.generation);
}

static bool is_own(const struct faults *faults, uint32_t file)
{
	return file && !strcmp(faults->sums.files.vec.at[file], OWN);
}

static void take_sample(struct faults *faults, const struct perf_event_header *record)
{
	struct perf_sample sample;
	struct fault fault;

	faults->samples++;
	if (faults->ended || !perf_sample_parse(record, PERF_REGS_MASK, &sample) ||
	    (pid_t)sample.pid != faults->target->pid)
		return;
	fault = (struct fault){ .address = sample.addr, .stack = stack_of(faults, &sample),
				.major = faults->major, .page_size = sample.page_size };
	set_file(faults, &fault);
	if (is_own(faults, fault.file)) {
		faults->own++;
		return;
	}
	faults->unstacked += fault.stack == LOG_STACK_NONE;
	fault_sums_add(&faults->sums, &fault);
}

static void take_record(void *ctx, const struct perf_event_header *record)
{
	struct faults *faults = ctx;

	if (record->type == PERF_RECORD_SAMPLE)
		take_sample(faults, record);
	else if (record->type == PERF_RECORD_MMAP2)
		take_mapping(faults, record);
}

static void take_rings(struct faults *faults)
{
	for (size_t i = 0; i < faults->rings.nr; i++) {
		faults->major = i & 1;
		if (faults->rings.at[i].page)
			perf_ring_take(&faults->rings.at[i], DRAIN_MAX, take_record, faults);
	}
}

/*
 * The kernel tells nobody of what is unmapped, or moved by mremap. So now and then the mappings are
 * read again, behind the samples that they hold for.
 */
void faults_drain(struct faults *faults)
{
	uint64_t samples = faults->samples;

	faults->refreshed = false;
	take_rings(faults);
	if (faults->samples != samples && !faults->ended &&
	    procfs_clock(CLOCK_MONOTONIC) >= faults->maps_until)
		read_maps(faults);
}

/* Neither the modules nor the mappings are read again: those of the other program are there now. */
void faults_end(struct faults *faults)
{
	faults->refreshed = true;
	faults->maps_old = false;
	take_rings(faults);
	faults->ended = true;
}

/* An event's count has those of the threads that have inherited it. */
static uint64_t counted(const struct faults *faults)
{
	uint64_t sum = 0, count;

	vec_each_value(fd, &faults->fds)
		if (read(fd, &count, sizeof(count)) == sizeof(count))
			sum += count;
	return sum;
}

uint64_t faults_settle(struct faults *faults)
{
	uint64_t count = counted(faults), lost = 0;

	faults_drain(faults);
	vec_each(ring, &faults->rings)
		lost += ring->lost + ring->broken;
	/* Samples that came since the count hide so many that were lost, until the next answer. */
	return MAX(lost, count > faults->samples ? count - faults->samples : 0);
}
