/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares and prints the sites of two models (compare.h). */

#include "export/compare.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/text_set.h"
#include "export/model.h"
#include "export/text.h"
#include "report/diff.h"
#include "report/out.h"

/* Keys */

#define NO_KEY	UINT32_MAX	/* of a frame that follows from another */

struct keys {
	const struct model *models[2];
	struct text_set builds[2];	/* build-ids of the files that a model's stacks are in */
	struct text_set frames;		/* what frames are compared by */
	struct text_set stacks;		/* the numbers of their frames, as bytes that are not 0 */
	struct str text, name;
	struct difference_sites sites;
};

static void keys_free(struct keys *keys)
{
	text_set_free(&keys->builds[0]);
	text_set_free(&keys->builds[1]);
	text_set_free(&keys->frames);
	text_set_free(&keys->stacks);
	str_free(&keys->text);
	str_free(&keys->name);
	vec_free(&keys->sites.vec);
}

static const char *build_of(const struct model *model, const struct model_location *location)
{
	return location->module == MODEL_NO_MODULE ? "" :
	       model->modules.at[location->module].build_id;
}

/* The path of a model has the stacks of its sites, and no others. */
static struct err *find_builds(const struct model *model, struct text_set *builds)
{
	AUTO_FREE bool *seen = calloc(model->modules.nr + 1, sizeof(*seen));
	struct err *err = seen ? NULL : err_nomem;
	uint32_t number;

	for (size_t i = 0; !err && i < model->path.nr; i++) {
		uint32_t module = model->locations.at[model->path.at[i]].module;

		if (module == MODEL_NO_MODULE || seen[module])
			continue;
		seen[module] = true;
		err = text_set_number(builds, model->modules.at[module].build_id, &number);
	}
	return err;
}

/*
 * Get the key of a frame. An export has texts as they are printed, so names of the process are made
 * like them. The text that stands for the name of a function without one has its offset in it.
 */
static struct err *frame_key(struct keys *keys, const char *build,
			     const struct model_location *location,
			     const struct model_frame *frame, uint32_t *ret)
{
	bool by_build = *build && (!frame->full || (text_set_has(&keys->builds[0], build) &&
						    text_set_has(&keys->builds[1], build)));
	struct err *err;

	*ret = NO_KEY;
	if (by_build && frame->inlined)
		return NULL;
	str_clear(&keys->text);
	if (by_build) {
		err = str_addf(&keys->text, "+%s+%" PRIx64, build, location->offset);
	} else {
		err = text_clean(&keys->name, frame->full ? frame->full : frame->name);
		if (!err)
			err = str_addf(&keys->text, "=%s", str_text(&keys->name));
	}
	return err ? err : text_set_copy(&keys->frames, str_text(&keys->text), ret);
}

static struct err *frame_keys(struct keys *keys, const struct model *model, uint32_t *frames)
{
	struct err *err = NULL;

	vec_each_while(location, &model->locations, !err) {
		const char *build = build_of(model, location);

		for (uint32_t i = location->first; !err && i < location->first + location->nr; i++)
			err = frame_key(keys, build, location, &model->frames.at[i], &frames[i]);
	}
	return err;
}

static struct err *add_number(struct str *text, uint32_t number)
{
	char bytes[5];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(0x80 | (number >> 7 * i & 0x7f));
	return str_add_bytes(text, bytes, sizeof(bytes));
}

static struct err *add_site(struct keys *keys, unsigned side, size_t index, const uint32_t *frames)
{
	const struct model *model = keys->models[side];
	const struct model_site *site = &model->sites.at[index];
	struct difference_site made = {
		.index = (uint32_t)index, .to = side, .bytes = site->figures.bytes,
		.count = site->figures.count,
	};
	struct err *err = cancel_check();

	str_clear(&keys->text);
	for (uint32_t i = 0; !err && i < site->nr; i++) {
		const struct model_location *location =
			&model->locations.at[model->path.at[site->first + i]];

		for (uint32_t j = 0; !err && j < location->nr; j++) {
			uint32_t frame = frames[location->first + j];

			if (frame == NO_KEY)
				continue;
			made.by_names |= *keys->frames.vec.at[frame] == '=';
			err = add_number(&keys->text, frame);
		}
	}
	if (!err)
		err = text_set_copy(&keys->stacks, str_text(&keys->text), &made.key);
	return err ? err : vec_push(&keys->sites.vec, made);
}

static struct err *add_sites(struct keys *keys, unsigned side)
{
	const struct model *model = keys->models[side];
	AUTO_FREE uint32_t *frames = calloc(model->frames.nr + 1, sizeof(*frames));
	struct err *err = frames ? frame_keys(keys, model, frames) : err_nomem;

	for (size_t i = 0; !err && i < model->sites.nr; i++)
		if (model->sites.at[i].part == MODEL_RECORDED)
			err = add_site(keys, side, i, frames);
	return err;
}

