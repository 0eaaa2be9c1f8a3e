/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc find, mdbg::find: which allocation holds an address, and who points to it. */

#include <stdio.h>

#include "answer/stack_names.h"
#include "answer/typed_blocks.h"
#include "cmd/query/query.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/dict.h"
#include "heap/filter.h"
#include "report/address_text.h"
#include "report/lack_text.h"
#include "report/ref_text.h"
#include "report/referrer_text.h"
#include "report/stood_text.h"
#include "session/heap.h"
#include "session/leaks.h"
#include "session/session.h"
#include "symbol/symbol.h"

#define LIMIT	20u

struct found {
	uint64_t address;
	bool searched;			/* for pointers to it; otherwise only find.heap is set */
	struct find_address find;
	struct typed_blocks typed;
	struct known_type type;		/* of the block, if typed.taken */
};

static struct err *parse(const struct call *call, uint64_t *address_ret, uint64_t *limit_ret)
{
	struct err *err = parse_number(call->argv[0], address_ret);

	*limit_ret = LIMIT;
	if (err || call->argc == 1)
		return err;
	if (strcmp(call->argv[1], "limit"))
		return call_bad_word(call->argv[1]);
	return call->argc == 3 ? parse_number(call->argv[2], limit_ret) :
				 err_create(ERR_USAGE, "a number is missing after limit");
}

static bool is_fatal(const struct err *err)
{
	return err->code == ERR_NOMEM || err->code == ERR_CANCELLED;
}

static void take_type(struct found *found)
{
	struct block block = packed_block(&found->find.in.held, found->find.block);

	found->type = typed_blocks_of(&found->typed, &block);
}

/* In one look: who points there, and what the blocks are. Without types the rest is as good. */
static struct err *look_at(struct call *call, struct find_ask *ask, struct found *ret)
{
	CLEANUP(stack_names_free) struct stack_names names;
	CLEANUP(typed_blocks_rest) struct typed_look look = { .plan = NULL };
	struct log *log = session_log(call->session);
	bool found = false;
	struct err *err = NULL;

	stack_names_init(&names, call->session);
	if (log)
		log_clock_update(log);
	/* With more blocks there are no types, so nothing need be known for them. */
	if (log && reader_live(log) <= ask->most) {
		err = typed_blocks_begin(&names, &look, &ret->typed);
		ask->contents = err ? NULL : &look.in;
	}
	ask->found_ret = &found;
	if (!err || !is_fatal(err))
		err = session_leaks_find(call->session, ask, &ret->find);
	if (err)
		return err;
	if (found)
		err = typed_blocks_end(&names, &look, &ret->typed);
	if (found && !err)
		take_type(ret);
	else
		typed_blocks_free(&ret->typed);
	return err && is_fatal(err) ? err : NULL;
}

static struct err *look(struct call *call, uint64_t limit, struct found *ret)
{
	struct find_ask ask = { .address = ret->address, .limit = limit, .most = QUERY_TYPES_MOST };
	struct err *err = call_need_view(call);

	ret->searched = !err;
	if (err && !call_need_log(call)) {
		/* The process is gone, but the log still knows its blocks. */
		ret->find.block = ret->find.outer = REFERRERS_NO_BLOCK;
		return session_heap(call->session, SESSION_HEAP_LOG, NULL, &ret->find.heap);
	}
	return err ? err : look_at(call, &ask, ret);
}

static void found_free(struct found *found)
{
	find_address_free(&found->find);
	typed_blocks_free(&found->typed);
}

/* Nothing, if it is not known. */
static void print_type(const struct found *found, struct out *out)
{
	if (found->find.in.held.nr > QUERY_TYPES_MOST && found->find.block != REFERRERS_NO_BLOCK)
		out_f(out, "There are more than %u blocks: `malloc types address == ADDRESS` says its "
		      "type\n", QUERY_TYPES_MOST);
	if (found->typed.taken && found->type.number != TYPED_UNKNOWN)
		out_f(out, "Its type is %s (%s)\n",
		      typed_blocks_name(&found->typed, found->type.number),
		      typed_blocks_how((enum known_how)found->type.how));
}

