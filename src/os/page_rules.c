/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pages may be read (theory in page_rules.h). */

#include "os/page_rules.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/page.h"
#include "os/pagemap.h"

/*
 * An answer is used again for so long: the time that may pass anyway between a look and the read
 * that follows.
 */
#define ASKED_NS	10000u
#define THERE	(PAGEMAP_PRESENT | PAGEMAP_SWAPPED)

struct err *page_rules_create(pid_t tid, struct page_rules **ret)
{
	struct page_rules *rules = calloc(1, sizeof(*rules));

	if (!rules)
		return err_nomem;
	pthread_mutex_init(&rules->lock, NULL);
	pthread_mutex_init(&rules->errand_lock, NULL);
	rules->pagemap = procfs_open(tid, "pagemap", O_RDONLY);
	rules->maps_fd = procfs_open(tid, "maps", O_RDONLY);
	rules->files = (struct local_files)LOCAL_FILES_INIT;
	*ret = rules;
	return NULL;
}

void page_rules_free(struct page_rules *rules)
{
	if (!rules)
		return;
	if (rules->pagemap >= 0)
		close(rules->pagemap);
	if (rules->maps_fd >= 0)
		close(rules->maps_fd);
	vec_free(&rules->maps);
	local_files_free(&rules->files);
	errands_free(&rules->errands);
	pthread_mutex_destroy(&rules->errand_lock);
	pthread_mutex_destroy(&rules->lock);
	free(rules);
}

static struct err *set_maps(struct page_rules *rules, const struct proc_maps *maps)
{
	struct err *err;

	vec_clear(&rules->maps);
	err = vec_reserve(&rules->maps, maps->vec.nr);
	if (err)
		return err;
	vec_each(map, &maps->vec) {
		rules->maps.at[rules->maps.nr++] = (struct page_map){
			.start = map->start, .end = map->end,
			.dev_major = map->dev_major, .dev_minor = map->dev_minor,
			.of_file = map->inode || map->dev_major || map->dev_minor,
			.shared = map->shared,
			.placed = local_files_is_device(map),
		};
	}
	return NULL;
}

struct err *page_rules_take(struct page_rules *rules, const struct proc_maps *maps)
{
	struct err *err;

	pthread_mutex_lock(&rules->lock);
	err = set_maps(rules, maps);
	pthread_mutex_unlock(&rules->lock);
	return err;
}

static struct page_map *find(struct page_rules *rules, uint64_t address)
{
	struct page_map *map = rules->maps.at;
	size_t low = LOWER_BOUND(i, 0, rules->maps.nr, map[i].end <= address);

	return low < rules->maps.nr && address >= map[low].start ? &map[low] : NULL;
}

static struct page_map *find_anew(struct page_rules *rules, uint64_t address)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct page_map *map = find(rules, address);

	if (map || procfs_maps_again(rules->maps_fd, &maps) || set_maps(rules, &maps))
		return map;
	return find(rules, address);
}

static enum file_place place_of(struct page_rules *rules, pid_t tid, struct page_map *map)
{
	if (!map->placed)
		map->place = local_files_place(&rules->files, tid, map->dev_major, map->dev_minor);
	map->placed = true;
	return map->place;
}

/* Without a pagemap only memory without a file is known not to wait. */
static void make_up(struct page_rules *rules, uint64_t address, uint64_t *entry, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct page_map *map = find_anew(rules, address + i * PAGE);

		entry[i] = map && !map->of_file ? PAGEMAP_PRESENT : 0;
	}
}

/* Does the address have a page of memory that the kernel manages, and that is not a device's? */
static bool is_memory(pid_t tid, uint64_t address)
{
	void *page = (void *)(uintptr_t)address;
	int node = -1;

	return !syscall(SYS_move_pages, (long)tid, 1ul, &page, NULL, &node, 0) && node >= 0;
}

/* A page of the file itself. */
static enum page_how how_of_file(const struct page_map *map, enum file_place place, bool bring)
{
	if (place == FILE_LOCAL)
		return PAGE_READ;
	return place == FILE_LAYERED || (bring && !map->shared) ? PAGE_ERRAND : PAGE_NOT;
}

static enum page_how how_of_mapped(struct page_rules *rules, pid_t tid, struct page_map *map,
				   uint64_t address, uint64_t entry, bool bring)
{
	enum file_place place = place_of(rules, tid, map);

	if (!(entry & PAGEMAP_PRESENT) &&
	    (map->shared || entry & (PAGEMAP_FILE | PAGEMAP_USERFAULT)))
		return PAGE_NOT;
	if (entry & PAGEMAP_FILE)
		return how_of_file(map, place, bring);
	if ((entry & PAGEMAP_PRESENT) && !(entry & PAGEMAP_EXCLUSIVE) && !is_memory(tid, address))
		return PAGE_NOT;
	if (place != FILE_LOCAL)
		return PAGE_ERRAND;
	return entry & PAGEMAP_EXCLUSIVE ? PAGE_OWN : PAGE_READ;
}

