/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `malloc tree`. */

#include "report/tree.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "report/out.h"

#define NEARLY_ALL	0.99
#define INDENT		2u

struct printing {
	const struct call_tree *tree;
	const struct call_tree_spec *spec;
	VEC(uint32_t) shown;		/* by depth of the node: the indent of the last one */
};

static double share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

/* Has this row nearly all of its parent, which is the row before? */
static bool is_folded(const struct printing *printing, size_t i)
{
	const struct call_row *row = &printing->tree->vec.at[i];
	enum site_sort sort = printing->spec->sort;

	return i && row->parent == i &&
	       (double)call_tree_weight(row, sort) >=
		       NEARLY_ALL * (double)call_tree_weight(&row[-1], sort);
}

static void print_figures(const struct printing *printing, const struct call_row *row,
			  struct out *out)
{
	enum site_sort sort = printing->spec->sort;
	bool all_time = site_sort_is_all_time(sort), freed = sort == SITE_SORT_TEMPORARY;
	uint64_t bytes = all_time ? row->total_bytes : row->bytes;
	uint64_t blocks = freed ? row->freed : all_time ? row->total : row->count;

	out_f(out, "%14s %10" PRIu64 " %6.1f  ", number_text_size(out, bytes).at, blocks,
	      100.0 * share(call_tree_weight(row, sort), printing->tree->weight));
}

static struct err *print_row(struct printing *printing, size_t i, struct out *out)
{
	const struct call_row *row = &printing->tree->vec.at[i];
	bool folded = is_folded(printing, i);
	uint32_t *at = vec_slot(&printing->shown, row->depth);

	if (!at)
		return err_nomem;
	*at = !row->depth ? 0 : printing->shown.at[row->depth - 1] + !folded;
	if (folded)
		out_blanks(out, 34);
	else
		print_figures(printing, row, out);
	out_blanks(out, INDENT * *at);
	out_outside(out, (struct outside){ row->function });
	out_text(out, "\n");
	return cancel_check();
}

static void print_heading(const struct call_tree_spec *spec, const struct moment_name *at,
			  struct out *out)
{
	bool all_time = site_sort_is_all_time(spec->sort);

	out_bold(out, true);
	out_text(out, spec->callers ? "Allocations by Function, with its Callers" :
				      "Allocations by Path of Calls");
	if (at->word) {
		out_text(out, " at ");
		moment_text_print_name(at, out);
	}
	out_text(out, ":");
	out_bold(out, false);
	out_f(out, "\n\n%14s %10s %6s  %s\n", all_time ? "ALL-TIME BYTES" : "BYTES",
	      spec->sort == SITE_SORT_TEMPORARY ? "FREED" : "BLOCKS", "%", "FUNCTION");
}

struct err *tree_print(const struct call_tree *tree, const struct call_tree_spec *spec,
		       const struct moment_name *at, struct out *out)
{
	struct printing printing = { .tree = tree, .spec = spec, .shown = VEC_INIT };
	struct err *err = NULL;

	print_heading(spec, at, out);
	for (size_t i = 0; !err && !out_done(out) && i < tree->vec.nr; i++)
		err = print_row(&printing, i, out);
	vec_free(&printing.shown);
	out_f(out, "\n%zu places listed", tree->vec.nr);
	if (tree->left_out)
		out_f(out, ", %" PRIu64 " with less are left out (`limit N`)", tree->left_out);
	out_text(out, "\n");
	return err;
}
