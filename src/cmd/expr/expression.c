/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of expressions (expression.h). */

#include "cmd/expr/expression.h"

#include <string.h>

#include "cmd/shell/shell.h"
#include "cmd/shell/suggest.h"
#include "cmd/thread.h"
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

static struct err *thread_data(void *ctx, uint64_t module, uint64_t *ret)
{
	const struct expression_at *at = ctx;

	return session_thread_data(at->session, at->lwp, module, ret);
}

struct err *expression_enter(const struct call *call, struct expression_at *at)
{
	struct session *session = call->session;
	const struct shell *shell = call->shell;
	struct err *err;

	if (at->world.frame)
		return NULL;
	at->session = session;
	at->lwp = thread_current(shell);
	err = session_thread_frame(session, at->lwp, shell->frame, &at->held);
	if (err)
		return err;
	at->world.generation = session_generation(session);
	for (uint32_t i = 0; i < at->held.nr; i++)
		at->frame[i] = (struct frame){
			.at = at->held.at[i], .arch = session_arch(session),
			.caller = i + 1 < at->held.nr ? &at->frame[i + 1] : NULL,
			.vectors = (const uint8_t (*)[FRAME_VECTOR])at->held.vectors,
			.nr_vectors = i ? 0 : at->held.nr_vectors,
			.thread_data = thread_data, .ctx = at,
		};
	memory_patch_init(&at->memory, at->world.memory, at->held.start, at->held.copy, at->held.len);
	at->world.memory = &at->memory.memory;
	at->world.frame = at->frame;
	return NULL;
}

struct err *expression_begin(const struct call *call, struct expression_at *ret)
{
	enum session_state state = session_state(call->session);
	struct err *err;

	*ret = (struct expression_at){
		.world.memory = session_memory(call->session),
		.world.generation = session_generation(call->session),
	};
	err = session_types(call->session, &ret->world.types);
	if (err)
		return err;
	if (call->shell->frame_chosen)
		return expression_enter(call, ret);
	if (state != SESSION_STOPPED && state != SESSION_CORE)
		return NULL;
	/* A thread whose stack cannot be walked has no local variables, and the others are there. */
	err = expression_enter(call, ret);
	if (err)
		err_ignore(err);
	return NULL;
}

void expression_end(struct expression_at *at)
{
	session_thread_frame_free(&at->held);
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

	if (*word == '$')
		return err_hint(err, "`registers` shows those of the thread");
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

/* A name that is known nowhere may be one of the current frame. */
static struct err *evaluate(const struct call *call, struct expression_at *at, const char *text,
			    struct err *(*fn)(const struct value_world *world, const char *text,
					      struct expr *ret),
			    struct expr *ret)
{
	struct err *err = fn(&at->world, text, ret), *no_frame;

	if (!err || err->code != ERR_NOTFOUND || !*ret->unknown || at->world.frame)
		return explain(&at->world, ret, err);
	no_frame = expression_enter(call, at);
	if (no_frame) {
		err_ignore(no_frame);
		return explain(&at->world, ret, err);
	}
	err_ignore(err);
	return explain(&at->world, ret, fn(&at->world, text, ret));
}

struct err *expression_evaluate(const struct call *call, struct expression_at *at,
				const char *text, struct expr *ret)
{
	return evaluate(call, at, text, expr_evaluate, ret);
}

struct err *expression_type(const struct call *call, struct expression_at *at, const char *text,
			    struct expr *ret)
{
	return evaluate(call, at, text, expr_type, ret);
}
