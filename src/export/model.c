/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the model of an export: sites, and their stacks with names (model.h). */

#include "export/model.h"

#include <inttypes.h>

#include "answer/own_frame.h"
#include "answer/stack.h"
#include "answer/stack_names.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "heap/interner.h"
#include "log/log.h"
#include "log/log_totals.h"
#include "os/procfs.h"
#include "report/progress.h"
#include "session/history.h"
#include "session/replay/session_replay.h"
#include "session/session.h"

/* Limits for damaged and hostile logs. Programs have fewer call sites, and fewer stacks. */
#define LOCATIONS_MOST	(1u << 20)
#define PATH_MOST	(1u << 24)

struct builder {
	const struct model_source *source;
	const struct log *log;
	struct symbols *symbols;
	enum symbol_names naming;
	struct stack_ends ends;
	struct stack_numbers numbers;
	VEC(uint32_t) added;		/* by number of a PC: its location + 1; 0: none yet */
	struct interner modules;	/* module's number among the symbols -> in the model */
	struct model *model;
};

static const char *keep_text(struct model *model, const char *text)
{
	char *copy = strdup(text);

	if (copy && vec_push(&model->texts, copy))
		free(take(copy));
	return copy;
}

/* Modules and frames */

static struct err *add_module(struct builder *builder, const struct symbol_place *place,
			      uint32_t *ret)
{
	struct model *model = builder->model;
	AUTO_STR struct str build_id = STR_INIT;
	struct err *err = interner_number(&builder->modules, place->number, ret);

	if (err || *ret < model->modules.nr)
		return err;
	err = symbol_file_build_id(place, &build_id);
	if (!err)
		err = str_add(&build_id, "");
	if (!err)
		err = vec_push(&model->modules, ((struct model_module){
			.path = place->path, .build_id = build_id.at,
			.start = place->start, .end = place->end, .bias = place->bias,
		}));
	if (!err)
		build_id = (struct str)STR_INIT;
	return err;
}

static struct err *add_place(struct builder *builder, struct model_location *location)
{
	struct symbol_place place;
	struct err *err;

	location->module = MODEL_NO_MODULE;
	if (!symbol_file_place(builder->symbols, location->code, location->generation, &place))
		return NULL;
	err = add_module(builder, &place, &location->module);
	location->offset = location->pc - place.bias;
	return err;
}

static struct err *add_frame(struct builder *builder, const struct symbol_frame *from,
			     struct stack_pc pc)
{
	struct model_frame frame = {
		.name = symbol_frame_name(from, builder->naming),
		.full = from->function,
		.linkage = from->linkage,
		.file = from->line > 0 ? from->file : NULL,
		.line = from->line > 0 ? from->line : 0,
		.into = from->inlined ? 0 : from->offset,
		.inlined = from->inlined,
		.skipped = frame_is_skipped(builder->source->session, from),
		.nameless = !from->function,
	};

	if (frame.name ? !*frame.name : frame.inlined)
		frame.name = "??";
	else if (!frame.name && from->place)
		frame.name = from->place;
	else if (!frame.name)
		frame.name = keep_text(builder->model, stack_text(builder->source->session,
								  builder->symbols, pc));
	if (!frame.name)
		return err_nomem;
	return vec_push(&builder->model->frames, frame);
}

static struct err *add_frames(struct builder *builder, struct stack_pc pc,
			      struct model_location *location)
{
	struct stack_functions at = stack_functions(builder->source->session, builder->symbols, pc);
	struct err *err = NULL;

	location->first = (uint32_t)builder->model->frames.nr;
	location->nr = (uint32_t)at.nr;
	location->entry = at.entry;
	if (at.entry)
		return vec_push(&builder->model->frames,
				((struct model_frame){ .name = at.entry, .full = at.entry }));
	for (size_t i = 0; !err && i < at.nr; i++)
		err = add_frame(builder, &at.frames[i], pc);
	return err;
}

/* Locations */

static struct err *add_location(struct builder *builder, struct stack_pc pc, uint32_t *ret)
{
	struct model *model = builder->model;
	struct model_location location = {
		.pc = pc.pc, .code = pc.pc - (!pc.entry && pc.pc), .generation = pc.generation,
	};
	uint32_t number = 0, *added;
	struct err *err = stack_number(&builder->numbers, pc, &number);

	added = err ? NULL : vec_slot(&builder->added, number);
	if (!added)
		return err_nomem;
	/* A PC of 0 is damage. It gets a new location each time. */
	if (*added && pc.pc) {
		*ret = *added - 1;
		return NULL;
	}
	if (model->locations.nr == LOCATIONS_MOST)
		return err_hint(err_create(ERR_RANGE, "more than %u addresses in stacks",
					   LOCATIONS_MOST), "a filter, or a limit, makes them fewer");
	err = add_place(builder, &location);
	if (!err)
		err = add_frames(builder, pc, &location);
	if (!err)
		err = vec_push(&model->locations, location);
	if (err)
		return err;
	*added = (uint32_t)model->locations.nr;
	*ret = *added - 1;
	return NULL;
}

