/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Combines the log and a heap walk (theory and rules in reconcile.h). */

#include "heap/reconcile.h"

#include "base/cleanup.h"
#include "heap/packed.h"
#include "heap/radix.h"
#include "heap/heap_walk.h"

#define BATCH	65536u

/* Records that are not noted yet: in order of address they are found at a fraction of the cost. */
struct noting {
	struct heap_chunks *chunks;
	uint8_t process;
	uint64_t until;			/* younger ones are not noted */
	uint64_t met;			/* all others */
	struct radix_item *item;
	size_t nr;
};

static struct err *note_batch(struct noting *noting)
{
	struct chunk_at at = heap_chunks_start();
	struct err *err = radix_sort(noting->item, noting->nr);
	struct heap_chunk chunk;

	for (size_t i = 0; i < noting->nr && !err; i++)
		if (heap_chunks_find(noting->chunks, &at, noting->item[i].key, &chunk))
			heap_chunks_set_note(noting->chunks, &at, NOTE_RECORDED);
	noting->nr = 0;
	return err;
}

static struct err *note_record(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct noting *noting = ctx;

	if (block->time > noting->until)
		return NULL;
	noting->met++;
	if (block->process != noting->process || block->heap == LOG_HEAP_USER)
		return NULL;
	noting->item[noting->nr++].key = block->address;
	return noting->nr == BATCH ? note_batch(noting) : NULL;
}

/* Both are in order of address. */
static void note_held(struct heap_walk *walk, const struct packed_list *list)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	size_t i = 0;

	while (i < list->nr_outer && heap_chunks_next(&walk->chunks, &at, &chunk)) {
		while (i < list->nr_outer && packed_at(list, i)->address < chunk.address)
			i++;
		if (i < list->nr_outer && packed_at(list, i)->address == chunk.address)
			heap_chunks_set_note(&walk->chunks, &at, NOTE_RECORDED);
	}
}

static struct err *note_log(struct heap_walk *walk, const struct walk_merge *merge,
			    uint64_t until, uint64_t *met_ret)
{
	AUTO_FREE struct radix_item *item = calloc(BATCH, sizeof(*item));
	struct noting noting = { &walk->chunks, merge->process, until, 0, item, 0 };
	struct err *err = item ? NULL : err_nomem;

	if (!err && merge->log)
		err = blocks_each(merge->log, merge->in_hand, note_record, &noting);
	*met_ret = noting.met;
	return err ? err : note_batch(&noting);
}

/*
 * May a call that is under way have this chunk? Compare the addresses of its block, its chunk, and
 * the chunk behind it: while a chunk is merged with a free one before it, its own address may be
 * gone already, and it is not free yet. Bare chunks are not merged.
 */
static bool has_in_flight_word(const struct walk_merge *merge, const struct heap_chunk *chunk)
{
	uint64_t start = chunk->address - 16;

	if (chunk->bare)
		return word_among(merge->in_flight_word, merge->nr_in_flight, chunk->address);
	return word_among(merge->in_flight_word, merge->nr_in_flight, chunk->address) ||
	       word_among(merge->in_flight_word, merge->nr_in_flight, start) ||
	       (chunk->kind == CHUNK_USED &&
		word_among(merge->in_flight_word, merge->nr_in_flight, start + chunk->size));
}

/* The rules of reconcile.h for a chunk that is not in the log. */
static enum chunk_is decide(const struct walk_merge *merge, const struct heap_chunk *chunk,
			    bool retired)
{
	if (retired)
		return CHUNK_FREED;
	if (has_in_flight_word(merge, chunk) &&
	    !word_among(merge->confirmed, merge->nr_confirmed, chunk->address))
		return CHUNK_IN_HAND;
	return CHUNK_EARLY;
}

enum chunk_is reconcile_past(const struct walk_merge *merge, const struct heap_chunk *chunk,
			     struct block *ret)
{
	uint64_t address = chunk->address | (uint64_t)merge->process << LOG_PROCESS_SHIFT;
	struct log_record record;
	enum log_past past = LOG_NEVER;

