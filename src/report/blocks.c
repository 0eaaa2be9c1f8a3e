/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of `malloc allocations`. A million rows with 14 frames each are about 1.5 GB of text.
 * So a row is built in a small buffer without printf, and its traceback consists of the lines that
 * traceback.c keeps.
 */

#include "report/blocks.h"

#include <inttypes.h>

#include "answer/block_rows.h"
#include "base/cancel.h"
#include "heap/block.h"
#include "heap/block_list.h"
#include "log/log.h"
#include "report/lack_text.h"
#include "report/out.h"
#include "report/stood_text.h"
#include "report/progress.h"
#include "report/rows_text.h"
#include "report/traceback.h"
#include "session/heap.h"
#include "session/session.h"

#define STACK_ROOM	60	/* columns for a traceback beside the row */
#define STACK_INDENT	4	/* of a traceback below the row */
#define COLUMNS		16	/* at most */

struct layout {
	struct session *session;
	struct block_source source;
	/* of each column of block_relation, with the blank behind it; 0: left out */
	size_t widths[COLUMNS];
	bool below;		/* the traceback begins on a line of its own */
	size_t indent;		/* of the traceback */
};

/* Is it a column of this table, on a terminal that has room? */
static bool is_shown(const struct column *column, bool verbose)
{
	return column->width && (verbose || !(column->flags & COLUMN_VERBOSE));
}

static const char *title_of(const struct column *column)
{
	return column->title + (column->title[0] == '>');
}

static void widen(struct layout *layout, const char *key, uint64_t value)
{
	size_t at = (size_t)(relation_find(&block_relation, key) - block_relation.columns);
	char text[U64_DIGITS];

	layout->widths[at] = MAX(layout->widths[at], number_text_u64(text, value) + 1);
}

static size_t row_width(const struct layout *layout)
{
	size_t width = 0;

	for (size_t i = 0; i < block_relation.nr; i++)
		width += layout->widths[i];
	return width;
}

/*
 * On a terminal that has no room for all columns with a traceback beside them, the traceback goes
 * below the row, and columns that do not fit are left out.
 */
static void fit(struct layout *layout, size_t terminal)
{
	layout->indent = row_width(layout);
	if (!terminal || layout->indent + STACK_ROOM <= terminal)
		return;
	layout->below = true;
	layout->indent = STACK_INDENT;
	for (unsigned leaves = 1; leaves < COLUMNS && row_width(layout) > terminal; leaves++)
		for (size_t i = 0; i < block_relation.nr; i++)
			if (block_relation.columns[i].leaves == leaves)
				layout->widths[i] = 0;
}

/*
 * The columns are wide enough for all blocks of the list, though a filter by name or a limit may
 * leave out the widest later.
 */
static void layout_init(struct layout *layout, struct session *session,
			const struct block_source *source, bool verbose, size_t terminal)
{
	struct list_sums sums = block_list_sums(source->list);

	*layout = (struct layout){ .session = session, .source = *source };
	for (size_t i = 0; i < block_relation.nr; i++)
		if (is_shown(&block_relation.columns[i], verbose))
			layout->widths[i] = block_relation.columns[i].width;
	widen(layout, "size", sums.size);
	if (sums.time)
		widen(layout, "seq", log_clock_seq(source->log, sums.time));
	fit(layout, terminal);
}

static char *pad(char *at, size_t used, size_t width)
{
	size_t blanks = used < width ? width - used : 1;

	memset(at, ' ', blanks);
	return at + blanks;
}

static char *add_number(char *at, uint64_t value, size_t width)
{
	size_t used = number_text_u64(at, value);

	return pad(at + used, used, width);
}

static char *add_word(char *at, const char *word, size_t width)
{
	size_t used = strlen(word);

	memcpy(at, word, used);
	return pad(at + used, used, width);
}

static char *add_hex(char *at, uint64_t value, size_t width)
{
	at[0] = '0';
	at[1] = 'x';
	number_text_hex16(at + 2, value);
	return pad(at + 18, 18, width);
}

