/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pointers to a block (holders.h). */

#include "report/holders.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cancel.h"
#include "report/find.h"
#include "report/out.h"
#include "report/stack.h"
#include "session/find.h"
#include "session/session.h"
#include "symbol/symbol.h"

struct printer {
	struct session *session;
	struct symbols *symbols;
	const struct session_find *find;
	struct stack_names names;
	struct out *out;
};

struct holder_memory holder_memory(struct symbols *symbols, const struct session_find *find,
				   const struct session_holder *holder)
{
	const struct proc_map *map = proc_maps_find(&find->maps, holder->place);
	const struct symbol_frame *frame;
	struct holder_memory is = { .module = NULL };
	size_t nr;

	frame = symbols_resolve(symbols, holder->place, find->generation, false, &nr) + nr - 1;
	is.module = frame->module;
	is.symbol = frame->module ? frame->function : NULL;
	is.mapping = map ? map->path : NULL;
	is.offset = is.symbol ? frame->offset : map ? holder->place - map->start : 0;
	return is;
}

static void print_memory(struct printer *printer, const struct session_holder *holder)
{
	struct holder_memory is = holder_memory(printer->symbols, printer->find, holder);
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
		      holder->place - is.offset);
	} else {
		out_text(out, "memory");
	}
}

struct symbol_tls holder_tls(struct symbols *symbols, const struct session_find *find,
			     const struct session_holder *holder)
{
	return symbols_tls(symbols, holder->tls_module, find->generation, holder->tls_offset);
}

static void print_tls(struct printer *printer, const struct session_holder *holder)
{
	struct symbol_tls is = holder_tls(printer->symbols, printer->find, holder);
	struct out *out = printer->out;

	out_f(out, "thread-local data of thread %d, ", holder->tid);
	if (!holder->tls_module)
		out_f(out, "0x%" PRIx64 " below its thread pointer", holder->tp - holder->place);
	else if (is.name && is.offset)
		out_f(out, "%s+0x%" PRIx64 " of %s", is.name, is.offset, is.module);
	else if (is.name)
		out_f(out, "%s of %s", is.name, is.module);
	else
		out_f(out, "byte %" PRIu64 " of what it has of %s", is.offset,
		      is.module ? is.module : "a module");
}

static void print_stack(struct printer *printer, const struct session_holder *holder)
{
	const char *entry = holder->returns ? NULL :
						session_entry_name(printer->session, holder->pc);

	out_f(printer->out, "stack of thread %d", holder->tid);
	if (holder->pc)
		out_f(printer->out, ", in %s", entry ? entry :
		      symbols_text(printer->symbols, holder->pc, printer->find->generation,
				   holder->returns));
}

static void print_of_block(struct printer *printer, const struct session_holder *holder)
{
	struct block is = held_block(&printer->find->in.held, holder->block), *block = &is;
	struct out *out = printer->out;

	out_f(out, "byte %" PRIu64 " of a block of %" PRIu64 " bytes at " PRI_ADDRESS,
	      holder->place - block->address, block->size, block->address);
	if (block->preattach)
		out_f(out, " %s", no_stack_text(block->unrecorded));
	else
		out_f(out, ", allocated by %s",
		      stack_names_name(&printer->names,
				       stack_names_key(&printer->names, block->stack,
						       SITE_FUNCTION)));
}

static void print_what(struct printer *printer, const struct session_holder *holder)
{
	struct out *out = printer->out;

	switch (holder->kind) {
	case SESSION_HOLDER_REGISTER:
	case SESSION_HOLDER_VECTOR:
	case SESSION_HOLDER_CHUNK:
		out_f(out, "thread %d", holder->tid);
		break;
	case SESSION_HOLDER_STACK:
		print_stack(printer, holder);
		break;
	case SESSION_HOLDER_TLS:
		print_tls(printer, holder);
		return;
	case SESSION_HOLDER_CONTROL:
		out_f(out, "control block of thread %d, byte %" PRIu64, holder->tid,
		      (holder->place - holder->tp));
		break;
	case SESSION_HOLDER_HEAP:
		out_text(out, "heap, in no block that is known: perhaps free");
		break;
	case SESSION_HOLDER_BLOCK:
		print_of_block(printer, holder);
		break;
	default:
		print_memory(printer, holder);
		break;
	}
	if (holder->tls_module) {
		out_text(out, "; ");
		print_tls(printer, holder);
	}
}

