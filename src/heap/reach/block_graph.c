/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All pointers of a process (block_graph.h). */

#include "heap/reach/block_graph.h"

#include "heap/extents.h"

/* Words that may be pointers, and whose they are: looked up together. */
struct builder {
	struct block_graph graph;
	struct extents extents;
	struct word_scan words;
	uint32_t done;			/* blocks whose `first` is known */
	uint64_t word[EXTENTS_BATCH];
	struct word_piece from[EXTENTS_BATCH];
	size_t nr_words;
};

/* A block without pointers begins where the next one does. */
static void begin_block(struct builder *builder, uint32_t block)
{
	while (builder->done <= block)
		builder->graph.first[builder->done++] = (uint32_t)builder->graph.to.nr;
}

static struct err *add(struct builder *builder, const struct word_piece *from, uint32_t to)
{
	struct block_graph *graph = &builder->graph;

	if (to == EXTENT_NONE || to == from->block)
		return NULL;
	if (from->block == WORD_NO_BLOCK)
		return vec_push(&graph->roots,
				((struct graph_root){ from->place, to, from->in }));
	begin_block(builder, from->block);
	if (graph->to.nr > graph->first[from->block] && graph->to.at[graph->to.nr - 1] == to)
		return NULL;
	if (graph->to.nr == BLOCK_GRAPH_MOST)
		return err_create(ERR_RANGE, "there are too many pointers");
	return vec_push(&graph->to, to);
}

static struct err *look_up(struct builder *builder)
{
	struct extent_found is[EXTENTS_BATCH];
	size_t nr = builder->nr_words;
	struct err *err = NULL;

	builder->nr_words = 0;
	extents_look_up(&builder->extents, builder->word, nr, is);
	for (size_t i = 0; i < nr && !err; i++) {
		err = add(builder, &builder->from[i], is[i].block);
		if (!err)
			err = add(builder, &builder->from[i], is[i].outer);
	}
	return err;
}

static struct err *look(void *ctx, const uint64_t *word, size_t nr, const struct word_piece *piece)
{
	struct builder *builder = ctx;
	uint64_t low = builder->extents.low, len = builder->extents.high - low;
	uint32_t step = piece->in == WORD_ALONE ? 1 : 8;
	struct err *err = NULL;

	for (size_t i = 0; i < nr && !err; i++) {
		if (word[i] - low >= len)
			continue;
		builder->from[builder->nr_words] = *piece;
		builder->from[builder->nr_words].place += i * step;
		builder->word[builder->nr_words++] = word[i];
		if (builder->nr_words == EXTENTS_BATCH)
			err = look_up(builder);
	}
	return err;
}

static struct err *scan_roots(struct builder *builder)
{
	const struct reach_source *source = builder->words.source;
	struct word_scan *words = &builder->words;
	struct err *err = word_scan_alone(words, 0, source->nr_certain);

	if (!err)
		err = word_scan_ranges(words, source->root, source->nr_roots, WORD_ROOT);
	if (!err)
		err = word_scan_ranges(words, source->heap, source->nr_heaps, WORD_HEAP);
	if (!err)
		err = look_up(builder);
	builder->graph.nr_firm = builder->graph.roots.nr;
	if (!err)
		err = word_scan_ranges(words, source->stack, source->nr_stacks, WORD_STACK);
	if (!err)
		err = word_scan_alone(words, source->nr_certain, source->nr_words);
	return err ? err : look_up(builder);
}

static struct err *build(struct builder *builder)
{
	struct word_scan *words = &builder->words;
	struct block_graph *graph = &builder->graph;
	struct err *err = extents_build(words->source->list, &builder->extents);

	if (err)
		return err;
	graph->nr = (uint32_t)words->source->list->nr;
	graph->first = malloc((graph->nr + 1ull) * sizeof(*graph->first));
	if (!graph->first)
		return err_nomem;
	err = word_scan_begin(words);
	if (!err)
		err = scan_roots(builder);
	if (!err)
		err = word_scan_blocks_apart(words);
	if (!err)
		err = look_up(builder);
	begin_block(builder, graph->nr);
	graph->unread_roots = words->unread_roots;
	graph->unread_blocks = words->unread_blocks;
	return err;
}

struct err *block_graph_build(const struct reach_source *source, struct block_graph *ret)
{
	struct builder builder = { .extents = EXTENTS_INIT };
	struct err *err;

	builder.words = (struct word_scan){ .source = source, .extents = &builder.extents,
					    .look = look, .ctx = &builder };
	err = build(&builder);
	extents_free(&builder.extents);
	word_scan_free(&builder.words);
	if (err)
		block_graph_free(&builder.graph);
	else
		*ret = builder.graph;
	return err;
}

void block_graph_free(struct block_graph *graph)
{
	free(graph->first);
	vec_free(&graph->to);
	vec_free(&graph->roots);
	turned_graph_free(&graph->turned);
	*graph = (struct block_graph){ .nr = 0 };
}
