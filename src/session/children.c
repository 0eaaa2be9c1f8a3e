/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forked children that keep probes: cleaned (theory in children.h). */

#include "session/children.h"

#include <stdio.h>

#include "session/private.h"
#include "session/visit.h"
#include "target/inherited.h"
#include "target/leftover.h"
#include "target/region.h"
#include "target/target.h"

#define ROUNDS	16

static struct err *clean_stopped(struct target *target, void *ctx UNUSED)
{
	char left[256];
	bool found;
	struct err *err = leftover_clean(target, &found, left, sizeof(left));

	return err || !*left ? err : err_create(ERR_STATE, "%s", left);
}

static void clean(struct session *session, pid_t pid)
{
	struct err *err = visit_process(session, pid, clean_stopped, NULL);
	char text[256];

	if (!err || err->code == ERR_GONE)
		return;
	snprintf(text, sizeof(text), "process %d, forked while it was not watched, keeps probes of "
		 "ours, which do nothing there: %.120s", pid, err->msg);
	session_warn(session, text);
}

static bool is_known(const struct inherited *known, pid_t pid)
{
	for (size_t i = 0; i < known->vec.nr; i++)
		if (known->vec.at[i] == pid)
			return true;
	return false;
}

/* How many were found that had not been seen before. */
static struct err *clean_round(struct session *session, uint64_t file, struct inherited *known,
			       size_t *nr_ret)
{
	struct inherited found = { VEC_INIT };
	struct err *err = inherited_find(session->target, file, &found);
	size_t nr = 0;

	for (size_t i = 0; i < found.vec.nr && !err; i++) {
		pid_t pid = found.vec.at[i];

		if (is_known(known, pid))
			continue;
		nr++;
		err = vec_push(&known->vec, pid);
		/* It may have shared its memory with one that was cleaned since. */
		if (!err && inherited_by(pid, file))
			clean(session, pid);
	}
	vec_free(&found.vec);
	*nr_ret = nr;
	return err;
}

void children_clean(struct session *session, uint64_t file)
{
	struct inherited known = { VEC_INIT };
	struct err *err = NULL;
	size_t nr = file ? 1 : 0;

	for (unsigned i = 0; i < ROUNDS && nr && !err; i++)
		err = clean_round(session, file, &known, &nr);
	if (err)
		session_warn(session, err->msg);
	vec_free(&known.vec);
}

void children_clean_own(struct session *session)
{
	const struct region *region = session->target ? session->target->region : NULL;

	if (!region)
		return;
	if (!session->ended && !session->execed &&
	    target_hands_on(session->target))	/* then it can be stopped neither */
		return;
	children_clean(session, inherited_file(region));
}

static struct err *orphans_job(void *session)
{
	children_clean_own(session);
	return NULL;
}

void children_clean_orphans(struct session *session)
{
	err_ignore(session_call(session, orphans_job, session));	/* the job has no error */
}
