/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model of an export: parts, names and sums, from a session without a process. */

#include "export/model.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "fake_session.h"
#include "unit.h"
#include "unwind/walk.h"

static struct session *session;
static struct filter filter;
static uint32_t kept, gone;	/* a stack that holds blocks, and one that does not any more */

static bool no_name(void *ctx UNUSED, uint32_t stack, enum filter_attr attr UNUSED,
		    const char *glob UNUSED)
{
	return stack == kept;
}

static struct filter_env env_of(void)
{
	return (struct filter_env){
		.log = session_log(session), .pids = session_pids(session),
		.now_ns = log_clock_realtime(session_log(session), log_now()),
		.stack_matches = no_name,
	};
}

static int start(void)
{
	uint64_t pc = (uintptr_t)fake_main + 2;

	if (session_create(&session))
		return 1;
	fake_attach(session);
	kept = fake_stack(session, WALK_NO_ROW);
	gone = stack_table_insert(session_log(session), &pc, 1, WALK_COMPLETE, 0);
	fake_block(session, 0x1000, 100, kept);
	fake_block(session, 0x2000, 5000, kept);
	fake_block(session, 0x3000, 24, LOG_STACK_NONE);
	fake_block(session, 0x4000, 77, gone);
	fake_free(session, 0x4000);
	return 0;
}

static int end(void)
{
	session_destroy(session);
	filter_free(&filter);
	return 0;
}

FIXTURE(start, end);

/* Sites as a query makes them, and the model of them. */
struct made {
	struct sites sites;
	struct model model;
};

static void made_free(struct made *made)
{
	model_free(&made->model);
	sites_free(&made->sites);
}

static struct err *make(struct made *made, enum model_freed freed, const struct early *early,
			uint64_t limit)
{
	const struct filter_env env = env_of();
	const struct site_spec spec = { .by = SITE_STACK, .limit = limit };
	struct model_source source = {
		.session = session, .sites = &made->sites, .now_ns = env.now_ns, .limit = limit,
		.early = early, .filter = &filter, .env = &env, .options = "limit 7",
		.freed = freed,
	};
	struct err *err = sites_from_log(&env, &filter, NULL, &spec, &made->sites);

	return err ? err : model_build(&source, &made->model);
}

static const struct early none;

TEST("has sites")
{
	CLEANUP(made_free) struct made made = { 0 };
	const struct model *model = &made.model;
	struct model_stack stack = { VEC_INIT };
	const struct model_step *step;

	CU_ASSERT_PTR_NULL_FATAL(make(&made, MODEL_NO_FREED, &none, UINT64_MAX));
	CU_ASSERT_EQUAL_FATAL(model->sites.nr, 2);
	CU_ASSERT(model->held == 2 && model->bytes == 5124 && model->count == 3);
	CU_ASSERT(model->all_bytes == 5124 && !model->limited && !model->filtered);
	CU_ASSERT_EQUAL(model->sites.at[0].figures.bytes, 5100);
	CU_ASSERT_STRING_EQUAL(model->options, "limit 7");
	/* The unit test's own command line: it is the target. */
	CU_ASSERT_PTR_NOT_NULL(strstr(model->command, "unit/export"));
	CU_ASSERT_PTR_NULL_FATAL(model_stack_get(model, &model->sites.at[0], &stack));
	CU_ASSERT_EQUAL_FATAL(stack.vec.nr, 3);
	step = stack.vec.at;
	CU_ASSERT_STRING_EQUAL(step[0].frame->name, "malloc");
	CU_ASSERT(step[0].location->entry && step[0].location->code == step[0].location->pc);
	CU_ASSERT_STRING_EQUAL(step[1].frame->name, "fake_load");
	CU_ASSERT_STRING_EQUAL(step[2].frame->name, "fake_main");
	CU_ASSERT_EQUAL(step[2].location->pc, (uintptr_t)fake_main + 2);
	CU_ASSERT_EQUAL(step[2].location->code, (uintptr_t)fake_main + 1);
	CU_ASSERT_EQUAL(model_stack_first(model, &stack), 1);
	CU_ASSERT_PTR_EQUAL(model_stack_own(model, &stack), &step[1]);
	/* The walk had no more rows, and that is said. */
	CU_ASSERT_STRING_EQUAL(model->sites.at[0].end, walk_end_name(WALK_NO_ROW));
	CU_ASSERT_PTR_NULL_FATAL(model_stack_get(model, &model->sites.at[1], &stack));
	CU_ASSERT_EQUAL_FATAL(stack.vec.nr, 1);
	CU_ASSERT_STRING_EQUAL(stack.vec.at[0].frame->name, "(no stack)");
	CU_ASSERT_EQUAL(model_stack_first(model, &stack), 0);
	CU_ASSERT_PTR_EQUAL(model_stack_own(model, &stack), &stack.vec.at[0]);
	vec_free(&stack.vec);
}

