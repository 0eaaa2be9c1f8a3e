/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `malloc leaks`. Its kinds and words are those of valgrind's memcheck. */

#include "report/leak_text.h"

#include <inttypes.h>
#include <string.h>

#include "answer/leak_rows.h"
#include "base/cancel.h"
#include "heap/leak.h"
#include "heap/site.h"
#include "report/holder_text.h"
#include "report/lack_text.h"
#include "report/out.h"
#include "report/rows_text.h"
#include "report/stood_text.h"
#include "report/sites.h"
#include "report/traceback.h"
#include "report/suppressed.h"
#include "session/leaks.h"

#define INDENT	8	/* of the traceback */

static void print_sums(const struct leaks *leaks, struct out *out)
{
	static const char dots[] = "......................";
	struct leak_sum all = { 0, 0 };

	for (unsigned i = 0; i < LEAK_KINDS; i++) {
		const char *name = leak_kind_name(i);

		out_f(out, "    %s%s %s bytes in %" PRIu64 " blocks\n", name,
		      dots + strlen(name) + 1, number_text_size(out, leaks->sum[i].bytes).at,
		      leaks->sum[i].blocks);
		all.bytes += leaks->sum[i].bytes;
		all.blocks += leaks->sum[i].blocks;
	}
	if (leaks->suppressed.blocks)
		out_f(out, "    suppressed........... %s bytes in %" PRIu64 " blocks\n",
		      number_text_size(out, leaks->suppressed.bytes).at, leaks->suppressed.blocks);
	all.bytes += leaks->suppressed.bytes;
	all.blocks += leaks->suppressed.blocks;
	out_f(out, "    all of them.......... %s bytes in %" PRIu64 " blocks\n",
	      number_text_size(out, all.bytes).at, all.blocks);
}

static void print_verdict(const struct leaks *leaks, struct out *out)
{
	struct leak_verdict verdict = leaks_verdict(leaks);

	out_f(out, "    lost................. %s bytes in %" PRIu64 " blocks: %s bytes directly, ",
	      number_text_size(out, verdict.lost.bytes).at, verdict.lost.blocks,
	      number_text_size(out, leaks->sum[LEAK_DEFINITE].bytes).at);
	out_f(out, "%s bytes through these\n",
	      number_text_size(out, leaks->sum[LEAK_INDIRECT].bytes).at);
	out_f(out, "    in use by evidence... %s bytes in %" PRIu64 " blocks\n",
	      number_text_size(out, verdict.in_use.bytes).at, verdict.in_use.blocks);
	out_f(out, "    not known............ %s bytes in %" PRIu64 " blocks\n",
	      number_text_size(out, verdict.unknown.bytes).at, verdict.unknown.blocks);
}

#define LIKELY_TEXT	"    of those possibly lost, %s bytes in %" PRIu64 " blocks are "

/* Print two figures that add up to those of the possibly lost blocks, which are printed above. */
static void print_likely(const struct leaks *leaks, struct out *out)
{
	static const char *const why[LIKELY_KINDS] = {
		[LIKELY_OFFSET] = "are pointed to at the same inner byte as others of their site",
		[LIKELY_FORM] = "are pointed to where their form says",
		[LIKELY_POOL] = "are an allocator's pools",
		[LIKELY_LINKED] = "are in a list, and pointed to at their links",
		[LIKELY_VIA] = "are pointed to by these",
	};
	struct leak_sum all = { 0, 0 };
	const char *before = " (";

	for (unsigned i = LIKELY_NOT + 1; i < LIKELY_KINDS; i++) {
		all.bytes += leaks->likely[i].bytes;
		all.blocks += leaks->likely[i].blocks;
	}
	if (!all.blocks)
		return;
	out_f(out, LIKELY_TEXT "most likely in use", number_text_size(out, all.bytes).at,
	      all.blocks);
	for (unsigned i = LIKELY_NOT + 1; i < LIKELY_KINDS; i++) {
		if (!leaks->likely[i].blocks)
			continue;
		out_f(out, "%s%" PRIu64 " blocks %s", before, leaks->likely[i].blocks, why[i]);
		before = ", ";
	}
	out_f(out, ")\n" LIKELY_TEXT "not known to be\n",
	      number_text_size(out, leaks->sum[LEAK_POSSIBLE].bytes - all.bytes).at,
	      leaks->sum[LEAK_POSSIBLE].blocks - all.blocks);
}

