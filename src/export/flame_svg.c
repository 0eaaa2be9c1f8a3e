/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model as a flame graph in SVG (flame_svg.h). */

#include "export/flame_svg.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/assets.h"
#include "export/export_file.h"
#include "export/markup.h"
#include "export/model.h"
#include "report/out.h"

#define WIDTH		1200u		/* of the graph, in pixels: the script makes it the window's */
#define UNIT		10000u		/* parts of a pixel, for zooming in */
#define ROW		18u
#define TEXT_Y		13u		/* of the base line in a row */
#define LETTER		7u		/* width of a letter; flamegraph.js has the same */
#define MARGIN		3u
#define HEAD		92u		/* above the graph: heading, and room for the script's bar */
#define FOOT		24u
#define MARKUP_COST	230u		/* of a frame, without its name */
#define PROGRAM_MOST	100u
#define PARTS		20000u		/* narrower frames are less than a tenth of a pixel */

static uint64_t cost_of(void *ctx, uint32_t name)
{
	const struct flame_graph *graph = ctx;

	return MARKUP_COST + MIN(strlen(graph->names.vec.at[name]), graph->name_most);
}

static struct flame_sums sums_of(const struct model *model, const struct model_site *site)
{
	struct flame_sums sums = { .bytes = site->figures.bytes, .count = site->figures.count };
	int64_t growth = model->growth_ns ? site->figures.growth : 0;

	/* A change has no width of its own: it may be less than nothing. */
	if (model->changes)
		sums.bytes = sums.count = 0;
	if (growth > 0)
		sums.grown = (uint64_t)growth;
	else
		sums.shrunk = -(uint64_t)growth;
	return sums;
}

struct name_list {
	VEC(uint32_t) vec;
};

/* List the functions of a site, outermost first, by number. */
static struct err *list_names(const struct model *model, const struct model_site *site,
			      const uint32_t *numbers, struct name_list *ret)
{
	struct err *err = NULL;

	vec_clear(&ret->vec);
	for (uint32_t i = site->nr; !err && i-- > 0;) {
		const struct model_location *location =
			&model->locations.at[model->path.at[site->first + i]];

		for (uint32_t j = location->nr; !err && j-- > 0;)
			err = vec_push(&ret->vec, numbers[location->first + j]);
	}
	return err;
}

static struct err *add_sites(struct flame_graph *graph, const uint32_t *numbers)
{
	const struct model *model = graph->model;
	struct name_list names = { VEC_INIT };
	struct err *err = NULL;

	for (size_t i = 0; !err && i < model->sites.nr; i++) {
		const struct model_site *site = &model->sites.at[i];
		struct flame_sums sums = sums_of(model, site);

		/* Of growth, what has gone counts as well. */
		if (site->part == MODEL_FREED && !sums.shrunk)
			continue;
		err = list_names(model, site, numbers, &names);
		if (!err)
			err = flame_add(&graph->flame, names.vec.at, names.vec.nr, &sums);
	}
	vec_free(&names.vec);
	return err;
}

static struct err *build(struct flame_graph *graph, uint64_t room)
{
	const struct model *model = graph->model;
	AUTO_FREE uint32_t *numbers = calloc(model->frames.nr + 1, sizeof(*numbers));
	struct err *err = numbers ? NULL : err_nomem;

	for (size_t i = 0; !err && i < model->frames.nr; i++)
		err = text_set_number(&graph->names, model->frames.at[i].name, &numbers[i]);
	if (!err)
		err = add_sites(graph, numbers);
	return err ? err : flame_svg_end(graph, room);
}

struct err *flame_svg_begin(const struct model *model, enum flame_of of, size_t name_most,
			    struct flame_graph *ret)
{
	*ret = (struct flame_graph){ .model = model, .names = TEXT_SET_INIT,
				     .name_most = name_most };
	return flame_init(&ret->flame, of);
}

struct err *flame_svg_end(struct flame_graph *graph, uint64_t room)
{
	struct err *err = flame_place(&graph->flame);

	return err ? err : flame_choose(&graph->flame, PARTS, room, cost_of, graph);
}

