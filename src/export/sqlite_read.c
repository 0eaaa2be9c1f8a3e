/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads an export to SQLite (sqlite_read.h).
 *
 * The file is opened once. Its head is looked at before SQLite sees it (sqlite_head.h), and SQLite
 * reads what was opened then, not what has its name now (sqlite_source.h). Then each table is read
 * once, in the order of its key. So the stacks of the sites, which both have the numbers of the log,
 * are found by one pass over the two tables.
 */

#include "export/sqlite_read.h"

#include "export/schema.h"
#include "export/sqlite_head.h"

#ifdef HAVE_SQLITE
#include <sqlite3.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/text_set.h"
#include "export/model.h"
#include "export/sqlite_source.h"
#include "report/progress.h"

/* Limits for damaged and hostile files. */
#define MODULES_MOST	(1u << 16)
#define FRAMES_MOST	(1u << 19)
#define SITES_MOST	(1u << 19)
#define PATH_MOST	(1u << 23)	/* frames of all stacks */
#define ROWS_MOST	(1u << 27)	/* of any table, also those that are passed over */
#define TEXT_MOST	(1u << 20)	/* bytes of one text */
#define TEXTS_MOST	(64u << 20)	/* bytes of all distinct texts */
#define TIME_MOST	1e10		/* seconds since the epoch */

/* Facts of the table meta that are numbers. */
enum fact { F_VERSION, F_PID, F_SAMPLE, F_SITES, F_BYTES, F_COUNT, FACTS };

static const char *const fact_keys[] = {
	[F_VERSION] = "schema_version", [F_PID] = "pid", [F_SAMPLE] = "sample",
	[F_SITES] = "sites", [F_BYTES] = "site_bytes", [F_COUNT] = "site_count",
};

struct reader {
	const char *name;
	struct sqlite_source source;
	sqlite3_stmt *rows;		/* of the table at hand */
	struct model *model;
	struct text_set texts;
	uint64_t text_bytes;
	uint64_t facts[FACTS];
	unsigned known;			/* a bit for each fact */
	VEC(uint32_t) location_of;	/* by frame */
	VEC(const char *) own;		/* by site: the name of its function; NULL: not known */
	unsigned tables;		/* how many of ours were found */
	/* The stack at hand. */
	size_t site;
	int64_t stack, depth;		/* of the last row */
	uint32_t next;			/* the frame that must come next; 0: a location begins */
	uint32_t steps;			/* frames of all stacks so far */
};

/* Errors */

static struct err *damaged(const struct reader *reader, const char *what)
{
	return err_hint(err_create(ERR_FORMAT, "read %s: the export is damaged: %s", reader->name,
				   what), "`export sqlite FILE` writes a new one");
}

static struct err *too_many(const struct reader *reader, const char *what)
{
	return err_hint(err_create(ERR_RANGE, "read %s: too many %s", reader->name, what),
			"export fewer sites: `limit N`, or a FILTER");
}

static struct err *failed(const struct reader *reader)
{
	int code = reader->source.sql ? sqlite3_errcode(reader->source.sql) : SQLITE_NOMEM;
	struct err *err = cancel_check();

	if (err || code == SQLITE_NOMEM)
		return err_first(err, err_nomem);
	return damaged(reader, sqlite3_errmsg(reader->source.sql));
}

/* Values of a row. Each of these is false if the value is not of that kind. */

static bool get_number(const struct reader *reader, int column, uint64_t *ret)
{
	*ret = (uint64_t)sqlite3_column_int64(reader->rows, column);
	return sqlite3_column_type(reader->rows, column) == SQLITE_INTEGER;
}

static bool get_up_to(const struct reader *reader, int column, uint64_t most, uint64_t *ret)
{
	return get_number(reader, column, ret) && *ret <= most;
}

static bool is_null(const struct reader *reader, int column)
{
	return sqlite3_column_type(reader->rows, column) == SQLITE_NULL;
}

static bool get_number_or_null(const struct reader *reader, int column, uint64_t *ret)
{
	return get_number(reader, column, ret) || is_null(reader, column);
}

