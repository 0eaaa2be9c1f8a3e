/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `growth brk`, `mmap` and `shm`. */

#include "report/growth.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "base/compiler.h"
#include "report/out.h"
#include "report/sites.h"
#include "report/traceback.h"
#include "session/session.h"

COMPARE_BY(by_stack, struct growth_sum, x, x->stack)
COMPARE_BY(by_bytes, struct growth_sum, x, ~x->bytes)

static bool keeps(const struct filter *filter, const struct filter_env *env,
		  const struct held_piece *piece)
{
	const struct block block = {
		.address = piece->start,
		.size = piece->end - piece->start,
		.time = piece->time,
		.thread = piece->thread,
		.stack = piece->stack,
		.heap = LOG_HEAP_UNKNOWN,
	};

	return filter_matches(filter, env, &block);
}

/* Join the sums of one stack; they are sorted by it. */
static void join(struct growth_sums *sums)
{
	size_t nr = 0;

	for (size_t i = 0; i < sums->vec.nr; i++) {
		struct growth_sum *last = nr ? &sums->vec.at[nr - 1] : NULL;
		const struct growth_sum *sum = &sums->vec.at[i];

		if (last && last->stack == sum->stack) {
			last->bytes += sum->bytes;
			last->count += sum->count;
		} else {
			sums->vec.at[nr++] = *sum;
		}
	}
	sums->vec.nr = nr;
}

struct err *growth_add_up(const struct held_pieces *pieces, enum held_kind kind,
			  const struct filter *filter, const struct filter_env *env,
			  struct growth_sums *ret)
{
	struct err *err = NULL;

	*ret = (struct growth_sums){ VEC_INIT, 0, 0 };
	for (size_t i = 0; !err && i < pieces->vec.nr; i++) {
		const struct held_piece *piece = &pieces->vec.at[i];
		struct growth_sum sum = { .stack = log_deferred_whole(env->log, piece->stack),
					  .bytes = piece->end - piece->start, .count = 1 };

		if (piece->kind != kind || !keeps(filter, env, piece))
			continue;
		err = vec_push(&ret->vec, sum);
		ret->bytes += sum.bytes;
		ret->count++;
	}
	if (err)
		return err;
	vec_sort(&ret->vec, by_stack);
	join(ret);
	vec_sort(&ret->vec, by_bytes);
	return NULL;
}

enum held_kind growth_kind_of(uint32_t call)
{
	switch ((enum growth_call)call) {
	case GROWTH_CALL_BRK:
		return HELD_BRK;
	case GROWTH_CALL_MMAP:
	case GROWTH_CALL_MUNMAP:
	case GROWTH_CALL_MREMAP:
		return HELD_MMAP;
	default:
		return HELD_SHM;
	}
}

int64_t growth_added(struct session *session, const struct growth_event *event, uint64_t *brk)
{
	uint64_t before = *brk;

	if (growth_replay_event_failed(event))
		return 0;
	switch ((enum growth_call)event->call) {
	case GROWTH_CALL_BRK:
		if (!event->arg[0])	/* it asks where the end is */
			return 0;
		*brk = event->arg[0];
		return before ? (int64_t)(event->arg[0] - before) : 0;
	case GROWTH_CALL_MMAP:
		return (int64_t)ALIGN_UP(event->arg[1], 4096ull);
	case GROWTH_CALL_MREMAP:
		return (int64_t)(ALIGN_UP(event->arg[2], 4096ull) - ALIGN_UP(event->arg[1], 4096ull));
	case GROWTH_CALL_SHMAT:
		return (int64_t)session_growth_segment(session, (uint32_t)event->arg[0],
						       event->result);
	default:
		return 0;
	}
}

struct err *growth_add_calls(struct session *session, enum held_kind kind,
			     struct growth_sums *sums)
{
	const struct log *log = session_log(session);
	struct growth_run run = growth_ring_run(log);
	VEC(struct growth_sum) calls = VEC_INIT;	/* by stack */
	struct err *err = NULL;
	uint64_t next = growth_ring_next(log), brk = run.brk;
	struct growth_event event;

