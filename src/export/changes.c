/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes a model of the changes between two moments, or two models (changes.h). */

#include "export/changes.h"

#include <string.h>

#include "base/cleanup.h"
#include "export/compare.h"
#include "export/model.h"
#include "heap/early.h"
#include "heap/filter.h"
#include "log/log.h"
#include "session/session.h"

static uint64_t between(uint64_t from_ns, uint64_t to_ns)
{
	uint64_t ns = MAX(from_ns, to_ns) - MIN(from_ns, to_ns);

	/* 0 would mean that growth is not known. */
	return MAX(ns, 1ull);
}

static struct site site_of(const struct change *change)
{
	return (struct site){
		.key = change->to, .stack = change->to, .bytes = (uint64_t)change->bytes,
		.count = (uint64_t)change->count, .growth = change->bytes,
	};
}

/* Moments */

/* Add what was allocated to the sites of the same stacks, and the other stacks behind them. */
static struct err *add_allocated(const struct difference *allocated, uint32_t stacks,
				 struct sites *sites)
{
	AUTO_FREE uint32_t *by_stack = calloc((size_t)stacks + 1, sizeof(*by_stack));
	struct err *err = by_stack ? NULL : err_nomem;

	if (err)
		return err;
	for (uint32_t i = 0; i < sites->vec.nr; i++)
		if (sites->vec.at[i].stack <= stacks)
			by_stack[sites->vec.at[i].stack] = i + 1;
	vec_each_while(change, &allocated->vec, !err) {
		uint32_t *site = change->to <= stacks ? &by_stack[change->to] : NULL;

		if (!site)
			continue;
		if (!*site) {
			err = vec_push(&sites->vec, ((struct site){ .key = change->to,
								    .stack = change->to }));
			*site = (uint32_t)sites->vec.nr;
		}
		if (err)
			break;
		sites->vec.at[*site - 1].total_bytes = (uint64_t)change->bytes;
		sites->vec.at[*site - 1].total = (uint64_t)change->count;
	}
	return err;
}

static struct err *list_sites(const struct changes_source *source, struct sites *sites)
{
	struct err *err = NULL;

	sites->growth_ns = between(source->from_ns, source->to_ns);
	sites->all_time = source->allocated;
	vec_each_while(change, &source->held->vec, !err) {
		err = vec_push(&sites->vec, site_of(change));
		sites->bytes += (uint64_t)change->bytes;
		sites->count += (uint64_t)change->count;
	}
	if (err || !source->allocated)
		return err;
	return add_allocated(source->allocated, reader_stacks(session_log(source->session)), sites);
}

struct err *changes_of_moments(const struct changes_source *source, struct model *ret)
{
	CLEANUP(sites_free) struct sites sites = SITES_INIT;
	const struct filter none = { VEC_INIT };
	const struct early early = { 0 };
	struct err *err = list_sites(source, &sites);

	if (!err)
		err = model_build(&(struct model_source){
			.session = source->session, .sites = &sites, .now_ns = source->to_ns,
			.limit = UINT64_MAX, .early = &early, .filter = &none,
			.options = source->options, .of = FLAME_GROWTH,
		}, ret);
	if (err)
		return err;
	ret->changes = true;
	for (size_t i = 0; i < source->held->vec.nr; i++)
		ret->sites.at[i].from_bytes = source->held->vec.at[i].from_bytes;
	return NULL;
}

/* Models */

/* Where the parts of one of the two models begin in the whole. */
struct base {
	uint32_t frames, locations, modules;
};

static struct err *add_modules(const struct model *from, struct model *to)
{
	struct err *err = NULL;

	vec_each_while(module, &from->modules, !err) {
		struct model_module copy = *module;

		copy.build_id = strdup(module->build_id);
		err = copy.build_id ? vec_push(&to->modules, copy) : err_nomem;
		if (err)
			free(copy.build_id);
	}
	return err;
}

static struct err *add_parts(const struct model *from, struct model *to, struct base *base)
{
	struct err *err;

	*base = (struct base){ (uint32_t)to->frames.nr, (uint32_t)to->locations.nr,
			       (uint32_t)to->modules.nr };
	err = add_modules(from, to);
	vec_each_while(frame, &from->frames, !err)
		err = vec_push(&to->frames, *frame);
	vec_each_while(location, &from->locations, !err) {
		struct model_location copy = *location;

		copy.first += base->frames;
		if (copy.module != MODEL_NO_MODULE)
			copy.module += base->modules;
		err = vec_push(&to->locations, copy);
	}
	return err;
}

static struct err *add_change(const struct compare *compare, const struct change *change,
			      const struct base bases[2], struct model *to)
{
	const struct model *model;
	const struct model_site *from = compare_site(compare, change, &model);
	const struct base *base = &bases[model == compare->to.model];
	struct model_site site = {
		.figures = site_of(change), .first = (uint32_t)to->path.nr, .nr = from->nr,
		.end = from->end, .from_bytes = change->from_bytes,
	};
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < from->nr; i++)
		err = vec_push(&to->path, model->path.at[from->first + i] + base->locations);
	to->bytes += site.figures.bytes;
	to->count += site.figures.count;
	return err ? err : vec_push(&to->sites, site);
}

static void describe(const struct compare *compare, const struct base *base, struct model *ret)
{
	const struct model *to = compare->to.model;

	ret->changes = ret->past = true;
	ret->held = ret->sites.nr;
	ret->now_ns = to->now_ns;
	ret->since_ns = to->since_ns;
	ret->growth_ns = between(compare->from.model->now_ns, to->now_ns);
	ret->sample = MAX(compare->from.model->sample, to->sample);
	ret->of = FLAME_GROWTH;
	ret->unit = "blocks";
	ret->pid = to->pid;
	ret->allocator = to->allocator;
	ret->program = to->program == MODEL_NO_MODULE ? MODEL_NO_MODULE :
							to->program + base->modules;
}

struct err *changes_of_models(const struct compare *compare, const char *options, struct model *ret)
{
	struct base bases[2];
	struct err *err;

	memset(ret, 0, sizeof(*ret));
	err = add_parts(compare->from.model, ret, &bases[0]);
	if (!err)
		err = add_parts(compare->to.model, ret, &bases[1]);
	vec_each_while(change, &compare->difference.vec, !err)
		err = add_change(compare, change, bases, ret);
	ret->command = strdup(compare->to.model->command);
	ret->options = strdup(options);
	describe(compare, &bases[1], ret);
	if (!err && (!ret->command || !ret->options))
		err = err_nomem;
	if (err)
		model_free(ret);
	return err;
}
