/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of the target that the agent needs (theory in share.h). */

#include "tracee/share.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "agent/state.h"
#include "base/cleanup.h"
#include "base/page.h"
#include "tracee/previous/provenance.h"
#include "tracee/patch.h"
#include "tracee/region.h"
#include "tracee/remote.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define MAPS_SIZE	(1ull << 30)	/* of the file, for maps and rows */
#define MAPS_LEAST	(16ull << 20)	/* that the target maps of them, ... */
/* ... and, where addresses are scarce, beyond what is needed */
#define MAPS_SPARE	(64ull << 10)
#define RESERVE		(2ull << 20)	/* that is faulted in ahead of the target */

/* Part of the arena of maps and rows that is in use. */
struct span {
	uint64_t offset, len;	/* from the arena's start; whole pages */
	const struct row *key;	/* the rows that were copied here; NULL: a map */
	uint32_t used;		/* the last publication that uses it; 0: none yet */
};

/* A mapping of the arena, or of log and threads, in the target. */
struct part {
	uint64_t address;	/* of the arena's start */
	uint64_t len;
	uint32_t entry;		/* of the journal */
	uint32_t used;
};

struct share {
	int fd;				/* the region's */
	uint64_t threads_offset, arena_offset, provenance_offset;	/* in the file */
	struct agent_thread *threads;	/* here */
	uint32_t nr_threads;
	bool ready[AGENT_THREADS];	/* their pages were faulted in */
	uint32_t log_entry;		/* valid if region->log_address is not 0 */
	VEC(struct part) parts;		/* of the arena, in the target; the last is the largest */
	VEC(struct span) spans;		/* by offset */
	uint32_t publication;
};

#define OLD_KEY		((const struct row *)1)	/* of the span that is an earlier mdbg's */

/*
 * The log's mapping begins on the journal's last page, also if an earlier mdbg has its log mapped
 * from the next page on. Otherwise the kernel would merge journal and log, side by side, into one
 * mapping.
 */
#define LOG_FRONT	(JOURNAL_SIZE - PAGE)

static uint64_t threads_len(uint32_t threads)
{
	return ALIGN_UP(threads * sizeof(struct agent_thread), PAGE);
}

uint64_t share_file_size(uint64_t log_size, uint32_t threads)
{
	return ALIGN_UP(log_size, PAGE) + threads_len(threads) + MAPS_SIZE + PROVENANCE_SIZE;
}

void share_free(struct share *share)
{
	if (!share)
		return;
	if (share->threads)
		munmap(share->threads, threads_len(share->nr_threads));
	vec_free(&share->parts);
	vec_free(&share->spans);
	free(share);
}

/* The share of the region; it is made if there is none. */
static struct err *open_share(struct region *region)
{
	struct share *share;

	if (region->share)
		return NULL;
	share = calloc(1, sizeof(*share));
	if (!share)
		return err_nomem;
	share->fd = region->fd;
	share->nr_threads = region->threads;
	share->threads_offset = ALIGN_UP(region->size, PAGE);
	share->arena_offset = share->threads_offset + threads_len(share->nr_threads);
	share->provenance_offset = share->arena_offset + MAPS_SIZE;
	share->threads = mmap(NULL, threads_len(share->nr_threads), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_NORESERVE, share->fd, (off_t)share->threads_offset);
	if (share->threads == MAP_FAILED) {
		share->threads = NULL;
		share_free(share);
		return err_sys("map the agent's threads");
	}
	region->share = share;
	return NULL;
}

/* The arena */

/* First fit. *ret is the new span's index; those behind it have moved. */
static struct err *span_add(struct share *share, uint64_t len, const struct row *key, size_t *ret)
{
	uint64_t offset = 0;
	size_t at = 0;
	struct err *err = vec_reserve(&share->spans, 1);

	if (err)
		return err;
	len = ALIGN_UP(len, PAGE);
	for (; at < share->spans.nr && share->spans.at[at].offset - offset < len; at++)
		offset = share->spans.at[at].offset + share->spans.at[at].len;
	if (offset + len > MAPS_SIZE)
		return err_create(ERR_RANGE, "no room for more unwind tables in the log");
	memmove(&share->spans.at[at + 1], &share->spans.at[at],
		(share->spans.nr - at) * sizeof(struct span));
	share->spans.nr++;
	share->spans.at[at] = (struct span){ .offset = offset, .len = len, .key = key };
	*ret = at;
	return NULL;
}