	if (!chunk_held(chunk))
		return CHUNK_NO_BLOCK;
	if (merge->log)
		past = log_record_past(merge->log, address, merge->until, &record);
	*ret = past == LOG_PAST ? block_of_record(&record) :
				  block_of_chunk(chunk, merge->process, merge->complete);
	ret->unrecorded |= past == LOG_SINCE;
	ret->freed = past != LOG_NEVER;
	return decide(merge, chunk, ret->freed);
}

static enum chunk_is reconcile_now(const struct walk_merge *merge, const struct heap_chunk *chunk)
{
	if (chunk->note == NOTE_RECORDED)
		return CHUNK_RECORDED;
	if (!chunk_held(chunk))
		return CHUNK_NO_BLOCK;
	return decide(merge, chunk, merge->complete && log_record_knew(merge->log, chunk->address));
}

static struct err *note_rest(struct heap_walk *walk, const struct walk_merge *merge,
			     struct word_list *left_out)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	struct err *err = NULL;

	while (!err && heap_chunks_next(&walk->chunks, &at, &chunk)) {
		enum chunk_is is = reconcile_now(merge, &chunk);

		if (is == CHUNK_IN_HAND)
			err = vec_push(&left_out->vec, chunk.address);
		else if (is == CHUNK_EARLY)
			heap_chunks_set_note(&walk->chunks, &at, NOTE_EARLY);
	}
	return err;
}

struct err *reconcile_merge(struct heap_walk *walk, const struct walk_merge *merge,
			    struct word_list *left_out)
{
	struct err *err = NULL;
	uint64_t met;

	if (merge->held)
		note_held(walk, merge->held);
	else
		err = note_log(walk, merge, UINT64_MAX, &met);
	return err ? err : note_rest(walk, merge, left_out);
}

static void add_gone(struct walk_gone *gone, const struct block *block)
{
	gone->blocks++;
	gone->bytes += block->size;
	if (!block->preattach) {
		gone->records++;
		gone->record_bytes += block->size;
	}
}

/* Note a chunk for which the log has no record now that is old enough. */
static struct err *note_past(struct heap_walk *walk, const struct walk_merge *merge,
			     const struct chunk_at *at, const struct heap_chunk *chunk,
			     struct word_list *left_out, struct walk_gone *gone)
{
	struct block block;

	switch (reconcile_past(merge, chunk, &block)) {
	case CHUNK_IN_HAND:
		return vec_push(&left_out->vec, chunk->address);
	case CHUNK_FREED:
		heap_chunks_set_note(&walk->chunks, at, NOTE_RECORDED);
		/*
		 * Where the log samples, the record may be that of an earlier block, freed before the
		 * moment: the block that was there then may not have been sampled.
		 */
		if (!merge->log || !log_config(merge->log).sample)
			add_gone(gone, &block);
		return NULL;
	case CHUNK_EARLY:
		heap_chunks_set_note(&walk->chunks, at, NOTE_EARLY);
		return NULL;
	default:
		return NULL;
	}
}

struct err *reconcile_merge_past(struct heap_walk *walk, const struct walk_merge *merge,
				 struct word_list *left_out, struct walk_gone *gone_ret,
				 uint64_t *records_ret)
{
	struct chunk_at at = heap_chunks_start();
	struct walk_gone gone = { .blocks = 0 };
	struct heap_chunk chunk;
	struct err *err = note_log(walk, merge, merge->until, records_ret);

	while (!err && heap_chunks_next(&walk->chunks, &at, &chunk))
		if (chunk.note != NOTE_RECORDED)
			err = note_past(walk, merge, &at, &chunk, left_out, &gone);
	*records_ret += gone.records;
	*gone_ret = gone;
	return err;
}

void reconcile_free(struct reconcile_history *history)
{
	vec_free(&history->confirmed.vec);
	vec_free(&history->observed.vec);
}

void reconcile_drop_freed(struct reconcile_history *history, const struct log *log, bool complete)
{
	uint64_t before = history->unknown_frees;
	struct log_accounts accounts;

	if (log) {
		accounts = reader_accounts(log);
		/*
		 * A free that looks like the allocator's own may be a key's destructor:
		 * log/log_unknown_free.h.
		 */
		history->unknown_frees = accounts.unknown_frees + accounts.own_frees;
	}
	if (history->unknown_frees != before || !complete)
		vec_clear(&history->confirmed.vec);
}

