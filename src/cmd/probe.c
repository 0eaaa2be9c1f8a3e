/* SPDX-License-Identifier: GPL-3.0-or-later */
/* probe, mdbg::probes: the probes, and those on allocators of the program's own. */

#include <inttypes.h>

#include "answer/answer.h"
#include "cmd/shell/cmd.h"
#include "heap/filter.h"
#include "report/text_table.h"
#include "session/session.h"

#define ARGS_MAX	6	/* arguments that are passed in registers */

static struct err *list(struct call *call)
{
	static const char *const titles[] = { "FUNCTION", "MODULE", "ADDRESS", "PROBE", "ENGINE",
					      "WHY" };
	struct session_probes probes = { VEC_INIT };
	struct table table;
	struct err *err = session_probes(call->session, &probes);

	if (err)
		return err;
	text_table_init(&table, ARRAY_SIZE(titles), titles);
	vec_each(probe, &probes.vec) {
		if (!*probe->user)
			continue;
		text_table_cell(&table, "%s", probe->function);
		text_table_cell(&table, "%s", probe->module);
		text_table_cell(&table, "0x%016" PRIx64, probe->address);
		text_table_cell(&table, "%s", probe->user);
		text_table_cell(&table, "%s", probe->active ? probe->engine : "none");
		text_table_cell(&table, "%s", probe->why);
	}
	vec_free(&probes.vec);
	return text_table_print(&table, call->out);
}

const struct cmd cmd_probe = {
	.name		= "probe",
	.brief		= "list the probes on allocators of the program's own",
	.help		= "`probe alloc` and `probe free` make them, `probe delete` removes one.\n"
			  "`malloc -v` lists all other probes.\n",
	.need		= call_need_target,
	.run		= list,
};

/* Parse NAME=ARG. True if word begins with NAME=; *ret is ARG, or 0 for `ret`. */
static bool parse_arg(const char *word, const char *name, int *ret, struct err **err)
{
	size_t len = strlen(name);
	uint64_t number;

	if (strncmp(word, name, len) || word[len] != '=')
		return false;
	word += len + 1;
	*ret = 0;
	if (!strcmp(word, "ret"))
		return true;
	*err = parse_number(word, &number);
	if (*err || number < 1 || number > ARGS_MAX)
		*err = err_create(ERR_USAGE, "%s=%s: an argument is a number from 1 to %d", name,
				  word, ARGS_MAX);
	else
		*ret = (int)number;
	return true;
}

static struct err *parse_spec(const struct call *call, struct session_probe_spec *spec)
{
	struct err *err = NULL;

	for (int i = 1; !err && i < call->argc; i++) {
		const char *word = call->argv[i];

		if (!spec->free && !strcmp(word, "nothrow"))
			spec->nothrow = true;
		else if (!parse_arg(word, "ptr", &spec->ptr, &err) &&
		    (spec->free || !parse_arg(word, "size", &spec->size, &err)))
			err = call_bad_word(word);
	}
	if (!err && !spec->free && !spec->size)
		err = err_create(ERR_USAGE, "which argument is the size?");
	if (!err && spec->free && !spec->ptr)
		err = err_create(ERR_USAGE, "which argument is the block?");
	if (!err && spec->ptr && spec->ptr == spec->size)
		err = err_create(ERR_USAGE, "argument %d cannot be both", spec->ptr);
	return err;
}

static struct err *add(struct call *call, bool is_free)
{
	struct session_probe_spec spec = { .function = call->argv[0], .free = is_free };
	struct err *err = parse_spec(call, &spec);

	return err ? err : session_user_probe_add(call->session, &spec);
}

static struct err *run_alloc(struct call *call)
{
	return add(call, false);
}