static void span_remove(struct share *share, size_t at)
{
	const struct span *span = &share->spans.at[at];

	/* This only gives the memory back; the bytes are written again before they are used. */
	(void)fallocate(share->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)(share->arena_offset + span->offset), (off_t)span->len);
	vec_remove(&share->spans, at);
}

/* Use write(): without memory it gives an error, and not a SIGBUS. */
static struct err *span_write(const struct share *share, const struct span *span, uint64_t at,
			      const void *bytes, size_t len)
{
	const uint8_t *from = bytes;
	uint64_t offset = share->arena_offset + span->offset + at;

	while (len) {
		ssize_t did = pwrite(share->fd, from, len, (off_t)offset);

		if (did <= 0)
			return err_sys("write unwind tables to the log");
		from += did;
		offset += (uint64_t)did;
		len -= (size_t)did;
	}
	return NULL;
}

static struct span *find_rows(const struct share *share, const struct row *key)
{
	for (size_t i = 0; i < share->spans.nr; i++)
		if (share->spans.at[i].key == key)
			return &share->spans.at[i];
	return NULL;
}

static uint64_t rows_bytes(const struct rows *rows)
{
	return rows->nr * sizeof(*rows->row);
}

static struct err *lay_rows(struct share *share, const struct rows *rows)
{
	uint64_t index_bytes = rows->index ? rows->nr_index * sizeof(*rows->index) : 0;
	struct err *err;
	size_t at;

	if (!rows->nr || find_rows(share, rows->row))
		return NULL;
	err = span_add(share, rows_bytes(rows) + index_bytes, rows->row, &at);
	if (err)
		return err;
	err = span_write(share, &share->spans.at[at], 0, rows->row, rows_bytes(rows));
	if (!err && index_bytes)
		err = span_write(share, &share->spans.at[at], rows_bytes(rows), rows->index,
				 index_bytes);
	if (err)
		span_remove(share, at);
	return err;
}

static struct err *lay_all_rows(struct share *share, const struct walk_map *map)
{
	struct err *err = NULL;

	for (uint32_t i = 0; i < map->nr && !err; i++)
		err = lay_rows(share, &map->module[i].rows);
	return err;
}

/* All readers use the last map, if any. */
static struct err *reclaim(struct target *target, struct remote *remote)
{
	struct share *share = target->region->share;
	struct err *err = NULL;

	for (size_t i = share->spans.nr; i-- > 0;)
		if (share->spans.at[i].used && share->spans.at[i].used != share->publication)
			span_remove(share, i);
	for (size_t i = share->parts.nr; i-- > 0 && !err;) {
		if (share->parts.at[i].used == share->publication)
			continue;
		err = patch_unmap(target, remote, share->parts.at[i].entry);
		if (!err)
			vec_remove(&share->parts, i);
	}
	return err;
}

/* Maps */

/* A mapping of the arena in the target that has its first `need` bytes. */
static struct err *part_for(struct target *target, struct remote *remote, uint64_t need,
			    struct part **ret)
{
	struct share *share = target->region->share;
	uint64_t want = target->region->tight ? need + need / 4 + MAPS_SPARE :
						MAX(2 * need, MAPS_LEAST);
	struct part part = { .len = MIN(ALIGN_UP(want, PAGE), MAPS_SIZE) };
	struct err *err = vec_reserve(&share->parts, 1);

	if (!err && (!share->parts.nr || share->parts.at[share->parts.nr - 1].len < need)) {
		err = patch_map_log(remote, share->arena_offset, part.len, false,
				    &part.address, &part.entry);
		if (!err)
			share->parts.at[share->parts.nr++] = part;
	}
	if (!err)
		*ret = &share->parts.at[share->parts.nr - 1];
	return err;
}

/* The address that rows have if they begin at start in the target. */
static struct rows rows_there(const struct rows *rows, uint64_t start)
{
	struct rows there = *rows;

	there.row = (const struct row *)(uintptr_t)start;
	if (rows->index)
		there.index = (const uint32_t *)(uintptr_t)(start + rows_bytes(rows));
	return there;
}