/* Add a path of one frame that is no code. It takes the place of a stack that is not known. */
static struct err *add_no_stack(struct model *model, const char *name)
{
	struct model_location location = {
		.module = MODEL_NO_MODULE, .first = (uint32_t)model->frames.nr, .nr = 1,
	};
	struct err *err = vec_push(&model->frames, ((struct model_frame){ .name = name }));

	if (!err)
		err = vec_push(&model->locations, location);
	return err ? err : vec_push(&model->path, (uint32_t)model->locations.nr - 1);
}

static struct err *add_path(struct builder *builder, struct model_site *site)
{
	struct log_stack_view view = reader_stack(builder->log, site->figures.stack);
	struct model *model = builder->model;
	struct err *err = NULL;

	site->first = (uint32_t)model->path.nr;
	if (!view.nr)
		err = add_no_stack(model, site->figures.stack == LOG_STACK_NONE ? "(no stack)" :
				   "(the log is damaged: it has no such stack)");
	if (!err && model->path.nr + view.nr > PATH_MOST)
		err = err_hint(err_create(ERR_RANGE, "more than %u frames", PATH_MOST),
			       "a filter, or a limit, makes them fewer");
	for (uint32_t i = 0; !err && i < view.nr; i++) {
		uint32_t location = 0;

		err = add_location(builder, (struct stack_pc){ view.pcs[i], view.generation, !i },
				   &location);
		if (!err)
			err = vec_push(&model->path, location);
	}
	site->nr = (uint32_t)model->path.nr - site->first;
	if (view.nr && view.end != WALK_COMPLETE)
		site->end = stack_end_text(&builder->ends, view.end, view.pcs, view.nr);
	return err;
}

/* Sites */

static struct err *add_site(struct builder *builder, const struct site *figures,
			    enum model_part part)
{
	struct model *model = builder->model;
	struct model_site site = { .figures = *figures, .part = part };
	struct err *err = add_path(builder, &site);

	if (!err)
		err = vec_push(&model->sites, site);
	return err ? err : cancel_check();
}

static struct err *add_recorded(struct builder *builder)
{
	const struct sites *sites = builder->source->sites;
	struct model *model = builder->model;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < sites->vec.nr; i++) {
		err = add_site(builder, &sites->vec.at[i], MODEL_RECORDED);
		model->bytes += sites->vec.at[i].bytes;
		model->count += sites->vec.at[i].count;
		progress_step("resolving stacks", i, sites->vec.nr);
	}
	return err;
}

static struct err *add_early(struct builder *builder)
{
	const struct early *early = builder->source->early;
	struct model *model = builder->model;
	struct model_site site = { .part = MODEL_EARLY, .first = (uint32_t)model->path.nr, .nr = 1 };
	struct err *err;

	model->early_frame = (uint32_t)model->frames.nr;
	err = add_no_stack(model, no_stack_text(early->unrecorded));
	if (err || !early->count || model->sample || model->sites.nr >= builder->source->limit)
		return err;
	site.figures.bytes = model->early_bytes = early->bytes;
	site.figures.count = model->early_count = early->count;
	model->bytes += early->bytes;
	model->count += early->count;
	return vec_push(&model->sites, site);
}

/* The largest all-time sum comes first. */
COMPARE_BY(by_total, struct site, x, COMPARE_KEYS(~x->total_bytes, x->stack))

struct site_list {
	VEC(struct site) vec;
};

/* These stacks hold nothing now: what they held at the earlier moment counts as shrunk. */
static struct err *shrink_freed(const struct builder *builder, struct site_list *list)
{
	uint32_t nr = reader_stacks(builder->log) + 1;
	AUTO_FREE int64_t *then = calloc(nr, sizeof(*then));

	if (!then)
		return err_nomem;
	vec_each(sum, &builder->source->since->vec) {
		uint32_t stack = sum->stack < nr ? log_deferred_whole(builder->log,
								      sum->stack) : nr;

		if (stack < nr)
			then[stack] += (int64_t)sum->bytes;
	}
	vec_each(site, &list->vec)
		if (site->stack < nr)
			site->growth = -then[site->stack];
	return NULL;
}

/* List the stacks that are not among the sites: those that have had blocks, or all. */
static struct err *list_freed(const struct builder *builder, const struct log_totals *totals,
			      struct site_list *ret)
{
	const struct model_source *source = builder->source;
	AUTO_FREE bool *held = calloc((size_t)totals->nr + 1, sizeof(*held));
	struct err *err = held ? NULL : err_nomem;

