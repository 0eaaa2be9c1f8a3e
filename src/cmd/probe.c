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
	.help		= "`probe alloc`, `probe free`, `probe ref` and `probe unref` make them, `probe\n"
			  "delete` removes one.\n"
			  "`malloc -v` lists all other probes.\n",
	.need		= call_need_target,
	.run		= list,
};

/* Is word NAME=VALUE? *ret is VALUE. */
static bool named(const char *word, const char *name, const char **ret)
{
	size_t len = strlen(name);

	if (strncmp(word, name, len) || word[len] != '=')
		return false;
	*ret = word + len + 1;
	return true;
}

/* Parse the number of an argument, at the beginning of text. *end_ret is what stands behind it. */
static struct err *parse_arg(const char *text, int *ret, const char **end_ret)
{
	if (*text < '1' || *text > '0' + ARGS_MAX || (text[1] && text[1] != '*'))
		return err_create(ERR_USAGE, "%s: an argument is a number from 1 to %d", text,
				  ARGS_MAX);
	*ret = *text - '0';
	*end_ret = text + 1;
	return NULL;
}

/* One argument, and nothing behind it. */
static struct err *parse_one(const char *text, int *ret)
{
	const char *end = "";
	struct err *err = parse_arg(text, ret, &end);

	return err || !*end ? err : err_create(ERR_USAGE, "%s: one argument is wanted", text);
}

/* ARG, or ARG*ARG. */
static struct err *parse_size_args(const char *text, struct session_probe_spec *spec)
{
	const char *end = "";
	struct err *err = parse_arg(text, &spec->size, &end);

	return err || !*end ? err : parse_one(end + 1, &spec->count);
}

static struct err *parse_bytes(const char *text, uint32_t *ret)
{
	uint64_t bytes;
	struct err *err = parse_size(text, &bytes);

	if (err)
		return err;
	*ret = (uint32_t)bytes;
	return bytes && bytes <= UINT32_MAX ? NULL :
		err_create(ERR_USAGE, "bytes=%s: a number from 1 to 4294967295 is wanted", text);
}

static struct err *parse_word(const char *word, struct session_probe_spec *spec)
{
	const char *value;

	if (spec->what == SESSION_PROBE_REF || spec->what == SESSION_PROBE_UNREF)
		return named(word, "object", &value) ? parse_one(value, &spec->ptr) :
						       call_bad_word(word);
	if (named(word, "ptr", &value)) {
		if (strcmp(value, "ret"))
			return parse_one(value, &spec->ptr);
		spec->ptr = 0;
		return NULL;
	}
	if (spec->what == SESSION_PROBE_FREE)
		return named(word, "next", &value) ? parse_one(value, &spec->next) :
						     call_bad_word(word);
	if (named(word, "old", &value))
		return parse_one(value, &spec->old);
	if (named(word, "size", &value))
		return parse_size_args(value, spec);
	if (named(word, "bytes", &value))
		return parse_bytes(value, &spec->bytes);
	if (strcmp(word, "nothrow"))
		return call_bad_word(word);
	spec->nothrow = true;
	return NULL;
}

static bool is_size(const struct session_probe_spec *spec, int arg)
{
	return arg && (arg == spec->size || arg == spec->count);
}

static struct err *check_spec(const struct session_probe_spec *spec)
{
	if (spec->what != SESSION_PROBE_ALLOC)
		return spec->ptr ? NULL : err_create(ERR_USAGE, "which argument is the block?");
	if (!spec->size && !spec->bytes)
		return err_create(ERR_USAGE, "which argument is the size?");
	if (spec->size && spec->bytes)
		return err_create(ERR_USAGE, "size and bytes cannot both be the size");
	if (spec->ptr && spec->old)
		return err_create(ERR_USAGE, "a function that resizes a block returns it");
	if (is_size(spec, spec->ptr) || is_size(spec, spec->old))
		return err_create(ERR_USAGE, "argument %d cannot be both",
				  spec->ptr ? spec->ptr : spec->old);
	return NULL;
}

