/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A model as a flame graph in SVG, for `export flamegraph` and for the report. The file's contract:
 *
 *	<g class="…"><title>NAME (N bytes …)</title><rect …/><text …>NAME</text></g>
 *
 * for each frame that is drawn, the whole in the lowest row. All figures of a title are exact. The
 * widths of rectangles are rounded such that those above a frame are never wider than it. What is
 * too narrow to be seen has no rectangle, but counts in all frames below it.
 *
 * It can be read as it is. The script (flamegraph.js) adds zoom, search and the keyboard; it has no
 * data of its own, but reads the rectangles and titles.
 */
#pragma once

#include "base/err.h"
#include "base/text_set.h"
#include "export/flame.h"

struct export_file;
struct model;

struct flame_graph {
	const struct model *model;
	struct flame flame;
	struct text_set names;		/* the model's */
	size_t name_most;		/* longer names are cut: bytes */
};

/*
 * room: how many bytes of the file frames may take. ERR_STATE: the graph is to show growth, and
 * that is not known.
 */
struct err *flame_svg_build(const struct model *model, enum flame_of of, uint64_t room,
			    size_t name_most, struct flame_graph *ret) MUST_CHECK;
/*
 * The same of other stacks: begin, add to ret->flame with numbers of ret->names, and end. The caller
 * calls flame_svg_free, also after an error.
 */
struct err *flame_svg_begin(const struct model *model, enum flame_of of, size_t name_most,
			    struct flame_graph *ret) MUST_CHECK;
struct err *flame_svg_end(struct flame_graph *graph, uint64_t room) MUST_CHECK;
void flame_svg_free(struct flame_graph *graph);
/*
 * "NAME (PID)": the program's, without its folder and arguments. These may be secret, and exports
 * are sent to others.
 */
void flame_svg_program(const struct model *model, struct export_file *file);
/* The element <svg>. alone: it is a file of its own, with heading, style sheet and script. */
void flame_svg_write(const struct flame_graph *graph, bool alone, struct export_file *file);
