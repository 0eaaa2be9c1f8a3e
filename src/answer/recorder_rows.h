/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a recording has of a session at one time: the rows of each table of a sample
 * (record/record.h). Each function takes one table anew, and gives it the time; after an error the
 * table is as it was.
 */
#pragma once

#include "answer/recorder_children.h"
#include "answer/recorder_stacks.h"
#include "growth/machine_look.h"
#include "record/table.h"

struct recorder_rows {
	struct session *session;
	struct record_names *names;
	struct recorder_stacks stacks;
	struct record_table table[RECORD_TABLES];
	/* The sums of the sites as they were taken last. */
	uint64_t bytes, count, allocated, calls;
	uint64_t allocs, frees;		/* accounts of the log then: if they are the same, so are the sites */
	uint64_t pause_ns;		/* for how long the target stood still for the last table */
};

void recorder_rows_init(struct recorder_rows *rows, struct session *session);
void recorder_rows_free(struct recorder_rows *rows);
/* Names have begun anew, or there is another process: all tables are empty. */
void recorder_rows_begin(struct recorder_rows *rows, struct record_names *names);

/* Figures that need no scan, and the sums of the last scan. */
struct err *recorder_rows_totals(struct recorder_rows *rows, uint64_t time_ns) MUST_CHECK;
/* Has anything been allocated or freed since the sites were taken? */
bool recorder_rows_sites_changed(const struct recorder_rows *rows);
/* The log must exist. */
struct err *recorder_rows_sites(struct recorder_rows *rows, uint64_t time_ns) MUST_CHECK;
struct err *recorder_rows_memory(struct recorder_rows *rows, uint64_t time_ns) MUST_CHECK;
struct err *recorder_rows_account(struct recorder_rows *rows, uint64_t time_ns) MUST_CHECK;
/* Nothing is done if nothing of the kind is recorded (`growth start`). */
struct err *recorder_rows_growth(struct recorder_rows *rows, uint64_t time_ns) MUST_CHECK;
struct err *recorder_rows_children(struct recorder_rows *rows,
				   const struct recorder_children *children,
				   uint64_t time_ns) MUST_CHECK;
/* The machine and the groups of a look; with lists caches and processes, too. */
struct err *recorder_rows_machine(struct recorder_rows *rows, const struct machine_look *look,
				  bool lists, uint64_t time_ns) MUST_CHECK;