/* Parse ADDRESS ?limit N?, and look. The caller calls found_free, also after an error. */
static struct err *found_get(struct call *call, struct found *ret)
{
	uint64_t limit;
	struct err *err;

	*ret = (struct found){ .find.heap = HEAPS_INIT };
	err = parse(call, &ret->address, &limit);
	return err ? err : look(call, limit, ret);
}

/* To the block, which is an object, or to that at the address in it. */
static struct err *print_references(struct session *session, const struct found *found,
				    struct out *out)
{
	uint64_t address = found->address;

	if (found->searched && found->find.block != REFERRERS_NO_BLOCK)
		address = packed_at(&found->find.in.held, found->find.block)->address;
	return ref_text_print(session, address, out);
}

static struct err *run(struct call *call)
{
	CLEANUP(found_free) struct found found;
	struct err *err = found_get(call, &found);

	if (err)
		return err;
	if (found.searched) {
		print_type(&found, call->out);
		err = referrer_text_print(call->session, &found.find, found.address, call->out);
	} else {
		err = address_text_print(call->session, &found.find.heap, found.address, call->out);
		out_text(call->out,
			 "Who points to it is not known: there is no process any more\n");
	}
	if (!err && session_recorded(call->session))
		err = print_references(call->session, &found, call->out);
	if (!err)
		err = lack_text_print(call->session, call->out);
	if (!err)
		stood_text_print(call->out, found.find.in.pause_ns, found.find.in.no_snapshot);
	return err;
}

static void add_block(Tcl_Obj *dict, const struct block *block, uint64_t address)
{
	dict_text(dict, "what", "block");
	dict_address(dict, "address", block->address);
	dict_number(dict, "offset", address - block->address);
	dict_number(dict, "size", block->size);
	dict_heap(dict, "heap", block->heap);
	dict_number(dict, "preattach", block->preattach);
	dict_number(dict, "stack", block->stack);
}

static void add_freed(const struct log *log, const struct found_at *at, Tcl_Obj *dict)
{
	const struct log_free *freed = &at->freed;

	if (!freed->time)
		return;
	dict_address(dict, "freed", at->was.address);
	dict_number(dict, "freedsize", at->was.size);
	dict_number(dict, "freedstack", freed->stack);
	dict_number(dict, "freedthread", reader_thread(log, freed->thread).lwp);
	dict_double(dict, "freedtime", (double)log_clock_realtime(log, freed->time) / 1e9);
	dict_number(dict, "allocstack", at->was.stack);
}

static struct err *add_unknown(const struct call *call, const struct found *found, Tcl_Obj *dict)
{
	struct found_at at;
	struct err *err = address_text_in(call->session, &found->find.heap, found->address, &at);

	if (err)
		return err;
	if (at.what == FOUND_BLOCK) {
		add_block(dict, &at.block, found->address);
		return NULL;
	}
	dict_text(dict, "what", at.what == FOUND_NOTHING ? "nothing" :
				chunk_held(&at.chunk) ? "block" :
				at.chunk.kind == CHUNK_OWN ? "own" : "free");
	if (at.what == FOUND_CHUNK) {
		dict_address(dict, "address", at.chunk.address);
		dict_number(dict, "size", chunk_usable(&at.chunk));
		dict_heap(dict, "heap", at.chunk.heap);
	}
	add_freed(session_log(call->session), &at, dict);
	return NULL;
}

static void add_memory(struct symbols *symbols, const struct find_address *find,
		       const struct find_referrer *referrer, enum symbol_names names,
		       Tcl_Obj *dict)
{
	struct referrer_memory is = referrer_text_memory(symbols, find, referrer, names);

	dict_text(dict, "kind", is.module ? "data" : "mapping");
	dict_text(dict, "module", is.module);
	dict_text(dict, "symbol", is.symbol);
	dict_number(dict, "offset", is.offset);
	dict_text(dict, "mapping", is.mapping);
}

static void add_tls(struct symbols *symbols, const struct find_address *find,
		    const struct find_referrer *referrer, enum symbol_names names, Tcl_Obj *dict)
{
	struct symbol_tls is = referrer_text_tls(symbols, find, referrer);

	dict_text(dict, "module", is.module);
	dict_text(dict, "symbol", symbol_tls_name(&is, names));
	dict_number(dict, "within", is.offset);
}

