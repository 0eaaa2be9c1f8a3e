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
#include "report/progress.h"

/* Sides */

/* Texts of both models, by number. An export has them as they are printed. */
struct numbers {
	struct text_set builds, names;
	struct str text;
};

static void numbers_free(struct numbers *numbers)
{
	text_set_free(&numbers->builds);
	text_set_free(&numbers->names);
	str_free(&numbers->text);
}

/* Get the number of a text from 1 on. */
static struct err *number_of(struct numbers *numbers, struct text_set *set, const char *text,
			     uint32_t *ret)
{
	struct err *err = text_clean(&numbers->text, text);

	if (!err)
		err = text_set_copy(set, str_text(&numbers->text), ret);
	if (!err)
		++*ret;
	return err;
}

struct side_maker {
	const struct model *model;
	struct numbers *numbers;
	VEC(struct match_frame) known;	/* by frame of the model */
	struct match_side *side;
};

/* The text that stands for the name of a function without one has its offset in it. */
static struct err *make_frame(struct side_maker *maker, const struct model_location *location,
			      const struct model_frame *frame)
{
	const char *build = location->module == MODEL_NO_MODULE ? "" :
			    maker->model->modules.at[location->module].build_id;
	struct match_frame made = { .offset = location->offset, .inlined = frame->inlined };
	struct err *err = NULL;

	if (*build)
		err = number_of(maker->numbers, &maker->numbers->builds, build, &made.build);
	if (!err && (frame->full || !*build))
		err = number_of(maker->numbers, &maker->numbers->names,
				frame->full ? frame->full : frame->name, &made.name);
	maker->known.at[frame - maker->model->frames.at] = made;
	return err;
}

static struct err *make_frames(struct side_maker *maker)
{
	const struct model *model = maker->model;
	struct err *err = vec_reserve(&maker->known, model->frames.nr);

	vec_each_while(location, &model->locations, !err)
		for (uint32_t i = 0; !err && i < location->nr; i++)
			err = make_frame(maker, location, &model->frames.at[location->first + i]);
	return err;
}

static struct err *make_site(struct side_maker *maker, const struct model_site *site,
			     struct model_stack *stack)
{
	struct match_side *side = maker->side;
	struct match_site made = { .first = (uint32_t)side->frames.nr,
				   .bytes = site->figures.bytes, .count = site->figures.count };
	struct err *err = model_stack_get(maker->model, site, stack);

	for (size_t i = 0; !err && i < stack->vec.nr; i++)
		err = vec_push(&side->frames,
			       maker->known.at[stack->vec.at[i].frame - maker->model->frames.at]);
	made.nr = (uint32_t)side->frames.nr - made.first;
	if (!err)
		err = vec_push(&side->sites, made);
	return err ? err : cancel_check();
}

/* The recorded sites come first in a model, so that they have the same numbers in the side. */
static struct err *make_side(const struct model *model, struct numbers *numbers,
			     struct match_side *ret)
{
	struct side_maker maker = { .model = model, .numbers = numbers, .known = VEC_INIT,
				    .side = ret };
	struct model_stack stack = { VEC_INIT };
	struct err *err = make_frames(&maker);

	vec_each_while(site, &model->sites, !err)
		if (site->part == MODEL_RECORDED)
			err = make_site(&maker, site, &stack);
	vec_free(&stack.vec);
	vec_free(&maker.known);
	return err;
}

struct err *compare_build(struct compare *compare)
{
	CLEANUP(match_side_free) struct match_side from = MATCH_SIDE_INIT, to = MATCH_SIDE_INIT;
	struct numbers numbers = { TEXT_SET_INIT, TEXT_SET_INIT, STR_INIT };
	struct err *err = make_side(compare->from.model, &numbers, &from);

	if (!err)
		err = make_side(compare->to.model, &numbers, &to);
	numbers_free(&numbers);
	return err ? err : match_build(&from, &to, &compare->match);
}

