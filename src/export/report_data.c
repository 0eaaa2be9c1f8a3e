/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The data of a report, as JSON:
 *
 *	bytes		of all sites
 *	samples		[ms since the epoch, bytes, blocks, RSS, 1 behind a gap]
 *	marks		[name, ms]
 *	sites		[bytes, blocks, all-time blocks, freed, oldest, median, growth, own, stack]
 *	more		[sites, bytes, blocks] that have no row
 *	leaks		[kind, bytes, blocks, indirect bytes, own, site]
 *	differences	{ title, note, grown, shrunk, more, changes: [bytes, blocks, own, site] }
 *	locations	[function, file, line, …] of an address, innermost first
 *	strings		names
 *
 * own is the number of a string: the function that the stack is named after. A stack is a list of
 * numbers of locations, outermost first, or null where there was no room for it. Ages are in
 * seconds. What is not known is null.
 */

#include "export/report_html.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/text_set.h"
#include "export/export_file.h"
#include "export/markup.h"
#include "export/model.h"
#include "heap/leak.h"
#include "log/log.h"
#include "report/traceback.h"
#include "session/session.h"

#define SITES_MOST	10000u
#define LEAKS_MOST	500u		/* of a kind */
#define CHANGES_MOST	1000u		/* of a difference */
#define NAME_MOST	400u		/* bytes */
#define STACKS_ROOM	(2u << 20)	/* of their text */

struct data {
	const struct report *report;
	const struct log *log;
	struct export_file *file;
	struct text_set strings;
	uint32_t *numbers;		/* by location of the model: number + 1; 0: none yet */
	VEC(uint32_t) locations;	/* by number: that of the model */
	VEC(uint32_t) site_of;		/* by stack: site + 1 */
	uint64_t room;			/* for stacks */
};

/* Separators between elements: the comma stands before all but the first. */
static void comma(struct export_file *file, size_t i)
{
	export_file_text(file, i ? ",\n" : "");
}

static void write_ages(struct export_file *file, const struct site *site)
{
	if (site->oldest)
		export_file_f(file, ",%.1f,%.1f", (double)site->oldest / 1e9,
			      (double)site->median / 1e9);
	else
		export_file_text(file, ",null,null");
}

/* Names */

static struct err *own_number(struct data *data, uint32_t stack, uint32_t *ret)
{
	enum symbol_names naming = session_naming(data->report->session)->names;
	AUTO_STR struct str text = STR_INIT;
	struct stack_own own;
	struct err *err;

	if (stack_names_own(data->report->names, stack, &own))
		err = function_text(&text, &own.frame, naming);
	else
		err = str_add(&text, stack == LOG_STACK_NONE ? "(no stack)" : "(unknown)");
	return err ? err : text_set_copy(&data->strings, str_text(&text), ret);
}

static struct err *write_own(struct data *data, uint32_t stack)
{
	uint32_t own = 0;
	struct err *err = own_number(data, stack, &own);

	export_file_f(data->file, ",%" PRIu32, own);
	return err;
}

/* Stacks */

/* Estimate the length of the text of a stack; names that are written already cost nothing more. */
static uint64_t stack_cost(const struct data *data, const struct model_site *site)
{
	const struct model *model = data->report->model;
	uint64_t cost = 0;

	for (uint32_t i = 0; i < site->nr; i++) {
		uint32_t at = model->path.at[site->first + i];
		const struct model_location *location = &model->locations.at[at];

		cost += 6;
		for (uint32_t j = 0; !data->numbers[at] && j < location->nr; j++)
			cost += 20 + MIN(strlen(model->frames.at[location->first + j].name),
					 NAME_MOST);
	}
	return cost;
}

static struct err *write_stack(struct data *data, const struct model_site *site)
{
	const struct model *model = data->report->model;
	uint64_t cost = stack_cost(data, site);
	struct err *err = NULL;

	if (cost > data->room) {
		data->room = 0;
		export_file_text(data->file, ",null");
		return NULL;
	}
	data->room -= cost;
	export_file_text(data->file, ",[");
	for (uint32_t i = 0; !err && i < site->nr; i++) {
		uint32_t at = model->path.at[site->first + site->nr - 1 - i];

		if (!data->numbers[at]) {
			err = vec_push(&data->locations, at);
			data->numbers[at] = (uint32_t)data->locations.nr;
		}
		export_file_text(data->file, i ? "," : "");
		export_file_number(data->file, data->numbers[at] - 1);
	}
	export_file_text(data->file, "]");
	return err;
}

/* Sites */

