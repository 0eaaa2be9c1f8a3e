/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc pins, mdbg::pins: whose blocks keep free memory resident. */

#include "base/cleanup.h"
#include "cmd/query_pins.h"
#include "cmd/shell/cmd.h"
#include "report/pins.h"

static void text_free(struct pins_text *text)
{
	free_space_free(&text->without_first);
	free_space_free(&text->without_all);
}

static struct err *run(struct call *call)
{
	CLEANUP(query_pins_free) struct query_pins pins;
	struct pins_text text CLEANUP(text_free) = { .by = PIN_STACK };
	struct err *err = query_pins(call, &pins);

	if (err)
		return err;
	text.names = &pins.query.names;
	text.typed = &pins.query.typed;
	text.by = pins.source.by;
	text.pins = &pins.pins;
	text.heap = &pins.use.heap;
	err = pins_without(&pins.source, &pins.pins, 1, &text.without_first);
	if (!err)
		err = pins_without(&pins.source, &pins.pins, pins.pins.vec.nr, &text.without_all);
	if (err)
		return err;
	return (call->brief ? pins_print_brief : pins_print)(&text, call->out);
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(query_pins_free) struct query_pins pins;
	struct err *err = query_pins(call, &pins);

	pins.query.heap = pins.use.heap;	/* for its notes */
	pins.query.heap.lent = true;
	if (!err)
		err = pin_rows(&pins.query.names, &pins.query.typed, pins.source.by, false,
			       &pins.pins, ret);
	return err ? err : query_add_notes(call, &pins.query, false, ret);
}

static const struct twin twin = {
	.name		= "mdbg::pins",
	.brief		= "list of dicts: the rows of `malloc pins`",
	.help		= "The free bytes of all rows add up to those of the pages that live blocks are\n"
			  "on (without a FILTER). By heap, size and thread `stack` is the one with most\n"
			  "of the bytes. For -each see `help mdbg::allocations`.\n",
	.example	= "foreach pin [mdbg::pins limit 3] {puts [dict get $pin bytes]}\n",
	.of		= &pin_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_pins = {
	.name		= "malloc pins",
	.usage		= "?by site|function|line|module|thread|size|heap|type? ?FILTER? "
			  "?sort KEY ?up?? ?limit N?",
	.brief		= "the blocks whose pages keep free memory resident",
	.help		= "The kernel takes and gives whole pages. A page with one live block stays\n"
			  "resident, however much of it is free, and `malloc trim` cannot give it back.\n"
			  "The free bytes of such a page are divided equally among the live blocks on it,\n"
			  "so that the sum over all sites is what such pages keep. Blocks from before\n"
			  "the attach, and others without a record, count by size; `by type` they have\n"
			  "their types (`help malloc types`). Where objects of a pool lie in a block\n"
			  "(`help probe pool`), these keep it, and have its part in the place of it.\n"
			  "\n"
			  "A paragraph says how many free bytes a site's blocks keep, on how many pages,\n"
			  "how many blocks are on these pages, and the share of all that is kept so. A\n"
			  "page with blocks of two sites is one page of both.\n"
			  "\n"
			  "The last lines say what is free in the heaps, and why it is resident:\n"
			  "    go by `malloc trim`     whole pages inside of free chunks, and the end of\n"
			  "                            the main arena\n"
			  "    kept by live blocks     the sum over all sites\n"
			  "    at the ends of arenas   malloc_trim does not give back the last chunk of\n"
			  "                            another arena than the main one\n"
			  "    threads' caches         small blocks that were freed are kept for reuse,\n"
			  "                            and with them the rest of their pages\n"
			  "    the allocator's data    the links of a free chunk, an arena's own data\n"
			  "\n"
			  "What would be given back if blocks were freed includes the blocks themselves,\n"
			  "also those on full pages. Threads' caches keep the last few of each size, and\n"
			  "free memory at the end of another arena is not counted.\n"
			  "\n"
			  "A transparent huge page counts as small ones, since giving back a part of it\n"
			  "splits it. FILTER is as in `help malloc allocations`; KEY is bytes, pages,\n"
			  "count or held. -brief prints a line for each.\n",
	.example	= "malloc pins limit 3\n"
			  "malloc pins by size size < 100 sort pages\n"
			  "export csv pins.csv pins\n",
	.need		= call_need_view,
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_BRIEF,
	.complete	= COMPLETE_BLOCKS,
};
