/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sites of a log, without a stop; no block is kept. */

#include "heap/site.h"

struct adding {
	const struct filter *filter;
	const struct filter_env *env;
	uint64_t mean;
	struct site_sums *sums;
	struct live_counts live;
};

static struct err *add(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct adding *adding = ctx;

	live_counts_add(&adding->live, adding->mean, block);
	if (!filter_matches(adding->filter, adding->env, block))
		return NULL;
	return site_sums_add(adding->sums, block);
}

struct err *sites_from_log(const struct filter_env *env, const struct filter *filter,
			   const struct in_hand *in_hand, const struct site_spec *spec,
			   struct sites *ret)
{
	struct adding adding = { .filter = filter, .env = env,
				 .mean = log_config(env->log).sample };
	struct err *err = site_sums_create(env->log, spec, env->now_ns, &adding.sums);

	if (err)
		return err;
	err = live_counts_init(env->log, &adding.live);
	if (!err)
		err = blocks_each(env->log, in_hand, add, &adding);
	if (!err)
		err = site_sums_end(adding.sums, &adding.live, ret);
	site_sums_free(adding.sums);
	vec_free(&adding.live);
	return err;
}