static struct err *write_site(struct data *data, const struct model_site *site)
{
	const struct model *model = data->report->model;
	const struct site *figures = &site->figures;
	struct export_file *file = data->file;
	uint32_t own = 0;
	struct err *err;

	export_file_f(file, "[%" PRIu64 ",%" PRIu64, figures->bytes, figures->count);
	if (site->part == MODEL_EARLY)
		export_file_text(file, ",null,null");
	else
		export_file_f(file, ",%" PRIu64 ",%" PRIu64, figures->total, figures->freed);
	write_ages(file, figures);
	if (site->part == MODEL_EARLY || !model->growth_ns)
		export_file_text(file, ",null");
	else
		export_file_f(file, ",%" PRId64, figures->growth);
	if (site->part == MODEL_EARLY)
		err = text_set_number(&data->strings,
				      model->frames.at[model->locations.at[
					      model->path.at[site->first]].first].name, &own);
	else
		err = own_number(data, figures->stack, &own);
	export_file_f(file, ",%" PRIu32, own);
	if (!err)
		err = write_stack(data, site);
	export_file_text(file, "]");
	return err;
}

/* A stack may have become a whole one since (log/log_deferred.h). */
static struct err *remember_site(struct data *data, const struct model_site *site, size_t i)
{
	uint32_t *slot;

	if (site->part != MODEL_RECORDED || site->figures.stack > reader_stacks(data->log))
		return NULL;
	slot = vec_slot(&data->site_of, log_deferred_whole(data->log, site->figures.stack));
	if (!slot)
		return err_nomem;
	*slot = (uint32_t)i + 1;
	return NULL;
}

static struct err *write_sites(struct data *data)
{
	const struct model *model = data->report->model;
	uint64_t bytes = 0, count = 0;
	struct err *err = NULL;
	size_t i;

	export_file_text(data->file, "\"sites\":[");
	for (i = 0; !err && i < MIN(model->held, SITES_MOST); i++) {
		comma(data->file, i);
		err = write_site(data, &model->sites.at[i]);
		if (!err)
			err = remember_site(data, &model->sites.at[i], i);
	}
	for (; i < model->held; i++) {
		bytes += model->sites.at[i].figures.bytes;
		count += model->sites.at[i].figures.count;
	}
	export_file_f(data->file, "],\n\"more\":[%zu,%" PRIu64 ",%" PRIu64 "],\n",
		      model->held - MIN(model->held, SITES_MOST), bytes, count);
	return err;
}

static void write_site_number(struct data *data, uint32_t stack)
{
	uint32_t whole = stack <= reader_stacks(data->log) ? log_deferred_whole(data->log,
										stack) : stack;

	if (whole < data->site_of.nr && data->site_of.at[whole])
		export_file_f(data->file, ",%" PRIu32 "]", data->site_of.at[whole] - 1);
	else
		export_file_text(data->file, ",null]");
}

/* Leaks */

static struct err *write_leak(struct data *data, const struct leak *leak)
{
	struct export_file *file = data->file;
	struct err *err = NULL;
	uint32_t own = 0;

	export_file_f(file, "[\"%s\",%" PRIu64 ",%" PRIu64 ",%" PRIu64, leak_kind_word(leak->kind),
		      leak->bytes, leak->blocks, leak->indirect_bytes);
	if (!leak->preattach) {
		err = write_own(data, leak->stack);
		write_site_number(data, leak->stack);
		return err;
	}
	err = text_set_number(&data->strings, no_stack_text(leak->unrecorded), &own);
	export_file_f(file, ",%" PRIu32 ",null]", own);
	return err;
}

/* What the program can still get at is no leak: it has its sum in the page. */
static struct err *write_leaks(struct data *data)
{
	const struct leaks *leaks = data->report->leaks;
	uint32_t nr[LEAK_KINDS] = { 0 };
	struct err *err = NULL;
	size_t written = 0;

	export_file_text(data->file, "\"leaks\":[");
	for (size_t i = 0; leaks && !err && i < leaks->vec.nr; i++) {
		const struct leak *leak = &leaks->vec.at[i];

		if (leak->suppression != SUPPRESS_NONE || leak->kind == LEAK_REACHABLE ||
		    nr[leak->kind]++ >= LEAKS_MOST)
			continue;
		comma(data->file, written++);
		err = write_leak(data, leak);
	}
	export_file_text(data->file, "],\n");
	return err;
}

/* Differences */

static struct err *write_change(struct data *data, const struct change *change)
{
	struct err *err;

