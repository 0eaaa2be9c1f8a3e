/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The block or chunk at an address of the heaps. */

#include "report/address_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cancel.h"
#include "log/log.h"
#include "report/blocks.h"
#include "report/out.h"
#include "report/traceback.h"
#include "session/heap.h"
#include "session/session.h"

#define INDENT	4u

/* Print "in heap 3", "mapped on its own" or the like. */
static void print_heap(uint16_t heap, struct out *out)
{
	if (heap == LOG_HEAP_MMAP)
		out_text(out, "mapped on its own");
	else if (heap == LOG_HEAP_USER)
		out_text(out, "of an allocator that `probe` has named");
	else if (heap == LOG_HEAP_UNKNOWN)
		out_text(out, "in no heap that is known");
	else
		out_f(out, "in heap %u", heap);
}

static struct err *print_event(struct session *session, const char *what, struct stack_event event,
			       struct out *out)
{
	struct stack_texts texts;
	struct err *err;

	out_blanks(out, INDENT);
	traceback_texts_init(&texts, session, INDENT);
	err = traceback_print_event(&texts, what, event, "", out);
	traceback_texts_free(&texts);
	return err;
}

static struct err *print_origin(struct session *session, const struct block *block,
				struct out *out)
{
	if (!block->preattach)
		return print_event(session, "allocated", EVENT_OF(block), out);
	out_blanks(out, INDENT);
	out_f(out, "%s\n", no_stack_text(block->unrecorded));
	return NULL;
}

/* Print the block that was there before, if it is known. */
static struct err *print_freed(struct session *session, const struct found_at *found,
			       struct out *out)
{
	const struct log_free *freed = &found->freed;
	struct err *err;

	if (!freed->time)
		return NULL;
	out_f(out, "    A block of %" PRIu64 " bytes was there, at " PRI_ADDRESS "\n",
	      found->was.size, found->was.address);
	err = print_event(session, "freed", EVENT_OF(freed), out);
	return err ? err : print_origin(session, &found->was, out);
}

struct err *address_text_print_block(struct session *session, const struct block *block,
				     uint64_t address, struct out *out)
{
	uint64_t offset = address - block->address;

	if (offset < block->size || !offset)
		out_f(out, PRI_ADDRESS " is byte %" PRIu64 " of", address, offset);
	else
		out_f(out, PRI_ADDRESS " is %" PRIu64 " bytes behind the end of", address,
		      offset - block->size);
	out_f(out, " a block of %" PRIu64 " bytes at " PRI_ADDRESS ", ", block->size,
	      block->address);
	print_heap(block->heap, out);
	out_text(out, "\n");
	return print_origin(session, block, out);
}

static void print_chunk(const struct heap_chunk *chunk, uint64_t address, struct out *out)
{
	if (address < chunk->address)
		out_f(out, PRI_ADDRESS " is in the header of", address);
	else
		out_f(out, PRI_ADDRESS " is byte %" PRIu64 " of", address,
		      address - chunk->address);
	if (chunk->kind == CHUNK_OWN)
		out_text(out, " a block of the allocator's own");
	else if (chunk_held(chunk))
		out_text(out, " a block");
	else
		out_f(out, " a free chunk (%s)", heap_chunk_kind(chunk->kind));
	out_f(out, " of %" PRIu64 " bytes at " PRI_ADDRESS ", ", chunk_usable(chunk),
	      chunk->address);
	print_heap(chunk->heap, out);
	out_text(out, "\n");
}

struct err *address_text_in(struct session *session, const struct heaps *heap, uint64_t address,
			    struct found_at *ret)
{
	struct in_hand in_hand = { VEC_INIT };
	const struct find_source source = {
		.walk = heap->walked ? &heap->walk : NULL, .log = session_log(session),
		.in_hand = &in_hand, .process = heap->process, .complete = heap->complete,
	};
	struct err *err = source.log ? session_agent_in_hand(session, &in_hand) : NULL;

	if (!err)
		err = find_at(&source, address, ret);
	vec_free(&in_hand.vec);
	return err;
}

struct err *address_text_print(struct session *session, const struct heaps *heap, uint64_t address,
			       struct out *out)
{
	struct found_at found;
	struct err *err = address_text_in(session, heap, address, &found);

	if (err)
		return err;
	if (found.what == FOUND_BLOCK)
		return address_text_print_block(session, &found.block, address, out);
	if (found.what == FOUND_CHUNK) {
		print_chunk(&found.chunk, address, out);
		return print_freed(session, &found, out);
	}
	out_f(out, PRI_ADDRESS " is in no block that is known\n", address);
	err = print_freed(session, &found, out);
	blocks_print_heap_notes(heap, out);
	return err;
}

/* Print the block or chunk beside a damaged place; address 0: none is known. */
static struct err *print_beside(struct session *session, const struct heaps *heap,
				const char *where, uint64_t address, struct out *out)
{
	if (!address)
		return NULL;
	out_f(out, "  %s: ", where);
	return address_text_print(session, heap, address, out);
}

/* Print why this place may not be damaged. */
static void print_doubt(struct heap_doubt doubt, struct out *out)
{
	switch (doubt.why) {
	case HEAP_DOUBT_NONE:
		break;
	case HEAP_DOUBT_INSIDE:
		out_f(out, "  uncertain: thread %d stands inside the allocator\n", doubt.thread);
		break;
	case HEAP_DOUBT_LOCKED:
		out_text(out, "  uncertain: the heap is locked, and may be in the middle of a "
			 "change\n");
		break;
	case HEAP_DOUBT_NO_THREAD:
		out_text(out, "  uncertain: no thread is known to have this cache\n");
	}
}

struct err *address_text_damage(struct session *session, const struct heaps *heap,
				struct out *out)
{
	const struct heap_walk *walk = &heap->walk;
	struct err *err = NULL;

	for (size_t i = 0; i < walk->damage.nr && !err && !out_done(out); i++) {
		const struct heap_damage *damage = &walk->damage.at[i];

		out_f(out, "Heap %u, " PRI_ADDRESS ": %s\n", damage->heap, damage->address,
		      damage->what);
		print_doubt(damage->doubt, out);
		err = print_beside(session, heap, "before it", damage->before, out);
		if (!err)
			err = print_beside(session, heap, "behind it", damage->after, out);
		if (!err)
			err = cancel_check();
	}
	if (heap_walk_all_damage(walk) > walk->damage.nr)
		out_f(out, "... and %" PRIu64 " more\n",
		      heap_walk_all_damage(walk) - walk->damage.nr);
	return err;
}