struct err *flame_svg_build(const struct model *model, enum flame_of of, uint64_t room,
			    size_t name_most, struct flame_graph *ret)
{
	struct err *err;

	if (of == FLAME_GROWTH && !model->growth_ns)
		return err_hint(err_create(ERR_STATE, "flame graph of growth: growth is not known yet"),
				"ask again in a few seconds");
	err = flame_svg_begin(model, of, name_most, ret);
	if (!err)
		err = build(ret, room);
	if (err)
		flame_svg_free(ret);
	return err;
}

void flame_svg_free(struct flame_graph *graph)
{
	flame_free(&graph->flame);
	text_set_free(&graph->names);
}

/* Frames */

/*
 * A frame's colour is one of a few greens, as other tools draw memory, chosen by the name. A graph
 * of growth has two colours.
 */
static void write_class(const struct flame_graph *graph, const struct flame_frame *frame,
			struct export_file *file)
{
	static const char *const greens[] = { "m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7" };
	const struct flame_sums *sums = &frame->sums;
	uint32_t hash = 0;

	if (graph->flame.of == FLAME_GROWTH) {
		export_file_text(file, sums->grown > sums->shrunk ? "grown" :
				 sums->grown < sums->shrunk ? "shrunk" : "even");
		return;
	}
	/*
	 * The colour follows from the name and not from its number, which may be another one
	 * tomorrow.
	 */
	for (const char *at = graph->names.vec.at[frame->name]; *at; at++)
		hash = hash * 31 + (unsigned char)*at;
	export_file_text(file, greens[hash % ARRAY_SIZE(greens)]);
}

static void write_figures(const struct flame_graph *graph, const struct flame_frame *frame,
			  struct export_file *file)
{
	const struct flame *flame = &graph->flame;
	uint64_t all = flame_weight(flame, &flame->frames.at[FLAME_ROOT]);
	uint64_t weight = flame_weight(flame, frame);
	const struct flame_sums *sums = &frame->sums;
	double percent = all ? 100.0 * (double)weight / (double)all : 100;

	if (flame->of == FLAME_GROWTH)
		export_file_f(file, " (%" PRIu64 " bytes changed: %" PRIu64 " grown, %" PRIu64
			      " shrunk, %.2f %%)", weight, sums->grown, sums->shrunk, percent);
	else
		export_file_f(file, " (%" PRIu64 " bytes in %" PRIu64 " %s, %.2f %%%s)",
			      sums->bytes, sums->count, graph->model->unit, percent,
			      flame->of == FLAME_COUNT ? " of the blocks" : "");
}

/* Write a length in parts of a pixel as pixels. */
static void write_length(struct export_file *file, const char *name, uint64_t parts)
{
	char digits[8];
	size_t len;

	export_file_f(file, " %s=\"%" PRIu64, name, parts / UNIT);
	if (parts % UNIT) {
		len = (size_t)snprintf(digits, sizeof(digits), ".%04u", (unsigned)(parts % UNIT));
		while (digits[len - 1] == '0')
			len--;
		export_file_bytes(file, digits, len);
	}
	export_file_text(file, "\"");
}

/* Write as many letters of the name as there is room for. */
static void write_label(const struct flame_graph *graph, const char *name, uint64_t begin,
			uint64_t width, uint32_t y, struct export_file *file)
{
	size_t letters = (size_t)(width / UNIT) / LETTER, len = 0, nr = 0;

	if (letters < 4)
		return;
	letters--;
	for (; name[len] && nr < letters; nr++)
		while (((unsigned char)name[++len] & 0xc0) == 0x80)
			;
	export_file_text(file, "<text");
	write_length(file, "x", begin + MARGIN * UNIT);
	export_file_f(file, " y=\"%u\">", y + TEXT_Y);
	markup_write(file, name, MIN(len, graph->name_most));
	export_file_text(file, "</text>");
}

