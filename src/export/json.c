/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * export json: a line for each site, or each row of another answer, which is one object. It has the
 * figures of its twin for scripts, and the stack as a list of objects, innermost first. What is not
 * known is null.
 */

#include "export/export_file.h"
#include "export/export_rows.h"
#include "export/format_list.h"

#ifdef HAVE_JANSSON
#include <inttypes.h>
#include <jansson.h>

#include "base/path.h"
#include "export/model.h"
#include "export/text.h"
#include "heap/block.h"

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

static json_t *make_value(struct maker *maker, const struct column *column, const void *row)
{
	const struct column_value is = column_get(column, row);
	const char *heap;

	if (!is.known)
		return json_null();
	switch (column->kind) {
	case COLUMN_TEXT:
		return text_of(maker, is.text);
	case COLUMN_ADDRESS:
		return address_of(is.number);
	case COLUMN_HEAP:
		heap = block_heap_name((uint16_t)is.number);
		return heap ? json_string(heap) : number_of(is.number, true);
	default:
		return column_is_real(column) ? json_real(is.real) : number_of(is.number, true);
	}
}

static json_t *make_row(struct maker *maker, const struct export_rows *rows, const void *row,
			const struct model_site *site)
{
	json_t *object = json_object();
	const struct column *column;
	size_t at = 0;

	while ((column = export_rows_column(rows, &at)))
		set(maker, object, column->key, make_value(maker, column, row));
	if (!rows->stack)
		return object;
	set(maker, object, "sample", number_of(maker->model->sample, true));
	set(maker, object, "end", text_of(maker, site ? site->end : NULL));
	if (!rows->named)
		set(maker, object, "function",
		    text_of(maker, site ? model_stack_own(maker->model, &maker->stack)->frame->name : NULL));
	set(maker, object, "stack", site ? make_stack(maker) : json_null());
	return object;
}

static int write_part(const char *text, size_t len, void *ctx)
{
	export_file_bytes(ctx, text, len);
	return 0;
}

static struct err *write_row(struct maker *maker, const struct export_rows *rows, const void *row,
			     const struct model_site *site)
{
	struct err *err = site ? model_stack_get(maker->model, site, &maker->stack) : NULL;
	json_t *object;

	if (err)
		return err;
	object = make_row(maker, rows, row, site);
	if (maker->failed ||
	    json_dump_callback(object, write_part, maker->file,
			       JSON_COMPACT | JSON_REAL_PRECISION(12)))
		err = err_nomem;
	json_decref(object);
	export_file_text(maker->file, "\n");
	return err_first(err, export_file_check(maker->file));
}

static struct err *write_json(struct export_rows *rows, struct export_file *file)
{
	const struct model *model = rows->model;
	struct maker maker = { .model = model, .file = file };
	const struct model_site *site;
	const void *row;
	struct err *err;

	maker.frames = calloc(model->frames.nr + 1, sizeof(*maker.frames));
	if (!maker.frames)
		return err_nomem;
	err = export_rows_next(rows, &row, &site);
	while (!err && row) {
		err = write_row(&maker, rows, row, site);
		if (!err)
			err = export_rows_next(rows, &row, &site);
	}
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
	.rows	= write_json,
#else
	.library = "jansson",
	.package = "libjansson-dev",
#endif
};