static bool get_time(const struct reader *reader, int column, uint64_t *ret)
{
	double seconds = sqlite3_column_double(reader->rows, column);

	if (sqlite3_column_type(reader->rows, column) != SQLITE_FLOAT || !(seconds >= 0) ||
	    seconds > TIME_MOST)
		return false;
	*ret = (uint64_t)(seconds * 1e9 + 0.5);
	return true;
}

/* Get a text, which stays as long as the model; NULL for NULL. */
static struct err *get_text(struct reader *reader, int column, const char **ret)
{
	struct text_set *texts = &reader->texts;
	const char *text;
	uint32_t number;
	struct err *err;

	*ret = NULL;
	if (is_null(reader, column))
		return NULL;
	if (sqlite3_column_type(reader->rows, column) != SQLITE_TEXT)
		return damaged(reader, "a name is no text");
	text = (const char *)sqlite3_column_text(reader->rows, column);
	if (!text)
		return err_nomem;
	if (strlen(text) != (size_t)sqlite3_column_bytes(reader->rows, column))
		return damaged(reader, "a name has a zero in it");
	err = text_set_copy(texts, text, &number);
	if (err)
		return err;
	if (number + 1 == texts->vec.nr)
		reader->text_bytes += strlen(text);
	if (reader->text_bytes > TEXTS_MOST)
		return too_many(reader, "names");
	*ret = texts->vec.at[number];
	return NULL;
}

/* Tables */

/* Call `row` for each row of a query. */
static struct err *read_rows(struct reader *reader, const char *query,
			     struct err *(*row)(struct reader *reader))
{
	struct err *err = NULL;
	int code = sqlite3_prepare_v2(reader->source.sql, query, -1, &reader->rows, NULL);

	if (code != SQLITE_OK)
		return failed(reader);
	for (uint64_t nr = 0; !err; nr++) {
		code = sqlite3_step(reader->rows);
		if (code != SQLITE_ROW)
			break;
		err = nr < ROWS_MOST ? row(reader) : too_many(reader, "rows");
		progress_step("reading the export", nr, 0);
	}
	if (!err && code != SQLITE_DONE)
		err = failed(reader);
	sqlite3_finalize(take(reader->rows));
	return err;
}

/*
 * Our tables must be plain ones. A virtual table has no page of its own, and another module of
 * SQLite would read the file.
 */
static struct err *read_table(struct reader *reader)
{
	static const char *const ours[] = { "meta", "modules", "frames", "stacks", "sites" };
	const char *name, *type;
	uint64_t page;
	struct err *err = get_text(reader, 0, &name);

	if (!err)
		err = get_text(reader, 1, &type);
	for (size_t i = 0; !err && name && i < ARRAY_SIZE(ours); i++) {
		if (strcmp(name, ours[i]))
			continue;
		if (!type || strcmp(type, "table") || !get_number(reader, 2, &page) || page < 2)
			return damaged(reader, "a table is none");
		reader->tables |= 1u << i;
	}
	return err;
}

static struct err *read_fact(struct reader *reader)
{
	const char *key, *text = NULL;
	struct err *err = get_text(reader, 0, &key);

	if (!err && !key)
		err = damaged(reader, "a fact has no name");
	for (unsigned i = 0; !err && i < FACTS; i++)
		if (!strcmp(key, fact_keys[i]) && get_number(reader, 1, &reader->facts[i]))
			reader->known |= 1u << i;
	if (!err && ((!strcmp(key, "time") && !get_time(reader, 1, &reader->model->now_ns)) ||
		     (!strcmp(key, "since") && !get_time(reader, 1, &reader->model->since_ns))))
		err = damaged(reader, "its time is none");
	if (!err && (!strcmp(key, "command") || !strcmp(key, "options"))) {
		char **to = *key == 'c' ? &reader->model->command : &reader->model->options;

		err = get_text(reader, 1, &text);
		free(take(*to));
		*to = err ? NULL : strdup(text ? text : "");
		if (!err && !*to)
			err = err_nomem;
	}
	return err;
}

