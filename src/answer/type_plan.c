/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds out what stacks and variables say of types (type_plan.h). */

#include "answer/type_plan.h"

#include <stdlib.h>
#include <string.h>

#include "answer/frame_type.h"
#include "answer/stack.h"
#include "answer/stack_names.h"
#include "base/cancel.h"
#include "log/log.h"
#include "session/session.h"

#define OPERATOR_NEW	"operator new"

struct planning {
	struct stack_names *names;
	struct type_plan *ret;
};

/* The same call is in many stacks. (An address that another module had before is asked again.) */
static struct err *site_at(struct planning *planning, uint64_t pc, uint32_t generation,
			   struct site_type *ret)
{
	uint32_t number;
	struct type_plan *plan = planning->ret;
	struct site_type *known;
	struct err *err = interner_number(&plan->pcs, pc ^ (uint64_t)generation << 48, &number);

	if (err)
		return err;
	if (number < plan->sites.nr && plan->sites.at[number].is != RESULT_TYPE_UNASKED) {
		*ret = plan->sites.at[number];
		return NULL;
	}
	err = result_type_at(&plan->of, &plan->globals, pc, generation, &ret->is, &ret->layout);
	known = vec_slot(&plan->sites, number);
	if (!err && known)
		*known = *ret;
	return err ? err : known ? NULL : err_nomem;
}

/* Does the function at a PC allocate for everybody? */
static struct err *passes(struct planning *planning, struct symbols *symbols, struct stack_pc pc,
			  bool *cxx, bool *ret)
{
	struct stack_functions at = stack_functions(planning->names->session, symbols, pc);
	AUTO_STR struct str text = STR_INIT;
	struct err *err = NULL;

	*ret = at.nr > 0;
	for (size_t i = 0; !err && *ret && i < at.nr; i++) {
		const char *function = at.frames[i].function;
		enum frame_type kind;

		err = frame_type_of(function, false, &text, &kind);
		*ret = !err && kind == FRAME_TYPE_PASS;
		*cxx |= *ret && !strncmp(function, OPERATOR_NEW, strlen(OPERATOR_NEW));
	}
	return err;
}

static struct err *find_frame(struct planning *planning, uint32_t stack, uint32_t *layout_ret)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err = frame_type_of_stack(planning->names, stack, &text);
	struct type *type;
	bool found;

	*layout_ret = LAYOUT_NONE;
	if (err || !text.len)
		return err;
	err = types_find_type(planning->ret->of.types, str_text(&text), &type, &found);
	return err || !found ? err : layouts_of(&planning->ret->of, type, layout_ret);
}

static struct err *find_result(struct planning *planning, struct symbols *symbols,
			       const struct log_stack_view *view, uint32_t *layout_ret)
{
	bool cxx = false, goes_on = true;
	struct err *err = NULL;

	*layout_ret = LAYOUT_NONE;
	for (uint32_t i = 1; !err && goes_on && i < view->nr; i++) {
		struct site_type site;

		err = site_at(planning, view->pcs[i], view->generation, &site);
		if (err)
			break;
		goes_on = site.is == RESULT_TYPE_PASSED;
		if (site.is == RESULT_TYPE_NO_INFO)
			err = passes(planning, symbols,
				     (struct stack_pc){ view->pcs[i], view->generation, false },
				     &cxx, &goes_on);
		if (site.is == RESULT_TYPE_STATED ||
		    (site.is == RESULT_TYPE_FOUND &&
		     !(cxx && planning->ret->layouts.vec.at[site.layout].begins_others)))
			*layout_ret = site.layout;
	}
	return err;
}

static struct err *add_stack(struct planning *planning, struct symbols *symbols, uint32_t stack)
{
	struct log_stack_view view = reader_stack(session_log(planning->names->session), stack);
	uint32_t layout, *of;
	struct err *err = find_result(planning, symbols, &view, &layout);

	if (!err && layout == LAYOUT_NONE)
		err = find_frame(planning, stack, &layout);
	if (err || layout == LAYOUT_NONE)
		return err;
	of = vec_slot(&planning->ret->layouts.of_stack, stack);
	if (!of)
		return err_nomem;
	*of = layout + 1;
	return NULL;
}

static struct err *add_stacks(struct planning *planning)
{
	const struct log *log = session_log(planning->names->session);
	struct symbols *symbols = session_symbols(planning->names->session);
	struct err *err = NULL;

	for (uint32_t stack = 1; !err && stack <= reader_stacks(log); stack++) {
		err = add_stack(planning, symbols, stack);
		if (!err)
			err = cancel_check();
	}
	return err;
}

static void plan_free(void *at)
{
	struct type_plan *plan = at;

	layouts_free(&plan->of);
	type_spread_free_layouts(&plan->layouts);
	result_type_free_globals(&plan->globals);
	interner_free(&plan->pcs);
	vec_free(&plan->sites);
	free(plan);
}

static struct err *begin(struct types *types, struct type_plan *plan)
{
	struct err *err = layouts_begin(types, &plan->layouts, &plan->of);

	plan->files = types_files(types);
	if (!err)
		err = layouts_add_variables(&plan->of);
	return err ? err : result_type_globals(&plan->of, &plan->globals);
}

/* The plan of these types, without stacks. */
static struct err *take_plan(struct types *types, struct type_plan **ret)
{
	struct types_kept *kept = types_kept(types);
	struct type_plan *plan = kept->at;
	struct err *err;

	if (plan && plan->files == types_files(types)) {
		vec_clear(&plan->layouts.of_stack);
		*ret = plan;
		return NULL;
	}
	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return err_nomem;
	err = begin(types, plan);
	if (err) {
		plan_free(plan);
		return err;
	}
	if (kept->at)
		plan_free(kept->at);
	*kept = (struct types_kept){ plan, plan_free };
	*ret = plan;
	return NULL;
}

struct err *type_plan_of(struct stack_names *names, const struct type_plan **ret)
{
	struct planning planning = { .names = names };
	struct types *types;
	struct err *err = session_types(names->session, &types);

	if (!err)
		err = take_plan(types, &planning.ret);
	if (!err)
		err = add_stacks(&planning);
	if (!err)
		err = layouts_finish(&planning.ret->of);
	if (!err)
		*ret = planning.ret;
	return err;
}
