/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg::frames, read, symbol, pid, lacks: the target as Tcl values. */

#include <inttypes.h>

#include "answer/answer.h"
#include "answer/stack.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/dict.h"
#include "cmd/shell/shell.h"
#include "heap/filter.h"
#include "session/lacks.h"
#include "symbol/symbol.h"

#define READ_MAX	(256u << 20)

static Tcl_Obj *frame_dict(struct session *session, const struct symbol_frame *frame)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_address(dict, "pc", frame->pc);
	dict_text(dict, "function", symbol_frame_name(frame, session_naming(session)->names));
	dict_number(dict, "offset", frame->function ? frame->offset : 0);
	dict_text(dict, "module", frame->module);
	dict_text(dict, "file", frame->file);
	dict_number(dict, "line", frame->line > 0 ? (uint64_t)frame->line : 0);
	dict_number(dict, "inline", frame->inlined);
	dict_text(dict, "full", frame->function);
	dict_text(dict, "place", frame->place);
	return dict;
}

static Tcl_Obj *entry_dict(struct session *session, uint64_t pc, uint32_t generation,
			   const char *name)
{
	const struct symbol_frame *frames;
	struct symbol_frame frame;
	size_t nr;

	frames = symbols_resolve(session_symbols(session), pc, generation, false, &nr);
	frame = frames[nr - 1];
	frame.function = frame.brief = name;
	frame.place = NULL;
	frame.offset = 0;
	return frame_dict(session, &frame);
}

static void add_frames(struct session *session, Tcl_Obj *list, const uint64_t *pcs, size_t nr,
		       uint32_t generation)
{
	struct symbols *symbols = session_symbols(session);

	for (size_t i = 0; i < nr; i++) {
		struct stack_functions at = stack_functions(session, symbols,
			(struct stack_pc){ pcs[i], generation, !i });

		for (size_t j = 0; j < at.nr; j++)
			Tcl_ListObjAppendElement(NULL, list, at.entry ?
				entry_dict(session, pcs[i], generation, at.entry) :
				frame_dict(session, &at.frames[j]));
	}
}

/* A stack of the log is its id, in decimal; any other is the list of its PCs, in hex. */
static struct err *frames(struct call *call, Tcl_Obj **ret)
{
	AUTO_FREE uint64_t *pcs = NULL;
	struct err *err = NULL;
	struct log_stack_view view;
	Tcl_Obj **words;
	uint64_t id;
	int nr, i;

	if (Tcl_ListObjGetElements(NULL, call->objv[0], &nr, &words) != TCL_OK)
		return err_create(ERR_USAGE, "'%s' is no stack", call->argv[0]);
	pcs = calloc((size_t)nr + 1, sizeof(*pcs));
	if (!pcs)
		return err_nomem;
	for (i = 0; !err && i < nr; i++)
		err = parse_number(Tcl_GetString(words[i]), &pcs[i]);
	if (err)
		return err_wrap(err, "'%s' is no stack", call->argv[0]);
	*ret = Tcl_NewObj();
	id = pcs[0];
	if (nr == 1 && strncmp(Tcl_GetString(words[0]), "0x", 2)) {
		view = reader_stack(session_log(call->session),
				    id <= UINT32_MAX ? (uint32_t)id : LOG_STACK_NONE);
		add_frames(call->session, *ret, view.pcs, view.nr, view.generation);
	} else {
		add_frames(call->session, *ret, pcs, (size_t)nr, session_generation(call->session));
	}
	return NULL;
}

const struct cmd cmd_api_frames = {
	.name		= "mdbg::frames",
	.usage		= "STACK",
	.brief		= "list of dicts: the frames of a stack, innermost first",
	.help		= "Each frame has: pc function (as `set names` says) offset module file\n"
			  "line inline (1: it is inlined into the next one) full (the function's\n"
			  "whole name) place (of a function without a name: its start,\n"
			  "`[libfoo.so+0x1230]`). Unknown values are empty or 0. STACK comes from\n"
			  "mdbg::allocations, mdbg::sites or mdbg::where; a STACK that does not\n"
			  "exist has no frames.\n",
	.need		= call_need_log,
	.value		= frames,
	.min_args	= 1,
	.max_args	= 1,
};

static struct err *read_memory(struct call *call, Tcl_Obj **ret)
{
	uint64_t address, len;
	AUTO_FREE void *bytes = NULL;
	struct err *err = parse_number(call->argv[0], &address);

