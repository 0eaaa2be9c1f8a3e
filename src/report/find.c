/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is at an address of the heaps. */

#include "report/find.h"

#include <stdio.h>

#include "base/cancel.h"
#include "log/log.h"
#include "report/blocks.h"
#include "report/out.h"
#include "report/stack.h"
#include "session/heap.h"
#include "session/session.h"

#define INDENT	4u

/* "in heap 3", "mapped on its own", "of an allocator without heaps" */
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

/* "allocated at TIME by thread LWP", and the traceback. */
static struct err *print_event(struct session *session, const char *what, uint64_t time,
			       uint32_t thread, uint32_t stack, struct out *out)
{
	struct stack_texts texts;
	struct err *err;

	out_blanks(out, INDENT);
	out_text(out, what);
	event_print(session_log(session), time, thread, out);
	out_text(out, "\n");
	out_blanks(out, INDENT);
	stack_texts_init(&texts, session, INDENT);
	err = stack_texts_print(&texts, stack, out);
	stack_texts_free(&texts);
	return err;
}

static struct err *print_origin(struct session *session, const struct block *block,
				struct out *out)
{
	if (!block->preattach)
		return print_event(session, "allocated", block->time, block->thread, block->stack,
				   out);
	out_blanks(out, INDENT);
	out_text(out, block->unrecorded ? "(not recorded)\n" : "(allocated before attach)\n");
	return NULL;
}

/* The block that was there before, if that is known. */
static struct err *print_freed(struct session *session, const struct found_at *found,
			       struct out *out)
{
	const struct log_free *freed = &found->freed;
	struct err *err;

	if (!freed->time)
		return NULL;
	out_f(out, "    A block of %llu bytes was there, at ", (unsigned long long)found->was.size);
	out_address(out, found->was.address);
	out_text(out, "\n");
	err = print_event(session, "freed", freed->time, freed->thread, freed->stack, out);
	return err ? err : print_origin(session, &found->was, out);
}

struct err *find_print_block(struct session *session, const struct block *block, uint64_t address,
			     struct out *out)
{
	uint64_t offset = address - block->address;

	out_address(out, address);
	if (offset < block->size || !offset)
		out_f(out, " is byte %llu of", (unsigned long long)offset);
	else
		out_f(out, " is %llu bytes behind the end of",
		      (unsigned long long)(offset - block->size));
	out_f(out, " a block of %llu bytes at ", (unsigned long long)block->size);
	out_address(out, block->address);
	out_text(out, ", ");
	print_heap(block->heap, out);
	out_text(out, "\n");
	return print_origin(session, block, out);
}

static void print_chunk(const struct heap_chunk *chunk, uint64_t address, struct out *out)
{
	out_address(out, address);
	if (address < chunk->address)
		out_text(out, " is in the header of");
	else
		out_f(out, " is byte %llu of", (unsigned long long)(address - chunk->address));
	if (chunk->kind == CHUNK_OWN)
		out_text(out, " a block of the allocator's own");
	else if (chunk_held(chunk))
		out_text(out, " a block");
	else
		out_f(out, " a free chunk (%s)", heap_chunk_kind(chunk->kind));
	out_f(out, " of %llu bytes at ", (unsigned long long)chunk_usable(chunk));
	out_address(out, chunk->address);
	out_text(out, ", ");
	print_heap(chunk->heap, out);
	out_text(out, "\n");
}

/* The last block of the log, of the process that was walked, that begins at or before an address. */
struct nearest {
	uint64_t address;
	uint8_t process;
	bool exact;		/* at, and not before */
	struct block block;	/* if found */
	bool found;
};

static struct err *take_nearer(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct nearest *nearest = ctx;
	uint64_t least = nearest->exact ? nearest->address :
			 nearest->found ? nearest->block.address : 0;

	if (block->process != nearest->process || block->heap == LOG_HEAP_USER ||
	    block->address > nearest->address || block->address < least)
		return NULL;
	nearest->block = *block;
	nearest->found = true;
	return NULL;
}

static struct err *find_nearest(struct session *session, struct nearest *nearest)
{
	const struct log *log = session_log(session);
	uint64_t key = nearest->address | (uint64_t)nearest->process << LOG_PROCESS_SHIFT;
	struct in_hand in_hand = { VEC_INIT };
	struct log_record record;
	struct err *err;