static void add_of_block(const struct find_address *find, const struct find_referrer *referrer,
			 Tcl_Obj *dict)
{
	struct block is = packed_block(&find->in.held, referrer->block), *block = &is;

	dict_address(dict, "block", block->address);
	dict_number(dict, "offset", referrer->place - block->address);
	dict_number(dict, "size", block->size);
	dict_number(dict, "preattach", block->preattach);
	dict_number(dict, "stack", block->stack);
}

static Tcl_Obj *referrer_dict(const struct call *call, struct symbols *symbols,
			      const struct find_address *find,
			      const struct find_referrer *referrer)
{
	enum symbol_names names = session_naming(call->session)->names;
	const struct arch *arch = session_arch(call->session);
	struct block is = packed_block(&find->in.held, find->block), *block = &is;
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_text(dict, "kind", find_address_word(referrer->kind));
	dict_number(dict, "keeps", referrer->firm);
	dict_number(dict, "to", referrer->word - block->address);
	if (referrer->place)
		dict_address(dict, "place", referrer->place);
	if (referrer->tid)
		dict_number(dict, "thread", (uint64_t)referrer->tid);
	if (referrer->kind == FIND_REFERRER_REGISTER)
		dict_text(dict, "register", arch->reg_names[referrer->index]);
	if (referrer->kind == FIND_REFERRER_STACK && referrer->pc) {
		dict_address(dict, "pc", referrer->pc);
		dict_number(dict, "returns", referrer->returns);
	}
	if (referrer->kind == FIND_REFERRER_TLS || referrer->kind == FIND_REFERRER_CONTROL)
		dict_address(dict, "pthread", referrer->tp);
	if (referrer->kind == FIND_REFERRER_MEMORY)
		add_memory(symbols, find, referrer, names, dict);
	if (referrer->kind == FIND_REFERRER_BLOCK)
		add_of_block(find, referrer, dict);
	if (referrer->tls_module)
		add_tls(symbols, find, referrer, names, dict);
	return dict;
}

static struct err *add_what(const struct call *call, const struct found *found, Tcl_Obj *dict)
{
	const struct find_address *find = &found->find;
	struct block block;

	if (find->block == REFERRERS_NO_BLOCK)
		return add_unknown(call, found, dict);
	block = packed_block(&find->in.held, find->block);
	add_block(dict, &block, found->address);
	if (found->typed.taken)
		dict_text(dict, "type", typed_blocks_name(&found->typed, found->type.number));
	if (find->outer != REFERRERS_NO_BLOCK)
		dict_address(dict, "outer", packed_at(&find->in.held, find->outer)->address);
	return NULL;
}

static void add_shared(const struct shared_counts *is, Tcl_Obj *dict)
{
	if (!is->control)
		return;
	dict_address(dict, "control", is->control);
	dict_number(dict, "shared", is->shared);
	dict_number(dict, "weak", is->weak);
}

/* The other end of the chain of blocks, if there is one. */
static struct err *add_way(const struct call *call, const struct find_address *find, Tcl_Obj *dict)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err = NULL;

	if (!find->way.path.ways.nr)
		return NULL;
	if (find->way.path.ways.at[0].root != BLOCK_PATH_LOST)
		err = referrer_text_root(call->session, find, &text);
	dict_text(dict, "root", str_text(&text));
	dict_number(dict, "through", find_address_way_blocks(find));
	return err;
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(found_free) struct found found;
	struct err *err = found_get(call, &found);
	struct symbols *symbols;
	Tcl_Obj *dict;

	if (err)
		return err;
	symbols = session_symbols(call->session);
	dict = *ret = Tcl_NewDictObj();
	err = add_what(call, &found, dict);
	dict_number(dict, "searched", found.searched && found.find.block != REFERRERS_NO_BLOCK);
	dict_number(dict, "walked", found.find.in.walked);
	dict_number(dict, "keep", found.find.nr_firm);
	dict_number(dict, "inside", found.find.nr_inner);
	dict_number(dict, "own", found.find.own);
	dict_number(dict, "unread", found.find.unread);
	dict_number(dict, "absent", found.find.in.unread.absent);
	dict_number(dict, "elsewhere", found.find.in.unread.elsewhere);
	dict_number(dict, "blind", found.find.in.blind_threads);
	dict_value(dict, "holders", value_list(&found.find.vec, referrer,
					       referrer_dict(call, symbols, &found.find,
							     referrer)));
	add_shared(&found.find.shared, dict);
	return err ? err : add_way(call, &found.find, dict);
}

