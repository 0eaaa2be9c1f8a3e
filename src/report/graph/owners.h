/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `malloc owners` and `malloc path`. */
#pragma once

#include "answer/owner_rows.h"

struct out;

struct owners_text {
	struct stack_names *names;
	const struct owners *owners;
	enum owner_by by;
	struct answer *rows;	/* of owner_rows */
	uint64_t all;		/* rows without the limit */
	uint64_t age_ns;	/* of the graph; 0: it is of now */
	uint64_t since_ns;	/* changes are over so long; 0: there are none */
};

/* Print a paragraph for each row, or, if brief, a line, and what is known of the search. */
struct err *owners_print(struct owners_text *text, bool brief, struct out *out) MUST_CHECK;
/* Print the ways to the block that was asked for; steps that are alike are one. */
struct err *owners_print_path(struct stack_names *names, const struct owner_graph *graph,
			      uint64_t address, uint64_t age_ns, struct out *out) MUST_CHECK;
/* Print what may be missing from a graph; the lines of a search, or how old it is. */
void owners_print_doubts(const struct owner_graph *graph, uint64_t age_ns, struct out *out);