static enum page_how how_of(struct page_rules *rules, pid_t tid, uint64_t address, uint64_t entry,
			    bool bring)
{
	const uint64_t own = PAGEMAP_PRESENT | PAGEMAP_EXCLUSIVE;
	struct page_map *map;

	if (entry & PAGEMAP_GUARD || (!(entry & THERE) && !bring))
		return PAGE_NOT;
	map = find_anew(rules, address);
	if (!map)
		return PAGE_NOT;
	if (!(entry & THERE))
		return map->of_file ? PAGE_ERRAND : PAGE_READ;
	if (map->of_file)
		return how_of_mapped(rules, tid, map, address, entry, bring);
	return (entry & (own | PAGEMAP_FILE)) == own ? PAGE_OWN : PAGE_READ;
}

static bool was_asked(const struct page_asked *asked, uint64_t address, bool bring)
{
	return asked->address == address && asked->bring == bring && asked->how != PAGE_NOT &&
	       procfs_clock(CLOCK_MONOTONIC) - asked->ns < ASKED_NS;
}

size_t page_rules_ask(struct page_rules *rules, pid_t tid, uint64_t address, size_t nr, bool bring,
		      enum page_how *how_ret)
{
	uint64_t entry[PAGE_RULES_MOST];

	nr = MIN(nr, PAGE_RULES_MOST);
	pthread_mutex_lock(&rules->lock);
	if (nr == 1 && was_asked(&rules->asked, address, bring)) {
		*how_ret = rules->asked.how;
		pthread_mutex_unlock(&rules->lock);
		return 1;
	}
	if (rules->pagemap < 0)
		make_up(rules, address, entry, nr);
	else
		nr = pagemap_read(rules->pagemap, address, entry, nr);
	for (size_t i = 0; i < nr; i++)
		how_ret[i] = how_of(rules, tid, address + i * PAGE, entry[i], bring);
	if (nr == 1)
		rules->asked = (struct page_asked){ address, procfs_clock(CLOCK_MONOTONIC), bring,
						    (uint8_t)*how_ret };
	pthread_mutex_unlock(&rules->lock);
	return nr;
}

bool page_rules_copied(struct page_rules *rules, uint64_t address)
{
	uint64_t entry = 0;

	return rules->pagemap < 0 || (pagemap_read(rules->pagemap, address, &entry, 1) &&
				      (entry & PAGEMAP_PRESENT) && !(entry & PAGEMAP_FILE));
}

/* Find the first run of pages of [start, end) that are there, by the entries alone. */
static bool entries_next(const struct page_rules *rules, uint64_t start, uint64_t end,
			 uint64_t *start_ret, uint64_t *end_ret)
{
	uint64_t entry[512], at = ALIGN_DOWN(start, PAGE);
	bool found = false;

	while (at < end) {
		size_t nr = pagemap_read(rules->pagemap, at, entry,
					 MIN(ARRAY_SIZE(entry), (end - at + PAGE - 1) / PAGE));

		for (size_t i = 0; i < nr; i++, at += PAGE) {
			bool there = pagemap_has_contents(entry[i]);

			if (there && !found)
				*start_ret = MAX(start, at);
			if (!there && found) {
				*end_ret = at;
				return true;
			}
			found |= there;
		}
		if (!nr)
			break;
	}
	*end_ret = MIN(at, end);
	return found;
}

static bool there_next(struct page_rules *rules, uint64_t start, uint64_t end,
		       uint64_t *start_ret, uint64_t *end_ret)
{
	int got = pagemap_scan_next(rules->pagemap, start, end, start_ret, end_ret);

	return got < 0 ? entries_next(rules, start, end, start_ret, end_ret) : got;
}

/* Find the first run of pages of [*start, *end) that may be read, page by page. */
static bool allowed_next(struct page_rules *rules, pid_t tid, uint64_t *start, uint64_t *end)
{
	uint64_t at = ALIGN_DOWN(*start, PAGE), entry;
	bool found = false, may = true;

	for (; at < *end && may >= found; at += PAGE) {
		may = pagemap_read(rules->pagemap, at, &entry, 1) &&
		      how_of(rules, tid, at, entry, false) != PAGE_NOT;
		if (may && !found)
			*start = MAX(*start, at);
		found |= may;
	}
	if (found && !may)
		*end = at - PAGE;
	return found;
}

/* The same in one mapping. */
static bool next_in(struct page_rules *rules, pid_t tid, struct page_map *map, uint64_t *start,
		    uint64_t *end)
{
	uint64_t stop = MIN(*end, map->end);

	if (rules->pagemap < 0) {
		*end = stop;
		return !map->of_file;
	}
	for (uint64_t at = *start; at < stop && there_next(rules, at, stop, start, end);
	     at = *end)
		if (!map->of_file || place_of(rules, tid, map) != FILE_UNKNOWN ||
		    allowed_next(rules, tid, start, end))
			return true;
	return false;
}

bool page_rules_next(struct page_rules *rules, pid_t tid, uint64_t start, uint64_t end,
		     uint64_t *start_ret, uint64_t *end_ret)
{
	bool found = false;

	pthread_mutex_lock(&rules->lock);
	while (!found && start < end) {
		struct page_map *map = find_anew(rules, start), *all = rules->maps.at;
		size_t i = LOWER_BOUND(j, 0, rules->maps.nr, all[j].end <= start);

		if (!map && i == rules->maps.nr)
			break;
		map = &all[i];
		*start_ret = MAX(start, map->start);
		*end_ret = end;
		found = *start_ret < end && next_in(rules, tid, map, start_ret, end_ret);
		start = map->end;
	}
	pthread_mutex_unlock(&rules->lock);
	return found;
}
