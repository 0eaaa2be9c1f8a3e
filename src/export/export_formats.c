/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formats of `export`. */

#include "export/export_formats.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "export/export_file.h"
#include "export/export_rows.h"
#include "export/format_list.h"

const struct export_format *const export_formats[] = {
	&export_folded, &export_flamegraph, &export_pprof, &export_json, &export_csv, &export_sqlite,
	&export_massif, &export_callgrind, &export_heapsnapshot, NULL,
};

bool export_format_has_lists(const struct export_format *format)
{
	return format->rows;
}

bool export_format_has_growth(const struct export_format *format)
{
	return format->wants & (EXPORT_ANY | EXPORT_GROWTH) || format->rows;
}

bool export_format_has_changes(const struct export_format *format)
{
	return format->wants & EXPORT_CHANGES || format->rows;
}

bool export_format_has_pins(const struct export_format *format)
{
	return format->wants & (EXPORT_ANY | EXPORT_PINS) || format->rows;
}

struct err *export_format_names(bool (*is)(const struct export_format *format), struct str *ret)
{
	struct err *err = NULL;
	unsigned nr = 0, done = 0;

	for (const struct export_format *const *at = export_formats; *at; at++)
		nr += !is || is(*at);
	for (const struct export_format *const *at = export_formats; !err && *at; at++) {
		if (is && !is(*at))
			continue;
		if (done && done + 1 == nr)
			err = str_addf(ret, " or %s", (*at)->name);
		else
			err = str_addf(ret, "%s%s", done ? ", " : "", (*at)->name);
		done++;
	}
	return err;
}

static struct err *unknown(const char *name)
{
	AUTO_STR struct str names = STR_INIT;
	struct err *err = export_format_names(NULL, &names);

	return err ? err : err_hint(err_create(ERR_USAGE, "'%s' is no format", name), "%s",
				    str_text(&names));
}

struct err *export_format_find(const char *name, const struct export_format **ret)
{
	for (const struct export_format *const *at = export_formats; *at; at++) {
		if (strcmp((*at)->name, name))
			continue;
		*ret = *at;
		if (!(*at)->library)
			return NULL;
		return err_hint(err_create(ERR_UNSUPPORTED, "%s: this mdbg was built without %s",
					   name, (*at)->library),
				"install %s, then configure and build again", (*at)->package);
	}
	return unknown(name);
}

static struct err *write_rows(const struct export_format *format, const struct model *model,
			      struct answer *answer, struct export_file *file, uint64_t *rows_ret)
{
	struct export_rows rows;
	struct err *err = export_rows_init(&rows, model, answer);

	if (!err)
		err = format->rows(&rows, file);
	export_rows_free(&rows);
	*rows_ret = rows.given;
	return err;
}

struct err *export_format_write(const struct export_format *format, const struct model *model,
				struct answer *answer, const char *name, struct export_done *ret)
{
	struct export_file *file;
	struct err *err = export_file_begin(name, format->wants & EXPORT_PLAIN, &file);

	if (err)
		return err;
	ret->stream = !export_file_path(file);
	err = answer || !format->write ? write_rows(format, model, answer, file, &ret->rows) :
					 format->write(model, file);
	return export_file_end(file, err);
}

struct err *export_format_write_owners(const struct export_format *format,
				       struct stack_names *names, const struct owners *owners,
				       const char *name, struct export_done *ret)
{
	struct export_file *file;
	struct err *err = export_file_begin(name, format->wants & EXPORT_PLAIN, &file);

	if (err)
		return err;
	ret->stream = !export_file_path(file);
	return export_file_end(file, format->owners(names, owners, file));
}