	for (size_t i = 0; !err && i < source->sites->vec.nr; i++) {
		/* A stack may have become a whole one since (log/log_deferred.h). */
		uint32_t stack = log_deferred_whole(builder->log, source->sites->vec.at[i].stack);

		if (stack < totals->nr)
			held[stack] = true;
	}
	for (uint32_t stack = 1; !err && stack < totals->nr; stack++) {
		struct sample_share all = totals->at[stack];
		const struct block any = { .stack = stack };

		if (!held[stack] && (source->freed == MODEL_ALL_FREED ||
		    (all.blocks && filter_matches(source->filter, source->env, &any))))
			err = vec_push(&ret->vec, ((struct site){
				.key = stack, .stack = stack, .total = all.blocks,
				.total_bytes = all.bytes, .freed = all.blocks,
				.freed_bytes = all.bytes }));
	}
	if (!err && source->since)
		err = shrink_freed(builder, ret);
	vec_sort(&ret->vec, by_total);
	return err;
}

static struct err *all_time(const struct model_source *source, struct log_totals *ret)
{
	struct session *session = source->session;
	struct err *err;

	if (session_replay_is(session))
		return session_replay_totals(session, source->now_ns, ret);
	session_deferred_fix(session);
	err = session_agent_totals(session, ret);
	session_deferred_release(session);
	return err;
}

static struct err *add_freed(struct builder *builder)
{
	const struct model_source *source = builder->source;
	struct site_list list = { VEC_INIT };
	struct log_totals totals;
	struct err *err;

	if (!source->freed || builder->model->limited ||
	    (source->freed == MODEL_KEPT_FREED && !filter_is_by_stack(source->filter)))
		return NULL;
	err = all_time(source, &totals);
	if (err)
		return err;
	err = list_freed(builder, &totals, &list);
	for (size_t i = 0; !err && i < list.vec.nr &&
	     builder->model->sites.nr < source->limit; i++)
		err = add_site(builder, &list.vec.at[i], MODEL_FREED);
	vec_free(&list.vec);
	log_totals_free(&totals);
	return err;
}

/* Get the target's command line, with blanks between its words; "" if it cannot be read. */
static struct err *command_line(struct session *session, char **ret)
{
	enum session_state state = session_state(session);
	AUTO_FREE char *text = NULL;
	size_t len = 0;

	if ((state == SESSION_RUNNING || state == SESSION_STOPPED) &&
	    !procfs_file(session_pid(session), "cmdline", &text, &len)) {
		for (size_t i = 0; i + 1 < len; i++)
			if (!text[i])
				text[i] = ' ';
		/* setproctitle() pads the command line with blanks and zeros; drop these. */
		while (len && (!text[len - 1] || text[len - 1] == ' '))
			text[--len] = '\0';
	}
	*ret = text ? take(text) : strdup("");
	return *ret ? NULL : err_nomem;
}

/* A container has other paths than mdbg. So a module with the same last part will do. */
static uint32_t find_program(const struct model *model, struct session *session)
{
	AUTO_FREE char *exe = NULL;
	uint32_t found = MODEL_NO_MODULE;

	if (procfs_link(session_pid(session), "exe", &exe))
		return found;
	for (uint32_t i = 0; i < model->modules.nr; i++) {
		const char *path = model->modules.at[i].path;

		if (!strcmp(path, exe))
			return i;
		if (!strcmp(path_base(path), path_base(exe)))
			found = i;
	}
	return found;
}

/* A recording says itself of which process it is, and when it began. */
static struct err *describe_recorded(struct session *session, struct model *model)
{
	struct session_replay_process process;
	const char *command = NULL;

	model->since_ns = session_history(session)->history.samples.at->time_ns;
	if (session_replay_process(session, &process)) {
		model->pid = process.pid;
		command = process.command.bytes;
	}
	model->command = strdup(command ? command : "");
	return model->command ? NULL : err_nomem;
}

static struct err *describe(const struct model_source *source, struct model *model)
{
	struct session *session = source->session;
	const struct log *log = session_log(session);

	model->limited = source->sites->vec.nr >= source->limit;
	model->filtered = model->limited || source->filter->conds.nr;
	model->blocks = source->blocks;
	model->all_bytes = source->sites->bytes;
	model->all_count = source->sites->count;
	model->now_ns = source->now_ns;
	model->past = !source->sites->all_time;
	model->pinned = source->pinned;
	model->since_ns = log_clock_realtime(log, log_clock_begin(log));
	model->growth_ns = source->sites->growth_ns;
	model->sample = source->unit ? 0 : log_config(log).sample;
	model->unit = source->unit ? source->unit : "blocks";
	model->of = source->of;
	model->all_time = source->all_time;
	model->pid = session_pid(session);
	model->allocator = session_allocator(session);
	model->log = log;
	model->pids = session_pids(session);
	model->options = strdup(source->options);
	if (!model->options)
		return err_nomem;
	return session_replay_is(session) ? describe_recorded(session, model) :
					    command_line(session, &model->command);
}

