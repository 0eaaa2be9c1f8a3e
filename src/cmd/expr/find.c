/* SPDX-License-Identifier: GPL-3.0-or-later */
/* find, mdbg::places: where in memory a value or a text is. */

#include <inttypes.h>
#include <string.h>

#include "answer/answer.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "cmd/expr/expression.h"
#include "cmd/expr/place.h"
#include "cmd/query/query.h"
#include "cmd/shell/cmd.h"
#include "report/stood_text.h"
#include "session/search/session_search.h"
#include "type/token.h"

#define LIMIT		100u
#define LIMIT_MOST	1000000u
#define WORDS_MOST	64u

struct place_row {
	uint64_t address, block, offset;	/* block 0: in none that is known */
	const char *type, *text;
};

#define IS(kind, member)	COLUMN(kind, struct place_row, member)

static const struct column place_columns[] = {
	{ "address", "ADDRESS", NULL, IS(ADDRESS, address) },
	{ "block", NULL, "address of the block that it is in; - in none that is known",
	  IS(ADDRESS, block), .flags = COLUMN_0_UNKNOWN },
	{ "offset", NULL, "bytes from there", IS(BYTES, offset), COLUMN_WITH(struct place_row, block) },
	{ "type", NULL, "of the block; - where it was not asked for (-v)", IS(TEXT, type),
	  .flags = COLUMN_0_UNKNOWN },
	{ "place", "PLACE", "as `find` prints it", IS(TEXT, text) },
};

static const struct relation place_relation = RELATION("places", place_columns, struct place_row);

/* What was asked for. */
struct asked {
	struct str text;
	char *words[WORDS_MOST];	/* behind the value, in text; WORDS_MOST at most */
	int nr;
	bool verbose;			/* -v: the heaps are walked, and types looked for */
	uint8_t bytes[MEMORY_SEARCH_MOST];
	struct expression_at at;
	struct query query;		/* with a FILTER, or -v */
	bool by_blocks;			/* there is a FILTER */
	struct heaps heap;		/* of the log, if there is no query */
	struct session_search search;
};

static void asked_free(struct asked *asked)
{
	str_free(&asked->text);
	expression_end(&asked->at);
	query_free(&asked->query);
	heaps_free(&asked->heap);
	vec_free(&asked->search.of.places);
}

/* The end of the word that begins there: blanks in brackets and strings belong to it. */
static char *word_end(char *at)
{
	unsigned depth = 0;
	char quote = 0;

	for (; *at && (quote || depth || !strchr(" \t", *at)); at++) {
		if (quote && *at == '\\' && at[1])
			at++;
		else if (quote)
			quote = *at == quote ? 0 : quote;
		else if (strchr("\"'", *at))
			quote = *at;
		else if (strchr("([{", *at))
			depth++;
		else if (strchr(")]}", *at) && depth)
			depth--;
	}
	return at;
}

/* Cut the next word off; "" at the end. */
static char *next_word(char **at)
{
	char *word = *at + strspn(*at, " \t");

	*at = word_end(word);
	if (**at)
		*(*at)++ = '\0';
	return word;
}

/* Options and the value; the other words are in asked->words. */
static struct err *split(struct asked *asked, char **value_ret)
{
	char *at = asked->text.at;
	char *word = next_word(&at);

	for (; !strcmp(word, "-v") || !strcmp(word, "-snapshot"); word = next_word(&at)) {
		asked->verbose |= word[1] == 'v';
		asked->search.snapshot |= word[1] == 's';
	}
	*value_ret = word;
	for (word = next_word(&at); *word; word = next_word(&at)) {
		if (asked->nr == WORDS_MOST)
			return err_create(ERR_USAGE, "too many words");
		asked->words[asked->nr++] = word;
	}
	return NULL;
}

static struct err *value_bytes(struct asked *asked, const struct value *value, const char *format)
{
	struct number number;
	uint64_t size = 0;
	struct err *err;

	if (*format) {
		static const char units[] = "bhwg";
		const char *unit = format[1] ? NULL : strchr(units, *format);

		if (!unit)
			return err_create(ERR_USAGE, "'%s' is no unit of bhwg", format);
		size = 1u << (unit - units);
		err = value_number(asked->at.world.memory, value, &number);
		if (!err && number.is_float)
			err = err_create(ERR_FORMAT, "a unit is for integers");
		if (!err)
			memcpy(asked->bytes, &number.integer, size);
	} else {
		err = type_size(value->type, &size);
		if (!err && (!size || size > MEMORY_SEARCH_MOST))
			err = err_create(ERR_UNSUPPORTED, "a value of %" PRIu64 " bytes is not looked for, "
					 "but 1 to %u", size, MEMORY_SEARCH_MOST);
		if (!err)
			err = value_read(asked->at.world.memory, value, asked->bytes, size);
	}
	asked->search.of.len = size;
	return err;
}

static struct err *take_text(struct asked *asked, const char *text)
{
	struct token token;
	struct err *err = token_next(&text, &token);

