/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of `malloc allocations`. A million rows with 14 frames each are about 1.5 GB of text.
 * So a row is built in a small buffer without printf, and its traceback consists of the lines that
 * traceback.c keeps.
 */

#include "report/blocks.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "heap/block.h"
#include "heap/block_list.h"
#include "log/log.h"
#include "report/lack_text.h"
#include "report/out.h"
#include "report/stood_text.h"
#include "report/progress.h"
#include "report/traceback.h"
#include "session/heap.h"
#include "session/session.h"

enum column { ADDRESS, SIZE, HEAP, PID, THREAD, PTHREAD, CLOCKTIME, SEQ, COLUMNS };

/*
 * The width of each column in characters, with the blank after it. SIZE and SEQ grow with their
 * values.
 */
static const struct {
	const char *title;
	uint8_t width;
} columns[COLUMNS] = {
	[ADDRESS]	= { "ADDRESS", 19 },
	[SIZE]		= { "SIZE", 11 },
	[HEAP]		= { "HEAP", 6 },
	[PID]		= { "PID", 8 },
	[THREAD]	= { "THREAD", 8 },
	[PTHREAD]	= { "PTHREAD_T", 19 },
	[CLOCKTIME]	= { "CLOCKTIME", 12 },
	[SEQ]		= { "SEQ", 11 },
};

#define STACK_ROOM	60	/* columns for a traceback beside the row */
#define STACK_INDENT	4	/* of a traceback below the row */

struct layout {
	struct session *session;
	const struct log *log;
	const pid_t *pids;
	size_t widths[COLUMNS];	/* 0: left out */
	bool below;		/* the traceback begins on a line of its own */
	size_t indent;		/* of the traceback */
};

static void widen(struct layout *layout, enum column column, uint64_t value)
{
	char text[U64_DIGITS];

	layout->widths[column] = MAX(layout->widths[column], format_u64(text, value) + 1);
}

static size_t row_width(const struct layout *layout)
{
	size_t width = 0;

	for (unsigned i = 0; i < COLUMNS; i++)
		width += layout->widths[i];
	return width;
}

/*
 * On a terminal that has no room for all columns with a traceback beside them, the traceback goes
 * below the row, and columns that do not fit are left out.
 */
static void fit(struct layout *layout, size_t terminal)
{
	static const enum column first_out[] = { PTHREAD, PID, SEQ, CLOCKTIME, THREAD, HEAP };

	layout->indent = row_width(layout);
	if (!terminal || layout->indent + STACK_ROOM <= terminal)
		return;
	layout->below = true;
	layout->indent = STACK_INDENT;
	for (unsigned i = 0; i < ARRAY_SIZE(first_out) && row_width(layout) > terminal; i++)
		layout->widths[first_out[i]] = 0;
}

/*
 * The columns are wide enough for all blocks of the list, though a filter by name or a limit may
 * leave out the widest later.
 */
static void layout_init(struct layout *layout, struct session *session, const struct list *list,
			size_t terminal)
{
	struct list_sums sums = list_sums(list);

	*layout = (struct layout){
		.session = session,
		.log = session_log(session),
		.pids = session_pids(session),
	};
	for (unsigned i = 0; i < COLUMNS; i++)
		layout->widths[i] = columns[i].width;
	widen(layout, SIZE, sums.size);
	if (sums.time)
		widen(layout, SEQ, log_seq(layout->log, sums.time));
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
	size_t used;

	if (!width)
		return at;
	used = format_u64(at, value);
	return pad(at + used, used, width);
}

static char *add_size(char *at, const struct out *out, uint64_t size, size_t width)
{
	struct size_text text;
	size_t used;

	if (!out->units)
		return add_number(at, size, width);
	text = size_text(out, size);
	used = strlen(text.at);
	memcpy(at, text.at, used);
	return pad(at + used, used, width);
}

static char *add_hex(char *at, uint64_t value, size_t width)
{
	if (!width)
		return at;
	at[0] = '0';
	at[1] = 'x';
	format_hex16(at + 2, value);
	return pad(at + 18, 18, width);
}

static char *add_word(char *at, const char *word, size_t width)
{
	size_t used = strlen(word);

	if (!width)
		return at;
	memcpy(at, word, used);
	return pad(at + used, used, width);
}

static char *add_thread(char *at, const struct layout *layout, const struct block *block)
{
	struct log_thread_view thread = { 0 };

	if (!block->preattach)
		thread = log_thread_get(layout->log, block->thread);
	at = thread.lwp ? add_number(at, thread.lwp, layout->widths[THREAD]) :
			  add_word(at, "-", layout->widths[THREAD]);
	return thread.thread_pointer ? add_hex(at, thread.thread_pointer, layout->widths[PTHREAD]) :
				       add_word(at, "-", layout->widths[PTHREAD]);
}