/*
 * Build a copy of the map and its modules (malloc), with pointers as they must be when it lies at
 * `address` in the target.
 */
static void *build_map(const struct share *share, const struct walk_map *map, uint64_t arena,
		       uint64_t address)
{
	struct walk_map *head = malloc(sizeof(*head) + map->nr * sizeof(struct walk_module));
	struct walk_module *module = (struct walk_module *)(head + 1);

	if (!head)
		return NULL;
	*head = (struct walk_map){
		.module = (const struct walk_module *)(uintptr_t)(address + sizeof(*head)),
		.nr = map->nr,
		.generation = map->generation,
	};
	for (uint32_t i = 0; i < map->nr; i++) {
		const struct rows *rows = &map->module[i].rows;

		module[i] = map->module[i];
		module[i].rows = rows->nr ?
			rows_there(rows, arena + find_rows(share, rows->row)->offset) :
			(struct rows){ .row = NULL };
	}
	return head;
}

static uint64_t arena_end(const struct share *share)
{
	const struct span *last = &share->spans.at[share->spans.nr - 1];

	return last->offset + last->len;
}

/* The map at span, and all that it refers to, is in use from now on. */
static void publish(struct share *share, const struct walk_map *map, struct span *span,
		    struct part *part)
{
	share->publication++;
	for (uint32_t i = 0; i < map->nr; i++)
		if (map->module[i].rows.nr)
			find_rows(share, map->module[i].rows.row)->used = share->publication;
	span->used = share->publication;
	part->used = share->publication;
}

/* To be called before the map that it describes is published. */
static struct err *write_history(const struct share *share, const struct modules *modules)
{
	return provenance_write(share->fd, share->provenance_offset, modules,
				share->spans.at[0].offset,
				arena_end(share));
}

struct err *share_adopt(struct target *target, uint32_t *generation_ret, uint64_t *marks_ret)
{
	AUTO_FREE struct provenance *history = NULL;
	struct region *region = target->region;
	struct share *share;
	uint64_t marks;
	struct err *err = open_share(region);
	size_t at;

	if (err)
		return err;
	share = region->share;
	err = provenance_read(share->fd, share->provenance_offset, MAPS_SIZE, &marks, &history);
	if (err)
		return err;
	if (!(marks & SHARE_WHOLE))
		return err_create(ERR_STATE, "not all of its probes were in place");
	err = span_add(share, history->arena_high - history->arena_low, OLD_KEY, &at);
	if (err)
		return err;
	share->spans.at[at].offset = history->arena_low;
	provenance_continue(history, &target->modules);
	*generation_ret = history->generation;
	*marks_ret = marks;
	return NULL;
}

struct err *share_set_marks(const struct region *region, uint64_t marks)
{
	if (!region || !region->share)
		return NULL;
	return provenance_set_marks(region->share->fd, region->share->provenance_offset, marks);
}

void share_forget_old(struct target *target)
{
	struct share *share = target->region->share;

	for (size_t i = share->spans.nr; i-- > 0;)
		if (share->spans.at[i].key == OLD_KEY)
			span_remove(share, i);
	/* Otherwise the room would never be used again. */
	if (share->spans.nr)
		err_ignore(write_history(share, &target->modules));
}

static struct err *lay_map(struct target *target, struct remote *remote, size_t at,
			   uint64_t *map_ret)
{
	struct share *share = target->region->share;
	const struct walk_map *map = &target->modules.map;
	struct span *span = &share->spans.at[at];
	AUTO_FREE void *bytes = NULL;
	struct part *part;
	struct err *err = part_for(target, remote, arena_end(share), &part);

	if (err)
		return err;
	bytes = build_map(share, map, part->address, part->address + span->offset);
	if (!bytes)
		return err_nomem;
	err = span_write(share, span, 0, bytes,
			 sizeof(*map) + map->nr * sizeof(struct walk_module));
	if (!err)
		err = write_history(share, &target->modules);
	if (err)
		return err;
	publish(share, map, span, part);
	*map_ret = part->address + span->offset;
	return NULL;
}