	if (!log)
		return NULL;
	if (log_lookup(log, key, &record)) {
		nearest->block = block_of_record(&record);
		nearest->found = true;
		return NULL;
	}
	err = session_in_hand(session, &in_hand);
	if (!err)
		err = blocks_each(log, &in_hand, take_nearer, nearest);
	vec_free(&in_hand.vec);
	return err;
}

/* Where there is a chunk it has the last word: the program's is the size that it asked for. */
static struct err *find_block(struct session *session, const struct session_heap *heap,
			      const struct heap_chunk *chunk, struct nearest *nearest)
{
	struct err *err;

	if (chunk && chunk->note == NOTE_EARLY) {
		nearest->block = block_of_chunk(chunk, heap->process, heap->complete);
		nearest->found = true;
		return NULL;
	}
	if (chunk && chunk->note != NOTE_RECORDED)
		return NULL;
	err = find_nearest(session, nearest);
	if (!err && nearest->found && chunk)
		nearest->block.heap = chunk->heap;
	return err;
}

static bool find_freed_at(const struct log *log, uint8_t process, uint64_t address,
			  struct found_at *ret)
{
	uint64_t key = address | (uint64_t)process << LOG_PROCESS_SHIFT;
	struct log_record was;

	if (!log_ghost(log, key, &was) || !log_first_free(log, key, was.time, &ret->freed))
		return false;
	ret->was = block_of_record(&was);
	return true;
}

static void find_freed(const struct log *log, uint8_t process, uint64_t address,
		       struct found_at *ret)
{
	bool found = log && ret->what != FOUND_BLOCK && find_freed_at(log, process, address, ret);

	if (!found && log && ret->what == FOUND_CHUNK)
		found = find_freed_at(log, process, ret->chunk.address, ret);
	if (!found)
		ret->freed.time = 0;
}

struct err *find_at(struct session *session, const struct session_heap *heap, uint64_t address,
		    struct found_at *ret)
{
	bool chunked = heap->walked && heap_chunk_around(&heap->walk.chunks, address, &ret->chunk);
	struct nearest nearest = { .address = chunked ? ret->chunk.address : address,
				   .process = heap->process, .exact = chunked };
	struct err *err = find_block(session, heap, chunked ? &ret->chunk : NULL, &nearest);

	if (err)
		return err;
	ret->what = chunked ? FOUND_CHUNK : FOUND_NOTHING;
	if (nearest.found && (chunked ? address >= ret->chunk.address :
			      address - nearest.block.address < MAX(nearest.block.size, 1ull))) {
		ret->what = FOUND_BLOCK;
		ret->block = nearest.block;
	}
	find_freed(session_log(session), heap->process, address, ret);
	return NULL;
}

struct err *find_print(struct session *session, const struct session_heap *heap, uint64_t address,
		       struct out *out)
{
	struct found_at found;
	struct err *err = find_at(session, heap, address, &found);

	if (err)
		return err;
	if (found.what == FOUND_BLOCK)
		return find_print_block(session, &found.block, address, out);
	if (found.what == FOUND_CHUNK) {
		print_chunk(&found.chunk, address, out);
		return print_freed(session, &found, out);
	}
	out_address(out, address);
	out_text(out, " is in no block that is known\n");
	err = print_freed(session, &found, out);
	heap_notes_print(heap, out);
	return err;
}

/* What lies beside the damage; 0: nothing is known to. */
static struct err *print_beside(struct session *session, const struct session_heap *heap,
				const char *where, uint64_t address, struct out *out)
{
	if (!address)
		return NULL;
	out_f(out, "  %s: ", where);
	return find_print(session, heap, address, out);
}

struct err *damage_print(struct session *session, const struct session_heap *heap,
			 struct out *out)
{
	const struct heap_walk *walk = &heap->walk;
	struct err *err = NULL;

	for (size_t i = 0; i < walk->damage.nr && !err && !out_done(out); i++) {
		const struct heap_damage *damage = &walk->damage.at[i];

		out_f(out, "Heap %u, ", damage->heap);
		out_address(out, damage->address);
		out_f(out, ": %s\n", damage->what);
		err = print_beside(session, heap, "before it", damage->before, out);
		if (!err)
			err = print_beside(session, heap, "behind it", damage->after, out);
		if (!err)
			err = cancel_check();
	}
	if (walk->damages > walk->damage.nr)
		out_f(out, "... and %llu more\n",
		      (unsigned long long)(walk->damages - walk->damage.nr));
	return err;
}
