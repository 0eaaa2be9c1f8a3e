/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shared region: a memfd of the target's that mdbg maps too. At its start lies the journal of
 * all that is done to the target; the log follows. It is mdbg's memory in all but name: pages are
 * faulted in by mdbg, it is in no core dump.
 *
 * A forked child inherits the journal's mapping and the changes that are in the journal, and mdbg
 * removes both before the child runs. If mdbg was killed, the child keeps both, so that a later
 * mdbg can clean it, too; that mdbg only reads the journal, since other processes may share it.
 *
 * As long as nobody in the target writes the log (breakpoint probes) the target maps the journal
 * alone: a later mdbg looks for that mapping. The mapping is known by its name in /proc/PID/maps,
 * "/memfd:mdbg (deleted)", and its file offset 0; the descriptor is closed at once. The data of an
 * agent comes behind the log in the same file and is mapped by tracee/share.h.
 *
 * Whose file it is. The target makes it, since only it can have it mapped; by the time that mdbg
 * opens it, an accomplice that shares the table of descriptors may have put another one in its
 * place, and mdbg, as root, could write to that. (mdbg cannot make it and hand it over:
 * pidfd_getfd leads the other way, a socket would be one more descriptor, and /proc of another
 * user's mdbg is closed to the target.) So nothing is written before it is known that the target
 * could write there itself:
 *
 *	look	the descriptor is opened with O_PATH; it must be an empty memory file of our name
 *	map	the target maps it, writable and shared
 *	prove	what it has mapped is the file that was looked at: memory of its own threads, which
 *		are stopped, not a descriptor. What it has mapped so, it can write
 *	open	by way of the O_PATH descriptor, whatever lies in /proc/PID/fd now
 *	seal	then the size is looked at once more, before it is mapped: to read beyond the end
 *		would be SIGBUS
 *
 * The region outlives the target: its log is read after the target's end, and freed by the session.
 */
#pragma once

#include "log/journal_writer.h"
#include "log/log.h"
#include "tracee/previous/forked_copies.h"

struct remote;
struct room;

/* Of its file (fcntl(2)). If the target made it smaller, mdbg would end by SIGBUS. */
#define REGION_SEALS	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct region {
	int fd;
	int lock;			/* a descriptor that holds the lock (memfd_lock), or -1 */
	void *base;			/* here */
	uint64_t size;			/* of the log with the journal: the file is longer */
	uint32_t threads;		/* of the agent's table, which lies behind the log */
	bool empty;			/* see region_create_empty */
	bool left;			/* its journal stays in the target, and its log does not */
	bool tight;			/* take no more addresses in the target than needed */
	uint64_t address;		/* in the target; 0: not mapped there */
	uint32_t entry;			/* its own journal entry */
	/* For the agent (tracee/share.h). */
	uint64_t log_address;		/* in the target: log_address + offset in the file; 0 */
	struct share *share;		/* NULL: nothing is shared */
	struct journal_writer writer;	/* of the journal: `own` and at base */
	const struct journal *journal;	/* mdbg's private copy, which is believed */
	struct origin origin;		/* of forked copies of the target */
	struct log log;
};

/*
 * Make a region in the target by remote calls, as large as config says, or room (tracee/room.h) if
 * that is not NULL; map it here and set target->region. Its journal is ready. The log takes longer
 * and is made by region_format, for which the target need not be stopped; before that only the
 * journal may be used.
 */
struct err *region_create(struct target *target, struct remote *remote,
			  const struct log_config *config, const struct room *room,
			  struct region **ret) MUST_CHECK;
/* The log's size is the region's, whatever config has. */
struct err *region_format(struct region *region, const struct log_config *config) MUST_CHECK;
/*
 * Make a region that is in no target, and that nobody but mdbg writes to. config may be NULL: its log
 * stays empty, for a target that is not recorded (a core file, a process without probes).
 */
struct err *region_create_empty(const struct log_config *config, struct region **ret) MUST_CHECK;
/* Could this user open the region again (region_adopt)? It takes CAP_CHECKPOINT_RESTORE. */
bool region_opens_again(const struct target *target);
/*
 * Take over the region that an earlier mdbg has left in its target (tracee/previous/previous_session.h):
 * open it, map it here, and set target->region. ERR_FORMAT, ERR_PERM and others: it cannot be used,
 * and nothing has changed.
 */
struct err *region_adopt(struct target *target, struct region **ret) MUST_CHECK;
/* Another mdbg may take it over from now on, as when this one has ended. */
void region_unlock(struct region *region);
/* Leave it in the target, without an owner. The region stays here; target->region is NULL then. */
void region_keep(struct target *target);
/*
 * Unmap it in the target, as the last step of all. target->region is NULL then; the region stays
 * here. If code of ours or the log is still mapped (a thread was still inside, or may come back),
 * the journal stays in the target as well, without an owner, so that a later mdbg can take all of it
 * out.
 */
struct err *region_withdraw(struct target *target, struct remote *remote) MUST_CHECK;
/* Unmap the mapping that a forked child has inherited from the target of region. */
struct err *region_withdraw_forked_copy(const struct region *region,
					struct remote *child) MUST_CHECK;
/* Its pages are no resident memory of mdbg's until they are used again. They stay in the file. */
void region_release_pages(const struct region *region);
/* Unmap it here. NULL is fine. */
void region_free(struct region *region);