	export_file_f(data->file, "[%" PRId64 ",%" PRId64, change->bytes, change->count);
	err = write_own(data, change->to);
	write_site_number(data, change->to);
	return err;
}

static struct err *write_difference(struct data *data, const struct report_difference *difference)
{
	const struct difference *found = &difference->found;
	size_t nr = MIN(found->vec.nr, CHANGES_MOST);
	struct export_file *file = data->file;
	struct err *err = NULL;

	export_file_text(file, "{\"title\":");
	markup_json(file, difference->title, MARKUP_WHOLE);
	export_file_text(file, ",\"note\":");
	markup_json(file, difference->note ? difference->note : "", MARKUP_WHOLE);
	export_file_f(file, ",\"grown\":%" PRIu64 ",\"shrunk\":%" PRIu64 ",\"more\":%zu,\"changes\":[",
		      found->grown, found->shrunk, found->vec.nr - nr);
	for (size_t i = 0; !err && i < nr; i++) {
		comma(file, i);
		err = write_change(data, &found->vec.at[i]);
	}
	export_file_text(file, "]}");
	return err;
}

static struct err *write_differences(struct data *data)
{
	struct err *err = NULL;
	size_t i = 0;

	export_file_text(data->file, "\"differences\":[");
	vec_each_while(difference, &data->report->differences, !err) {
		comma(data->file, i++);
		err = write_difference(data, difference);
	}
	export_file_text(data->file, "],\n");
	return err;
}

/* Time */

static void write_times(const struct model *model, struct export_file *file)
{
	size_t i = 0;

	export_file_text(file, "\"samples\":[");
	vec_each(sample, &model->samples) {
		comma(file, i++);
		export_file_f(file, "[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", sample->time_ns / 1000000,
			      sample->bytes, sample->count);
		if (sample->rss)
			export_file_number(file, sample->rss);
		else
			export_file_text(file, "null");
		export_file_text(file, sample->gap ? ",1]" : ",0]");
	}
	export_file_text(file, "],\n\"marks\":[");
	i = 0;
	vec_each(mark, &model->marks) {
		comma(file, i++);
		export_file_text(file, "[");
		markup_json(file, mark->name, NAME_MOST);
		export_file_f(file, ",%" PRIu64 "]", mark->time_ns / 1000000);
	}
	export_file_text(file, "],\n");
}

/* What the rest has named by numbers */

static struct err *write_location(struct data *data, const struct model_location *location)
{
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < location->nr; i++) {
		const struct model_frame *frame =
			&data->report->model->frames.at[location->first + i];
		uint32_t name = 0, path = 0;

		err = text_set_number(&data->strings, frame->name, &name);
		if (!err)
			err = text_set_number(&data->strings, frame->file ? frame->file : "", &path);
		export_file_f(data->file, "%s%" PRIu32 ",%" PRIu32 ",%d", i ? "," : "[", name, path,
			      frame->line);
	}
	export_file_text(data->file, "]");
	return err;
}

static struct err *write_locations(struct data *data)
{
	struct err *err = NULL;

	export_file_text(data->file, "\"locations\":[");
	for (size_t i = 0; !err && i < data->locations.nr; i++) {
		comma(data->file, i);
		err = write_location(data, &data->report->model->locations.at[data->locations.at[i]]);
	}
	export_file_text(data->file, "],\n");
	return err;
}

static void write_strings(struct data *data)
{
	export_file_text(data->file, "\"strings\":[");
	for (size_t i = 0; i < data->strings.vec.nr; i++) {
		comma(data->file, i);
		markup_json(data->file, data->strings.vec.at[i], NAME_MOST);
	}
	export_file_text(data->file, "]");
}

struct err *report_data_write(const struct report *report, struct export_file *file)
{
	const struct model *model = report->model;
	struct data data = { .report = report, .log = session_log(report->session), .file = file,
			     .strings = TEXT_SET_INIT, .room = STACKS_ROOM };
	struct err *err = NULL;

	data.numbers = calloc(model->locations.nr + 1, sizeof(*data.numbers));
	if (!data.numbers)
		return err_nomem;
	export_file_f(file, "{\"bytes\":%" PRIu64 ",\n", model->bytes);
	write_times(model, file);
	err = write_sites(&data);
	if (!err)
		err = write_leaks(&data);
	if (!err)
		err = write_differences(&data);
	if (!err)
		err = write_locations(&data);
	write_strings(&data);
	export_file_text(file, "}\n");
	text_set_free(&data.strings);
	vec_free(&data.locations);
	vec_free(&data.site_of);
	free(data.numbers);
	return err;
}
