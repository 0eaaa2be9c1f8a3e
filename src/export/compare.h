/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `malloc diff FILE`: the difference of the recorded sites of two models, of which at least one was
 * read from an export (sqlite_read.h). Numbers of stacks mean nothing in another process, so two
 * sites are the same if the frames of their stacks are. A frame is compared in one of two ways:
 *
 *	by build	If both models have frames in files of the frame's build-id, the frames are
 *			the same if build-id and offset are. Inlined functions follow from these, so
 *			they are not compared.
 *	by name		Otherwise the program or library has been built anew, or it has no
 *			build-id. Then the frames are the same if the names of their functions are,
 *			of inlined ones too. A frame without a name in a file with a build-id is
 *			the same as none of another file, whatever its offset.
 *
 * So two calls of a function in one build stay two sites even if their names are the same. Where a
 * name is all that is known, all sites of a model whose stacks are the same count as one.
 */
#pragma once

#include "answer/difference.h"
#include "report/moment_text.h"

struct model;
struct model_site;
struct out;

/* One of the two that are compared. */
struct compare_end {
	struct moment_name name;	/* its word is a file, or a moment */
	const struct model *model;
	bool file;
};

struct compare {
	struct compare_end from, to;
	struct difference difference;
};

/* Compute compare->difference from the two models. The caller frees it. */
struct err *compare_build(struct compare *compare) MUST_CHECK;
/*
 * Returns the site that shows the stack of a change, and its model: of the process that is being
 * watched, if it is there; else of the second export, if it is there.
 */
const struct model_site *compare_site(const struct compare *compare, const struct change *change,
				      const struct model **ret);
/* Print the two ends and a paragraph for each change. */
struct err *compare_print(const struct compare *compare, struct out *out) MUST_CHECK;
/* Print what a reader must know of the exports, and how sites were matched. */
void compare_notes_print(const struct compare *compare, struct out *out);