struct err *share_modules(struct target *target, struct remote *remote, bool quiet,
			  uint64_t *map_ret)
{
	struct share *share = target->region->share;
	const struct walk_map *map = &target->modules.map;
	struct err *err = quiet ? reclaim(target, remote) : NULL;
	size_t at;

	if (!err)
		err = lay_all_rows(share, map);
	if (!err)
		err = span_add(share, sizeof(*map) + map->nr * sizeof(struct walk_module), NULL,
			       &at);
	if (err)
		return err;
	err = lay_map(target, remote, at, map_ret);
	if (err)
		span_remove(share, at);
	return err;
}

/* Log and threads */

struct err *share_prepare(struct target *target)
{
	struct region *region = target->region;
	struct err *err = open_share(region);

	if (!err)
		err = log_reserve(&region->log, RESERVE);
	if (!err)
		err = lay_all_rows(region->share, &target->modules.map);
	return err;
}

struct err *share_log(struct target *target, struct remote *remote)
{
	struct region *region = target->region;
	struct err *err = NULL;
	uint64_t address;

	if (region->log_address)
		return NULL;
	if (!region->share)
		err = share_prepare(target);
	if (!err)
		err = patch_map_log(remote, LOG_FRONT,
				    region->share->arena_offset - LOG_FRONT, true, &address,
				    &region->share->log_entry);
	if (err)
		return err_wrap(err, "map the log in process %d", target->pid);
	region->log_address = address - LOG_FRONT;
	return NULL;
}

struct err *share_withdraw(struct target *target, struct remote *remote)
{
	struct region *region = target->region;
	struct share *share = region ? region->share : NULL;
	struct err *err = NULL;

	if (!share)
		return NULL;
	while (share->parts.nr && !err) {
		err = patch_unmap(target, remote, share->parts.at[share->parts.nr - 1].entry);
		if (!err)
			share->parts.nr--;
	}
	if (!err && region->log_address) {
		err = patch_unmap(target, remote, share->log_entry);
		if (!err)
			region->log_address = 0;
	}
	return err ? err_wrap(err, "unmap the log") : NULL;
}

struct err *share_withdraw_forked_copy(const struct target *target, struct remote *child)
{
	const struct region *region = target->region;
	struct err *err = NULL;

	if (!region || !region->share)
		return NULL;
	for (size_t i = 0; i < region->share->parts.nr && !err; i++)
		err = patch_unmap_copy(child, region, region->share->parts.at[i].entry);
	if (!err && region->log_address)
		err = patch_unmap_copy(child, region, region->share->log_entry);
	return err;
}

/* Threads */

uint64_t share_threads_address(const struct target *target)
{
	return target->region->log_address + target->region->share->threads_offset;
}

/* SEEK_DATA finds the pages that somebody has touched; one in use has at least its first. */
void share_each_thread(const struct region *region,
		       void (*fn)(struct agent_thread *thread, void *ctx), void *ctx)
{
	const struct share *share = region->share;
	uint64_t size = sizeof(struct agent_thread), i = 0;

	while (share && i < share->nr_threads) {
		off_t at = (off_t)(share->threads_offset + i * size);
		off_t data = lseek(share->fd, at, SEEK_DATA);

		if (data < 0)
			return;
		if (data > at) {
			i += ((uint64_t)(data - at) + size - 1) / size;
			continue;
		}
		if (__atomic_load_n(&share->threads[i].ledger.key, __ATOMIC_ACQUIRE))
			fn(&share->threads[i], ctx);
		i++;
	}
}

static void fault_in(struct agent_thread *thread, void *ctx)
{
	struct share *share = ctx;
	uint8_t *start = (uint8_t *)ALIGN_DOWN((uintptr_t)thread, PAGE);
	size_t i = (size_t)(thread - share->threads);

	if (share->ready[i])
		return;
	/* If the kernel cannot do it (before 5.14), the agent faults the pages in itself. */
	(void)madvise(start, (size_t)((uint8_t *)(thread + 1) - start), MADV_POPULATE_WRITE);
	share->ready[i] = true;
}

struct err *share_reserve(struct target *target)
{
	if (!target->region || !target->region->share)
		return NULL;
	share_each_thread(target->region, fault_in, target->region->share);
	return log_reserve(&target->region->log, RESERVE);
}