/* The table has whole seconds. */
static char *add_value(char *at, const struct out *out, const struct column *column,
		       const struct column_value *is, size_t width)
{
	const char *heap;

	if (!is->known)
		return add_word(at, "-", width);
	if (column->kind == COLUMN_ADDRESS)
		return add_hex(at, is->number, width);
	if (column->kind == COLUMN_AGE || column->kind == COLUMN_TIME)
		return add_number(at, is->number / 1000000000, width);
	if (column->kind == COLUMN_BYTES && out->units)
		return add_word(at, number_text_size(out, is->number).at, width);
	heap = column->kind == COLUMN_HEAP ? block_heap_name((uint16_t)is->number) : NULL;
	return heap ? add_word(at, heap, width) : add_number(at, is->number, width);
}

/* A name may be of any length. */
static void print_text(const char *text, size_t width, struct out *out)
{
	size_t used = strlen(text);

	out_bytes(out, text, used);
	out_blanks(out, used < width ? width - used : 1);
}

static struct err *print_row(const struct layout *layout, const struct block *block,
			     struct stack_texts *texts, struct out *out)
{
	const struct block_row is = block_row_of(&layout->source, block);
	char row[32 * COLUMNS], *at = row;

	for (size_t i = 0; i < block_relation.nr; i++) {
		const struct column *column = &block_relation.columns[i];
		struct column_value value;

		if (!layout->widths[i])
			continue;
		value = column_get(column, &is);
		if (column->kind != COLUMN_TEXT || !value.known) {
			at = add_value(at, out, column, &value, layout->widths[i]);
			continue;
		}
		out_bytes(out, row, (size_t)(at - row));
		at = row;
		print_text(value.text, layout->widths[i], out);
	}
	out_bytes(out, row, (size_t)(at - row));
	if (layout->below) {
		out_text(out, "\n");
		out_blanks(out, layout->indent);
	}
	if (!block->preattach)
		return traceback_texts_print(texts, block->stack, out);
	out_f(out, "%s\n", no_stack_text(block->unrecorded));
	return NULL;
}

static void print_head(const struct layout *layout, struct out *out)
{
	out_heading(out, "Allocations Held by the Process:");
	for (size_t i = 0; i < block_relation.nr; i++)
		if (layout->widths[i])
			out_column(out, title_of(&block_relation.columns[i]), layout->widths[i]);
	if (layout->below) {
		out_text(out, "\n");
		out_blanks(out, layout->indent);
	}
	out_text(out, "STACK TRACEBACK\n");
}

static void print_left_out(const struct layout *layout, bool verbose, struct out *out)
{
	const char *before = OUT_LEFT_OUT;

	for (size_t i = 0; i < block_relation.nr; i++) {
		const struct column *column = &block_relation.columns[i];

		if (layout->widths[i] || !is_shown(column, verbose))
			continue;
		out_f(out, "%s%s", before, title_of(column));
		before = ", ";
	}
	if (*before == ',')
		out_text(out, "\n");
}

/* Sums of the blocks that were printed. */
struct sums {
	uint64_t blocks, bytes, early, early_bytes;
	struct sample_share all;	/* all blocks that the recorded ones stand for */
};

static void add_up(struct sums *sums, const struct block *block, uint64_t sample)
{
	struct sample_share share;

	sums->blocks++;
	sums->bytes += block->size;
	if (block->preattach) {
		sums->early++;
		sums->early_bytes += block->size;
		return;
	}
	share = block_share(sample, block);
	sums->all.blocks += share.blocks;
	sums->all.bytes += share.bytes;
}

static struct err *print_rows(const struct layout *layout, struct stack_texts *texts,
			      struct sums *sums, struct out *out)
{
	uint64_t sample = log_config(layout->source.log).sample;
	struct list *list = layout->source.list;
	const struct block *block;
	struct err *err = block_list_next(list, &block);

