/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wrappers of the allocator that `set skip` does not know (theory in wrapper.h). */

#include "answer/wrapper.h"

#include <stdio.h>
#include <string.h>

#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "log/log.h"
#include "log/log_totals.h"
#include "session/session.h"

#define BLOCKS_LEAST	500u	/* fewer tell little */
#define STACKS_MOST	4096u	/* that are looked at */
#define SHARE_LEAST	90u	/* percent */

/* A function that is the own frame of some of the stacks. */
struct candidate {
	const char *name;
	uint64_t blocks;
	uint32_t stack, frame;		/* one of these, and the number of its PC there */
	uint64_t caller;		/* the return address behind it */
	bool several;			/* there are others */
};

struct search {
	struct stack_names *names;
	const struct log *log;
	const struct log_totals *totals;
	uint32_t every;			/* the stacks that are looked at */
	uint64_t blocks;
	struct map keys;		/* address of a name -> its place in candidates + 1 */
	VEC(struct candidate) candidates;
};

static void search_free(struct search *search)
{
	map_free(&search->keys, NULL);
	vec_free(&search->candidates);
}

static struct candidate *candidate_of(struct search *search, const struct stack_own *own)
{
	const char *name = own->frame.function ? own->frame.function : own->frame.place;
	uintptr_t place = (uintptr_t)map_get(&search->keys, (uintptr_t)name);

	if (place)
		return &search->candidates.at[place - 1];
	if (vec_push(&search->candidates, ((struct candidate){ .name = name })) ||
	    map_put(&search->keys, (uintptr_t)name, (void *)search->candidates.nr))
		return NULL;
	return &search->candidates.at[search->candidates.nr - 1];
}

static void count(struct search *search, uint32_t stack)
{
	struct log_stack_view view = reader_stack(search->log, stack);
	uint64_t blocks = search->totals->at[stack].blocks;
	struct candidate *candidate;
	struct stack_own own;

	search->blocks += blocks;
	if (!blocks || !stack_names_own(search->names, stack, &own) || own.frame.inlined ||
	    !(own.frame.function || own.frame.place) || own.at + 1 >= view.nr)
		return;
	candidate = candidate_of(search, &own);
	if (!candidate)
		return;
	candidate->several |= candidate->blocks && candidate->caller != view.pcs[own.at + 1];
	candidate->blocks += blocks;
	candidate->caller = view.pcs[own.at + 1];
	candidate->stack = stack;
	candidate->frame = own.at;
}

static const struct candidate *largest(const struct search *search)
{
	const struct candidate *largest = NULL;

	vec_each(candidate, &search->candidates)
		if (!largest || candidate->blocks > largest->blocks)
			largest = candidate;
	return largest;
}

/* Find one, and add it; false: there is none. */
static bool find_one(struct stack_names *names, const struct log_totals *totals,
		     struct session_naming *naming)
{
	struct search search CLEANUP(search_free) = {
		.names = names, .log = session_log(names->session), .totals = totals,
		.every = 1 + totals->nr / STACKS_MOST, .keys = MAP_INIT,
	};
	struct session_wrapper *found = &naming->wrapper[naming->nr_wrappers];
	const struct candidate *candidate;

	for (uint32_t stack = 1; stack < totals->nr; stack += search.every)
		count(&search, stack);
	candidate = largest(&search);
	if (!candidate || !candidate->several || strlen(candidate->name) >= sizeof(found->name) ||
	    candidate->blocks * 100 < search.blocks * SHARE_LEAST ||
	    !session_passes_on(names->session, reader_stack(search.log, candidate->stack).pcs,
			       candidate->frame))
		return false;
	snprintf(found->name, sizeof(found->name), "%s", candidate->name);
	found->share = (unsigned)(candidate->blocks * 100 / search.blocks);
	naming->nr_wrappers++;
	return true;
}

/* Those of an earlier log are forgotten. */
static bool is_due(struct session_naming *naming, const struct log *log)
{
	struct log_accounts accounts = reader_accounts(log);
	uint64_t begin = log_clock_begin(log);

	if (naming->searched_log != begin) {
		naming->searched_log = begin;
		naming->nr_wrappers = naming->nr_said = 0;
		naming->searched_blocks = 0;
	}
	if (accounts.allocs < BLOCKS_LEAST || accounts.allocs / 2 < naming->searched_blocks)
		return false;
	naming->searched_blocks = accounts.allocs;
	return true;
}

void wrapper_find(struct session *session)
{
	struct session_naming *naming = session_naming(session);
	const struct log *log = session_log(session);
	struct log_totals totals;
	bool more = true;

	if (!naming->find_wrappers || !log || !session_recorded(session) || !is_due(naming, log) ||
	    session_agent_totals(session, &totals))
		return;
	/* Names are told to be wrappers once for each of these. */
	while (more && naming->nr_wrappers < SESSION_WRAPPERS) {
		CLEANUP(stack_names_free) struct stack_names names;

		stack_names_init(&names, session);
		more = find_one(&names, &totals, naming);
	}
	log_totals_free(&totals);
}