static const struct twin twin = {
	.name		= "mdbg::find",
	.brief		= "dict: the block at ADDRESS, and who points to it",
	.help		= "    what                block; free; own: a chunk of the allocator's; nothing\n"
			  "    address offset size heap preattach stack\n"
			  "    type                of the block, `?`: not known; absent without a look\n"
			  "    outer               the block around it, if there is one\n"
			  "    searched            0: pointers to it are not known\n"
			  "    walked              0: only recorded blocks are known\n"
			  "    keep                pointers to its start, or that count as such\n"
			  "    inside own          other pointers; pointers in the block itself\n"
			  "    unread blind        bytes that could not be read; threads whose registers\n"
			  "                        could not be\n"
			  "    absent elsewhere    bytes of shared memory that were not read: never\n"
			  "                        touched, or taken back by the kernel; devices, and\n"
			  "                        files of FUSE and of other machines\n"
			  "    holders             a list of dicts: N (20) pointers that keep it, then N\n"
			  "                        others\n"
			  "    root through        if only blocks point to it: the root from which the\n"
			  "                        shortest way leads to it, empty if it is lost, and\n"
			  "                        through how many blocks\n"
			  "    control shared weak if it is an object of a std::shared_ptr, or the control\n"
			  "                        block of one: that block, and how many shared_ptr and\n"
			  "                        weak_ptr there are\n"
			  "Each dict of holders has: kind keeps to (offset in the block) place (its\n"
			  "address, if it has one) and, by kind:\n"
			  "    register, vector, chunk   thread register\n"
			  "    stack                     thread pc returns (a return address)\n"
			  "    tls, control              thread pthread\n"
			  "    any that is thread-local  thread module symbol within (bytes from the\n"
			  "                              symbol, or the start of the module's data)\n"
			  "    data, mapping             module symbol offset mapping (path)\n"
			  "    heap                      in no block that is known\n"
			  "    block                     block offset size preattach stack\n"
			  "If there is no block, and `set free-history` has remembered the free,\n"
			  "there are: freed (address of the block that was there) freedsize\n"
			  "freedstack freedthread freedtime allocstack.\n",
	.value		= value,
};

const struct cmd cmd_malloc_find = {
	.name		= "malloc find",
	.usage		= "ADDRESS ?limit N?",
	.brief		= "which block holds an address, and who points to it",
	.help		= "ADDRESS is hex with 0x, or decimal; it may be anywhere in the block.\n"
			  "\n"
			  "Below the block are the places that hold a pointer to it: registers, stacks\n"
			  "with the function whose frame it is, thread-local data and data of modules\n"
			  "with the symbol, other mappings, other blocks. First come pointers to its\n"
			  "start and those that count as such (C++ keeps pointers to a base class, or\n"
			  "behind the length of an array), then those to its inside; N of each (20) are\n"
			  "listed. `malloc leaks` follows the same places.\n"
			  "\n"
			  "An object of a std::shared_ptr (of libstdc++) is told with its counts. Who has\n"
			  "a part in it points to the start of its control block.\n"
			  "\n"
			  "If only blocks point to it, a line names the root from which the\n"
			  "shortest way leads to it, or says that it is lost. `malloc path` lists that\n"
			  "way, and `malloc owners ADDRESS` says what a block keeps.\n"
			  "\n"
			  "If the block was freed, and `set free-history N` remembers frees, the answer\n"
			  "names the thread and the stack that freed it. The last line says for how long\n"
			  "the process stood still.\n",
	.example	= "malloc find 0x55d0c8a012a0 limit 5\n",
	.run		= run,
	.twin		= &twin,
	.min_args	= 1,
	.max_args	= 3,
};