const struct model_site *compare_site(const struct compare *compare,
				      const struct match_change *change, const struct model **ret)
{
	bool from = change->to == MATCH_NONE ||
		    (change->from != MATCH_NONE && !compare->from.file);

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
		print_text(path_base(frame->file), out);
		out_f(out, ":%d)", frame->line);
	} else if (module != MODEL_NO_MODULE && *frame->name != '[' && !step->location->entry) {
		print_module(&model->modules.at[module], out);
	}
	if (frame->inlined)
		out_text(out, " (inlined)");
	out_text(out, "\n");
}

static void print_stack(const struct model *model, const struct model_site *site,
			const struct model_stack *stack, struct out *out)
{
	const struct model_location *innermost = stack->vec.at[0].location;

	if (stack->vec.nr > 1 || (innermost->pc && !innermost->entry)) {
		out_text(out, "    in ");
		print_place(model, model_stack_own(stack), 0, out);
	}
	vec_each(step, &stack->vec) {
		out_blanks(out, DIFF_INDENT);
		if (step->location->pc)
			out_f(out, PRI_ADDRESS " ", step->location->pc);
		print_place(model, step, step->frame->into, out);
	}
	if (!site->end)
		return;
	out_blanks(out, DIFF_INDENT);
	out_text(out, "(stack ends here: ");
	print_text(site->end, out);
	out_text(out, ")\n");
}

static struct err *print_changes(const struct compare *compare, struct out *out)
{
	const struct match *match = &compare->match;
	struct model_stack stack = { VEC_INIT };
	struct err *err = NULL;

	for (size_t i = 0; !err && !out_done(out) && i < match->vec.nr; i++) {
		const struct match_change *change = &match->vec.at[i];
		const struct model *model;
		const struct model_site *site = compare_site(compare, change, &model);

		err = model_stack_get(model, site, &stack);
		if (err)
			break;
		diff_rank_print(i, change->bytes, change->count, out);
		print_stack(model, site, &stack, out);
		out_text(out, "\n");
		err = cancel_check();
		progress_step("listing sites", i, match->vec.nr);
	}
	vec_free(&stack.vec);
	return err;
}

static void print_end(const char *which, const struct compare_end *end, uint64_t now_ns,
		      struct sample_share total, struct out *out)
{
	const struct model *model = end->model;
	const struct moment_name name = { end->word, model->now_ns, now_ns };

	out_f(out, "    %-5s", which);
	moment_name_print(&name, out);
	if (end->file) {
		out_f(out, " of process %d", (int)model->pid);
		if (*model->command) {
			out_text(out, ", ");
			print_text(model->command, out);
		}
	}
	out_f(out, ": %s bytes in %" PRIu64 " blocks\n", size_text(out, total.bytes).at,
	      total.blocks);
}

struct err *compare_print(const struct compare *compare, struct out *out)
{
	out_heading(out, "Changes of the Allocation Sites:");
	print_end("from", &compare->from, compare->now_ns, compare->match.from, out);
	print_end("to", &compare->to, compare->now_ns, compare->match.to, out);
	out_text(out, "\n");
	return print_changes(compare, out);
}

static void print_notes(const struct compare_end *end, struct out *out)
{
	if (end->file && *end->model->options) {
		print_text(end->word, out);
		out_text(out, " was exported with `");
		print_text(end->model->options, out);
		out_text(out, "`: what that left out is not compared\n");
	}
	if (end->model->sample) {
		print_text(end->word, out);
		out_f(out, " is sampled (one in %" PRIu64 " bytes): its figures are estimates\n",
		      end->model->sample);
	}
}

void compare_end_print(const struct compare *compare, struct out *out)
{
	const struct match *match = &compare->match;

	print_notes(&compare->from, out);
	print_notes(&compare->to, out);
	out_f(out, "matched by build-id and offset: %zu sites; by names: %zu sites; "
	      "only in one: %zu sites\n", match->sites[MATCH_BUILD], match->sites[MATCH_NAMES],
	      match->sites[MATCH_ONLY]);
	diff_sums_print(match->vec.nr, match->grown, match->shrunk, out);
}
