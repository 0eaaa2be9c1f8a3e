/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the heaps of a view with the log (heaps.h). */

#include "inspect/heaps.h"

#include "inspect/heap_view.h"

void heaps_free(struct heaps *heap)
{
	if (heap->walked && !heap->lent)
		heap_walk_free(&heap->walk);
	heap->walked = false;
}

struct err *heaps_list_log(const struct memory_view *view, bool timed, struct packed_list *ret)
{
	struct packed_source source = {
		.log = view->log,
		.in_hand = &view->in_hand,
		.until = view->until,
		.process = view->process,
		.timed = timed,
	};

	*ret = (struct packed_list){ .process = view->process, .timed = timed };
	return view->log ? packed_from_log(&source, ret) : NULL;
}

static struct walk_merge merge_of(const struct heap_view *walk)
{
	const struct memory_view *view = walk->view;

	return (struct walk_merge){
		.log = view->log,
		.in_hand = &view->in_hand,
		.process = view->process,
		.until = view->until,
		.in_flight_word = walk->in_flight_words.vec.at,
		.nr_in_flight = walk->in_flight_words.vec.nr,
	};
}

static struct err *list_anew(const struct memory_view *view, struct packed_list *list)
{
	bool timed = list->timed;

	packed_free(list);
	return heaps_list_log(view, timed, list);
}

struct err *heaps_walk(struct heap_view *walk, const struct reconcile_history *before,
		       struct packed_list *held, struct word_list *left_out)
{
	struct heaps *heap = walk->ret;
	struct walk_merge merge;
	struct err *err;

	heaps_free(heap);
	heap->complete = walk->view->complete;
	heap->process = walk->view->process;
	vec_clear(&left_out->vec);
	err = heap_view_walk(walk);
	if (!err && held)
		err = list_anew(walk->view, held);
	if (err)
		return err;
	merge = merge_of(walk);
	merge.held = held;
	merge.complete = heap->complete;
	merge.confirmed = before->confirmed.vec.at;
	merge.nr_confirmed = before->confirmed.vec.nr;
	return reconcile_merge(&heap->walk, &merge, left_out);
}

/*
 * A block that was freed since, and whose slot in the log another block has taken, is in no record:
 * it cannot be distinguished from one that was allocated before the attach. There is none if
 * nothing was freed. *records: those of then that are still to be found; if these are all, there is
 * none either (they are counted exactly only where nobody is in the middle of a call).
 */
static bool is_complete(const struct memory_view *view, const struct heaps *heap,
			const uint64_t *records)
{
	const struct log_accounts *then = &view->accounts;

	if (!view->complete)
		return false;
	if (reader_accounts(view->log).frees == then->frees)
		return true;
	return records && heap->calm && !view->in_hand.vec.nr &&
	       *records == then->allocs - then->frees - then->replaced;
}

struct err *heaps_walk_past(struct heap_view *walk, struct word_list *left_out)
{
	struct heaps *heap = walk->ret;
	struct walk_merge merge;
	uint64_t records = 0;
	struct err *err;

	heap->process = walk->view->process;
	err = heap_view_walk(walk);
	if (err)
		return err;
	merge = merge_of(walk);
	err = reconcile_merge_past(&heap->walk, &merge, left_out, &heap->gone, &records);
	heap->complete = is_complete(walk->view, heap, &records);
	heap->under_way = left_out->vec.nr;
	return err;
}

static struct err *list_past(struct heap_view *walk, bool timed, struct packed_list *list)
{
	struct word_list left_out = { VEC_INIT };
	struct heaps *heap = walk->ret;
	struct walk_merge merge;
	struct err *err = heap_view_walk(walk);

	if (!err)
		err = heaps_list_log(walk->view, timed, list);
	if (err)
		return err;
	merge = merge_of(walk);
	/* Ask this after the log was read, because the log goes on meanwhile. */
	merge.complete = heap->complete = is_complete(walk->view, heap, NULL);
	err = packed_merge_past(list, &heap->walk, &merge, &left_out);
	heap->under_way = left_out.vec.nr;
	vec_free(&left_out.vec);
	return err;
}

struct err *heaps_list_past(const struct memory_view *view, const struct memory_limit *own_memory,
			    bool timed, struct heaps *ret, struct packed_list *list_ret)
{
	struct heaps heap = HEAPS_INIT;
	struct packed_list list = PACKED_INIT;
	struct heap_view walk = { .view = view, .own_memory = own_memory, .ret = &heap };
	struct err *err;

	heap.process = view->process;
	err = list_past(&walk, timed, &list);
	heap_view_free(&walk);
	if (err) {
		heaps_free(&heap);
		packed_free(&list);
		return err;
	}
	*ret = heap;
	*list_ret = list;
	return NULL;
}
