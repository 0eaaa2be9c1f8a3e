/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc sites` and `malloc stale`. */

#include "answer/site_rows.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text_set.h"
#include "log/log.h"
#include "session/session.h"

#define IS(kind, member)	COLUMN(kind, struct site_row, member)
#define ALL_TIME		COLUMN_WITH(struct site_row, all_time)
#define RATED			COLUMN_WITH(struct site_row, rated)
#define AGED			COLUMN_WITH(struct site_row, aged)
#define GROWN			COLUMN_WITH(struct site_row, grown)

static const struct column site_columns[] = {
	{ "label", "SITE", "the name of the site; empty by stack", IS(TEXT, label),
	  .flags = COLUMN_EMPTY | COLUMN_NOT_EXPORTED },
	{ "bytes", ">BYTES", "held", IS(BYTES, site.bytes), .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", "held", IS(NUMBER, site.count), .flags = COLUMN_BRIEF },
	{ "total", ">TOTAL", "blocks of all time; 0 by thread and size, where it is not known",
	  IS(NUMBER, site.total), ALL_TIME },
	{ "totalbytes", NULL, NULL, IS(BYTES, site.total_bytes), ALL_TIME },
	{ "freed", ">FREED", "of total", IS(NUMBER, site.freed), ALL_TIME },
	{ "freedbytes", NULL, "of totalbytes", IS(BYTES, site.freed_bytes), ALL_TIME },
	{ "callrate", ">CALLS/S", "of total, a second since recording began", IS(REAL, site.call_rate),
	  RATED, .flags = COLUMN_NOT_EXPORTED },
	{ "oldest", ">OLDEST", "age in seconds", IS(AGE, site.oldest), AGED },
	{ "median", NULL, "age in seconds", IS(AGE, site.median), AGED },
	{ "growth", ">GROWTH", "of bytes, signed", IS(CHANGE, site.growth), GROWN,
	  .flags = COLUMN_BRIEF },
	{ "rate", NULL, "growth a second", IS(REAL, site.rate), GROWN },
	{ "over", NULL, "the seconds that growth is over", IS(REAL, over), GROWN,
	  .flags = COLUMN_SAME },
	{ "stack", NULL, "for mdbg::frames", IS(STACK, site.stack) },
	{ "function", "FUNCTION", "that of the line `in NAME` of `malloc sites`", IS(TEXT, function),
	  .flags = COLUMN_BRIEF | COLUMN_EMPTY | COLUMN_NOT_EXPORTED },
	{ "caller", NULL, "the first function with a name behind one without", IS(TEXT, caller),
	  .flags = COLUMN_EMPTY | COLUMN_NOT_EXPORTED },
};

const struct relation site_relation = RELATION("sites", site_columns, struct site_row);

/* What is known is the same of all sites of an answer: it is no matter of a row of struct site. */
struct err *sites_order(struct sites *sites, const struct answer_order *order)
{
	struct column by = order->by ? *order->by : (struct column){ .key = NULL };
	struct answer_order plain = *order;
	size_t left;
	struct err *err;

	by.with_size = 0;
	plain.by = order->by ? &by : NULL;
	err = answer_sort(&plain, sites->vec.at, sites->vec.nr, sizeof(*sites->vec.at), &left);
	sites->vec.nr = left;
	return err;
}

struct site_row site_row_of(const struct sites *sites, const struct site *site)
{
	return (struct site_row){
		.site = *site,
		.over = (double)sites->growth_ns / 1e9,
		.all_time = sites->all_time,
		.rated = sites->all_time,
		.aged = !sites->past,
		.grown = sites->growth_ns,
	};
}

/* "line history.c:42"; a frame without a line is named by its function. */
static struct err *line_label(const struct stack_names *names, uint64_t key, struct str *ret)
{
	int line = stack_names_line(names, key);
	const char *name = stack_names_name(names, key);

	if (line)
		return str_addf(ret, "line %s:%d", name, line);
	if (!key)
		return str_addf(ret, "line %s", name);
	return str_addf(ret, "function %s, line not known", name);
}

static struct err *heap_label(uint16_t heap, struct str *ret)
{
	const char *name = block_heap_name(heap);

	if (heap == LOG_HEAP_UNKNOWN)
		return str_add(ret, "heap (unknown)");
	return name ? str_addf(ret, "heap %s", name) : str_addf(ret, "heap %u", heap);
}

struct err *site_label(const struct stack_names *names, enum site_by by, const struct site *site,
		       struct str *ret)
{
	struct log_thread_view thread;

	switch (by) {
	case SITE_STACK:
		return NULL;
	case SITE_FUNCTION:
		return str_addf(ret, "function %s", stack_names_name(names, site->key));
	case SITE_LINE:
		return line_label(names, site->key, ret);
	case SITE_MODULE:
		return str_addf(ret, "module %s", stack_names_name(names, site->key));
	case SITE_SIZE:
		return str_addf(ret, "blocks of %" PRIu64 " bytes", site->key);
	case SITE_HEAP:
		return heap_label((uint16_t)site->key, ret);
	case SITE_PROCESS:
		return str_addf(ret, "process %d",
				session_pids(names->session)[site->key % LOG_PROCESSES]);
	case SITE_THREAD:
		break;
	}
	thread = reader_thread(session_log(names->session), (uint32_t)site->key);
	return thread.lwp ? str_addf(ret, "thread %u", thread.lwp) :
			    str_add(ret, "thread (unknown)");
}

/* Sites with their names, in memory. */
struct named_sites {
	struct sites sites;
	struct text_set texts;
	/* by site; no labels by stack; no callers of brief rows */
	VEC(const char *) labels, functions, callers;
	size_t done;
	struct site_row row;
};

static void named_sites_free(void *ctx)
{
	struct named_sites *named = ctx;

	vec_free(&named->labels);
	vec_free(&named->functions);
	vec_free(&named->callers);
	text_set_free(&named->texts);
	sites_free(&named->sites);
	free(named);
}

static struct err *next_site(void *ctx, const void **ret)
{
	struct named_sites *named = ctx;
	size_t i = named->done;

	*ret = NULL;
	if (i == named->sites.vec.nr)
		return NULL;
	named->row = site_row_of(&named->sites, &named->sites.vec.at[i]);
	named->row.label = named->labels.nr ? named->labels.at[i] : NULL;
	named->row.function = named->functions.at[i];
	named->row.caller = named->callers.nr ? named->callers.at[i] : NULL;
	named->done++;
	*ret = &named->row;
	return NULL;
}

static struct err *take_label(const struct stack_names *names, enum site_by by,
			      const struct site *site, struct named_sites *named)
{
	AUTO_STR struct str text = STR_INIT;
	const char *label = "";
	struct err *err = site_label(names, by, site, &text);

	if (!err)
		err = text_set_keep(&named->texts, str_text(&text), &label);
	return err ? err : vec_push(&named->labels, label);
}

/* Take the function that the site is named after, and its caller; NULL: it has none. */
static struct err *take_function(struct stack_names *names, const struct site *site,
				 struct named_sites *named)
{
	enum symbol_names form = session_naming(names->session)->names;
	const char *function = NULL, *caller = NULL;
	struct err *err = NULL;
	struct stack_own own;

	if (stack_names_own(names, site->stack, &own)) {
		err = text_set_keep(&named->texts, stack_names_function(&own.frame, form), &function);
		if (!err && own.caller.pc)
			err = text_set_keep(&named->texts, stack_names_function(&own.caller, form),
					    &caller);
	}
	if (!err)
		err = vec_push(&named->functions, function);
	return err ? err : vec_push(&named->callers, caller);
}

/* The name of a site in one line. */
static struct err *take_headline(struct stack_names *names, const struct site *site,
				 struct named_sites *named)
{
	AUTO_STR struct str text = STR_INIT;
	const char *function = NULL;
	struct err *err;

	if (named->labels.nr) {
		err = str_add(&text, named->labels.at[named->functions.nr]);
		if (!err)
			err = stack_names_caller(names, site->stack, ", most of it called by ", &text);
	} else {
		err = stack_names_headline(names, site->stack, &text);
	}
	if (!err && text.len)
		err = text_set_keep(&named->texts, str_text(&text), &function);
	return err ? err : vec_push(&named->functions, function);
}

struct err *site_rows(struct stack_names *names, enum site_by by, bool brief, struct sites *sites,
		      struct answer *ret)
{
	struct named_sites *named = calloc(1, sizeof(*named));
	struct err *err = NULL;

	if (!named)
		return err_nomem;
	named->sites = *sites;
	memset(sites, 0, sizeof(*sites));
	*ret = (struct answer){ .of = &site_relation, .nr = named->sites.vec.nr, .next = next_site,
			      .free = named_sites_free, .ctx = named };
	for (size_t i = 0; !err && i < named->sites.vec.nr; i++) {
		if (by != SITE_STACK)
			err = take_label(names, by, &named->sites.vec.at[i], named);
		if (!err)
			err = (brief ? take_headline : take_function)(
				names, &named->sites.vec.at[i], named);
	}
	if (err)
		answer_free(ret);
	return err;
}