static struct err *check_facts(struct reader *reader)
{
	struct model *model = reader->model;

	if (reader->known != (1u << FACTS) - 1 || !model->command || !model->options ||
	    !model->now_ns)
		return damaged(reader, "facts are missing");
	if (reader->facts[F_VERSION] != SCHEMA_VERSION)
		return damaged(reader, "it has two versions");
	if (reader->facts[F_PID] > INT32_MAX)
		return damaged(reader, "its process has no id");
	model->pid = (pid_t)reader->facts[F_PID];
	model->sample = reader->facts[F_SAMPLE];
	return NULL;
}

static struct err *read_module(struct reader *reader)
{
	struct model *model = reader->model;
	struct model_module module = { .build_id = NULL };
	const char *build_id;
	uint64_t id;
	struct err *err;

	if (model->modules.nr == MODULES_MOST)
		return too_many(reader, "modules");
	if (!get_number(reader, 0, &id) || id != model->modules.nr + 1)
		return damaged(reader, "modules are missing");
	err = get_text(reader, 1, &module.path);
	if (!err)
		err = get_text(reader, 2, &build_id);
	if (err)
		return err;
	if (!module.path)
		return damaged(reader, "a module has no name");
	module.build_id = strdup(build_id ? build_id : "");
	if (!module.build_id)
		return err_nomem;
	err = vec_push(&model->modules, module);
	if (err)
		free(module.build_id);
	return err;
}

/* Get a frame and, as if it were the only one there, its location. */
static struct err *get_frame(struct reader *reader, struct model_frame *frame,
			     struct model_location *location)
{
	uint64_t module = 0, line = 0, inlined;
	struct err *err = get_text(reader, 2, &frame->name);

	if (!err)
		err = get_text(reader, 5, &frame->file);
	if (!err)
		err = get_text(reader, 9, &frame->full);
	if (err)
		return err;
	if (!frame->name || !*frame->name ||
	    !get_number_or_null(reader, 1, &location->pc) ||
	    !get_number_or_null(reader, 3, &module) || module > reader->model->modules.nr ||
	    (!module && !is_null(reader, 3)) || !get_number_or_null(reader, 4, &location->offset) ||
	    !get_number_or_null(reader, 6, &line) || line > INT32_MAX ||
	    !get_up_to(reader, 7, 1, &inlined) || !get_number(reader, 8, &frame->into))
		return damaged(reader, "a frame is none");
	frame->line = (int)line;
	frame->inlined = inlined;
	location->module = module ? (uint32_t)module - 1 : MODEL_NO_MODULE;
	return NULL;
}

/* Frames of one address come one behind the other, the last of them is not inlined. */
static struct err *read_frame(struct reader *reader)
{
	struct model *model = reader->model;
	size_t nr = model->frames.nr;
	struct model_frame frame = { .name = NULL };
	struct model_location location = { .first = (uint32_t)nr, .nr = 1 };
	bool begins = !nr || !model->frames.at[nr - 1].inlined;
	uint64_t id;
	struct err *err;

	if (nr == FRAMES_MOST)
		return too_many(reader, "frames");
	if (!get_number(reader, 0, &id) || id != nr + 1)
		return damaged(reader, "frames are missing");
	err = get_frame(reader, &frame, &location);
	if (err)
		return err;
	if (!begins) {
		struct model_location *last = &model->locations.at[model->locations.nr - 1];

		if (last->pc != location.pc || last->module != location.module ||
		    last->offset != location.offset)
			return damaged(reader, "a frame is inlined into none");
		last->nr++;
	} else {
		err = vec_push(&model->locations, location);
	}
	if (!err)
		err = vec_push(&reader->location_of, (uint32_t)model->locations.nr - 1);
	return err ? err : vec_push(&model->frames, frame);
}

static struct err *check_frames(const struct reader *reader)
{
	const struct model *model = reader->model;

