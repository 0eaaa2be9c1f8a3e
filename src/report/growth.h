/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `growth brk`, `mmap` and `shm`, and of their log. */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "heap/filter.h"
#include "session/growth/session_growth.h"

struct out;
struct stack_names;
struct stack_texts;
struct growth_event;
struct mapped_file_list;

/* What one stack holds. */
struct growth_sum {
	uint32_t stack;
	uint64_t bytes, count;
	/* Of all its calls that the log still has: how many, and what they have added. */
	uint64_t total, total_bytes;
};

struct growth_sums {
	VEC(struct growth_sum) vec;	/* largest first */
	uint64_t bytes, count;		/* of all, before the limit */
};

/* Add up the pieces of one kind that a filter keeps. The caller frees vec, also after an error. */
struct err *growth_add_up(const struct held_pieces *pieces, enum held_kind kind,
			  const struct filter *filter, const struct filter_env *env,
			  struct growth_sums *ret) MUST_CHECK;
/* Add what the calls of a kind have added in all of the time to the sums of their stacks. */
struct err *growth_add_calls(struct session *session, enum held_kind kind,
			     struct growth_sums *sums) MUST_CHECK;
/* The kind that a call belongs to. */
enum held_kind growth_kind_of(uint32_t call);
/*
 * The bytes that a call has added, or taken away (less than 0), as far as the event tells. *brk is
 * the end of the heap, which events of brk change; 0: not known.
 */
int64_t growth_added(struct session *session, const struct growth_event *event, uint64_t *brk);
/* Print a paragraph for each. */
struct err *growth_print(struct stack_names *names, const struct session_growth_view *view,
			 const struct growth_sums *sums, const char *heading,
			 struct out *out) MUST_CHECK;
/* Print the lines `held`, `not seen` and `mapped`, and what is to be known about them. */
void growth_print_end(const struct session_growth_view *view, struct out *out);
/* Print the line of one event, and its traceback unless texts is NULL. brk: see growth_added. */
struct err *growth_event_print(struct session *session, const struct growth_event *event,
			       const struct mapped_file_list *files, struct stack_texts *texts,
			       uint64_t *brk, struct out *out) MUST_CHECK;
/* The indent that texts of growth_event_print have. */
#define GROWTH_INDENT	8