	if (!err && *text)
		err = err_create(ERR_USAGE, "'%.40s' stands behind a string", text);
	if (!err)
		err = token_string(&token, (char *)asked->bytes, sizeof(asked->bytes),
				   &asked->search.of.len);
	return err || asked->search.of.len ? err :
		err_create(ERR_USAGE, "an empty string is everywhere");
}

static struct err *evaluate(const struct call *call, struct asked *asked, const char *text,
			    struct value *ret)
{
	struct expr expr;
	struct err *err = expression_evaluate(call, &asked->at, text, &expr);

	if (!err && expr.is_type)
		err = err_create(ERR_FORMAT, "%s is a type, not a value", text);
	if (!err)
		err = value_follow(asked->at.world.memory, &expr.value);
	if (err)
		return err;
	*ret = expr.value;
	/* Of a function it is the address that is somewhere. */
	if (type_plain(ret->type)->kind == TYPE_FUNCTION)
		*ret = value_of_integer(type_pointer(ret->type), ret->address);
	return NULL;
}

static struct err *take_value(const struct call *call, struct asked *asked, const char *format,
			      const char *text)
{
	struct value value;
	struct err *err;

	asked->search.of.bytes = asked->bytes;
	if (!*text)
		return err_create(ERR_USAGE, "a value is missing");
	if (*text == '"')
		return *format ? err_create(ERR_USAGE, "a text has no unit") : take_text(asked, text);
	err = evaluate(call, asked, text, &value);
	return err ? err : value_bytes(asked, &value, format);
}

/* `limit N` is the last. */
static struct err *take_limit(struct asked *asked)
{
	struct session_search *search = &asked->search;
	struct err *err;

	search->of.limit = LIMIT;
	if (asked->nr && !strcmp(asked->words[asked->nr - 1], "limit"))
		return err_create(ERR_USAGE, "a number is missing after limit");
	if (asked->nr < 2 || strcmp(asked->words[asked->nr - 2], "limit"))
		return NULL;
	asked->nr -= 2;
	err = parse_number(asked->words[asked->nr + 1], &search->of.limit);
	return err || search->of.limit <= LIMIT_MOST ? err :
		err_create(ERR_USAGE, "limit is at most %u", LIMIT_MOST);
}

/* `in START END`, where END may be +LENGTH. */
static struct err *take_range(const struct call *call, struct asked *asked)
{
	struct session_search *search = &asked->search;
	struct value value;
	struct err *err;
	bool length;

	search->end = UINT64_MAX;
	if (!asked->nr || strcmp(asked->words[0], "in"))
		return NULL;
	if (asked->nr != 3)
		return err_create(ERR_USAGE, "behind `in` stand two addresses");
	asked->nr = 0;
	length = *asked->words[2] == '+';
	err = evaluate(call, asked, asked->words[1], &value);
	if (!err)
		err = value_pointer(asked->at.world.memory, &value, &search->start);
	if (!err)
		err = evaluate(call, asked, asked->words[2] + length, &value);
	if (!err)
		err = value_pointer(asked->at.world.memory, &value, &search->end);
	if (err || !length)
		return err;
	search->end = search->end > UINT64_MAX - search->start ? UINT64_MAX :
								 search->start + search->end;
	return NULL;
}

/* The blocks that are searched, or that places are named by. */
static struct err *take_blocks(const struct call *call, struct asked *asked)
{
	struct call words = *call;

	words.argc = asked->nr;
	words.argv = (const char *const *)asked->words;
	words.verbose = asked->verbose;
	asked->by_blocks = asked->nr;
	if (asked->by_blocks && asked->search.snapshot)
		return err_create(ERR_USAGE, "-snapshot is not for the blocks of a FILTER");
	return asked->by_blocks || asked->verbose ?
		query_blocks(&words, &asked->query) :
		session_heap(call->session, SESSION_HEAP_LOG, NULL, &asked->heap);
}

/* Blocks that are freed meanwhile are searched as they are then. */
static struct err *search_blocks(struct call *call, struct asked *asked)
{
	struct session_search *search = &asked->search;
	const struct block *block;
	struct err *err = block_list_next(asked->query.list, &block);

	while (!err && block) {
		search->mapped += block->size;
		err = memory_search_range(&search->of, session_memory(call->session), block->address,
					  block->address + block->size);
		if (!err)
			err = block_list_next(asked->query.list, &block);
	}
	return err;
}

/* The caller calls asked_free, also after an error. */
static struct err *ask(struct call *call, struct asked *asked)
{
	char format[32], *value;
	struct err *err = expression_words(call, true, format, &asked->text);

	if (!err)
		err = expression_begin(call, &asked->at);
	if (!err)
		err = split(asked, &value);
	if (!err)
		err = take_value(call, asked, format, value);
	if (!err)
		err = take_limit(asked);
	if (!err)
		err = take_range(call, asked);
	if (!err)
		err = take_blocks(call, asked);
	if (err)
		return err;
	return asked->by_blocks ? search_blocks(call, asked) :
				  session_search(call->session, &asked->search);
}

