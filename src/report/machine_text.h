/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The answer of `memory system`: the USE method's questions about the machine's memory
 * (utilisation, saturation, errors), each with its figure and where it comes from; then processes,
 * and the control groups above one of them.
 */
#pragma once

#include "growth/machine_look.h"
#include "os/machine/machine_family.h"

struct out;

enum machine_part {
	MACHINE_BYTES,		/* utilisation: bytes, and their change */
	MACHINE_RATE,		/* saturation: counted since boot, and a second */
	MACHINE_PRESSURE,	/* saturation: hundredths of a percent; one row for two figures */
	MACHINE_ERRORS,		/* counted since boot, and their change */
	MACHINE_PARTS,
};

/* A figure of struct machine. */
struct machine_figure {
	enum machine_part part;
	const char *key;	/* of mdbg::memory_system */
	const char *label;
	const char *source;	/* the file, and the word in it */
	size_t offset;
};

/* All that are shown; ends with a key that is NULL. */
extern const struct machine_figure machine_figures[];
uint64_t machine_text_figure(const struct machine *machine, const struct machine_figure *figure);

/* before: the look to compare with; NULL: there is none. */
struct machine_view {
	const struct machine_look *before, *now;
	bool asked;		/* `before` is what was last shown; else it was read just for this */
	size_t most;		/* rows in each list; 0: no lists */
	enum machine_family family;	/* whose processes are in the lists */
};

struct err *machine_text_print(const struct machine_view *view, struct out *out) MUST_CHECK;