	if (model->frames.nr && model->frames.at[model->frames.nr - 1].inlined)
		return damaged(reader, "a frame is inlined into none");
	return NULL;
}

static struct err *read_site(struct reader *reader)
{
	struct model *model = reader->model;
	struct model_site site = { .part = MODEL_RECORDED };
	const char *own;
	uint64_t stack;
	struct err *err;

	if (model->sites.nr == SITES_MOST)
		return too_many(reader, "sites");
	/* The sums cannot overflow, as each of the figures is below 2^63 / SITES_MOST. */
	if (!get_up_to(reader, 0, UINT32_MAX, &stack) ||
	    !get_up_to(reader, 1, INT64_MAX / SITES_MOST, &site.figures.bytes) ||
	    !get_up_to(reader, 2, INT64_MAX / SITES_MOST, &site.figures.count) ||
	    (model->sites.nr && stack <= model->sites.at[model->sites.nr - 1].figures.stack))
		return damaged(reader, "a site is none");
	site.figures.stack = (uint32_t)stack;
	err = get_text(reader, 3, &own);
	if (!err)
		err = get_text(reader, 4, &site.end);
	if (!err)
		err = vec_push(&reader->own, own);
	if (err)
		return err;
	model->bytes += site.figures.bytes;
	model->count += site.figures.count;
	return vec_push(&model->sites, site);
}

static struct err *check_sites(const struct reader *reader)
{
	const struct model *model = reader->model;

	if (model->sites.nr == reader->facts[F_SITES] && model->bytes == reader->facts[F_BYTES] &&
	    model->count == reader->facts[F_COUNT])
		return NULL;
	return damaged(reader, "its sites do not add up to its sums");
}

/* Stacks */

/*
 * Note which frame the site is named after. The writer passed over those before it, which the file
 * does not say of each; and the innermost one is the allocator's, if it has no line.
 */
static struct err *name_site(struct reader *reader, const struct model_site *site)
{
	struct model *model = reader->model;
	const char *own = reader->own.at[reader->site];
	struct model_location *first = &model->locations.at[model->path.at[site->first]];
	struct model_frame *frame = &model->frames.at[first->first];

	first->entry = first->entry || (first->nr == 1 && !frame->file);
	for (uint32_t i = 0; i < site->nr; i++) {
		const struct model_location *location =
			&model->locations.at[model->path.at[site->first + i]];

		frame = &model->frames.at[location->first];
		for (uint32_t j = 0; j < location->nr; j++, frame++) {
			if (frame->name == own)
				return NULL;
			frame->skipped = true;
		}
	}
	return damaged(reader, "a site's function is not in its stack");
}

/* The stack of a site ends. */
static struct err *end_stack(struct reader *reader)
{
	struct model *model = reader->model;
	struct model_site *site = &model->sites.at[reader->site];
	struct err *err;

	site->nr = (uint32_t)model->path.nr - site->first;
	if (!site->nr || reader->next)
		return damaged(reader, "the stack of a site is not whole");
	err = name_site(reader, site);
	if (++reader->site < model->sites.nr)
		model->sites.at[reader->site].first = (uint32_t)model->path.nr;
	return err;
}

/* Add a frame, which must be the next one of its location. */
static struct err *add_step(struct reader *reader, uint64_t frame)
{
	struct model *model = reader->model;
	const struct model_location *location;
	uint32_t number;

	if (++reader->steps > PATH_MOST)
		return too_many(reader, "frames in stacks");
	if (!frame || frame > model->frames.nr || (reader->next && frame != reader->next))
		return damaged(reader, "a stack has no such frame");
	number = reader->location_of.at[frame - 1];
	location = &model->locations.at[number];
	if (!reader->next && frame != location->first + 1)
		return damaged(reader, "a stack begins in the middle of an address");
	reader->next = frame < location->first + location->nr ? (uint32_t)frame + 1 : 0;
	return reader->next ? NULL : vec_push(&model->path, number);
}

static struct err *read_step(struct reader *reader)
{
	const struct model *model = reader->model;
	uint64_t stack, depth, frame;
	struct err *err = NULL;
	bool begins;

