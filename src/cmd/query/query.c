/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parse the words of lists of blocks, and make the answer; what all questions share. */

#include "cmd/query/query.h"

#include <stdio.h>

#include "answer/wrapper.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "report/blocks.h"
#include "report/lack_text.h"
#include "report/leak_text.h"
#include "report/rows_text.h"
#include "report/stood_text.h"
#include "session/history.h"
#include "session/session.h"

#define CHUNK_ATTRS	(1u << FILTER_ADDRESS | 1u << FILTER_SIZE | 1u << FILTER_HEAP)

/*
 * The number of words that belong together. Tcl does not know 'single quotes', so a quoted text
 * comes as several words, up to the one that has the closing quote.
 */
static int quoted_words(int argc, const char *const *argv)
{
	int nr;

	if (argv[0][0] != '\'')
		return 1;
	for (nr = 1; nr <= argc; nr++) {
		size_t len = strlen(argv[nr - 1]);

		if (len && argv[nr - 1][len - 1] == '\'' && (nr > 1 || len > 1))
			return nr;
	}
	return 1;
}

static struct err *take_word(struct query *query, int nr, const char *const *words)
{
	AUTO_STR struct str word = STR_INIT;
	struct err *err = NULL;

	for (int i = 0; !err && i < nr; i++)
		err = str_addf(&word, "%s%s", i ? " " : "", words[i]);
	if (err)
		return err;
	if (word.len > 1 && word.at[0] == '\'' && word.at[word.len - 1] == '\'') {
		memmove(word.at, word.at + 1, word.len - 2);
		word.at[word.len - 2] = '\0';
	}
	query->argv[query->argc++] = take(word.at);
	return NULL;
}

static struct err *take_words(const struct call *call, struct query *query)
{
	struct err *err = NULL;
	int i, nr;

	query->argv = calloc((size_t)call->argc + 1, sizeof(*query->argv));
	if (!query->argv)
		return err_nomem;
	for (i = 0; !err && i < call->argc; i += nr) {
		nr = quoted_words(call->argc - i, call->argv + i);
		err = take_word(query, nr, call->argv + i);
	}
	return err;
}

struct err *query_begin_unlogged(const struct call *call, struct query *query)
{
	memset(query, 0, sizeof(*query));
	query->order.limit = UINT64_MAX;
	stack_names_init(&query->names, call->session);
	return take_words(call, query);
}

static struct err *begin(const struct call *call, struct err *(*need)(const struct call *call),
			 struct query *query)
{
	struct err *err = query_begin_unlogged(call, query);

	if (!err)
		err = need(call);
	if (err)
		return err;
	/*
	 * Ages are counted by the clock that the blocks' times are from; by another clock the
	 * newest blocks would be from the future.
	 */
	query->now_ns = session_history_now(call->session);
	wrapper_find(call->session);
	return NULL;
}

struct err *query_begin(const struct call *call, struct query *query)
{
	return begin(call, call_need_log, query);
}

struct err *query_begin_recorded(const struct call *call, struct query *query)
{
	return begin(call, call_need_recording, query);
}

struct err *query_begin_moments(const struct call *call, struct query *query)
{
	return begin(call, call_need_moments, query);
}

void query_free(struct query *query)
{
	while (query->argc)
		free(query->argv[--query->argc]);
	free(query->argv);
	moments_chosen_free(&query->since);
	moments_chosen_free(&query->at);
	sites_free(&query->sites);
	leak_marks_free(&query->found);
	leaks_free(&query->leaks);
	suppressed_stack_free(&query->suppress);
	block_list_free(query->list);
	blocks_free(&query->blocks);
	heaps_free(&query->heap);
	typed_blocks_free(&query->typed);
	stack_names_free(&query->names);
	filter_free(&query->filter);
}

struct filter_env query_env(const struct call *call, struct query *query)
{
	return (struct filter_env){
		.log = session_log(call->session),
		.pids = session_pids(call->session),
		.now_ns = query->now_ns,
		.stack_matches = stack_names_match,
		.ctx = &query->names,
		.type_matches = typed_blocks_match,
		.types = &query->typed,
	};
}

struct err *query_typed(const struct call *call, bool column, struct query *query)
{
	bool needed = filter_is_typed(&query->filter);
	struct err *err = needed || column ? call_need_view(call) : NULL;

	if (!err && (needed || column))
		err = typed_blocks_take(&query->names, &query->typed);
	if (!err || needed || err->code == ERR_CANCELLED || err->code == ERR_NOMEM)
		return err;
	typed_blocks_free(&query->typed);
	snprintf(query->untyped, sizeof(query->untyped), "%.255s", err->msg);
	return NULL;
}

void query_print_untyped(const struct query *query, struct out *out)
{
	if (*query->untyped)
		out_f(out, "Types are not known: %s\n", query->untyped);
}

struct err *query_add_notes(const struct call *call, const struct query *query, bool search,
			    struct answer *ret)
{
	AUTO_STR struct str text = STR_INIT;
	struct out out;
	struct err *err;

