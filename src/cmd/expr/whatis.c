/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatis: the type of an expression, or what is at an address. */

#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "cmd/expr/expression.h"
#include "cmd/expr/place.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "heap/filter.h"
#include "inspect/heaps.h"
#include "session/heap.h"
#include "type/type_name.h"

static struct err *what_is_at(const struct call *call, const struct value_world *world,
			      uint64_t address, struct str *to)
{
	CLEANUP(heaps_free) struct heaps heap = HEAPS_INIT;
	CLEANUP(stack_names_free) struct stack_names names;
	struct places places = { call, world, &heap, &names, NULL };
	struct err *err;

	stack_names_init(&names, call->session);
	err = session_heap(call->session, SESSION_HEAP_LOG, NULL, &heap);
	if (!err)
		err = place_add(&places, address, to);
	return err || to->len ? err : str_add(to, "not mapped");
}

static struct err *run(struct call *call)
{
	struct str text AUTO_STR = STR_INIT;
	struct str answer AUTO_STR = STR_INIT;
	CLEANUP(expression_end) struct expression_at at = { .held.copy = NULL };
	struct expr expr;
	char format[32];
	uint64_t address;
	struct err *err = expression_words(call, true, format, &text);

	if (!err && *format)
		err = err_create(ERR_USAGE, "whatis takes no format");
	if (!err)
		err = expression_begin(call, &at);
	if (!err && !parse_number(text.at, &address)) {
		err = what_is_at(call, &at.world, address, &answer);
	} else if (!err) {
		err = expression_type(call, &at, text.at, &expr);
		if (!err)
			err = type_name_add(expr.value.type, &answer);
	}
	if (err)
		return err;
	out_text(call->out, str_text(&answer));
	out_text(call->out, "\n");
	return NULL;
}

const struct cmd cmd_whatis = {
	.name		= "whatis",
	.usage		= "EXPR|ADDRESS",
	.brief		= "the type of an expression, or what is at an address",
	.help		= "EXPR is as in `print`; nothing of it is read. A number is an address: the\n"
			  "block that holds it, with who has allocated it, if that is recorded\n"
			  "(`malloc find` walks the heaps for others, and finds who points to it); the\n"
			  "variable with its member; the function; or the mapping.\n",
	.example	= "whatis server.clients\nwhatis 0x55d0c0a812a0\n",
	.need		= call_need_view,
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_RAW | CMD_FORMAT,
};
