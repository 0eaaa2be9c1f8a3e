/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the memory of a process: by kind, by mapping, and what grows. */
#pragma once

#include "session/session_memory.h"

struct out;

/* The line that says why there is no PSS. */
#define MEMORY_QUICK_TEXT \
	"PSS is - with more than 2 GB in memory, because it takes long: `memory -v`.\n"

/* Print a row `all` and a row for each kind. last: the look to compare with, or NULL. */
struct err *memory_text_print(const struct memory_use *use, const struct memory_look *last,
			      struct out *out) MUST_CHECK;
struct err *memory_text_print_maps(const struct memory_use *use,
				   const struct memory_changes *changes,
				   struct out *out) MUST_CHECK;
/* Print one line: the sentence, over which time, and what to ask next. */
void memory_text_print_verdict(const struct memory_verdict *verdict, struct out *out);
/* The thread of a stack: its LWP id, "ended", or "-". */
struct memory_thread_text {
	char at[16];
};

struct memory_thread_text memory_text_thread(const struct memory_map *map);
