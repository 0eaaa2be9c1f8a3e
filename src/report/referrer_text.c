/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pointers to a block (referrer_text.h). */

#include "report/referrer_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "answer/root_names.h"
#include "base/cancel.h"
#include "report/address_text.h"
#include "report/leak_text.h"
#include "report/out.h"
#include "report/traceback.h"
#include "inspect/find_address.h"
#include "session/session.h"
#include "symbol/symbol.h"

struct printer {
	struct session *session;
	struct symbols *symbols;
	const struct find_address *find;
	struct stack_names names;
	struct out *out;
};

struct referrer_memory referrer_text_memory(struct symbols *symbols,
					    const struct find_address *find,
					    const struct find_referrer *referrer,
					    enum symbol_names names)
{
	const struct proc_map *map = procparse_maps_find(&find->maps, referrer->place);
	const struct symbol_frame *frame;
	struct referrer_memory is = { .module = NULL };
	size_t nr;

	frame = symbols_resolve(symbols, referrer->place, find->generation, false, &nr) + nr - 1;
	is.module = frame->module;
	is.symbol = frame->module ? symbol_frame_name(frame, names) : NULL;
	is.mapping = map ? map->path : NULL;
	is.offset = is.symbol ? frame->offset : map ? referrer->place - map->start : 0;
	return is;
}

static void print_memory(struct printer *printer, const struct find_referrer *referrer)
{
	struct referrer_memory is = referrer_text_memory(printer->symbols, printer->find, referrer,
							 session_naming(printer->session)->names);
	struct out *out = printer->out;

	if (is.module) {
		out_f(out, "data of %s", is.module);
		if (is.symbol && is.offset)
			out_f(out, ", %s+0x%" PRIx64, is.symbol, is.offset);
		else if (is.symbol)
			out_f(out, ", %s", is.symbol);
	} else if (is.mapping) {
		out_f(out, "byte %" PRIu64 " of %s at 0x%" PRIx64, is.offset,
		      *is.mapping ? is.mapping : "an anonymous mapping",
		      referrer->place - is.offset);
	} else {
		out_text(out, "memory");
	}
}

struct err *referrer_text_root(struct session *session, const struct find_address *find,
			       struct str *ret)
{
	struct owner_graph way = find->way;

	way.maps = find->maps;
	return root_names_text(session, &way, way.path.ways.at[0].root, ret);
}

struct symbol_tls referrer_text_tls(struct symbols *symbols, const struct find_address *find,
				    const struct find_referrer *referrer)
{
	return symbol_data_tls(symbols, referrer->tls_module, find->generation, referrer->tls_offset);
}

static void print_tls(struct printer *printer, const struct find_referrer *referrer)
{
	struct symbol_tls is = referrer_text_tls(printer->symbols, printer->find, referrer);
	const char *name = symbol_tls_name(&is, session_naming(printer->session)->names);
	struct out *out = printer->out;

	out_f(out, "thread-local data of thread %d, ", referrer->tid);
	if (!referrer->tls_module)
		out_f(out, "0x%" PRIx64 " below its thread pointer",
		      referrer->tp - referrer->place);
	else if (name && is.offset)
		out_f(out, "%s+0x%" PRIx64 " of %s", name, is.offset, is.module);
	else if (name)
		out_f(out, "%s of %s", name, is.module);
	else
		out_f(out, "byte %" PRIu64 " of what it has of %s", is.offset,
		      is.module ? is.module : "a module");
}

static void print_stack(struct printer *printer, const struct find_referrer *referrer)
{
	const struct stack_pc pc = { referrer->pc, printer->find->generation, !referrer->returns };

	traceback_print_word(printer->session, printer->symbols, referrer->tid, pc, printer->out);
}

static void print_of_block(struct printer *printer, const struct find_referrer *referrer)
{
	struct block is = packed_block(&printer->find->in.held, referrer->block), *block = &is;
	struct out *out = printer->out;

	out_f(out, "byte %" PRIu64 " of a block of %" PRIu64 " bytes at " PRI_ADDRESS,
	      referrer->place - block->address, block->size, block->address);
	if (block->preattach)
		out_f(out, " %s", no_stack_text(block->unrecorded));
	else
		out_f(out, ", allocated by %s",
		      stack_names_name(&printer->names,
				       stack_names_key(&printer->names, block->stack,
						       SITE_FUNCTION)));
}