static void write_frame(const struct flame_graph *graph, uint32_t i, uint32_t top,
			struct export_file *file)
{
	const struct flame *flame = &graph->flame;
	const struct flame_frame *frame = &flame->frames.at[i];
	const char *name = i == FLAME_ROOT ? "all" : graph->names.vec.at[frame->name];
	uint64_t full = (uint64_t)WIDTH * UNIT, weight = flame_weight(flame, frame);
	uint64_t begin = flame_edge(flame, frame->begin, full);
	uint64_t width = i == FLAME_ROOT ? full : flame_edge(flame, frame->begin + weight, full) - begin;
	uint32_t y = top + (flame->rows - 1 - frame->depth) * ROW;

	export_file_text(file, "<g class=\"");
	if (i == FLAME_ROOT)
		export_file_text(file, "whole");
	else
		write_class(graph, frame, file);
	export_file_text(file, "\"><title>");
	markup_write(file, name, graph->name_most);
	write_figures(graph, frame, file);
	export_file_text(file, "</title><rect");
	write_length(file, "x", begin);
	export_file_f(file, " y=\"%u\"", y);
	write_length(file, "width", width);
	export_file_f(file, " height=\"%u\"/>", ROW - 1);
	write_label(graph, name, begin, width, y, file);
	export_file_text(file, "</g>\n");
}

/* The whole */

static const char *const what_of[] = {
	[FLAME_BYTES] = "bytes held, by stack",
	[FLAME_COUNT] = "blocks held, by stack",
	[FLAME_GROWTH] = "bytes grown (red) and shrunk (blue), by stack",
};

void flame_svg_program(const struct model *model, struct export_file *file)
{
	AUTO_FREE char *program = strndup(model->command, strcspn(model->command, " "));

	const char *slash = program ? strrchr(program, '/') : NULL;
	const char *name = slash ? slash + 1 : program;

	markup_write(file, name && *name ? name : "process", PROGRAM_MOST);
	export_file_f(file, " (%d)", (int)model->pid);
}

static void write_heading(const struct flame_graph *graph, struct export_file *file)
{
	const struct model *model = graph->model;
	char time[64], over[64];

	number_text_time(time, sizeof(time), model->now_ns);
	export_file_text(file, "<text class=\"heading\" x=\"3\" y=\"18\">");
	flame_svg_program(model, file);
	export_file_f(file, ": %s</text>\n<text x=\"3\" y=\"36\">%s", what_of[graph->flame.of], time);
	if (graph->flame.of == FLAME_GROWTH) {
		number_text_duration(over, sizeof(over), model->growth_ns);
		export_file_f(file, ", over %s%s", model->changes ? "" : "the last ", over);
	}
	if (model->sample)
		export_file_f(file, ", estimated: one allocation in %" PRIu64 " bytes is recorded",
			      model->sample);
	if (*model->options) {
		export_file_text(file, "; ");
		markup_write(file, model->options, 120);
	}
	export_file_text(file, "</text>\n");
}

static void write_rest(const struct flame *flame, uint32_t y, struct export_file *file)
{
	size_t rest = flame->frames.nr - flame->drawn;

	if (rest)
		export_file_f(file, "<text class=\"rest\" x=\"3\" y=\"%u\">%zu narrow frames are not "
			      "drawn, but counted in those below them</text>\n", y, rest);
}

void flame_svg_write(const struct flame_graph *graph, bool alone, struct export_file *file)
{
	const struct flame *flame = &graph->flame;
	uint32_t top = alone ? HEAD : 0, bottom = top + flame->rows * ROW;

	export_file_f(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"%u\" "
		      "height=\"%u\" viewBox=\"0 0 %u %u\">\n", WIDTH, bottom + FOOT, WIDTH,
		      bottom + FOOT);
	if (alone) {
		export_file_text(file, "<style><![CDATA[\n");
		assets_write(file, "flamegraph.css");
		export_file_text(file, "]]></style>\n");
		write_heading(graph, file);
	}
	vec_each_value(i, &flame->order)
		if (flame->frames.at[i].drawn)
			write_frame(graph, i, top, file);
	write_rest(flame, bottom + FOOT - 8, file);
	if (alone) {
		export_file_text(file, "<script><![CDATA[\n");
		assets_write(file, "flamegraph.js");
		export_file_text(file, "flameGraph(document.documentElement);\n]]></script>\n");
	}
	export_file_text(file, "</svg>\n");
}