static void print_place(struct printer *printer, const struct session_holder *holder)
{
	const struct arch *arch = session_arch(printer->session);
	char text[32];

	if (holder->kind == SESSION_HOLDER_REGISTER)
		snprintf(text, sizeof(text), "register %s", arch->reg_names[holder->index]);
	else if (holder->kind == SESSION_HOLDER_VECTOR)
		snprintf(text, sizeof(text), "vector register");
	else if (holder->kind == SESSION_HOLDER_CHUNK)
		snprintf(text, sizeof(text), "allocator at work");
	else
		snprintf(text, sizeof(text), "0x%016" PRIx64, holder->place);
	out_blanks(printer->out, 4);
	out_column(printer->out, text, 18);
}

static struct err *print_holders(struct printer *printer, bool firm, uint64_t total)
{
	const struct session_find *find = printer->find;
	struct block is = held_block(&find->in.held, find->block), *block = &is;
	uint64_t listed = 0;
	struct err *err = NULL;

	for (size_t i = 0; i < find->vec.nr && !err && !out_done(printer->out); i++) {
		const struct session_holder *holder = &find->vec.at[i];

		if (holder->firm != firm)
			continue;
		listed++;
		print_place(printer, holder);
		out_f(printer->out, " to byte %" PRIu64 ": ", (holder->word - block->address));
		print_what(printer, holder);
		out_text(printer->out, "\n");
		err = cancel_check();
	}
	if (total > listed)
		out_f(printer->out, "    ... and %" PRIu64 " more\n", (total - listed));
	return err;
}

/* Say why pointers may be missing, or be none. */
static void print_doubts(const struct session_find *find, struct out *out)
{
	const struct session_leaks *in = &find->in;
	struct block is = held_block(&in->held, find->block), *block = &is;

	if (!in->walked)
		out_f(out, "%s: what else is in the heaps is not known\n", in->why);
	else if (in->damages)
		out_f(out, "%" PRIu64 " places of the heaps are damaged (`malloc check`)\n",
		      in->damages);
	else if (!in->caches_known)
		out_text(out, "Free blocks in threads' caches are not known: some may be listed as blocks\n");
	if (in->walked && block->preattach && block->heap == LOG_HEAP_MMAP &&
	    !find->heap.walk.mmapped_certain)
		out_text(out, "It may be no block, but a mapping of the program's own\n");
	out_count(out, "%" PRIu64 " bytes of roots and blocks could not be read: there may be more pointers\n",
		      find->unread);
	out_count(out, "The registers of %" PRIu64 " threads could not be read: there may be more pointers\n",
		      in->blind_threads);
	out_count(out, "%" PRIu64 " blocks are in the hands of realloc: there may be more pointers\n",
		      in->under_way);
}

static struct err *print_pointers(struct printer *printer)
{
	const struct session_find *find = printer->find;
	struct out *out = printer->out;
	struct err *err;

	if (!find->nr_firm && !find->nr_inner)
		out_text(out, "No pointer to it was found\n");
	out_count(out, "%" PRIu64 " pointers to its start, or as good as that:\n", find->nr_firm);
	err = print_holders(printer, true, find->nr_firm);
	if (!err)
		out_count(out, "%" PRIu64 " pointers to its inside:\n", find->nr_inner);
	if (!err)
		err = print_holders(printer, false, find->nr_inner);
	if (!err)
		out_count(out, "%" PRIu64 " pointers to it are in the block itself\n", find->own);
	return err;
}

struct err *found_print(struct session *session, const struct session_find *find, uint64_t address,
			struct out *out)
{
	struct printer printer = { .session = session, .find = find, .out = out };
	struct block block;
	struct err *err;

	if (find->block == HOLDERS_NO_BLOCK)
		return find_print(session, &find->heap, address, out);
	block = held_block(&find->in.held, find->block);
	err = find_print_block(session, &block, address, out);
	if (!err && find->outer != HOLDERS_NO_BLOCK) {
		out_text(out, "Around it: ");
		block = held_block(&find->in.held, find->outer);
		err = find_print_block(session, &block, address, out);
	}
	if (err)
		return err;
	printer.symbols = session_symbols(session);
	stack_names_init(&printer.names, session);
	err = print_pointers(&printer);
	stack_names_free(&printer.names);
	if (!err)
		print_doubts(find, out);
	return err;
}
