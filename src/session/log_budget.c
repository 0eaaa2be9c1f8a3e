/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps the log within what the process has to spare (theory in log_budget.h). */

#include "session/log_budget.h"

#include <sys/stat.h>

#include "os/tracer.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/room.h"
#include "tracee/target.h"

#define LOOK_NS		1000000000ull
#define LOOK_PART	8u	/* of what the log may take: with so much taken it is looked at anew */
/* With less the agent can hardly add anything: the log is exhausted. */
#define EXHAUSTED	(64ull << 10)

void log_budget_open(struct session *session)
{
	log_budget_close(session);
	memory_limits_open(session->current->target->mem.tid, &session->budget.limits);
	session->budget.open = true;
}

void log_budget_close(struct session *session)
{
	if (session->budget.open)
		memory_limits_close(&session->budget.limits);
	session->budget = (struct log_budget){ .open = false };
}

/* The memory of the region's file. */
static uint64_t file_bytes(const struct region *region)
{
	struct stat st;

	return region->fd < 0 || fstat(region->fd, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

/* The region has another limit of its own (log/log_layout.h). */
static bool is_below_region(const struct log *log, uint64_t bytes)
{
	return bytes < log->size / 2;
}

static bool is_watched(const struct session *session)
{
	return session->budget.open && session->region && session->region->log.header &&
	       !session->region->empty;
}

void log_budget_look_now(struct session *session)
{
	struct log_budget *budget = &session->budget;
	uint64_t has, may, more;
	struct log *log;

	if (!is_watched(session))
		return;
	log = &session->region->log;
	budget->taken = log_taken(log);
	has = file_bytes(session->region);
	/* The log that was just made was chosen by the same limits. */
	if (!budget->looked && *session->room.pages.name)
		budget->limit = session->room.pages;
	else
		memory_limits_least(&budget->limits, MEMORY_LIMITS_SHARED, &budget->limit);
	may = budget->limit.left == UINT64_MAX ? UINT64_MAX :
						 (budget->limit.left + has) / ROOM_PART;
	more = !is_below_region(log, may) ? UINT64_MAX : may > has ? may - has : 0;
	log_set_budget(log, more);
	budget->exhausted = more < EXHAUSTED;
	budget->looked = tracer_now();
	budget->more = more;
}

void log_budget_look(struct session *session)
{
	const struct log_budget *budget = &session->budget;
	uint64_t taken = is_watched(session) ? log_taken(&session->region->log) : 0;

	if (!budget->looked || tracer_now() - budget->looked >= LOOK_NS ||
	    (taken > budget->taken && taken - budget->taken >= budget->more / LOOK_PART))
		log_budget_look_now(session);
}