	for (uint64_t from = MAX(run.first, next - MIN(next, log->nr_growth));
	     !err && from != next; from++) {
		struct growth_sum *of;
		int64_t added;

		if (growth_ring_get(log, from, &event) != GROWTH_READ || event.call >= GROWTH_CALLS)
			continue;
		added = growth_added(session, &event, &brk);
		if (added <= 0 || growth_kind_of(event.call) != kind)
			continue;
		of = vec_slot(&calls, log_deferred_whole(log, event.stack));
		if (!of)
			err = err_nomem;
		else
			*of = (struct growth_sum){ .total = of->total + 1,
						   .total_bytes = of->total_bytes + (uint64_t)added };
	}
	/* What is held was added, also by calls of which that is not known, or that the log has lost. */
	vec_each(sum, &sums->vec) {
		bool known = sum->stack < calls.nr;

		sum->total = MAX(sum->count, known ? calls.at[sum->stack].total : 0);
		sum->total_bytes = MAX(sum->bytes, known ? calls.at[sum->stack].total_bytes : 0);
	}
	vec_free(&calls);
	return err;
}

/* Find the piece that an address is in; NULL: none is held there. */
static const struct held_piece *piece_of(const struct held_pieces *pieces, uint64_t address)
{
	vec_each(piece, &pieces->vec)
		if (address >= piece->start && address < piece->end)
			return piece;
	return NULL;
}

/* Print which of these mappings are stacks of threads that have ended and were not joined. */
static void print_ended(const struct session_growth_view *view, const struct log *log,
			uint32_t stack, struct out *out)
{
	vec_each_value(thread, &view->ended.vec) {
		const struct held_piece *piece = piece_of(&view->pieces, thread);

		if (piece && log_deferred_whole(log, piece->stack) == stack)
			out_f(out, "    stack of thread 0x%" PRIx64 " (ended, not joined)\n",
			      thread);
	}
}

static struct err *print_sum(struct stack_names *names, const struct session_growth_view *view,
			     const struct growth_sum *sum, size_t rank, struct stack_texts *texts,
			     struct out *out)
{
	struct err *err;

	out_f(out, "#%zu  %s bytes in %" PRIu64 " mappings\n", rank,
	      number_text_size(out, sum->bytes).at, sum->count);
	out_f(out, "    all-time %" PRIu64 " calls, %s bytes\n", sum->total,
	      number_text_size(out, sum->total_bytes).at);
	print_ended(view, session_log(names->session), sum->stack, out);
	err = sites_print_headline(names, sum->stack, out);
	out_blanks(out, GROWTH_INDENT);
	if (!err)
		err = traceback_texts_print(texts, sum->stack, out);
	out_text(out, "\n");
	return err;
}

struct err *growth_print(struct stack_names *names, const struct session_growth_view *view,
			 const struct growth_sums *sums, const char *heading, struct out *out)
{
	struct stack_texts texts;
	struct err *err = NULL;

	out_heading(out, heading);
	traceback_texts_init(&texts, names->session, GROWTH_INDENT);
	for (size_t i = 0; !err && !out_done(out) && i < sums->vec.nr; i++) {
		err = print_sum(names, view, &sums->vec.at[i], i + 1, &texts, out);
		if (!err)
			err = cancel_check();
	}
	traceback_texts_free(&texts);
	if (!err)
		out_f(out, "%zu stacks listed; %" PRIu64 " mappings, %s bytes in all stacks\n\n",
		      sums->vec.nr, sums->count, number_text_size(out, sums->bytes).at);
	return err;
}

void growth_print_end(const struct session_growth_view *view, struct out *out)
{
	uint64_t held = view->held[HELD_BRK] + view->held[HELD_MMAP] + view->held[HELD_SHM];

	out_f(out, "held      %s bytes: brk %s, mmap %s, shm %s\n", number_text_size(out, held).at,
	      number_text_size(out, view->held[HELD_BRK]).at,
	      number_text_size(out, view->held[HELD_MMAP]).at,
	      number_text_size(out, view->held[HELD_SHM]).at);
	out_f(out, "not seen  %s bytes: mapped, and not seen being made; %s of them are mdbg's\n",
	      number_text_size(out, view->mapped - held).at, number_text_size(out, view->own).at);
	out_f(out, "mapped    %s bytes in /proc/PID/maps, without [vsyscall]\n",
	      number_text_size(out, view->mapped).at);
	if (view->gone)
		out_f(out, "%s bytes were unmapped by calls that were not seen\n",
		      number_text_size(out, view->gone).at);
	if (view->lost)
		out_f(out, "%" PRIu64 " events were lost: what was held before them is not seen\n",
		      view->lost);
	if (view->unsized)
		out_f(out, "%" PRIu64 " shared segments have no known size: they are not seen\n",
		      view->unsized);
}
