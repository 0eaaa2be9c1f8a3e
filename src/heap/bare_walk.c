/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the lists of a walk whose chunks are bare. */

#include "heap/bare_walk.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "log/log.h"

#define DATA_MOST	(64ull << 20)	/* bytes of one of a module's mappings that are searched */
#define DATA_WINDOW	(1u << 20)

struct err *bare_walk_arena(struct bare_walk *bare, uint64_t address)
{
	return vec_push(&bare->walk->arenas,
			((struct heap_arena){ .bare = true, .whole = true, .address = address,
					      .bins_end = address,
					      .main = !bare->walk->arenas.nr }));
}

static struct err *add_last(struct bare_walk *bare)
{
	struct heap_chunk chunk = bare->last;
	uint64_t most = bare->source->most_chunks;
	struct heap_walk *walk = bare->walk;
	struct heap_arena *arena;
	bool new_run;

	if (!chunk.size)
		return NULL;
	if (most && walk->chunks.nr >= most)
		return err_create(ERR_RANGE, "more than %" PRIu64 " chunks", most);
	bare->last.size = 0;
	if (chunk.heap < walk->arenas.nr) {
		arena = &walk->arenas.at[chunk.heap];
		arena->bytes[chunk.kind] += chunk.size;
		arena->chunks[chunk.kind]++;
		if (chunk.kind >= CHUNK_FAST && chunk.size > arena->largest_free)
			arena->largest_free = chunk.size;
	}
	return heap_chunks_add(&walk->chunks, &chunk, &new_run);
}

struct err *bare_walk_span(struct bare_walk *bare, uint64_t start, uint64_t end, uint16_t heap)
{
	struct heap_walk *walk = bare->walk;
	struct err *err = add_last(bare);

	if (heap < walk->arenas.nr) {
		walk->arenas.at[heap].system_mem += end - start;
	} else {
		walk->mmapped++;
		walk->mmapped_bytes += end - start;
	}
	return err ? err : vec_push(&walk->spans, ((struct heap_span){ start, end, heap }));
}

/* Chunks of these kinds are no blocks: they are one where they lie side by side. */
static bool runs_together(enum chunk_kind kind)
{
	return kind == CHUNK_FREE || kind == CHUNK_OWN || kind == CHUNK_KEPT;
}

struct err *bare_walk_add(struct bare_walk *bare, uint64_t address, uint64_t size,
			  enum chunk_kind kind, uint16_t heap)
{
	struct heap_chunk *last = &bare->last;
	struct err *err;

	if (!size)
		return NULL;
	if (last->size && last->kind == kind && runs_together(kind) && last->heap == heap &&
	    last->address + last->size == address) {
		last->size += size;
		return NULL;
	}
	err = add_last(bare);
	if (!err)
		*last = (struct heap_chunk){ .address = address, .size = size, .heap = heap,
					     .kind = (uint8_t)kind, .bare = true };
	return err;
}

struct err *bare_walk_end(struct bare_walk *bare)
{
	return add_last(bare);
}

void bare_walk_free(struct bare_walk *bare)
{
	free(bare->window.bytes);
	bare->window = (struct bare_window){ .len = 0 };
}

static struct heap_doubt doubt_of(const struct heap_source *source)
{
	for (size_t i = 0; i < source->nr_inside; i++)
		if (!source->inside[i].aborts)
			return (struct heap_doubt){ HEAP_DOUBT_INSIDE, source->inside[i].tid };
	return (struct heap_doubt){ .why = HEAP_DOUBT_NONE };
}

struct err *bare_walk_damage(struct bare_walk *bare, struct heap_damage damage, const char *fmt,
			     ...)
{
	struct err *err;
	va_list ap;

	damage.doubt = doubt_of(bare->source);
	va_start(ap, fmt);
	err = heap_walk_damage(bare->walk, damage, fmt, ap);
	va_end(ap);
	return err;
}

const void *bare_walk_read(struct bare_walk *bare, uint64_t address, size_t len, size_t want)
{
	struct bare_window *window = &bare->window;
	uint64_t offset = address - window->start;

	if (address >= BARE_ADDRESS_END || len > want)
		return NULL;
	if (offset <= window->len && len <= window->len - offset)
		return window->bytes + offset;
	if (window->room < want) {
		uint8_t *bytes = realloc(window->bytes, want);

		if (!bytes)
			return NULL;
		window->bytes = bytes;
		window->room = want;
	}
	window->start = address;
	window->len = 0;
	if (memory_read_some(bare->source->memory, address, window->bytes, want, &window->len))
		window->len = 0;
	return len <= window->len ? window->bytes : NULL;
}

struct search {
	size_t words;
	bare_look *look;
	void *ctx;
	uint64_t *buf;
};

/* Look at memory that can be read, window by window, which overlap. */
static bool search_part(struct bare_walk *bare, const struct search *search, uint64_t start,
			uint64_t end)
{
	size_t least = search->words * 8, len;

	while (end - start >= least) {
		size_t want = MIN((size_t)(end - start), (size_t)DATA_WINDOW);

		if (memory_read_some(bare->source->memory, start, search->buf, want, &len))
			return false;
		for (size_t i = 0; i + least <= len; i += 8)
			if (search->look(search->ctx, start + i, &search->buf[i / 8]))
				return true;
		if (len < want || len < least + 8)
			return false;
		start += ALIGN_DOWN(len - least + 8, 8);
	}
	return false;
}

struct err *bare_walk_search(struct bare_walk *bare, size_t libc, size_t words, bare_look *look,
			     void *ctx, bool *found_ret)
{
	const struct heap_libc *of = &bare->source->libc[libc];
	AUTO_FREE uint64_t *buf = malloc(DATA_WINDOW);
	const struct search search = { words, look, ctx, buf };
	uint64_t start, end;

	if (!buf)
		return err_nomem;
	*found_ret = false;
	for (size_t i = 0; i < of->nr_data && !*found_ret; i++) {
		uint64_t at = of->data[i].start;
		uint64_t most = MIN(of->data[i].end, at + DATA_MOST);

		while (!*found_ret && at < most &&
		       memory_next(bare->source->memory, at, most, &start, &end)) {
			/* What is looked for may go on in a page that was never written. */
			*found_ret = search_part(bare, &search, ALIGN_UP(start, 8),
						 MIN(most, end + words * 8));
			at = end;
		}
	}
	return NULL;
}
