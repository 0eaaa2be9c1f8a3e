/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The graph of `malloc owners` and `malloc path`, which outlives the command.
 *
 * A search reads all memory, and takes seconds if the process has millions of blocks. Who has seen
 * who keeps most goes down from there, a block at a time, and asks for ways: questions about the
 * same moment. So the last graph stays, and a question about an address is answered from it if
 *
 *	- it is of the same process, and was first answered from KEPT_NS ago at most; of a core file,
 *	  however old it is;
 *	- it has a block at that address;
 *	- `now` was not among the words, and no script asks: scripts poll, and never see an old answer,
 *	  unless it is of a core file.
 *
 * The answer says of when it is. A question about the whole process is about now, and looks anew.
 *
 * A graph takes some 36 bytes a block. One that takes more than KEPT_BYTES does not stay; attach, detach,
 * exec, the end of the process and the next graph let go of it. Rejected: to keep the snapshot itself, whose pages
 * the process would have to copy when it writes; and the bytes at which pointers lie, which are 4 more
 * for each: they are read in the process as it is now, and left out if no pointer is there any more.
 */
#pragma once

#include "answer/owner_rows.h"

struct call;
struct shell;

#define KEPT_NS		(60ull * 1000000000)
#define KEPT_BYTES	(1ull << 30)

struct owners_kept {
	struct owners owners;
	pid_t pid;
	uint64_t taken, answered;	/* tracer_now; answered 0: not yet */
};

/* The sums of the last answers, for the next ones of the same kind to be compared with. */
struct owners_before {
	struct owner_change by[OWNER_BLOCK];
};

struct query_owners {
	struct owner_ask ask;
	bool keeps;		/* what blocks keep is asked, too */
	bool now;		/* an older graph will not do */
};

/*
 * Get the graph, with the answer to ask. *age_ret: how many ns ago it was so; 0: now. *ret belongs to
 * the shell, until the next call. ERR_NOTFOUND: no block is at the address.
 */
struct err *query_owners(const struct call *call, const struct query_owners *query,
			 struct owners **ret, uint64_t *age_ret) MUST_CHECK;
/* After the answer: let go of what is too large to stay. */
void query_owners_end(const struct call *call);
/* What was kept when it was last asked by this; `by` is not OWNER_BLOCK. ERR_NOMEM. */
struct err *query_owners_before(const struct call *call, enum owner_by by,
				struct owner_change **ret) MUST_CHECK;
/* From now on that is what is compared with. *now is taken over. */
void query_owners_replace(struct owner_change *before, struct owner_change *now);
/* Another process or program is looked at, or none any more. */
void query_owners_forget(struct shell *shell);
