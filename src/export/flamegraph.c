/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * export flamegraph: a flame graph in one SVG file, to be opened in a browser. It is of bytes; of
 * blocks with `sort count`, of growth with `sort growth` or `sort rate`.
 */

#include "export/export_file.h"
#include "export/flame_svg.h"
#include "export/format_list.h"
#include "export/markup.h"
#include "export/model.h"

#define ROOM	(12u << 20)	/* bytes of frames: browsers are slow with more than some ten thousand */

static struct err *write_flamegraph(const struct model *model, struct export_file *file)
{
	struct flame_graph graph;
	struct err *err = flame_svg_build(model, model->of, ROOM, MARKUP_WHOLE, &graph);

	if (err)
		return err;
	export_file_text(file, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n");
	flame_svg_write(&graph, true, file);
	flame_svg_free(&graph);
	return NULL;
}

const struct export_format export_flamegraph = {
	.name	= "flamegraph",
	.brief	= "one SVG file for a browser, with zoom and search",
	.wants	= EXPORT_ANY | EXPORT_CHANGES,
	.write	= write_flamegraph,
};
