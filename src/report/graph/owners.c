/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `malloc owners` and `malloc path`. */

#include "report/graph/owners.h"

#include <inttypes.h>

#include "answer/path_rows.h"
#include "answer/stack_names.h"
#include "base/cancel.h"
#include "report/lack_text.h"
#include "report/leak_text.h"
#include "report/out.h"
#include "report/rows_text.h"
#include "report/stood_text.h"
#include "session/session.h"

static const char *plural(uint64_t nr)
{
	return nr == 1 ? "" : "s";
}

void owners_print_doubts(const struct owner_graph *graph, uint64_t age_ns, struct out *out)
{
	const struct leak_marks *in = &graph->in;
	char text[32];

	if (!in->walked)
		out_f(out, "%s: only recorded blocks are known\n", in->why);
	out_count(out, "%" PRIu64 " places of the heaps are damaged (`malloc check`)\n",
		  in->damages);
	out_count(out, "%" PRIu64 " places of the heaps may be in the middle of a change, or damaged "
		  "(`malloc check`)\n", in->uncertain);
	out_count(out, "%" PRIu64 " bytes of roots could not be read: there may be more pointers\n",
		  graph->graph.unread_roots.bytes);
	out_count(out, "%" PRIu64 " bytes of blocks could not be read: there may be more pointers\n",
		  graph->graph.unread_blocks.bytes);
	leak_text_print_unread(&in->unread, "there may be more pointers", out);
	out_count(out, "The registers of %" PRIu64 " threads could not be read: there may be more "
		  "pointers\n", in->blind_threads);
	out_count(out, "realloc is at work on %" PRIu64 " blocks: there may be more pointers\n",
		  in->under_way);
	if (!age_ns) {
		stood_text_print(out, in->pause_ns, in->no_snapshot);
		return;
	}
	number_text_duration(text, sizeof(text), age_ns);
	out_f(out, in->core ? "It was found %s ago\n" :
		       "It is how the process was %s ago; `now` looks anew\n", text);
}

/* The block at the row's address stands for itself alone, not for the others. */
static void print_several(const struct owner_row *row, struct out *out)
{
	out_f(out, "        They are a group of %" PRIu64 " blocks that no single root keeps; this one "
	      "keeps %s bytes of them\n", row->count, number_text_size(out, row->blockbytes).at);
	out_f(out, "        `malloc owners by type` and `malloc owners by site` say what blocks there are, "
	      "and `malloc path 0x%" PRIx64 " all` which roots lead to this one\n", row->address);
}

static void print_row(const struct owners_text *text, size_t rank, const struct owner_row *row,
		      struct out *out)
{
	out_f(out, "#%zu  %s bytes in %" PRIu64 " block%s (%.1f %%)", rank,
	      number_text_size(out, row->bytes).at, row->count, plural(row->count), row->share);
	if (row->compared && row->change)
		out_f(out, ", %+" PRId64 " bytes,", row->change);
	if (text->by == OWNER_BLOCK)
		out_text(out, " are kept by\n");
	else
		out_f(out, " are kept by %s%s\n", *row->label ? "" : "blocks from ",
		      *row->label ? row->label : *row->function ? row->function : "(unknown)");
	if (!row->address)
		return;
	out_blanks(out, 8);
	out_f(out, PRI_ADDRESS " of %s bytes%s%s\n", row->address,
	      number_text_size(out, row->size).at, *row->function ? ", from " : "",
	      row->function);
	if (text->by == OWNER_ROOT && row->group == text->owners->keeps.nr_groups &&
	    row->blockbytes < row->bytes)
		print_several(row, out);
}

/* One block: what it is, what it keeps, and what keeps it. */
static struct err *print_block(const struct owners_text *text, struct out *out)
{
	const struct owners *owners = text->owners;
	const struct dominators *keeps = &owners->keeps;
	uint32_t block = owners->graph.block;
	AUTO_STR struct str self = STR_INIT, by = STR_INIT;
	struct block is = packed_block(&owners->graph.in.held, block);
	struct err *err = owner_rows_vertex(text->names, owners, block, &self);

	if (!err)
		err = owner_rows_vertex(text->names, owners, keeps->of[block], &by);
	if (err)
		return err;
	out_f(out, "%s, of %s bytes, keeps %s bytes in %" PRIu32 " block%s%s\n",
	      str_text(&self), number_text_size(out, is.size).at,
	      number_text_size(out, owners_bytes(owners, block)).at, owners_blocks(owners)[block],
	      plural(owners_blocks(owners)[block]),
	      owners->counts ? " of those that match" : ", itself among them");
	out_f(out, "It is kept by %s", str_text(&by));
	if (keeps->of[block] == keeps->top)
		out_f(out, ": `malloc path 0x%" PRIx64 " all` names them", is.address);
	out_text(out, "\n\n");
	return NULL;
}

/* What to type next. */
static void print_next(uint64_t address, struct out *out)
{
	if (address)
		out_f(out, "`malloc owners 0x%" PRIx64 "` says what a block keeps, and `malloc path "
		      "0x%" PRIx64 "` by which way it is kept\n", address, address);
}

