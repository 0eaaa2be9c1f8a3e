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
};

struct growth_sums {
	VEC(struct growth_sum) vec;	/* largest first */
	uint64_t bytes, count;		/* of all, before the limit */
};

/* Add up the pieces of one kind that a filter keeps. The caller frees vec, also after an error. */
struct err *growth_add_up(const struct held_pieces *pieces, enum held_kind kind,
			  const struct filter *filter, const struct filter_env *env,
			  struct growth_sums *ret) MUST_CHECK;
/* Print a paragraph for each. */
struct err *growth_print(struct stack_names *names, const struct session_growth_view *view,
			 const struct growth_sums *sums, const char *heading,
			 struct out *out) MUST_CHECK;
/* Print the lines `held`, `not seen` and `mapped`, and what is to be known about them. */
void growth_print_end(const struct session_growth_view *view, struct out *out);
/* Print the line of one event, and its traceback unless texts is NULL. */
struct err *growth_event_print(struct session *session, const struct growth_event *event,
			       const struct mapped_file_list *files, struct stack_texts *texts,
			       struct out *out) MUST_CHECK;
/* The indent that texts of growth_event_print have. */
#define GROWTH_INDENT	8