void leak_text_print_unread(const struct search_unread *unread, const char *may, struct out *out)
{
	const char *before = "not read: ";

	if (unread->absent) {
		out_f(out, "%s%s bytes of shared memory never touched (or taken back by the kernel)",
		      before, number_text_size(out, unread->absent).at);
		before = ", ";
	}
	if (unread->elsewhere)
		out_f(out, "%s%s bytes of devices, or of files of FUSE or other machines: %s", before,
		      number_text_size(out, unread->elsewhere).at, may);
	if (unread->absent || unread->elsewhere)
		out_text(out, "\n");
}

/* Print why leaks may be hidden, or why blocks that are no leaks may be taken for leaks. */
void leak_text_print_doubts(const struct leak_marks *found, struct out *out)
{
	uint64_t roots = found->mark.unread_roots.bytes;

	out_f(out, "    %" PRIu64 " bytes of roots and %" PRIu64 " bytes of blocks were searched\n",
	      found->mark.root_bytes, found->mark.block_bytes);
	if (found->mark.pools)
		out_f(out, "    %" PRIu64 " bytes in %" PRIu64 " blocks of malloc are pools, to which "
			   "nothing else leads: what is lost in them are their objects\n",
		      found->mark.pool_bytes, found->mark.pools);
	if (!found->walked)
		out_f(out, "    %s: leaks are looked for among recorded blocks\n", found->why);
	out_count(out, "    %" PRIu64 " places of the heaps are damaged (`malloc check`)\n",
		  found->damages);
	out_count(out,
		  "    %" PRIu64 " places of the heaps may be in the middle of a change, or "
		  "damaged (`malloc check`)\n",
		  found->uncertain);
	out_count(out, "    %" PRIu64 " bytes of heap that may have been allocated before the attach are "
		  "taken for roots: leaks may be hidden\n", found->mark.heap_bytes);
	if (found->walked && !found->caches_known)
		out_text(out, "    free blocks in threads' caches are not known: some may be counted as "
			 "blocks from before the attach\n");
	if (found->core)
		out_count(out, "    %" PRIu64 " bytes of roots are not in the core: they were never "
			  "written, or were left out (MADV_DONTDUMP, a file that was cut off); "
			  "some blocks may only seem lost\n", roots);
	else
		out_count(out, "    %" PRIu64 " bytes of roots could not be read: some blocks may only "
			  "seem lost\n", roots);
	out_count(out, "    %" PRIu64 " bytes of blocks could not be read: some blocks may only seem "
		  "lost\n", found->mark.unread_blocks.bytes);
	if (found->unread.absent || found->unread.elsewhere)
		out_blanks(out, 4);
	leak_text_print_unread(&found->unread, "some blocks may only seem lost", out);
	out_count(out, "    the registers of %" PRIu64 " threads could not be read: some blocks may "
		  "only seem lost\n", found->blind_threads);
	out_count(out, "    realloc is at work on %" PRIu64 " blocks: blocks that they point to may "
		  "only seem lost\n", found->under_way);
	out_count(out, "    %" PRIu64 " blocks of other processes were not looked at\n",
		  found->held.others);
}

/* A listing of leaks or of sites; the other one is NULL. */
struct listing {
	struct session *session;
	const struct leak_marks *found;
	const struct leaks *leaks;
	const struct suppressions *suppressions;
	const struct sites *sites;
	struct stack_texts texts;
	struct stack_names names;
	struct out *out;
};

