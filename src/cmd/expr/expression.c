/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of expressions (expression.h). */

#include "cmd/expr/expression.h"

#include <string.h>

#include "cmd/shell/suggest.h"
#include "session/session.h"
#include "type/types.h"

#define NEAR	3u	/* names that are suggested */

struct err *expression_words(const struct call *call, bool needed, char format[32],
			     struct str *text_ret)
{
	struct err *err = NULL;
	size_t len;

	for (int i = 0; i < call->argc && !err; i++)
		err = str_addf(text_ret, "%s%s", i ? " " : "", call->argv[i]);
	*format = '\0';
	if (!err && *str_text(text_ret) == '/') {
		len = strcspn(text_ret->at, " \t");
		if (len > 31)
			return err_create(ERR_USAGE, "'%.40s' is no format", text_ret->at);
		memcpy(format, text_ret->at + 1, len - 1);
		format[len - 1] = '\0';
		memset(text_ret->at, ' ', len);
	}
	if (!err && needed && str_text(text_ret)[strspn(str_text(text_ret), " \t")] == '\0')
		err = err_create(ERR_USAGE, "an expression is missing");
	return err;
}

struct err *expression_world(const struct call *call, struct value_world *ret)
{
	*ret = (struct value_world){
		.memory = session_memory(call->session),
		.generation = session_generation(call->session),
	};
	return session_types(call->session, &ret->types);
}

/* Names that are near the unknown one. */
struct near {
	const char *word;
	const char *names[NEAR];
	size_t nr;
};

static bool consider(void *ctx, const char *name)
{
	struct near *near = ctx;

	for (size_t i = 0; i < near->nr; i++)
		if (!strcmp(near->names[i], name))
			return false;
	if (suggest_is_near(near->word, name))
		near->names[near->nr++] = name;
	return near->nr == NEAR;
}

static struct err *add_near(const struct value_world *world, const char *word, struct err *err)
{
	struct near near = { .word = word };
	struct str text AUTO_STR = STR_INIT;
	struct err *lost = NULL;

	types_each_name(world->types, consider, &near);
	for (size_t i = 0; i < near.nr && !lost; i++)
		lost = str_addf(&text, "%s%s", i ? ", " : "near it: ", near.names[i]);
	return lost || !near.nr ? err : err_hint(err, "%s", text.at);
}

static struct err *explain(const struct value_world *world, const struct expr *expr,
			   struct err *err)
{
	/* It is the expression that is wrong: the command's usage would not help. */
	if (err && err->code == ERR_USAGE)
		err = err_recode(err, ERR_FORMAT);
	return err && *expr->unknown && !*err->hint ? add_near(world, expr->unknown, err) : err;
}

struct err *expression_evaluate(const struct value_world *world, const char *text, struct expr *ret)
{
	return explain(world, ret, expr_evaluate(world, text, ret));
}

struct err *expression_type(const struct value_world *world, const char *text, struct expr *ret)
{
	return explain(world, ret, expr_type(world, text, ret));
}