static struct err *add_place(const struct places *places, uint64_t address, struct answer *ret)
{
	struct str text AUTO_STR = STR_INIT;
	struct place_row row = { .address = address };
	struct found_place found;
	struct err *err = place_find(places, address, &found, &text);

	row.block = found.block;
	row.offset = address - found.block;
	row.type = found.type;
	row.text = str_text(&text);
	if (!err)
		err = answer_add(ret, &row);
	return err ? err : cancel_check();
}

static struct err *name_places(struct call *call, struct asked *asked, struct answer *ret)
{
	CLEANUP(stack_names_free) struct stack_names names;
	bool listed = asked->query.list;
	struct places places = {
		call, &asked->at.world, listed ? &asked->query.heap : &asked->heap, &names,
		asked->query.typed.taken ? &asked->query.typed : NULL,
	};
	struct err *err = NULL;

	stack_names_init(&names, call->session);
	vec_each_while(place, &asked->search.of.places, !err)
		err = add_place(&places, *place, ret);
	return err;
}

static struct err *rows_of(struct call *call, struct asked *asked, struct answer *ret)
{
	struct err *err = ask(call, asked);

	*ret = (struct answer)ANSWER_KEPT(&place_relation);
	return err ? err : name_places(call, asked, ret);
}

#define ASKED_INIT	{ .text = STR_INIT, .at = { .held.copy = NULL }, .heap = HEAPS_INIT }

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(asked_free) struct asked asked = ASKED_INIT;

	return rows_of(call, &asked, ret);
}

static void print_sums(const struct asked *asked, struct out *out)
{
	const struct session_search *search = &asked->search;

	out_f(out, "%" PRIu64 " place%s", search->of.nr, search->of.nr == 1 ? "" : "s");
	if (search->of.nr > search->of.limit)
		out_f(out, ", of which the first %" PRIu64 " are shown", search->of.limit);
	out_f(out, "; %" PRIu64 " bytes were searched", search->of.searched);
	if (search->mapped > search->of.searched)
		out_f(out, ", and %" PRIu64 " others are not in memory, or cannot be read",
		      search->mapped - search->of.searched);
	out_text(out, "\n");
}

static struct err *run(struct call *call)
{
	CLEANUP(asked_free) struct asked asked = ASKED_INIT;
	CLEANUP(answer_free) struct answer answer = { .nr = 0 };
	struct err *err = rows_of(call, &asked, &answer);
	const struct place_row *row = answer.at;

	if (err)
		return err;
	for (size_t i = 0; i < answer.nr && !out_done(call->out); i++)
		out_f(call->out, PRI_ADDRESS "  %s\n", row[i].address, row[i].text);
	print_sums(&asked, call->out);
	query_print_untyped(&asked.query, call->out);
	stood_text_print(call->out, MAX(asked.search.pause_ns, session_stood(call->session)),
			 asked.search.no_snapshot);
	return NULL;
}

static const struct twin twin = {
	.name		= "mdbg::places",
	.brief		= "list of dicts: the places of `find`",
	.help		= "Give the value in braces, so that Tcl leaves it alone; a unit (/g) is a word of\n"
			  "its own before it. `limit` is 100 here, too.\n",
	.example	= "mdbg::places {\"secret\"} limit 1000\nmdbg::places /g 0x55d0c0a812a0\n",
	.of		= &place_relation,
	.rows		= rows,
};

const struct cmd cmd_find = {
	.name		= "find",
	.usage		= "?/U? ?-v? ?-snapshot? VALUE|\"TEXT\" ?in START END? ?FILTER? ?limit N?",
	.brief		= "where in memory a value or a text is",
	.help		= "VALUE is an expression as in `print`, in parentheses if it has blanks. Its\n"
			  "bytes are looked for, at any address: those of its type, or of the unit U: b\n"
			  "h w g (1, 2, 4, 8 bytes). A TEXT is looked for without a zero at its end.\n"
			  "Both have at most 4096 bytes.\n"
			  "\n"
			  "START and END are expressions, and END may be +LENGTH. In its place a\n"
			  "FILTER (`help malloc allocations`) takes the blocks that match. Else it\n"
			  "is all memory that is there: what the process has never touched, has in no\n"
			  "page table, or only in a file is not read, and the last line says how much\n"
			  "that is. mdbg's own memory in the process is left out.\n"
			  "\n"
			  "Each place is named as in x/a. The first 100 are, or N; all are counted.\n"
			  "\n"
			  "A process that runs goes on: what it moves meanwhile may be missed, or found\n"
			  "twice. With -snapshot its own memory is that of one moment, for a pause as\n"
			  "for `malloc leaks`. -v, or a FILTER, walks the heaps, so that blocks from\n"
			  "before the attach are known; -v also says their types (`malloc types`).\n"
			  "\n"
			  "On a prompt line all that follows is the expression and its words, so there\n"
			  "is no redirection; `export csv FILE places ...` writes the places to a file.\n",
	.example	= "find \"Bearer \" limit 10\nfind/g 0x55d0c0a812a0 size > 4K\n"
			  "find server.dirty in &server +sizeof(server)\n",
	.need		= call_need_view,
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_RAW | CMD_FORMAT,
};