	if (!err)
		err = parse_number(call->argv[1], &len);
	if (err)
		return err;
	if (len > READ_MAX)
		return err_create(ERR_USAGE, "%s bytes are more than %u at a time", call->argv[1],
				  READ_MAX);
	bytes = malloc(len + 1);
	if (!bytes)
		return err_nomem;
	if (len)
		err = memory_read(session_memory(call->session), address, bytes, len);
	if (!err)
		*ret = Tcl_NewByteArrayObj(bytes, (int)len);
	return err;
}

const struct cmd cmd_api_read = {
	.name		= "mdbg::read",
	.usage		= "ADDRESS LENGTH",
	.brief		= "LENGTH bytes of memory as a byte array (for `binary scan`)",
	.help		= "Error: {MDBG MEMORY} if some of the bytes cannot be read.\n",
	.need		= call_need_view,
	.value		= read_memory,
	.min_args	= 2,
	.max_args	= 2,
};

static struct err *symbol(struct call *call, Tcl_Obj **ret)
{
	const struct symbol_frame *list;
	uint64_t address;
	struct err *err = parse_number(call->argv[0], &address);
	size_t nr;

	if (err)
		return err;
	list = symbols_resolve(session_symbols(call->session), address,
			       session_generation(call->session), false, &nr);
	*ret = frame_dict(call->session, &list[nr - 1]);
	return NULL;
}

const struct cmd cmd_api_symbol = {
	.name		= "mdbg::symbol",
	.usage		= "ADDRESS",
	.brief		= "dict: the function at an address",
	.help		= "It has: pc function offset module file line inline full place, as in\n"
			  "mdbg::frames. Unknown values are empty or 0.\n",
	.need		= call_need_log,
	.value		= symbol,
	.min_args	= 1,
	.max_args	= 1,
};

static struct err *address(struct call *call, Tcl_Obj **ret)
{
	uint64_t at, size;
	struct err *err = symbols_find(session_symbols(call->session), call->argv[0], &at, &size);

	if (!err)
		*ret = Tcl_ObjPrintf("0x%" PRIx64, at);
	return err;
}

const struct cmd cmd_api_address = {
	.name		= "mdbg::address",
	.usage		= "NAME",
	.brief		= "the address of a function or a variable",
	.help		= "NAME is a symbol, or MODULE`SYMBOL. Error: {MDBG NOTFOUND}.\n",
	.example	= "mdbg::read [mdbg::address environ] 8\n",
	.need		= call_need_view,
	.value		= address,
	.min_args	= 1,
	.max_args	= 1,
};

static struct err *get_pid(struct call *call, Tcl_Obj **ret)
{
	*ret = Tcl_NewIntObj(
		session_state(call->session) == SESSION_NONE ? 0 : session_pid(call->session));
	return NULL;
}

const struct cmd cmd_api_pid = {
	.name		= "mdbg::pid",
	.brief		= "the process id of the target, 0 if there is none",
	.help		= "It stays after the process has ended.\n",
	.value		= get_pid,
};

struct lack_row {
	const char *function, *why;
};

static const struct column lack_columns[] = {
	{ "function", "FUNCTION", "one that is not watched; empty if all are concerned: the log samples "
	  "or is full, the probes were out, no call is seen", COLUMN(TEXT, struct lack_row, function) },
	{ "why", "WHY", NULL, COLUMN(TEXT, struct lack_row, why) },
};

static const struct relation lack_relation = RELATION("lacks", lack_columns, struct lack_row);

static struct err *lack_rows(struct call *call, struct answer *ret)
{
	struct session_lacks list = { VEC_INIT };
	struct err *err = session_lacks(call->session, &list);

	*ret = (struct answer)ANSWER_KEPT(&lack_relation);
	vec_each_while(lack, &list.vec, !err)
		err = answer_add(ret, &(struct lack_row){ lack->function, lack->why });
	vec_free(&list.vec);
	return err;
}

const struct cmd cmd_api_lacks = {
	.name		= "mdbg::lacks",
	.brief		= "list of dicts: what the answers of this target do not have",
	.of		= &lack_relation,
	.help		= "The list is empty if nothing is lacking. `malloc`,\n"
			  "allocations, sites, leaks, stale, check and find say the same in lines\n"
			  "that begin with `Incomplete:`.\n"
			  "Error: {MDBG STATE} before the first attach.\n",
	.need		= call_need_log,
	.rows		= lack_rows,
};
