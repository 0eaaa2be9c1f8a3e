/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * export json: a line for each site, which is one object. It has the figures of mdbg::sites, and the
 * stack as a list of objects, innermost first. What is not known is null.
 */

#include "export/figure.h"
#include "export/file.h"
#include "export/format_list.h"

#ifdef HAVE_JANSSON
#include <inttypes.h>
#include <jansson.h>

#include "base/path.h"
#include "export/model.h"
#include "export/text.h"

/* The state while objects are made. The object of a frame is made once, and all stacks share it. */
struct maker {
	const struct model *model;
	struct export_file *file;
	struct model_stack stack;
	json_t **frames;	/* by place in model->frames; NULL: not made yet */
	struct str text;
	bool failed;		/* there was no memory for something */
};

static void set(struct maker *maker, json_t *object, const char *key, json_t *value)
{
	/* jansson owns the value from here on, also if it fails. It fails if the value is NULL. */
	if (json_object_set_new(object, key, value))
		maker->failed = true;
}

static json_t *text_of(struct maker *maker, const char *text)
{
	if (!text)
		return json_null();
	return text_clean(&maker->text, text) ? NULL : json_string(str_text(&maker->text));
}

static json_t *address_of(uint64_t address)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return address ? json_string(text) : json_null();
}

static json_t *number_of(uint64_t number, bool known)
{
	return known ? json_integer((json_int_t)number) : json_null();
}

static json_t *make_frame(struct maker *maker, const struct model_step *step)
{
	const struct model_location *location = step->location;
	const struct model_frame *frame = step->frame;
	const struct model_module *module = location->module == MODEL_NO_MODULE ?
		NULL : &maker->model->modules.at[location->module];
	json_t *object = json_object();

	set(maker, object, "function", text_of(maker, frame->name));
	set(maker, object, "module", text_of(maker, module ? path_base(module->path) : NULL));
	set(maker, object, "file", text_of(maker, frame->file));
	set(maker, object, "line", number_of((uint64_t)frame->line, frame->line));
	set(maker, object, "inline", json_boolean(frame->inlined));
	set(maker, object, "pc", address_of(location->pc));
	set(maker, object, "offset", module ? address_of(location->offset) : json_null());
	set(maker, object, "build_id", text_of(maker, module && *module->build_id ?
					       module->build_id : NULL));
	return object;
}

static json_t *make_stack(struct maker *maker)
{
	const struct model_stack *stack = &maker->stack;
	json_t *array = json_array();

	for (size_t i = 0; i < stack->vec.nr; i++) {
		json_t **frame = &maker->frames[stack->vec.at[i].frame - maker->model->frames.at];

		if (!*frame)
			*frame = make_frame(maker, &stack->vec.at[i]);
		if (json_array_append(array, *frame))
			maker->failed = true;
	}
	return array;
}

static json_t *make_site(struct maker *maker, const struct model_site *site)
{
	json_t *object = json_object();
	const struct site_field *field;
	size_t at = 0;

	while ((field = figure_next(&at))) {
		struct figure figure = figure_get(maker->model, site, field);

		set(maker, object, field->key, !figure.known ? json_null() :
		    figure.is_real ? json_real(figure.real) : json_integer(figure.number));
	}
	set(maker, object, "sample", number_of(maker->model->sample, true));
	set(maker, object, "end", text_of(maker, site->end));
	set(maker, object, "function",
	    text_of(maker, model_stack_own(&maker->stack)->frame->name));
	set(maker, object, "stack", make_stack(maker));
	return object;
}

static int write_part(const char *text, size_t len, void *ctx)
{
	export_file_bytes(ctx, text, len);
	return 0;
}

static struct err *write_site(struct maker *maker, const struct model_site *site)
{
	struct err *err = model_stack_get(maker->model, site, &maker->stack);
	json_t *object;

	if (err)
		return err;
	object = make_site(maker, site);
	if (maker->failed ||
	    json_dump_callback(object, write_part, maker->file,
			       JSON_COMPACT | JSON_REAL_PRECISION(12)))
		err = err_nomem;
	json_decref(object);
	export_file_text(maker->file, "\n");
	return err_first(err, export_file_check(maker->file));
}

static struct err *write_json(const struct model *model, struct export_file *file)
{
	struct maker maker = { .model = model, .file = file };
	struct err *err = NULL;

	maker.frames = calloc(model->frames.nr + 1, sizeof(*maker.frames));
	if (!maker.frames)
		return err_nomem;
	for (size_t i = 0; !err && i < model->held; i++)
		err = write_site(&maker, &model->sites.at[i]);
	for (size_t i = 0; i < model->frames.nr; i++)
		json_decref(maker.frames[i]);
	free(maker.frames);
	vec_free(&maker.stack.vec);
	str_free(&maker.text);
	return err;
}
#endif

const struct export_format export_json = {
	.name	= "json",
	.brief	= "an object a line, for scripts",
#ifdef HAVE_JANSSON
	.write	= write_json,
#else
	.library = "jansson",
	.package = "libjansson-dev",
#endif
};