/* *next_ret: the first block of them; 0: there is none. */
static struct err *print_rows(struct owners_text *text, struct out *out, uint64_t *next_ret)
{
	const struct owner_row *row;
	size_t rank = 0;
	struct err *err = answer_next(text->rows, (const void **)&row);

	while (!err && row && !out_done(out)) {
		print_row(text, ++rank, row, out);
		*next_ret = *next_ret ? *next_ret : row->address;
		out_text(out, "\n");
		err = cancel_check();
		if (!err)
			err = answer_next(text->rows, (const void **)&row);
	}
	return err;
}

static void print_sums(const struct owners_text *text, uint64_t listed, struct out *out)
{
	const struct dominators *keeps = &text->owners->keeps;
	const uint32_t *blocks = owners_blocks(text->owners);
	uint32_t lost = dominators_lost(keeps), of = keeps->top;
	char since[32];

	if (text->by == OWNER_BLOCK)
		of = text->owners->graph.block;
	out_f(out, "%" PRIu64 " listed of %" PRIu64 "; %s bytes in %" PRIu32 " block%s", listed,
	      text->all, number_text_size(out, owners_bytes(text->owners, of)).at, blocks[of], plural(blocks[of]));
	if (text->owners->counts)
		out_text(out, blocks[of] == 1 ? " matches" : " match");
	if (of == keeps->top && blocks[lost])
		out_f(out, ", %s of them lost", number_text_size(out, owners_bytes(text->owners, lost)).at);
	out_text(out, "\n");
	if (!text->since_ns)
		return;
	number_text_duration(since, sizeof(since), text->since_ns);
	out_f(out, "Changes are since it was last asked, %s ago\n", since);
}

struct err *owners_print(struct owners_text *text, bool brief, struct out *out)
{
	uint64_t listed = text->rows->nr, next = 0;
	struct err *err = NULL;

	if (text->by == OWNER_BLOCK)
		err = print_block(text, out);
	else
		out_heading(out, "Who Keeps the Memory of the Process:");
	if (!err && brief)
		err = rows_text_print(text->rows, text->names, out);
	else if (!err)
		err = print_rows(text, out, &next);
	if (brief)
		out_text(out, "\n");
	if (err)
		return err;
	print_sums(text, listed, out);
	print_next(next, out);
	owners_print_doubts(&text->owners->graph, text->age_ns, out);
	return lack_text_print(text->names->session, out);
}

/* Is the step like the one before: a block from the same place, reached by the same word? */
static bool is_like(const struct path_row *row, const struct path_row *before)
{
	return before && row->block && before->block && row->leads && before->leads &&
	       row->stack == before->stack && row->size == before->size &&
	       row->offset == before->offset && row->to == before->to;
}

static void print_step(const struct path_row *row, struct out *out)
{
	if (!row->block && !strcmp(row->kind, "lost")) {
		out_f(out, "Lost: nothing that the process can reach leads to it%s%s\n",
		      *row->label ? ", but " : "", row->label);
		return;
	}
	if (!row->block) {
		out_f(out, "    %s%s%s\n", row->label, *row->member ? ": " : "", row->member);
		return;
	}
	out_f(out, "    -> " PRI_ADDRESS " of %s bytes%s%s%s%s", row->address,
	      number_text_size(out, row->size).at, *row->type ? ", " : "", row->type,
	      *row->label ? ", from " : "", row->label);
	if (row->leads)
		out_f(out, ", at byte %" PRIu64 "%s%s", row->offset, *row->member ? ": " : "",
		      row->member);
	out_text(out, "\n");
}

static void print_more(uint64_t *alike, struct out *out)
{
	out_count(out, "       ... and %" PRIu64 " more like it, one behind the other\n", *alike);
	*alike = 0;
}

static struct err *print_steps(struct answer *rows, struct out *out)
{
	const struct path_row *row, *before = NULL;
	uint64_t alike = 0;
	struct err *err = answer_next(rows, (const void **)&row);

	while (!err && row && !out_done(out)) {
		if (is_like(row, before)) {
			alike++;
		} else {
			print_more(&alike, out);
			if (row->way && !row->step)
				out_text(out, "\n");
			print_step(row, out);
		}
		before = row;
		err = cancel_check();
		if (!err)
			err = answer_next(rows, (const void **)&row);
	}
	return err;
}

struct err *owners_print_path(struct stack_names *names, const struct owner_graph *graph,
			      uint64_t address, uint64_t age_ns, struct out *out)
{
	struct block block = packed_block(&graph->in.held, graph->block);
	struct answer rows;
	struct err *err = path_rows(names, graph, &rows);

	if (err)
		return err;
	out_f(out, "Shortest way to 0x%" PRIx64 ", byte %" PRIu64 " of a block of %s bytes:\n\n",
	      address, address - block.address, number_text_size(out, block.size).at);
	err = print_steps(&rows, out);
	answer_free(&rows);
	if (err)
		return err;
	out_text(out, "\n");
	if (graph->path.more)
		out_f(out, "More than %zu root%s lead to it\n", graph->path.ways.nr,
		      plural(graph->path.ways.nr));
	owners_print_doubts(graph, age_ns, out);
	return lack_text_print(names->session, out);
}