/* Add to a sorted list the blocks that this look lists and that have no record. */
static struct err *add_listed(struct word_list *list, const struct heap_walk *walk)
{
	struct chunk_at at = heap_chunks_start();
	size_t had = list->vec.nr;
	struct heap_chunk chunk;
	struct err *err = NULL;

	while (!err && heap_chunks_next(&walk->chunks, &at, &chunk))
		if (chunk.note == NOTE_EARLY && !word_list_has(list, had, chunk.address))
			err = vec_push(&list->vec, chunk.address);
	if (had && list->vec.nr > had)
		word_list_sort(list);
	return err;
}

/* Does this look have a block at address, listed or left out, without a record? */
static bool is_observed(const struct heap_walk *walk, struct chunk_at *at,
		    const struct word_list *left_out, uint64_t address)
{
	struct heap_chunk chunk;

	if (word_list_has(left_out, left_out->vec.nr, address))
		return true;
	return heap_chunks_find(&walk->chunks, at, address, &chunk) && chunk.note == NOTE_EARLY;
}

/* Keep those that are there at this look, too. */
static void keep_observed(struct word_list *observed, const struct heap_walk *walk,
		      const struct word_list *left_out)
{
	struct chunk_at at = heap_chunks_start();
	size_t kept = 0;

	for (size_t i = 0; i < observed->vec.nr; i++)
		if (is_observed(walk, &at, left_out, observed->vec.at[i]))
			observed->vec.at[kept++] = observed->vec.at[i];
	observed->vec.nr = kept;
}

/*
 * `confirmed` has more than the blocks of the last look, since that one may have been torn, and have
 * overlooked some. A look at a torn heap says nothing about `observed`.
 */
struct err *reconcile_keep(struct reconcile_history *history, const struct heap_walk *walk,
			   const struct word_list *left_out)
{
	struct err *err = add_listed(&history->confirmed, walk);

	if (err || heap_walk_all_damage(walk))
		return err;
	if (history->any) {
		keep_observed(&history->observed, walk, left_out);
		return NULL;
	}
	history->any = true;
	err = add_listed(&history->observed, walk);
	for (size_t i = 0; i < left_out->vec.nr && !err; i++)
		err = vec_push(&history->observed.vec, left_out->vec.at[i]);
	word_list_sort(&history->observed);
	return err;
}

uint64_t reconcile_unsure(const struct reconcile_history *history, const struct word_list *left_out)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < left_out->vec.nr; i++)
		nr += !history->any ||
		      word_list_has(&history->observed, history->observed.vec.nr,
				    left_out->vec.at[i]);
	return nr;
}

static void keep_first(struct known *known)
{
	vec_sort(&known->address, word_list_by_value);
	if (known->address.nr > KNOWN_MOST) {
		known->address.nr = KNOWN_MOST;
		known->all = false;
	}
}

static bool take_record(const struct log_record *record, uint64_t slot UNUSED, void *ctx)
{
	struct known *known = ctx;
	uint64_t address = record->address - ((uint64_t)known->process << LOG_PROCESS_SHIFT);

	/*
	 * Blocks of other processes, or of the user's allocators, are beyond all addresses, or
	 * wrap.
	 */
	if (address >> LOG_PROCESS_SHIFT || address < known->from)
		return false;
	if (!known->all && address > known->address.at[KNOWN_MOST - 1])
		return false;
	if (known->address.nr == 2 * KNOWN_MOST)
		keep_first(known);
	known->address.at[known->address.nr++] = address;
	return false;
}

uint64_t reconcile_known_from(void *ctx, uint64_t address)
{
	struct known *known = ctx;
	size_t at = LOWER_BOUND(i, 0, known->address.nr, known->address.at[i] < address);

	if (!known->log)
		return UINT64_MAX;
	if (!known->scanned || address < known->from || (at == known->address.nr && !known->all)) {
		vec_clear(&known->address);
		/* without memory nothing is known */
		if (vec_reserve(&known->address, 2 * KNOWN_MOST))
			return UINT64_MAX;
		known->from = address;
		known->all = true;
		reader_each(known->log, take_record, known);
		keep_first(known);
		known->scanned = true;
		at = 0;
	}
	return at < known->address.nr ? known->address.at[at] : UINT64_MAX;
}

void reconcile_known_free(struct known *known)
{
	vec_free(&known->address);
	known->scanned = false;
}