struct err *compare_build(struct compare *compare)
{
	struct keys keys = { .models = { compare->from.model, compare->to.model } };
	struct err *err = NULL;

	for (unsigned side = 0; !err && side < 2; side++)
		err = find_builds(keys.models[side], &keys.builds[side]);
	for (unsigned side = 0; !err && side < 2; side++)
		err = add_sites(&keys, side);
	if (!err)
		err = difference_build(&keys.sites, &compare->difference);
	keys_free(&keys);
	return err;
}

const struct model_site *compare_site(const struct compare *compare, const struct change *change,
				      const struct model **ret)
{
	bool from = change->to == DIFFERENCE_NONE ||
		    (change->from != DIFFERENCE_NONE && !compare->from.file);

	*ret = from ? compare->from.model : compare->to.model;
	return &(*ret)->sites.at[from ? change->from : change->to];
}

/* Printing */

static void print_text(const char *text, struct out *out)
{
	out_outside(out, (struct outside){ text });
}

/* Print "[libfoo.so]"; "[vdso]" has its brackets already. */
static void print_module(const struct model_module *module, struct out *out)
{
	const char *name = path_base(module->path);
	bool bare = *name != '[';

	out_text(out, bare ? " [" : " ");
	print_text(name, out);
	out_text(out, bare ? "]" : "");
}

static void print_place(const struct model *model, const struct model_step *step, uint64_t into,
			struct out *out)
{
	const struct model_frame *frame = step->frame;
	uint32_t module = step->location->module;

	print_text(frame->name, out);
	if (into)
		out_f(out, "+0x%" PRIx64, into);
	if (frame->file) {
		out_text(out, " (");
		print_text(path_source(frame->file), out);
		out_f(out, ":%d)", frame->line);
	} else if (module != MODEL_NO_MODULE && *frame->name != '[' && !step->location->entry) {
		print_module(&model->modules.at[module], out);
	}
	if (frame->inlined)
		out_text(out, " (inlined)");
	out_text(out, "\n");
}

struct printing {
	const struct compare *compare;
	struct model_stack stack;
};

static struct err *print_stack(void *ctx, const struct change *change, struct out *out)
{
	struct printing *printing = ctx;
	struct model_stack *stack = &printing->stack;
	const struct model_location *innermost;
	const struct model *model;
	const struct model_site *site = compare_site(printing->compare, change, &model);
	struct err *err = model_stack_get(model, site, stack);

	if (err)
		return err;
	innermost = stack->vec.at[0].location;
	if (stack->vec.nr > 1 || (innermost->pc && !innermost->entry)) {
		out_text(out, "    in ");
		print_place(model, model_stack_own(model, stack), 0, out);
	}
	vec_each(step, &stack->vec) {
		out_blanks(out, DIFF_INDENT);
		if (step->location->pc)
			out_f(out, PRI_ADDRESS " ", step->location->pc);
		print_place(model, step, step->frame->into, out);
	}
	if (!site->end)
		return NULL;
	out_blanks(out, DIFF_INDENT);
	out_text(out, "(stack ends here: ");
	print_text(site->end, out);
	out_text(out, ")\n");
	return NULL;
}

static struct diff_end end_of(const struct compare_end *end)
{
	return (struct diff_end){ end->name, end->model->pid,
				  end->file ? end->model->command : NULL };
}

struct err *compare_print(const struct compare *compare, struct out *out)
{
	struct printing printing = { compare, { VEC_INIT } };
	const struct diff_view view = {
		.heading = "Changes of the Allocation Sites:", .from = end_of(&compare->from),
		.to = end_of(&compare->to), .difference = &compare->difference,
		.print_stack = print_stack, .ctx = &printing,
	};
	struct err *err = diff_print(&view, out);

	vec_free(&printing.stack.vec);
	return err;
}

static void print_notes(const struct compare_end *end, struct out *out)
{
	if (end->file && *end->model->options) {
		print_text(end->name.word, out);
		out_text(out, " was exported with `");
		print_text(end->model->options, out);
		out_text(out, "`: what that left out is not compared\n");
	}
	if (end->model->sample) {
		print_text(end->name.word, out);
		out_f(out, " is sampled (one in %" PRIu64 " bytes): its figures are estimates\n",
		      end->model->sample);
	}
}

void compare_notes_print(const struct compare *compare, struct out *out)
{
	const size_t *sites = compare->difference.sites;

	print_notes(&compare->from, out);
	print_notes(&compare->to, out);
	out_f(out, "matched by build-id and offset: %zu sites; by names: %zu sites; "
	      "only in one: %zu sites\n", sites[DIFFERENCE_EXACT], sites[DIFFERENCE_NAMES],
	      sites[DIFFERENCE_ONLY]);
}