static void print_what(struct printer *printer, const struct find_referrer *referrer)
{
	struct out *out = printer->out;

	switch (referrer->kind) {
	case FIND_REFERRER_REGISTER:
	case FIND_REFERRER_VECTOR:
	case FIND_REFERRER_CHUNK:
		out_f(out, "thread %d", referrer->tid);
		break;
	case FIND_REFERRER_STACK:
		print_stack(printer, referrer);
		break;
	case FIND_REFERRER_TLS:
		print_tls(printer, referrer);
		return;
	case FIND_REFERRER_CONTROL:
		out_f(out, "control block of thread %d, byte %" PRIu64, referrer->tid,
		      (referrer->place - referrer->tp));
		break;
	case FIND_REFERRER_HEAP:
		out_text(out, "heap, in no block that is known: perhaps free");
		break;
	case FIND_REFERRER_BLOCK:
		print_of_block(printer, referrer);
		break;
	default:
		print_memory(printer, referrer);
		break;
	}
	if (referrer->tls_module) {
		out_text(out, "; ");
		print_tls(printer, referrer);
	}
}

static void print_place(struct printer *printer, const struct find_referrer *referrer)
{
	const struct arch *arch = session_arch(printer->session);
	char text[32];

	if (referrer->kind == FIND_REFERRER_REGISTER)
		snprintf(text, sizeof(text), "register %s", arch->reg_names[referrer->index]);
	else if (referrer->kind == FIND_REFERRER_VECTOR)
		snprintf(text, sizeof(text), "vector register");
	else if (referrer->kind == FIND_REFERRER_CHUNK)
		snprintf(text, sizeof(text), "allocator at work");
	else
		snprintf(text, sizeof(text), "0x%016" PRIx64, referrer->place);
	out_blanks(printer->out, 4);
	out_column(printer->out, text, 18);
}

static struct err *print_referrers(struct printer *printer, bool firm, uint64_t total)
{
	const struct find_address *find = printer->find;
	struct block is = packed_block(&find->in.held, find->block), *block = &is;
	uint64_t listed = 0;
	struct err *err = NULL;

	for (size_t i = 0; i < find->vec.nr && !err && !out_done(printer->out); i++) {
		const struct find_referrer *referrer = &find->vec.at[i];

		if (referrer->firm != firm)
			continue;
		listed++;
		print_place(printer, referrer);
		out_f(printer->out, " to byte %" PRIu64 ": ", (referrer->word - block->address));
		print_what(printer, referrer);
		out_text(printer->out, "\n");
		err = cancel_check();
	}
	if (total > listed)
		out_f(printer->out, "    ... and %" PRIu64 " more\n", (total - listed));
	return err;
}

/* Print why pointers may be missing, or why one of them may be none. */
static void print_doubts(const struct find_address *find, struct out *out)
{
	const struct leak_marks *in = &find->in;
	struct block is = packed_block(&in->held, find->block), *block = &is;

	if (!in->walked)
		out_f(out, "%s: what else is in the heaps is not known\n", in->why);
	else if (in->damages)
		out_f(out, "%" PRIu64 " places of the heaps are damaged (`malloc check`)\n",
		      in->damages);
	else if (in->uncertain)
		out_f(out,
		      "%" PRIu64 " places of the heaps may be in the middle of a change, or "
		      "damaged (`malloc check`)\n",
		      in->uncertain);
	else if (!in->caches_known)
		out_text(out, "Free blocks in threads' caches are not known: some may be listed as "
			 "blocks\n");
	if (in->walked && block->preattach && block->heap == LOG_HEAP_MMAP &&
	    !find->heap.walk.mmapped_certain)
		out_text(out, "It may be no block, but a mapping of the program's own\n");
	out_count(out, "%" PRIu64 " bytes of roots and blocks could not be read: there may be more "
		  "pointers\n",
		      find->unread);
	leak_text_print_unread(&in->unread, "there may be more pointers", out);
	out_count(out, "The registers of %" PRIu64 " threads could not be read: there may be more "
		  "pointers\n",
		      in->blind_threads);
	out_count(out, "realloc is at work on %" PRIu64 " blocks: there may be more pointers\n",
		      in->under_way);
}