	while (!err && block && !out_done(out)) {
		err = print_row(layout, block, texts, out);
		if (!err && sums->blocks % 256 == 0) {
			err = cancel_check();
			progress_step("listing allocations", sums->blocks,
				      block_list_sums(list).nr);
		}
		add_up(sums, block, sample);
		if (!err)
			err = block_list_next(list, &block);
	}
	return err;
}

void blocks_print_heap_notes(const struct heaps *heap, struct out *out)
{
	if (*heap->why)
		out_f(out, "%s from before the attach are not known: %s\n",
		      heap->walked ? "Some blocks" : "Blocks", heap->why);
	if (!heap->walked)
		return;
	if (heap->missing)
		out_f(out, "%" PRIu64 " bytes of the core are missing: not all blocks are known\n",
		      heap->missing);
	else if (heap->walk.damages)
		out_text(out, "The heap is damaged, and not all of it could be walked: see "
			      "`malloc check`\n");
	else if (heap->walk.uncertain)
		out_text(out, "The heap may be in the middle of a change, and not all of it could "
			      "be walked: see `malloc check`\n");
	if (!heap->walk.mmapped_certain)
		out_text(out, "Blocks from before the attach that are mapped on their own are not "
			      "certain\n");
	if (!heap->walk.caches_known)
		out_text(out, "Not all threads' caches were found: what is in them counts as "
			      "allocated\n");
	out_count(out, "%" PRIu64 " blocks are not listed, as calls were under way that may "
		  "allocate, resize or free them\n", heap->under_way);
}

void blocks_print_heap_stood(const struct heaps *heap, struct out *out)
{
	stood_text_print(out, heap->pause_ns, heap->no_snapshot);
}

/* Print what must be known of the listed blocks. */
static struct err *print_notes(struct session *session, const struct block_source *source,
			       const struct heaps *heap, struct out *out)
{
	blocks_print_heap_notes(heap, out);
	out_count(out,
		  "Up to %" PRIu64 " blocks more were freed or resized before they could be listed\n",
		  block_list_gone(source->list) + heap->gone.blocks);
	return lack_text_print(session, out);
}

struct err *blocks_print(struct session *session, const struct block_source *source,
			 const struct heaps *heap, bool verbose, struct out *out)
{
	struct layout layout;
	struct stack_texts texts;
	struct sums sums = { .blocks = 0 };
	uint64_t sample = log_config(source->log).sample;
	struct err *err;

	layout_init(&layout, session, source, verbose, out->columns);
	traceback_texts_init(&texts, session, layout.indent);
	print_head(&layout, out);
	err = print_rows(&layout, &texts, &sums, out);
	if (!err) {
		out_text(out, "\n");
		print_left_out(&layout, verbose, out);
		err = print_notes(session, source, heap, out);
	}
	traceback_texts_free(&texts);
	if (err)
		return err;
	blocks_print_heap_stood(heap, out);
	out_f(out, "%" PRIu64 " allocations, %s bytes; %" PRIu64 " allocations, %s bytes %s\n",
	      sums.blocks, number_text_size(out, sums.bytes).at, sums.early,
	      number_text_size(out, sums.early_bytes).at,
	      heap->complete || !sums.early ? "from before the attach" : "not recorded");
	if (sample)
		out_f(out, "Sampled (one in %" PRIu64 " bytes): they stand for %" PRIu64
			   " allocations, %s bytes\n",
		      sample, sums.all.blocks, number_text_size(out, sums.all.bytes).at);
	return NULL;
}

struct err *blocks_print_brief(struct session *session, const struct block_source *source,
			       const struct heaps *heap, struct out *out)
{
	struct answer rows;
	struct err *err = block_rows(source, &rows);

	if (err)
		return err;
	out_heading(out, "Allocations Held by the Process:");
	err = rows_text_print(&rows, NULL, out);
	out_text(out, "\n");
	if (!err)
		err = print_notes(session, source, heap, out);
	if (err)
		return err;
	blocks_print_heap_stood(heap, out);
	out_f(out, "%" PRIu64 " allocations, %s bytes\n", block_list_given(source->list).blocks,
	      number_text_size(out, block_list_given(source->list).bytes).at);
	return NULL;
}