static void print_offsets(const struct leak *leak, struct out *out)
{
	for (uint32_t i = 0; i < leak->nr_offsets; i++)
		out_f(out, "%s%" PRIu32, i ? ", " : ": pointers to byte ", leak->offset[i]);
	if (leak->nr_offsets && leak->form != FORM_NONE)
		out_f(out, ", %s", form_text(leak->form));
}

static void print_notes(const struct leak *leak, struct out *out)
{
	if (leak->likely_blocks) {
		out_f(out, ", %" PRIu64 " of them most likely in use", leak->likely_blocks);
		print_offsets(leak, out);
		if (leak->likely_kinds == 1u << LIKELY_POOL)
			out_text(out, ": pools");
	}
	if (leak->stack_blocks)
		out_f(out, ", %" PRIu64 " of them only by words of stacks or registers",
		      leak->stack_blocks);
}

/* Print the function that has allocated it, and the traceback. */
static struct err *print_stack(struct listing *list, uint32_t stack)
{
	struct err *err = sites_print_headline(&list->names, stack, list->out);

	out_blanks(list->out, INDENT);
	return err ? err : traceback_texts_print(&list->texts, stack, list->out);
}

/* An address to go on with, and whether its blocks point to one another. */
static void print_first(const struct listing *list, const struct leak *leak)
{
	const struct leak_marks *found = list->found;
	const struct packed_list *held = &found->held;
	uint32_t leader = reach_leader(&found->mark, leak->first);
	struct out *out = list->out;

	out_f(out, "%*s%s " PRI_ADDRESS, INDENT, "", leak->blocks == 1 ? "at" : "the first at",
	      (uint64_t)packed_at(held, leak->first)->address);
	if (leak->kind == LEAK_INDIRECT && leader != REACH_NO_LEADER)
		out_f(out, ", lost through %s" PRI_ADDRESS,
		      reach_is_ring(&found->mark, leader) ? "the ring of " : "",
		      (uint64_t)packed_at(held, leader)->address);
	else if (leak->ring_blocks)
		out_f(out, ", in a ring");
	out_text(out, "\n");
}

/* What its blocks are, if that is known. */
static struct err *print_type(const struct leak *leak, struct out *out)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err;

	if (!leak->type || (!strcmp(leak->type, "?") && !leak->types_differ))
		return NULL;
	err = leak_rows_type(leak, &text);
	if (!err)
		out_f(out, "%*stype %s\n", INDENT, "", str_text(&text));
	return err;
}

static struct err *print_leak(struct listing *list, const struct leak *leak)
{
	struct out *out = list->out;
	struct err *err = NULL;

	if (leak->indirect_blocks)
		out_f(out, "%s (%s direct, %s indirect) bytes",
		      number_text_size(out, leak->bytes + leak->indirect_bytes).at,
		      number_text_size(out, leak->bytes).at,
		      number_text_size(out, leak->indirect_bytes).at);
	else
		out_f(out, "%s bytes", number_text_size(out, leak->bytes).at);
	out_f(out, " in %" PRIu64 " blocks are %s", leak->blocks, leak_kind_name(leak->kind));
	print_notes(leak, out);
	if (leak->suppression != SUPPRESS_NONE) {
		out_text(out, ", suppressed by ");
		suppressed_print_one(list->suppressions, leak->suppression, out);
	}
	out_text(out, "\n");
	if (leak->preattach)
		out_f(out, "%*s%s\n", INDENT, "", no_stack_text(leak->unrecorded));
	else
		err = print_stack(list, leak->stack);
	print_first(list, leak);
	return err ? err : print_type(leak, out);
}

static struct err *print_site(struct listing *list, const struct site *site)
{
	site_print_stale(list->sites, site, list->out);
	return print_stack(list, site->stack);
}