const struct cmd cmd_probe_alloc = {
	.name		= "probe alloc",
	.usage		= "FUNCTION size=ARG ?ptr=ret|ARG? ?nothrow?",
	.brief		= "record the blocks that a function of the program gives out",
	.help		= "ARG is the number of an argument, from 1. size is the argument with the size\n"
			  "of the block. ptr says where the block is: the function returns it (ret), or\n"
			  "it stores it at this argument and returns 0, as posix_memalign does.\n"
			  "\n"
			  "FUNCTION is a symbol, which may be static, or MODULE`FUNCTION.\n"
			  "\n"
			  "The blocks are listed with `user` as their HEAP, beside the blocks of malloc\n"
			  "in which they lie. Blocks that are freed with a whole pool, and not by a\n"
			  "function that `probe free` knows, stay listed.\n"
			  "\n"
			  "An exception cannot pass a probe: it would end the program. If a program has\n"
			  "C++ exceptions, `nothrow` states that FUNCTION never lets one pass.\n"
			  "\n"
			  "A coroutine may be suspended in FUNCTION. If one is at the detach, the code\n"
			  "that it returns through stays, and a later mdbg takes it out.\n",
	.example	= "probe alloc pool_alloc size=2\n"
			  "probe free pool_free ptr=2\n",
	.need		= call_need_target,
	.run		= run_alloc,
	.min_args	= 2,
	.max_args	= 4,
};

static struct err *run_free(struct call *call)
{
	return add(call, true);
}

const struct cmd cmd_probe_free = {
	.name		= "probe free",
	.usage		= "FUNCTION ptr=ARG",
	.brief		= "record what a function of the program takes back",
	.help		= "ARG is the number of the argument that is the block, from 1.\n",
	.need		= call_need_target,
	.run		= run_free,
	.min_args	= 2,
	.max_args	= 2,
};

static struct err *run_delete(struct call *call)
{
	return session_user_probe_delete(call->session, call->argv[0]);
}

const struct cmd cmd_probe_delete = {
	.name		= "probe delete",
	.usage		= "FUNCTION",
	.brief		= "take a probe out that `probe` has put in",
	.help		= "Its records stay until `malloc reset`.\n",
	.need		= call_need_target,
	.run		= run_delete,
	.min_args	= 1,
	.max_args	= 1,
};

struct probe_row {
	uint64_t address, patch;
	const char *function, *symbol, *module, *engine, *why, *user;
};

#define IS(kind, member)	COLUMN(kind, struct probe_row, member)

static const struct column probe_columns[] = {
	{ "function", "FUNCTION", NULL, IS(TEXT, function) },
	{ "symbol", NULL, NULL, IS(TEXT, symbol) },
	{ "module", "MODULE", NULL, IS(TEXT, module) },
	{ "address", "ADDRESS", "of the function", IS(ADDRESS, address) },
	{ "patch", NULL, "the address of the bytes that mdbg changes, mostly behind the function's "
	  "first instruction", IS(ADDRESS, patch) },
	{ "engine", "ENGINE", "jump, breakpoint, none", IS(TEXT, engine) },
	{ "why", "WHY", "the reason, if it is no jump, if there is none, or if its patch lies on the "
	  "first instruction", IS(TEXT, why) },
	{ "user", "USER", "alloc ..., free ...: made by `probe`", IS(TEXT, user) },
};

static const struct relation probe_relation = RELATION("probes", probe_columns, struct probe_row);

static struct err *probe_rows(struct call *call, struct answer *ret)
{
	struct session_probes list = { VEC_INIT };
	struct err *err = session_probes(call->session, &list);

	*ret = (struct answer)ANSWER_KEPT(&probe_relation);
	vec_each_while(probe, &list.vec, !err)
		err = answer_add(ret, &(struct probe_row){
			probe->address, probe->patch, probe->function, probe->symbol,
			probe->module, probe->active ? probe->engine : "none", probe->why,
			probe->user });
	vec_free(&list.vec);
	return err;
}

const struct cmd cmd_api_probes = {
	.name		= "mdbg::probes",
	.brief		= "list of dicts: how functions of the allocator are probed",
	.of		= &probe_relation,
	.need		= call_need_log,
	.rows		= probe_rows,
};
