/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pprof's drop_frames (theory in drop_frames.h). */

#include "export/drop_frames.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/text_set.h"
#include "export/model.h"
#include "export/text.h"

/* Programs have some dozens of wrappers; names may be of any length. */
#define TEXT_MOST	(256u << 10)

enum { INNER = 1, OUTER = 2 };	/* where in stacks a frame is: below the own one, or elsewhere */

struct drop {
	const struct model *model;
	uint8_t *where;			/* by frame */
	struct text_set inner, outer;	/* the names there, without parameters */
};

static void drop_free(struct drop *drop)
{
	free(drop->where);
	text_set_free(&drop->inner);
	text_set_free(&drop->outer);
}

/* The length of a name up to its parameters, as Go's reader cuts it. */
static size_t bare_length(const char *name)
{
	static const char *const kept[] = { "(anonymous namespace)", "operator()" };
	const char *at = name;

	for (;;) {
		size_t len = strcspn(at, "(o");

		at += len;
		if (!strncmp(at, kept[0], strlen(kept[0])))
			at += strlen(kept[0]);
		else if (!strncmp(at, kept[1], strlen(kept[1])))
			at += strlen(kept[1]);
		else if (*at == 'o')
			at++;
		else
			return (size_t)(at - name);
	}
}

static void look_at_stack(struct drop *drop, const struct model_stack *stack)
{
	const struct model_step *own = model_stack_own(drop->model, stack);

	/* Of a stack with nothing but wrappers Go's reader drops none. */
	if (own->frame->skipped)
		return;
	vec_each(step, &stack->vec)
		drop->where[step->frame - drop->model->frames.at] |= step < own ? INNER : OUTER;
}

static struct err *look_at_stacks(struct drop *drop)
{
	struct model_stack stack = { VEC_INIT };
	struct err *err = NULL;

	for (size_t i = 0; !err && i < drop->model->sites.nr; i++) {
		err = model_stack_get(drop->model, &drop->model->sites.at[i], &stack);
		if (!err)
			look_at_stack(drop, &stack);
	}
	vec_free(&stack.vec);
	return err;
}

static struct err *take_names(struct drop *drop)
{
	AUTO_STR struct str name = STR_INIT;
	struct err *err = NULL;
	uint32_t number;

	for (size_t i = 0; !err && i < drop->model->frames.nr; i++) {
		if (!drop->where[i])
			continue;
		err = text_clean(&name, drop->model->frames.at[i].name);
		if (err)
			break;
		name.at[bare_length(name.at)] = '\0';
		if (drop->where[i] & INNER)
			err = text_set_copy(&drop->inner, name.at, &number);
		if (!err && drop->where[i] & OUTER)
			err = text_set_copy(&drop->outer, name.at, &number);
	}
	return err;
}

static struct err *add_quoted(struct str *ret, const char *name)
{
	struct err *err = NULL;

	for (; !err && *name; name++) {
		if (strchr("\\.+*?()|[]{}^$", *name))
			err = str_add(ret, "\\");
		if (!err)
			err = str_add_bytes(ret, name, 1);
	}
	return err;
}

struct err *drop_frames_add(const struct model *model, struct str *ret)
{
	struct drop drop CLEANUP(drop_free) = { .model = model };
	size_t start = ret->len;
	struct err *err;

	drop.where = calloc(model->frames.nr + 1, 1);
	err = drop.where ? look_at_stacks(&drop) : err_nomem;
	if (!err)
		err = take_names(&drop);
	for (size_t i = 0; !err && i < drop.inner.vec.nr; i++) {
		const char *name = drop.inner.vec.at[i];

		if (!*name || text_set_has(&drop.outer, name) ||
		    ret->len - start + strlen(name) > TEXT_MOST)
			continue;
		if (ret->len > start)
			err = str_add(ret, "|");
		if (!err)
			err = add_quoted(ret, name);
	}
	return err;
}