/* Print the doubts, the leaks or sites with their ranks, and what the answer lacks. */
static struct err *print_listing(struct listing *list, const struct leak_marks *found)
{
	size_t nr = list->leaks ? list->leaks->vec.nr : list->sites->vec.nr;
	struct out *out = list->out;
	struct err *err = NULL;

	leak_text_print_doubts(found, out);
	stood_text_print_search(out, found);
	out_text(out, "\n");
	traceback_texts_init(&list->texts, list->session, INDENT);
	stack_names_init(&list->names, list->session);
	for (size_t i = 0; !err && !out_done(out) && i < nr; i++) {
		out_f(out, "#%zu  ", i + 1);
		err = list->leaks ? print_leak(list, &list->leaks->vec.at[i]) :
				    print_site(list, &list->sites->vec.at[i]);
		out_text(out, "\n");
		if (!err)
			err = cancel_check();
	}
	stack_names_free(&list->names);
	traceback_texts_free(&list->texts);
	return err ? err : lack_text_print(list->session, out);
}

static void print_head(struct session *session, const struct leak_marks *found,
		       const struct leaks *leaks, struct out *out)
{
	out_heading(out, "Leak Summary of the Process:");
	print_sums(leaks, out);
	out_text(out, "\n");
	print_verdict(leaks, out);
	out_text(out, "\n");
	print_likely(leaks, out);
	holder_text_print(session, found, leaks, out);
}

void leak_text_print_summary(struct session *session, const struct leak_marks *found,
			     const struct leaks *leaks, struct out *out)
{
	print_head(session, found, leaks, out);
	leak_text_print_doubts(found, out);
}

/* Print how many are listed, and what is not. */
static void print_listed(struct session *session, const struct leaks *leaks,
			 const struct suppressions *suppressions, struct out *out)
{
	if (leaks->unlisted)
		out_f(out, "%zu more loss records are left out by limit\n", leaks->unlisted);
	out_f(out, "%zu loss records listed; %s bytes in %" PRIu64 " blocks\n",
	      leaks->vec.nr, number_text_size(out, leaks->listed.bytes).at, leaks->listed.blocks);
	suppressed_print(leaks, suppressions, out);
	sites_print_sampling(session, out);
}

struct err *leak_text_print(struct session *session, const struct leak_marks *found,
			    const struct leaks *leaks, const struct suppressions *suppressions,
			    struct out *out)
{
	struct listing list = { .session = session, .found = found, .leaks = leaks,
				.suppressions = suppressions,
				.out = out };
	struct err *err;

	print_head(session, found, leaks, out);
	err = print_listing(&list, found);
	if (!err)
		print_listed(session, leaks, suppressions, out);
	return err;
}

struct err *leak_text_print_brief(struct session *session, const struct leak_marks *found,
				  const struct leaks *leaks,
				  const struct suppressions *suppressions, struct out *out)
{
	struct answer rows;
	struct err *err = leak_rows(session, found, leaks, suppressions, &rows);

	if (err)
		return err;
	print_head(session, found, leaks, out);
	leak_text_print_doubts(found, out);
	stood_text_print_search(out, found);
	out_text(out, "\n");
	err = rows_text_print(&rows, NULL, out);
	out_text(out, "\n");
	if (!err)
		err = lack_text_print(session, out);
	if (!err)
		print_listed(session, leaks, suppressions, out);
	return err;
}

struct err *leak_text_print_stale(struct session *session, const struct leak_marks *found,
				  const struct sites *sites, struct out *out)
{
	struct listing list = { .session = session, .sites = sites, .out = out };
	struct err *err;

	out_heading(out, "Old Blocks of the Process that are Reachable:");
	err = print_listing(&list, found);
	if (!err)
		out_f(out, "%zu sites listed; %s bytes in %" PRIu64 " blocks\n",
		      sites->vec.nr, number_text_size(out, sites->bytes).at, sites->count);
	return err;
}