	if (!call->out)
		return NULL;
	err = out_init_text(&out, &text);
	if (err)
		return err;
	if (search)
		leak_text_print_doubts(&query->found, &out);
	else
		blocks_print_heap_notes(&query->heap, &out);
	query_print_untyped(query, &out);
	err = out_finish(&out);
	if (!err)
		ret->notes = take(text.at);
	return err;
}

struct err *query_print_rows(struct call *call,
			     struct err *(*rows)(struct call *call, struct answer *ret))
{
	CLEANUP(stack_names_free) struct stack_names names;
	struct answer answer = { .nr = 0 };
	struct err *err = rows(call, &answer);

	stack_names_init(&names, call->session);
	if (!err)
		return rows_text_print(&answer, &names, call->out);
	answer_free(&answer);
	return err;
}

struct err *query_print_brief(struct call *call,
			      struct err *(*rows)(struct call *call, struct answer *ret))
{
	CLEANUP(stack_names_free) struct stack_names names;
	CLEANUP(answer_free) struct answer answer = { .nr = 0 };
	struct err *err = rows(call, &answer);
	AUTO_FREE char *notes = take(answer.notes);
	uint64_t nr = answer.nr;

	stack_names_init(&names, call->session);
	if (!err)
		err = rows_text_print(&answer, &names, call->out);
	if (err)
		return err;
	out_f(call->out, "\n%s%" PRIu64 " rows\n", notes ? notes : "", nr);
	stood_text_print(call->out, session_stood(call->session), "");
	return session_log(call->session) ? lack_text_print(call->session, call->out) : NULL;
}

struct err *query_warn_of_nobody(const struct call *call, struct stack_names *names,
				 const struct filter *filter)
{
	const struct filter_cond *cond = call->out ? stack_names_nobody(names, filter) : NULL;
	AUTO_STR struct str text = STR_INIT;
	struct err *err;

	if (!cond)
		return NULL;
	err = str_addf(&text, "no recorded stack has a %s that matches %s",
		       cond->attr == FILTER_MODULE ? "module" : "function", cond->glob);
	if (!err)
		terminal_warning(&call->shell->terminal, str_text(&text), "");
	return err;
}

struct block_source query_source(const struct call *call, struct query *query)
{
	return (struct block_source){
		.log = session_log(call->session),
		.pids = session_pids(call->session),
		.now_ns = query->now_ns,
		.list = query->list,
		.names = call->brief ? &query->names : NULL,
		.typed = query->typed.taken ? &query->typed : NULL,
	};
}

/* The list is made by list_at, at the moment of the walk. */
struct listing {
	struct query *query;
	struct list_source source;
};

static struct err *list_at(void *ctx, const struct heaps *heap,
			   const struct session_heap_moment *moment)
{
	struct listing *listing = ctx;

	listing->source.log = moment->log;
	listing->source.in_hand = moment->in_hand;
	listing->source.moment = moment->until == UINT64_MAX ? 0 : moment->until;
	listing->source.walk = heap->walked ? &heap->walk : NULL;
	listing->source.process = heap->process;
	listing->source.complete = heap->complete;
	return block_list_create(&listing->source, &listing->query->list);
}

static struct err *query_list(const struct call *call, struct query *query, enum list_of of,
			      uint32_t attrs)
{
	struct err *err = query_begin(call, query);
	struct listing listing = {
		.query = query,
		.source = { .of = of, .filter = &query->filter, .order = &query->order },
	};
	const struct session_heap_look at = { list_at, &listing };

	if (!err)
		err = filter_parse(query->argc, (const char *const *)query->argv, attrs,
				   &query->filter, &query->order, NULL);
	if (!err)
		err = query_typed(call, of == LIST_BLOCKS && call->verbose, query);
	if (err)
		return err;
	listing.source.env = query_env(call, query);
	return session_heap(call->session, SESSION_HEAP_WALK, &at, &query->heap);
}

struct err *query_blocks(const struct call *call, struct query *query)
{
	struct err *err = query_list(call, query, LIST_BLOCKS, FILTER_ALL);

	return err ? err : query_warn_of_nobody(call, &query->names, &query->filter);
}

struct err *query_free_chunks(const struct call *call, struct query *query)
{
	struct err *err = query_list(call, query, LIST_FREE, CHUNK_ATTRS);

	if (!err && !query->heap.walked)
		err = err_create(ERR_UNSUPPORTED, "%s", query->heap.why);
	return err;
}

struct err *query_walk(const struct call *call, bool blocks, struct query *query)
{
	struct listing listing = {
		.query = query,
		.source = { .of = LIST_BLOCKS, .filter = &query->filter, .order = &query->order,
			    .env = query_env(call, query) },
	};
	const struct session_heap_look at = { list_at, &listing };

	return session_heap(call->session, SESSION_HEAP_WALK, blocks ? &at : NULL, &query->heap);
}