static struct err *print_pointers(struct printer *printer)
{
	const struct find_address *find = printer->find;
	struct out *out = printer->out;
	struct err *err;

	if (!find->nr_firm && !find->nr_inner)
		out_text(out, "No pointer to it was found\n");
	out_count(out, "%" PRIu64 " pointers to its start, or that count as such:\n", find->nr_firm);
	err = print_referrers(printer, true, find->nr_firm);
	if (!err)
		out_count(out, "%" PRIu64 " pointers to its inside:\n", find->nr_inner);
	if (!err)
		err = print_referrers(printer, false, find->nr_inner);
	if (!err)
		out_count(out, "%" PRIu64 " pointers to it are in the block itself\n", find->own);
	return err;
}

static void print_shared(const struct find_address *find, struct out *out)
{
	const struct shared_counts *is = &find->shared;
	struct block block = packed_block(&find->in.held, find->block);

	if (!is->control)
		return;
	if (is->within)
		out_text(out, "It is an object of std::make_shared, with its control block");
	else if (is->control == block.address)
		out_text(out, "It is the control block of a std::shared_ptr");
	else
		out_f(out, "It is an object of a std::shared_ptr, whose control block is " PRI_ADDRESS,
		      is->control);
	out_f(out, ": %" PRIu32 " shared_ptr and %" PRIu32 " weak_ptr have it", is->shared, is->weak);
	if (is->control != block.address)
		out_f(out, " (`malloc find 0x%" PRIx64 "`)", is->control);
	out_text(out, "\n");
}

/* Only blocks point to it: what is at the other end of their chain? */
static struct err *print_way(struct printer *printer, uint64_t address)
{
	const struct find_address *find = printer->find;
	const struct block_path *path = &find->way.path;
	AUTO_STR struct str text = STR_INIT;
	struct err *err;

	if (!path->ways.nr)
		return NULL;
	if (path->ways.at[0].root == BLOCK_PATH_LOST) {
		out_text(printer->out, "It is lost: nothing that the process can reach leads to it\n");
		return NULL;
	}
	err = referrer_text_root(printer->session, find, &text);
	if (!err)
		out_f(printer->out, "The shortest way to it comes from %s, through %" PRIu64 " block%s "
		      "(`malloc path 0x%" PRIx64 "`)\n", str_text(&text),
		      find_address_way_blocks(find), find_address_way_blocks(find) == 1 ? "" : "s",
		      address);
	return err;
}

/* Is the block a pool, in which others lie? */
static void print_inner(const struct packed_list *list, const struct block *block, struct out *out)
{
	uint64_t nr = 0, bytes = 0;

	for (size_t i = list->nr_outer; block->heap != LOG_HEAP_USER && i < list->nr; i++) {
		const struct packed_block *inner = packed_at(list, i);

		if (inner->address - block->address >= block->size)
			continue;
		nr++;
		bytes += packed_size(list, inner);
	}
	if (nr)
		out_f(out, "It is a pool: %" PRIu64 " blocks of %" PRIu64 " bytes lie in it, of functions "
			   "that `probe` lists\n", nr, bytes);
}

struct err *referrer_text_print(struct session *session, const struct find_address *find,
				uint64_t address, struct out *out)
{
	struct printer printer = { .session = session, .find = find, .out = out };
	struct block block;
	struct err *err;

	if (find->block == REFERRERS_NO_BLOCK)
		return address_text_print(session, &find->heap, address, out);
	block = packed_block(&find->in.held, find->block);
	err = address_text_print_block(session, &block, address, out);
	print_inner(&find->in.held, &block, out);
	if (!err && find->outer != REFERRERS_NO_BLOCK) {
		out_text(out, "Around it: ");
		block = packed_block(&find->in.held, find->outer);
		err = address_text_print_block(session, &block, address, out);
	}
	if (err)
		return err;
	printer.symbols = session_symbols(session);
	stack_names_init(&printer.names, session);
	print_shared(find, out);
	err = print_pointers(&printer);
	if (!err)
		err = print_way(&printer, address);
	stack_names_free(&printer.names);
	if (!err)
		print_doubts(find, out);
	return err;
}