static struct err *parse_spec(const struct call *call, struct session_probe_spec *spec)
{
	struct err *err = NULL;

	for (int i = 1; !err && i < call->argc; i++)
		err = parse_word(call->argv[i], spec);
	return err ? err : check_spec(spec);
}

static struct err *add(struct call *call)
{
	static const char *const names[] = {
		[SESSION_PROBE_ALLOC] = "probe alloc", [SESSION_PROBE_FREE] = "probe free",
		[SESSION_PROBE_REF] = "probe ref", [SESSION_PROBE_UNREF] = "probe unref", NULL,
	};
	struct session_probe_spec spec = {
		.function = call->argv[0],
		.what = (enum session_probe_what)call_word_index(call->cmd->name, names),
	};
	struct err *err = parse_spec(call, &spec);

	return err ? err : session_user_probe_add(call->session, &spec);
}

const struct cmd cmd_probe_alloc = {
	.name		= "probe alloc",
	.usage		= "FUNCTION size=ARG|bytes=N ?ptr=ret|ARG? ?old=ARG? ?nothrow?",
	.brief		= "record the blocks that a function of the program gives out",
	.help		= "ARG is the number of an argument, from 1. size is the argument with the size\n"
			  "of the block; size=2*3 is the product of two, as calloc has it. bytes=512 says\n"
			  "that each block has as many. ptr says where the block is: the function returns\n"
			  "it (ret), or it stores it at this argument and returns 0, as posix_memalign\n"
			  "does. old is the argument with a block that it resizes, as realloc does: the\n"
			  "block stays if the function returns NULL. Blocks of sizes that cannot be are\n"
			  "counted under each list.\n"
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
			  "probe alloc table_alloc size=1*2\n"
			  "probe alloc mbuf_get bytes=512\n"
			  "probe free pool_free ptr=2\n",
	.need		= call_need_target,
	.run		= add,
	.min_args	= 2,
	.max_args	= 5,
};

const struct cmd cmd_probe_free = {
	.name		= "probe free",
	.usage		= "FUNCTION ptr=ARG ?next=ARG?",
	.brief		= "record what a function of the program takes back",
	.help		= "ARG is the number of the argument that is the block, from 1. With next it is a\n"
			  "chain of blocks, all of which are freed: next is the argument with the offset\n"
			  "in each block at which the address of the next one is.\n",
	.example	= "probe free pool_free ptr=2\n"
			  "probe free g_slice_free_chain_with_offset ptr=2 next=3\n",
	.need		= call_need_target,
	.run		= add,
	.min_args	= 2,
	.max_args	= 3,
};

const struct cmd cmd_probe_ref = {
	.name		= "probe ref",
	.usage		= "FUNCTION object=ARG",
	.brief		= "record who takes references to objects, for `malloc refs`",
	.help		= "ARG is the number of the argument that is the object, from 1. A function that\n"
			  "gives a reference back is named by `probe unref`. `malloc refs ADDRESS` lists\n"
			  "what was taken and given back of an object, by stack. The object may come from\n"
			  "malloc or from any pool. Where it has a record, an earlier object at its\n"
			  "address is told from it.\n",
	.example	= "probe ref g_object_ref object=1\n"
			  "probe unref g_object_unref object=1\n"
			  "malloc refs 0x55d0c0a812a0\n",
	.need		= call_need_target,
	.run		= add,
	.min_args	= 2,
	.max_args	= 2,
};

const struct cmd cmd_probe_unref = {
	.name		= "probe unref",
	.usage		= "FUNCTION object=ARG",
	.brief		= "record who gives references back (see `help probe ref`)",
	.example	= "probe unref g_object_unref object=1\n",
	.need		= call_need_target,
	.run		= add,
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
	{ "user", "USER", "alloc ..., free ..., ref ..., unref ...: made by `probe`", IS(TEXT, user) },
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