TEST("has modules")
{
	CLEANUP(made_free) struct made made = { 0 };
	const struct model *model = &made.model;

	CU_ASSERT_PTR_NULL_FATAL(make(&made, MODEL_NO_FREED, &none, UINT64_MAX));
	CU_ASSERT_EQUAL_FATAL(model->modules.nr, 1);
	CU_ASSERT_STRING_EQUAL(model->modules.at[0].path, "/usr/bin/fake");
	CU_ASSERT(strlen(model->modules.at[0].build_id) >= 16);
	vec_each(location, &model->locations) {
		const struct model_frame *frame = &model->frames.at[location->first];

		if (strcmp(frame->name, "fake_main"))
			continue;
		CU_ASSERT_EQUAL(location->module, 0);
		CU_ASSERT_EQUAL(location->offset, location->pc - model->modules.at[0].bias);
		CU_ASSERT_PTR_NOT_NULL_FATAL(frame->file);
		CU_ASSERT_PTR_NOT_NULL(strstr(frame->file, "fake_session.c"));
		CU_ASSERT(frame->line > 0);
		return;
	}
	CU_FAIL("fake_main is missing");
}

/* Blocks from before the attach are a site behind the others, if a limit leaves room. */
TEST("has early blocks")
{
	const struct early early = { .bytes = 40, .count = 4 };
	const struct early unrecorded = { .bytes = 40, .count = 4, .unrecorded = true };
	CLEANUP(made_free) struct made made = { 0 }, other = { 0 }, cut = { 0 };
	const struct model *model = &made.model;
	const struct model_site *site;

	CU_ASSERT_PTR_NULL_FATAL(make(&made, MODEL_NO_FREED, &early, UINT64_MAX));
	CU_ASSERT(model->sites.nr == 3 && model->held == 3);
	CU_ASSERT(model->bytes == 5164 && model->all_bytes == 5124 && model->early_bytes == 40);
	site = &model->sites.at[2];
	CU_ASSERT(site->part == MODEL_EARLY && site->nr == 1 && site->figures.count == 4);
	CU_ASSERT_STRING_EQUAL(model->frames.at[model->early_frame].name,
			       "(allocated before attach)");
	CU_ASSERT_EQUAL(model->locations.at[model->path.at[site->first]].first, model->early_frame);
	CU_ASSERT_PTR_NULL_FATAL(make(&other, MODEL_NO_FREED, &unrecorded, 3));
	CU_ASSERT_EQUAL(other.model.sites.nr, 3);
	CU_ASSERT_STRING_EQUAL(other.model.frames.at[other.model.early_frame].name,
			       "(not recorded)");
	CU_ASSERT_PTR_NULL_FATAL(make(&cut, MODEL_ALL_FREED, &early, 1));
	CU_ASSERT(cut.model.sites.nr == 1 && cut.model.limited && cut.model.filtered);
	CU_ASSERT(cut.model.bytes == 5100 && cut.model.all_bytes == 5124);
}

TEST("has freed stacks")
{
	CLEANUP(made_free) struct made made = { 0 };
	const struct model *model = &made.model;
	const struct model_site *site;

	CU_ASSERT_PTR_NULL_FATAL(make(&made, MODEL_KEPT_FREED, &none, UINT64_MAX));
	CU_ASSERT(model->sites.nr == 3 && model->held == 2);
	site = &model->sites.at[2];
	CU_ASSERT(site->part == MODEL_FREED && site->figures.stack == gone);
	CU_ASSERT(!site->figures.bytes && site->figures.total == 1 &&
		  site->figures.total_bytes == 77 && site->figures.freed_bytes == 77);
}

/* A filter by name keeps stacks; one by what only blocks have keeps none without blocks. */
TEST("filters freed stacks")
{
	const char *by_name[] = { "function", "==", "x" }, *by_size[] = { "size", ">", "0" };
	CLEANUP(made_free) struct made named = { 0 }, sized = { 0 }, all = { 0 };

	CU_ASSERT_PTR_NULL_FATAL(filter_parse(3, by_name, 1u << FILTER_FUNCTION, &filter, NULL,
					      NULL));
	CU_ASSERT(filter_is_by_stack(&filter));
	CU_ASSERT_PTR_NULL_FATAL(make(&named, MODEL_KEPT_FREED, &none, UINT64_MAX));
	CU_ASSERT(named.model.sites.nr == 1 && named.model.filtered);
	filter_free(&filter);
	CU_ASSERT_PTR_NULL_FATAL(filter_parse(3, by_size, 1u << FILTER_SIZE, &filter, NULL, NULL));
	CU_ASSERT_FALSE(filter_is_by_stack(&filter));
	CU_ASSERT_PTR_NULL_FATAL(make(&sized, MODEL_KEPT_FREED, &none, UINT64_MAX));
	CU_ASSERT_EQUAL(sized.model.sites.nr, 2);
	CU_ASSERT_PTR_NULL_FATAL(make(&all, MODEL_ALL_FREED, &none, UINT64_MAX));
	CU_ASSERT_EQUAL(all.model.sites.nr, 3);
	filter_free(&filter);
	CU_ASSERT(filter_is_by_stack(&filter));
}

TEST("ends when cancelled")
{
	CLEANUP(made_free) struct made made = { 0 };
	struct err *err;

	cancel_request();
	err = make(&made, MODEL_NO_FREED, &none, UINT64_MAX);
	cancel_clear();
	CU_ASSERT_FATAL(err && err->code == ERR_CANCELLED);
	CU_ASSERT_EQUAL(made.model.sites.nr, 0);
}

