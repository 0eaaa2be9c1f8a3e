/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds memory that is nobody's for the frame of a remote call (theory in frame_place.h). */

#include "tracee/frame_place.h"

#include <string.h>
#include <sys/auxv.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "os/page_rules.h"
#include "os/pagemap.h"
#include "tracee/backtrace.h"
#include "tracee/target.h"

#define PAGES_MOST	16u
#define LOOK_MOST	(64 * PAGE)	/* from the low end on */

struct mark {
	char text[24];
	uint64_t pages;		/* with the marks */
};

/* It stays in the process. The four bytes are random. */
static const char mark_text[24] = "mdbg: remote calls \xd3\x1b\x86\xe9";

/* What can be written to of a stack, in one mapping. */
struct part {
	uint64_t low, high;
};

/* Some bytes of the stack that the thread was made with. False: it is not known where that is. */
static bool own_bounds(struct thread *thread, uint64_t *low_ret, uint64_t *high_ret)
{
	struct target *target = thread->target;
	uint64_t tp = regs_get(&thread->regs, target->arch->tp);

	if (thread->tid != target->pid)
		return stack_use_by_thread(target, &thread->regs, low_ret, high_ret) &&
		       tp >= *low_ret && tp < *high_ret;
	if (procfs_auxv(target->mem.tid, AT_RANDOM, low_ret))
		return false;
	*high_ret = *low_ret + 1;
	return true;
}

static bool has(const struct part *part, uint64_t address)
{
	return address >= part->low && address < part->high;
}

/*
 * The lowest part of the stack that the thread was made with; below it may be guard pages. Or that
 * which has SP.
 */
static bool own_part(struct thread *thread, bool with_sp, struct part *ret)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	uint64_t low, high, sp = regs_get(&thread->regs, thread->target->arch->sp);
	bool first = thread->tid == thread->target->pid, all;

	if (!own_bounds(thread, &low, &high) ||
	    procfs_maps_at(thread->target->mem.tid, low, high, &maps, &all))
		return false;
	vec_each(map, &maps.vec) {
		if (map->end <= low || map->start >= high || !map->write || map->shared ||
		    map->inode)
			continue;
		*ret = first ? (struct part){ map->start, map->end } :
			       (struct part){ MAX(low, map->start), MIN(high, map->end) };
		if (!with_sp || has(ret, sp))
			return true;
	}
	return false;
}

/* Spare pages */

/* How many spare pages, with their marks, lie at this address? 0: there are none before high. */
static uint64_t spare_at(struct target *target, uint64_t address, uint64_t high)
{
	struct memory *memory = &target->mem.memory;
	struct mark mark, end;

	if (memory_read(memory, address, &mark, sizeof(mark)) ||
	    memcmp(mark.text, mark_text, sizeof(mark_text)) || !mark.pages ||
	    mark.pages > PAGES_MOST || mark.pages * PAGE > high - address ||
	    memory_read(memory, address + mark.pages * PAGE - sizeof(end), &end, sizeof(end)) ||
	    memcmp(&mark, &end, sizeof(mark)))
		return 0;
	return mark.pages;
}

/* Were these pages never touched? */
static bool are_new(const struct target *target, uint64_t address, uint64_t pages)
{
	int pagemap = target->mem.rules->pagemap;
	uint64_t entry[PAGES_MOST];

	if (pagemap < 0 || pages > PAGES_MOST ||
	    pagemap_read(pagemap, address, entry, pages) < pages)
		return false;
	for (uint64_t i = 0; i < pages; i++)
		if (entry[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED))
			return false;
	return true;
}

/* Returns their number; 0: they cannot be had, all below high. */
static uint64_t make_spare(struct target *target, uint64_t address, uint64_t pages, uint64_t high)
{
	struct mark mark = { .pages = pages };
	struct err *err;

	if (high < address || (high - address) / PAGE < pages || !are_new(target, address, pages))
		return 0;
	memcpy(mark.text, mark_text, sizeof(mark.text));
	err = procmem_write(&target->mem, address + pages * PAGE - sizeof(mark), &mark,
			    sizeof(mark));
	if (!err)
		err = procmem_write(&target->mem, address, &mark, sizeof(mark));
	return err ? 0 : pages;
}

/* Is SP there, or just above it? */
static bool is_in_use(const struct thread *thread, uint64_t low, uint64_t high)
{
	const struct arch *arch = thread->target->arch;
	uint64_t sp = regs_get(&thread->regs, arch->sp);

	return sp >= low && sp < high + arch->red_zone;
}

/* known: the part was found before, so that there must be a mark at its low end. */
static bool find_spare(struct thread *thread, const struct part *part, bool known, size_t len,
		      struct frame_place *ret)
{
	struct target *target = thread->target;
	uint64_t need = (len + 2 * sizeof(struct mark) + PAGE - 1) / PAGE, is, end;

	for (uint64_t at = ALIGN_UP(part->low, PAGE); at - part->low < LOOK_MOST; at = end) {
		is = spare_at(target, at, part->high);
		if (!is && !known)
			is = make_spare(target, at, need, part->high);
		if (!is)
			return false;
		known = false;
		end = at + is * PAGE;
		if (is < need || is_in_use(thread, at, end))
			continue;
		*ret = (struct frame_place){ at + sizeof(struct mark), end - sizeof(struct mark),
					     FRAME_SPARE };
		return true;
	}
	return false;
}

/* The part is looked up once for a thread. While its marks are there it has not changed. */
static bool spare(struct thread *thread, size_t len, struct frame_place *ret)
{
	struct target *target = thread->target;
	struct part part = { target->spare.low, target->spare.high };

	if (target->spare.tid == thread->tid && find_spare(thread, &part, true, len, ret))
		return true;
	if (!own_part(thread, false, &part) || !find_spare(thread, &part, false, len, ret))
		return false;
	target->spare = (struct frame_spare){ thread->tid, ALIGN_UP(part.low, PAGE), part.high };
	return true;
}

/* Below SP */

static bool below(struct thread *thread, size_t len, struct frame_place *ret)
{
	const struct arch *arch = thread->target->arch;
	uint64_t sp = regs_get(&thread->regs, arch->sp);
	struct part part;

	if (!own_part(thread, true, &part) || sp - part.low < arch->red_zone + len)
		return false;
	*ret = (struct frame_place){ part.low, sp - arch->red_zone, FRAME_BELOW };
	return true;
}

bool frame_place_find(struct thread *thread, enum frame_rank rank, size_t len,
		      struct frame_place *ret)
{
	const struct arch *arch = thread->target->arch;

	if (rank == FRAME_SPARE)
		return spare(thread, len, ret);
	if (rank == FRAME_BELOW)
		return below(thread, len, ret);
	*ret = (struct frame_place){ 0, regs_get(&thread->regs, arch->sp) - arch->red_zone,
				     FRAME_ANYWHERE };
	return true;
}