	if (!get_number(reader, 0, &stack) || !get_up_to(reader, 1, INT64_MAX, &depth) ||
	    !get_number(reader, 2, &frame))
		return damaged(reader, "a stack is none");
	begins = (int64_t)stack != reader->stack;
	if (begins ? (int64_t)stack < reader->stack || depth :
		     (int64_t)depth != reader->depth + 1)
		return damaged(reader, "stacks are not in order");
	reader->stack = (int64_t)stack;
	reader->depth = (int64_t)depth;
	if (reader->site == model->sites.nr)
		return NULL;
	if ((int64_t)stack > model->sites.at[reader->site].figures.stack)
		err = end_stack(reader);
	if (err || reader->site == model->sites.nr ||
	    (int64_t)stack != model->sites.at[reader->site].figures.stack)
		return err;
	return add_step(reader, frame);
}

static struct err *check_stacks(struct reader *reader)
{
	struct err *err = NULL;

	if (reader->site < reader->model->sites.nr)
		err = end_stack(reader);
	if (!err && reader->site < reader->model->sites.nr)
		err = damaged(reader, "the stack of a site is missing");
	return err;
}

/* The database */

static struct err *open_database(struct reader *reader, int fd)
{
	struct err *err;

	if (sqlite_source_open(&reader->source, fd, TEXT_MOST) != SQLITE_OK)
		return failed(reader);
	err = read_rows(reader, "SELECT name, type, rootpage FROM sqlite_master", read_table);
	if (!err && reader->tables != 31)
		err = damaged(reader, "tables are missing");
	return err;
}

static struct err *read_all(struct reader *reader, int fd)
{
	struct err *err = open_database(reader, fd);

	if (!err)
		err = read_rows(reader, "SELECT key, value FROM meta", read_fact);
	if (!err)
		err = check_facts(reader);
	if (!err)
		err = read_rows(reader, "SELECT id, path, build_id FROM modules ORDER BY id",
				read_module);
	if (!err)
		err = read_rows(reader, "SELECT id, pc, function, module, \"offset\", file, line, "
				"inlined, function_offset, \"full\" FROM frames ORDER BY id", read_frame);
	if (!err)
		err = check_frames(reader);
	if (!err)
		err = read_rows(reader, "SELECT stack, bytes, count, function, \"end\" FROM sites "
				"ORDER BY stack", read_site);
	if (!err)
		err = check_sites(reader);
	reader->stack = INT64_MIN;
	if (!err)
		err = read_rows(reader, "SELECT stack, depth, frame FROM stacks "
				"ORDER BY stack, depth", read_step);
	return err ? err : check_stacks(reader);
}

static void give_texts(struct reader *reader)
{
	struct model *model = reader->model;

	model->texts.at = take(reader->texts.copies.at);
	model->texts.nr = reader->texts.copies.nr;
	model->texts.room = reader->texts.copies.room;
	vec_clear(&reader->texts.copies);
	text_set_free(&reader->texts);
}

struct err *sqlite_read(const char *name, struct model *ret)
{
	struct reader reader = { .name = name, .model = ret, .texts = TEXT_SET_INIT };
	AUTO_CLOSE int fd = -1;
	struct err *err = sqlite_head_open(name, &fd);

	if (err)
		return err;
	memset(ret, 0, sizeof(*ret));
	err = read_all(&reader, fd);
	sqlite_source_close(&reader.source);
	give_texts(&reader);
	vec_free(&reader.location_of);
	vec_free(&reader.own);
	ret->held = ret->sites.nr;
	ret->all_bytes = ret->bytes;
	ret->all_count = ret->count;
	ret->program = MODEL_NO_MODULE;
	if (err)
		model_free(ret);
	return err;
}
#else
struct err *sqlite_read(const char *name, struct model *ret UNUSED)
{
	return err_hint(err_create(ERR_UNSUPPORTED, "read %s: this mdbg was built without SQLite",
				   name), "install libsqlite3-dev, then configure and build again");
}
#endif