static struct err *add_mark(struct model *model, const struct mark *mark)
{
	const char *name;

	if (mark->stale)
		return NULL;
	name = keep_text(model, mark->name);
	return name ? vec_push(&model->marks, ((struct model_mark){
		name, mark->time_ns, mark->bytes, mark->count })) : err_nomem;
}

/* The history of this log, and its marks. */
static struct err *add_history(struct builder *builder)
{
	const struct log_history *log = session_history(builder->source->session);
	struct model *model = builder->model;
	struct err *err = NULL;

	for (size_t i = 0; log && !err && i < log->history.samples.nr; i++) {
		const struct history_sample *sample = &log->history.samples.at[i];

		/* A recording goes on behind its cursor. */
		if (session_replay_is(builder->source->session) && sample->time_ns > model->now_ns)
			break;
		err = vec_push(&model->samples, ((struct model_sample){
			sample->time_ns, sample->bytes, sample->count, sample->rss,
			sample->moment.older.bytes,
			sample->moment.older.known ? sample->moment.older.unsized : UINT64_MAX,
			history_gap_before(&log->history, i) }));
	}
	for (size_t i = 0; log && !err && i < log->marks.vec.nr; i++)
		err = add_mark(model, &log->marks.vec.at[i]);
	return err;
}

static struct err *build(struct builder *builder)
{
	struct err *err = describe(builder->source, builder->model);

	if (!err)
		err = add_history(builder);
	if (!err)
		err = add_recorded(builder);
	if (!err)
		err = add_early(builder);
	builder->model->held = builder->model->sites.nr;
	if (!err)
		err = add_freed(builder);
	builder->model->program = find_program(builder->model, builder->source->session);
	return err;
}

struct err *model_build(const struct model_source *source, struct model *ret)
{
	struct builder builder = {
		.source = source,
		.log = session_log(source->session),
		.symbols = session_symbols(source->session),
		.naming = session_naming(source->session)->names,
		.ends = { .session = source->session },
		.modules = INTERNER_INIT,
		.model = ret,
	};
	struct err *err;

	memset(ret, 0, sizeof(*ret));
	err = build(&builder);
	stack_numbers_free(&builder.numbers);
	vec_free(&builder.added);
	interner_free(&builder.modules);
	if (err)
		model_free(ret);
	return err;
}

void model_free(struct model *model)
{
	vec_free(&model->frames);
	vec_free(&model->locations);
	vec_each(module, &model->modules)
		free(module->build_id);
	vec_free(&model->modules);
	vec_free(&model->path);
	vec_free(&model->sites);
	vec_free(&model->samples);
	vec_free(&model->marks);
	vec_each_value(text, &model->texts)
		free(text);
	vec_free(&model->texts);
	free(take(model->command));
	free(take(model->options));
}

/* Stacks */

struct err *model_stack_get(const struct model *model, const struct model_site *site,
			    struct model_stack *ret)
{
	struct err *err = NULL;

	vec_clear(&ret->vec);
	for (uint32_t i = 0; i < site->nr && !err; i++) {
		const struct model_location *location =
			&model->locations.at[model->path.at[site->first + i]];

		for (uint32_t j = 0; j < location->nr && !err; j++)
			err = vec_push(&ret->vec, ((struct model_step){
				location, &model->frames.at[location->first + j] }));
	}
	return err;
}

/* How many of the first steps are the allocator's own function; 0 if it has no caller. */
static size_t entry_of(const struct model_stack *stack)
{
	return stack->vec.nr > 1 && stack->vec.at[0].location->entry ? 1 : 0;
}

static enum own_kind kind_of(const struct model_frame *frame)
{
	if (frame->skipped)
		return OWN_WRAPPER;
	return frame->nameless ? OWN_NAMELESS : OWN_NAMED;
}

size_t model_stack_first(const struct model *model, const struct model_stack *stack)
{
	size_t entry = entry_of(stack), own;
	struct own_search search = OWN_SEARCH_INIT;

	for (size_t i = 0; i < stack->vec.nr; i++) {
		const struct model_step *step = &stack->vec.at[i];
		uint32_t module = step->location->module;

		if (!own_frame_next(&search, i < entry ? OWN_ENTRY : kind_of(step->frame),
				    module == MODEL_NO_MODULE ? NULL :
					path_base(model->modules.at[module].path)))
			break;
	}
	own = own_frame_end(&search);
	return own == OWN_NONE ? entry : own;
}

const struct model_step *model_stack_own(const struct model *model, const struct model_stack *stack)
{
	return &stack->vec.at[model_stack_first(model, stack)];
}
