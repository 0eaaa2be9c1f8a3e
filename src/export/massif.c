/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * export massif: the file of valgrind's massif, for ms_print and massif-visualizer. The snapshots
 * without details are the history. The last snapshot is the answer; it has the tree of the callers
 * of the allocator, of their callers, and so on.
 *
 * Massif leaves small nodes out. mdbg writes all of them, because ms_print has a threshold of its
 * own. The snapshots of the history include the blocks from before the attach, which were there at
 * those moments, too.
 */

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "export/export_file.h"
#include "export/format_list.h"
#include "export/model.h"
#include "export/text.h"
#include "heap/interner.h"

/* Nodes have numbers from 1 on. Number 0 is the root, which is not in the list. */
struct node {
	uint32_t parent, number;
	struct model_step step;
	uint64_t bytes;
};

/* The children of a node, as indices in the sorted nodes. */
struct range {
	uint32_t next, end;
};

struct tree {
	struct interner keys;		/* parent << 32 | frame -> number - 1 */
	VEC(struct node) nodes;		/* by number; once sorted by parent, the largest first */
	struct range *children;		/* by number */
};

static void tree_free(struct tree *tree)
{
	interner_free(&tree->keys);
	vec_free(&tree->nodes);
	free(tree->children);
}

static struct err *add_step(struct tree *tree, const struct model *model,
			    const struct model_step *step, uint64_t bytes, uint32_t *parent)
{
	/* A frame belongs to one address, so equal frames mean equal places. */
	uint64_t key = (uint64_t)*parent << 32 | (uint64_t)(step->frame - model->frames.at);
	uint32_t number;
	struct err *err = interner_number(&tree->keys, key, &number);

	if (!err && number == tree->nodes.nr)
		err = vec_push(&tree->nodes, ((struct node){ *parent, number + 1, *step, 0 }));
	if (err)
		return err;
	tree->nodes.at[number].bytes += bytes;
	*parent = number + 1;
	return NULL;
}

static int by_parent(const void *va, const void *vb)
{
	const struct node *a = va, *b = vb;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static struct err *build(const struct model *model, struct tree *tree)
{
	struct model_stack stack = { VEC_INIT };
	struct err *err = NULL;

	for (size_t i = 0; !err && i < model->held; i++) {
		uint64_t bytes = model->sites.at[i].figures.bytes;
		uint32_t parent = 0;

		err = model_stack_get(model, &model->sites.at[i], &stack);
		if (err)
			break;
		for (size_t j = model_stack_first(model, &stack); !err && j < stack.vec.nr; j++)
			err = add_step(tree, model, &stack.vec.at[j], bytes, &parent);
	}
	vec_free(&stack.vec);
	if (err)
		return err;
	vec_sort(&tree->nodes, by_parent);
	tree->children = calloc(tree->nodes.nr + 1, sizeof(*tree->children));
	if (!tree->children)
		return err_nomem;
	for (uint32_t i = 0; i < tree->nodes.nr; i++) {
		struct range *range = &tree->children[tree->nodes.at[i].parent];

		if (!range->end)
			range->next = i;
		range->end = i + 1;
	}
	return NULL;
}

static void write_place(const struct model *model, const struct model_step *step,
			struct export_file *file)
{
	const struct model_frame *frame = step->frame;

	export_file_f(file, " 0x%" PRIX64 ": ", step->location->pc);
	text_write(file, frame->name, "", 0);
	if (frame->file) {
		export_file_text(file, " (");
		text_write(file, path_source(frame->file), "", 0);
		export_file_f(file, ":%d)", frame->line);
	} else if (step->location->module != MODEL_NO_MODULE) {
		export_file_text(file, " (in ");
		text_write(file, model->modules.at[step->location->module].path, "", 0);
		export_file_text(file, ")");
	}
	export_file_text(file, "\n");
}

static uint32_t children_of(const struct tree *tree, uint32_t number)
{
	return tree->children[number].end - tree->children[number].next;
}

/* Of other memory the root is that of massif's --pages-as-heap. */
static bool is_malloc(const struct model *model)
{
	return !strcmp(model->unit, "blocks");
}

/* Write each node, then all that is below it, then the next node beside it. */
static struct err *write_tree(const struct model *model, const struct tree *tree,
			      struct export_file *file)
{
	VEC(struct range) path = VEC_INIT;
	struct err *err = vec_push(&path, tree->children[0]);

	export_file_f(file, "n%u: %" PRIu64 " %s, --alloc-fns, etc.\n", children_of(tree, 0),
		      model->bytes, is_malloc(model) ? "(heap allocation functions) malloc/new/new[]" :
		      "(page allocation syscalls) mmap/mremap/brk");
	while (!err && path.nr) {
		struct range *level = &path.at[path.nr - 1];
		const struct node *node;

		if (level->next == level->end) {
			path.nr--;
			continue;
		}
		node = &tree->nodes.at[level->next++];
		export_file_f(file, "%*sn%u: %" PRIu64, (int)path.nr, "",
			      children_of(tree, node->number), node->bytes);
		write_place(model, &node->step, file);
		err = vec_push(&path, tree->children[node->number]);
		err = err_first(err, export_file_check(file));
	}
	vec_free(&path);
	return err;
}

static void write_snapshot(const struct model *model, size_t number, uint64_t time_ns,
			   uint64_t bytes, struct export_file *file)
{
	uint64_t ms = time_ns > model->since_ns ? (time_ns - model->since_ns) / 1000000 : 0;

	export_file_f(file, "#-----------\nsnapshot=%zu\n#-----------\n", number);
	export_file_f(file, "time=%" PRIu64 "\nmem_heap_B=%" PRIu64 "\nmem_heap_extra_B=0\n"
		      "mem_stacks_B=0\n", ms, bytes);
}

static void write_head(const struct model *model, struct export_file *file)
{
	export_file_text(file, "desc: mdbg");
	if (model->sample)
		export_file_f(file, ", sampled (one in %" PRIu64 " bytes): all figures are "
			      "estimates", model->sample);
	export_file_text(file, "\ncmd: ");
	text_write(file, *model->command ? model->command : "(not known)", "", 0);
	export_file_text(file, "\ntime_unit: ms\n");
}

static struct err *write_massif(const struct model *model, struct export_file *file)
{
	struct tree tree CLEANUP(tree_free) = { .keys = INTERNER_INIT };
	struct err *err = build(model, &tree);
	size_t number = 0;

	if (err)
		return err;
	write_head(model, file);
	/* A filter keeps less than the history has, which is malloc's. */
	for (size_t i = 0; i < model->samples.nr && !model->filtered && is_malloc(model); i++) {
		const struct model_sample *sample = &model->samples.at[i];

		if (sample->time_ns >= model->now_ns)
			break;
		write_snapshot(model, number++, sample->time_ns,
			       sample->bytes + model->early_bytes, file);
		export_file_text(file, "heap_tree=empty\n");
	}
	write_snapshot(model, number, model->now_ns, model->bytes, file);
	export_file_text(file, "heap_tree=detailed\n");
	return write_tree(model, &tree, file);
}

const struct export_format export_massif = {
	.name	= "massif",
	.brief	= "callers of the allocator as a tree, for ms_print",
	.wants	= EXPORT_GROWTH,
	.write	= write_massif,
};