static char *add_time(char *at, const struct layout *layout, const struct block *block)
{
	if (block->preattach) {
		at = add_word(at, "-", layout->widths[CLOCKTIME]);
		return add_word(at, "-", layout->widths[SEQ]);
	}
	at = add_number(at, log_clock_realtime(layout->log, block->time) / 1000000000,
			layout->widths[CLOCKTIME]);
	return add_number(at, log_seq(layout->log, block->time), layout->widths[SEQ]);
}

static struct err *print_row(const struct layout *layout, const struct block *block,
			     struct stack_texts *texts, struct out *out)
{
	const char *heap = heap_name(block->heap);
	char row[256], *at = row;

	at = add_hex(at, block->address, layout->widths[ADDRESS]);
	at = add_size(at, out, block->size, layout->widths[SIZE]);
	at = heap ? add_word(at, heap, layout->widths[HEAP]) :
		    add_number(at, block->heap, layout->widths[HEAP]);
	at = add_number(at, (uint64_t)layout->pids[block->process], layout->widths[PID]);
	at = add_thread(at, layout, block);
	at = add_time(at, layout, block);
	out_bytes(out, row, (size_t)(at - row));
	if (layout->below) {
		out_text(out, "\n");
		out_blanks(out, layout->indent);
	}
	if (!block->preattach)
		return stack_texts_print(texts, block->stack, out);
	out_f(out, "%s\n", no_stack_text(block->unrecorded));
	return NULL;
}

static void print_head(const struct layout *layout, struct out *out)
{
	out_heading(out, "Allocations Held by the Process:");
	for (unsigned i = 0; i < COLUMNS; i++)
		if (layout->widths[i])
			out_column(out, columns[i].title, layout->widths[i]);
	if (layout->below) {
		out_text(out, "\n");
		out_blanks(out, layout->indent);
	}
	out_text(out, "STACK TRACEBACK\n");
}

static void print_left_out(const struct layout *layout, struct out *out)
{
	const char *before = OUT_LEFT_OUT;

	for (unsigned i = 0; i < COLUMNS; i++) {
		if (layout->widths[i])
			continue;
		out_f(out, "%s%s", before, columns[i].title);
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

static struct err *print_rows(const struct layout *layout, struct list *list,
			      struct stack_texts *texts, struct sums *sums, struct out *out)
{
	uint64_t sample = log_config(layout->log).sample;
	const struct block *block;
	struct err *err = list_next(list, &block);

	while (!err && block && !out_done(out)) {
		err = print_row(layout, block, texts, out);
		if (!err && sums->blocks % 256 == 0) {
			err = cancel_check();
			progress_step("listing allocations", sums->blocks, list_sums(list).nr);
		}
		add_up(sums, block, sample);
		if (!err)
			err = list_next(list, &block);
	}
	return err;
}

void heap_notes_print(const struct session_heap *heap, struct out *out)
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

void heap_stood_print(const struct session_heap *heap, struct out *out)
{
	stood_print(out, heap->pause_ns, heap->no_snapshot);
}

struct err *blocks_print(struct session *session, struct list *list,
			 const struct session_heap *heap, struct out *out)
{
	struct layout layout;
	struct stack_texts texts;
	struct sums sums = { .blocks = 0 };
	uint64_t sample = log_config(session_log(session)).sample;
	struct err *err;

	layout_init(&layout, session, list, out->columns);
	stack_texts_init(&texts, session, layout.indent);
	print_head(&layout, out);
	err = print_rows(&layout, list, &texts, &sums, out);
	if (!err) {
		out_text(out, "\n");
		print_left_out(&layout, out);
		heap_notes_print(heap, out);
		out_count(out,
			  "Up to %" PRIu64 " blocks more were freed or resized before they could "
			  "be listed\n",
			  list_gone(list) + heap->gone.blocks);
		err = lacks_print(session, out);
	}
	stack_texts_free(&texts);
	if (err)
		return err;
	heap_stood_print(heap, out);
	out_f(out, "%" PRIu64 " allocations, %s bytes; %" PRIu64 " allocations, %s bytes %s\n",
	      sums.blocks, size_text(out, sums.bytes).at, sums.early,
	      size_text(out, sums.early_bytes).at,
	      heap->complete || !sums.early ? "from before the attach" : "not recorded");
	if (sample)
		out_f(out, "Sampled (one in %" PRIu64 " bytes): they stand for %" PRIu64
			   " allocations, %s bytes\n",
		      sample, sums.all.blocks, size_text(out, sums.all.bytes).at);
	return NULL;
}
