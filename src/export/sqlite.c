/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * export sqlite: a database of the sites and of the blocks (schema.h).
 *
 * The sites are those of `malloc sites`. The allocations are those of `malloc allocations`, so they
 * include blocks from before the attach, whose stack is one frame that says so. If the target runs,
 * sites and allocations are read at different moments, some milliseconds apart. If it is stopped,
 * they agree.
 *
 * SQLite writes without a journal, because a file that is not whole never gets its name
 * (export_file.h).
 */

#include "answer/block_rows.h"
#include "export/export_file.h"
#include "export/export_rows.h"
#include "export/format_list.h"
#include "export/schema.h"

#ifdef HAVE_SQLITE
#include <inttypes.h>
#include <sqlite3.h>

#include "base/cleanup.h"
#include "export/model.h"
#include "export/text.h"
#include "heap/block_list.h"
#include "log/log.h"
#include "report/progress.h"

#define EARLY_STACK	(-1)	/* the log's numbers are 0 (none) and above */
#define COLUMNS_MOST	32

struct database {
	const struct model *model;
	struct export_file *file;
	sqlite3 *sql;
	sqlite3_stmt *insert;	/* of the table at hand */
	int column;		/* of it, the last that has a value */
	struct str text;
	bool *used;		/* by stack of the model: does a site or a block have it? */
	uint32_t nr_used;
	bool early;		/* a block has EARLY_STACK */
};

static struct err *failed(const struct database *database)
{
	return err_create(ERR_SYS, "write to %s: %s", export_file_name(database->file),
			  database->sql ? sqlite3_errmsg(database->sql) : "out of memory");
}

static struct err *run(struct database *database, const char *words)
{
	return sqlite3_exec(database->sql, words, NULL, NULL, NULL) == SQLITE_OK ?
		NULL : failed(database);
}

/* Rows */

static void end_table(struct database *database)
{
	sqlite3_finalize(take(database->insert));
}

static struct err *begin_table(struct database *database, const char *name, unsigned columns)
{
	char words[128 + 2 * COLUMNS_MOST];
	int len = snprintf(words, sizeof(words), "INSERT INTO %s VALUES(?", name);

	for (unsigned i = 1; i < columns; i++)
		len += snprintf(words + len, sizeof(words) - (size_t)len, ",?");
	snprintf(words + len, sizeof(words) - (size_t)len, ")");
	end_table(database);
	database->column = 0;
	return sqlite3_prepare_v2(database->sql, words, -1, &database->insert, NULL) == SQLITE_OK ?
		NULL : failed(database);
}

/* Add the values of a row from left to right. If one cannot be added, end_row has the error. */
static void add_null(struct database *database)
{
	sqlite3_bind_null(database->insert, ++database->column);
}

static void add_number(struct database *database, uint64_t number)
{
	sqlite3_bind_int64(database->insert, ++database->column, (sqlite3_int64)number);
}

static void add_known(struct database *database, bool known, uint64_t number)
{
	if (known)
		add_number(database, number);
	else
		add_null(database);
}

static void add_real(struct database *database, double real)
{
	sqlite3_bind_double(database->insert, ++database->column, real);
}

static void add_time(struct database *database, uint64_t time_ns)
{
	add_real(database, (double)time_ns / 1e9);
}

static void add_text(struct database *database, const char *text)
{
	if (!text || text_clean(&database->text, text))
		add_null(database);
	else
		sqlite3_bind_text(database->insert, ++database->column, str_text(&database->text),
				  -1, SQLITE_TRANSIENT);
}

static struct err *end_row(struct database *database)
{
	int code = sqlite3_step(database->insert);

	database->column = 0;
	if (code != SQLITE_DONE || sqlite3_reset(database->insert) != SQLITE_OK)
		return failed(database);
	return export_file_check(database->file);
}

/* Tables */

/* A fact is a text or, if that is NULL, a number. */
static struct err *add_fact(struct database *database, const char *key, const char *text,
			    uint64_t number)
{
	add_text(database, key);
	if (text)
		add_text(database, text);
	else
		add_number(database, number);
	return end_row(database);
}

static struct err *add_moment(struct database *database, const char *key, uint64_t time_ns)
{
	add_text(database, key);
	add_time(database, time_ns);
	return end_row(database);
}

/* The sums of the rows of the table sites, by which a reader knows that it has all of them. */
struct sums {
	uint64_t sites, bytes, count;
};

static struct sums sums_of(const struct model *model)
{
	struct sums sums = { 0, 0, 0 };

	vec_each(site, &model->sites) {
		if (site->part != MODEL_RECORDED)
			continue;
		sums.sites++;
		sums.bytes += site->figures.bytes;
		sums.count += site->figures.count;
	}
	return sums;
}

static struct err *write_meta(struct database *database)
{
	const struct model *model = database->model;
	const struct sums sums = sums_of(model);
	const struct {
		const char *key, *text;
		uint64_t number;
	} facts[] = {
		{ "schema_version", NULL, SCHEMA_VERSION },
		{ "creator", "mdbg", 0 },
		{ "pid", NULL, (uint64_t)model->pid },
		{ "command", model->command, 0 },
		{ "options", model->options, 0 },
		{ "allocator", model->allocator, 0 },
		{ "sample", NULL, model->sample },
		{ "bytes", NULL, model->all_bytes },
		{ "count", NULL, model->all_count },
		{ "sites", NULL, sums.sites },
		{ "site_bytes", NULL, sums.bytes },
		{ "site_count", NULL, sums.count },
	};
	struct err *err = begin_table(database, "meta", 2);

	for (size_t i = 0; !err && i < ARRAY_SIZE(facts); i++)
		err = add_fact(database, facts[i].key, facts[i].text, facts[i].number);
	if (!err)
		err = add_moment(database, "time", model->now_ns);
	return err ? err : add_moment(database, "since", model->since_ns);
}

static struct err *write_modules(struct database *database)
{
	const struct model *model = database->model;
	struct err *err = begin_table(database, "modules", 6);

	for (size_t i = 0; !err && i < model->modules.nr; i++) {
		const struct model_module *module = &model->modules.at[i];

		add_number(database, i + 1);
		add_text(database, module->path);
		add_text(database, *module->build_id ? module->build_id : NULL);
		add_number(database, module->start);
		add_number(database, module->end);
		add_number(database, module->bias);
		err = end_row(database);
	}
	return err;
}

static struct err *write_frame(struct database *database,
			       const struct model_location *location, uint32_t number)
{
	const struct model_frame *frame = &database->model->frames.at[number];
	bool has_module = location->module != MODEL_NO_MODULE;

	add_number(database, (uint64_t)number + 1);
	add_known(database, location->pc, location->pc);
	add_text(database, frame->name);
	add_known(database, has_module, (uint64_t)location->module + 1);
	add_known(database, has_module, location->offset);
	add_text(database, frame->file);
	add_known(database, frame->line, (uint64_t)frame->line);
	add_number(database, frame->inlined);
	add_number(database, frame->into);
	add_text(database, frame->full);
	return end_row(database);
}

static struct err *write_frames(struct database *database)
{
	const struct model *model = database->model;
	struct err *err = begin_table(database, "frames", 10);

	vec_each_while(location, &model->locations, !err)
		for (uint32_t i = 0; !err && i < location->nr; i++)
			err = write_frame(database, location, location->first + i);
	return err;
}

static struct err *write_step(struct database *database, uint64_t stack, size_t depth,
			      size_t frame)
{
	add_number(database, stack);
	add_number(database, depth);
	add_number(database, frame + 1);
	return end_row(database);
}

static struct err *write_stack(struct database *database, const struct model_site *site,
			       struct model_stack *stack)
{
	const struct model_frame *frames = database->model->frames.at;
	struct err *err = model_stack_get(database->model, site, stack);

	for (size_t i = 0; !err && i < stack->vec.nr; i++)
		err = write_step(database, site->figures.stack, i,
				 (size_t)(stack->vec.at[i].frame - frames));
	return err;
}

static struct err *write_stacks(struct database *database)
{
	const struct model *model = database->model;
	struct model_stack stack = { VEC_INIT };
	struct err *err = begin_table(database, "stacks", 3);

	vec_each_while(site, &model->sites, !err)
		if (site->part != MODEL_EARLY && database->used[site->figures.stack])
			err = write_stack(database, site, &stack);
	vec_free(&stack.vec);
	if (!err && database->early)
		err = write_step(database, (uint64_t)EARLY_STACK, 0, model->early_frame);
	return err;
}

static void use_stack(struct database *database, uint32_t stack)
{
	if (stack < database->nr_used)
		database->used[stack] = true;
}

/* Sites have the columns in the order that exports have always had, the stack first. */
static struct err *create_sites(struct database *database, const struct export_rows *rows,
				unsigned *columns_ret)
{
	AUTO_STR struct str words = STR_INIT;
	struct err *err = str_add(&words, "CREATE TABLE sites(stack INTEGER PRIMARY KEY");
	const struct column *column;
	size_t at = 0;

	*columns_ret = 3;
	while (!err && (column = export_rows_column(rows, &at))) {
		err = str_addf(&words, ",\"%s\"", column->key);
		++*columns_ret;
	}
	if (!err)
		err = str_add(&words, ",function TEXT,\"end\" TEXT)");
	return err ? err : run(database, str_text(&words));
}

static const char *type_of(const struct column *column)
{
	if (column->kind == COLUMN_HEAP)
		return "";
	if (column_is_real(column))
		return " REAL";
	return column->kind == COLUMN_TEXT ? " TEXT" : " INTEGER";
}

/* Is it a column of a table? A stack is its number in the table stacks. */
static bool is_in_table(const struct column *column)
{
	return !(column->flags & COLUMN_NOT_EXPORTED) && column->kind != COLUMN_ROWS;
}

static struct err *create_table(struct database *database, const struct relation *of,
				unsigned *columns_ret)
{
	AUTO_STR struct str words = STR_INIT;
	struct err *err = str_addf(&words, "CREATE TABLE %s", of->name);

	*columns_ret = 0;
	for (size_t i = 0; !err && i < of->nr; i++)
		if (is_in_table(&of->columns[i]))
			err = str_addf(&words, "%s\"%s\"%s", (*columns_ret)++ ? "," : "(",
				       of->columns[i].key, type_of(&of->columns[i]));
	if (!err)
		err = str_add(&words, ")");
	return err ? err : run(database, str_text(&words));
}

static void add_value(struct database *database, const struct column *column, const void *row)
{
	const struct column_value is = column_get(column, row);
	const char *heap =
		column->kind == COLUMN_HEAP ? block_heap_name((uint16_t)is.number) : NULL;

	if (!is.known || (heap && !strcmp(heap, "-")))
		add_null(database);
	else if (column->kind == COLUMN_TEXT || heap)
		add_text(database, heap ? heap : is.text);
	else if (column_is_real(column))
		add_real(database, is.real);
	else
		add_number(database, is.number);
}

/* Blocks from before the attach have a stack of one frame that says so. */
static void add_stack(struct database *database, const struct relation *of,
		      const struct column *column, const void *row)
{
	const struct column *preattach = relation_find(of, "preattach");

	if (preattach && column_get(preattach, row).number) {
		database->early = true;
		add_number(database, (uint64_t)EARLY_STACK);
		return;
	}
	use_stack(database, (uint32_t)column_get(column, row).number);
	add_value(database, column, row);
}

static struct err *write_row(struct database *database, const struct relation *of, const void *row)
{
	for (size_t i = 0; i < of->nr; i++) {
		const struct column *column = &of->columns[i];

		if (column->kind == COLUMN_STACK)
			add_stack(database, of, column, row);
		else if (is_in_table(column))
			add_value(database, column, row);
	}
	return end_row(database);
}

static struct err *write_site(struct database *database, const struct export_rows *rows,
			      const struct model_site *site, struct model_stack *stack)
{
	const struct site_row row = export_rows_site(database->model, site);
	struct err *err = model_stack_get(database->model, site, stack);
	const struct column *column;
	size_t at = 0;

	if (err)
		return err;
	use_stack(database, site->figures.stack);
	add_number(database, site->figures.stack);
	while ((column = export_rows_column(rows, &at)))
		add_value(database, column, &row);
	add_text(database, model_stack_own(database->model, stack)->frame->name);
	add_text(database, site->end);
	return end_row(database);
}

static struct err *write_sites(struct database *database)
{
	const struct model *model = database->model;
	const struct export_rows rows = { .of = &site_relation };
	struct model_stack stack = { VEC_INIT };
	unsigned columns;
	struct err *err = create_sites(database, &rows, &columns);

	if (!err)
		err = begin_table(database, "sites", columns);
	vec_each_while(site, &model->sites, !err)
		if (site->part == MODEL_RECORDED)
			err = write_site(database, &rows, site, &stack);
	vec_free(&stack.vec);
	return err;
}

static bool is_kept(const struct database *database, const struct block *block)
{
	const struct model *model = database->model;

	if (!model->limited)
		return true;
	return !block->preattach && block->stack < database->nr_used &&
	       database->used[block->stack];
}

/* This comes after the sites: if they are limited, only their blocks are written. */
static struct err *write_blocks(struct database *database)
{
	const struct model *model = database->model;
	const struct block_source source = { .log = model->log, .pids = model->pids,
					     .now_ns = model->now_ns, .list = model->blocks };
	uint64_t done = 0, all = source.list ? block_list_sums(source.list).nr : 0;
	const struct block *block = NULL;
	unsigned columns;
	struct err *err = create_table(database, &block_relation, &columns);

	if (!err)
		err = begin_table(database, block_relation.name, columns);
	while (!err && source.list) {
		err = block_list_next(source.list, &block);
		if (err || !block)
			break;
		if (is_kept(database, block)) {
			const struct block_row row = block_row_of(&source, block);

			err = write_row(database, &block_relation, &row);
		}
		progress_step("writing allocations", done++, all);
	}
	return err;
}

static struct err *write_history(struct database *database)
{
	const struct model *model = database->model;
	struct err *err = begin_table(database, "samples", 5);

	vec_each_while(sample, &model->samples, !err) {
		add_time(database, sample->time_ns);
		add_number(database, sample->bytes);
		add_number(database, sample->count);
		add_known(database, sample->rss, sample->rss);
		add_number(database, sample->gap);
		err = end_row(database);
	}
	if (!err)
		err = begin_table(database, "marks", 4);
	vec_each_while(mark, &model->marks, !err) {
		add_text(database, mark->name);
		add_time(database, mark->time_ns);
		add_number(database, mark->bytes);
		add_number(database, mark->count);
		err = end_row(database);
	}
	return err;
}

/* The database */

static uint32_t highest_stack(const struct model *model)
{
	uint32_t highest = 0;

	vec_each(site, &model->sites)
		highest = MAX(highest, site->figures.stack);
	return highest;
}

/* whole: it is an export that `malloc diff` can read. */
static struct err *open_database(struct database *database, bool whole)
{
	char words[256];

	database->nr_used = highest_stack(database->model) + 1;
	database->used = calloc(database->nr_used, sizeof(*database->used));
	if (!database->used)
		return err_nomem;
	if (sqlite3_open_v2(export_file_path(database->file), &database->sql,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL) != SQLITE_OK)
		return failed(database);
	snprintf(words, sizeof(words), "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
		 "PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN;",
		 whole ? SCHEMA_APPLICATION : 0, SCHEMA_VERSION);
	return run(database, words);
}

static struct err *fill(struct database *database)
{
	static struct err *(*const tables[])(struct database *database) = {
		write_meta, write_modules, write_frames, write_sites, write_blocks, write_stacks,
		write_history,
	};
	struct err *err = run(database, SCHEMA_META SCHEMA_STACKS SCHEMA_HISTORY);

	for (size_t i = 0; !err && i < ARRAY_SIZE(tables); i++)
		err = tables[i](database);
	return err;
}

/* Write the rows of one answer, and the stacks that they have. */
static struct err *fill_rows(struct database *database, struct export_rows *rows)
{
	const struct model_site *site;
	unsigned columns;
	const void *row = NULL;
	struct err *err = run(database, rows->stack ? SCHEMA_META SCHEMA_STACKS : SCHEMA_META);

	if (!err)
		err = write_meta(database);
	if (!err && rows->stack)
		err = write_modules(database);
	if (!err && rows->stack)
		err = write_frames(database);
	if (!err)
		err = create_table(database, rows->of, &columns);
	if (!err)
		err = begin_table(database, rows->of->name, columns);
	if (!err)
		err = export_rows_next(rows, &row, &site);
	while (!err && row) {
		err = write_row(database, rows->of, row);
		if (!err)
			err = export_rows_next(rows, &row, &site);
	}
	return err || !rows->stack ? err : write_stacks(database);
}

/* rows is NULL for the sites and all that belongs to them. */
static struct err *write_database(const struct model *model, struct export_rows *rows,
				  struct export_file *file)
{
	struct database database = { .model = model, .file = file };
	struct err *err = open_database(&database, !rows);

	if (!err)
		err = rows ? fill_rows(&database, rows) : fill(&database);
	end_table(&database);
	if (!err)
		err = run(&database, "COMMIT");
	if (sqlite3_close(database.sql) != SQLITE_OK)
		err = err_first(err, failed(&database));
	str_free(&database.text);
	free(database.used);
	return err;
}

static struct err *write_sqlite(const struct model *model, struct export_file *file)
{
	return write_database(model, NULL, file);
}

static struct err *write_rows(struct export_rows *rows, struct export_file *file)
{
	return write_database(rows->model, rows, file);
}
#endif

const struct export_format export_sqlite = {
	.name	= "sqlite",
	.brief	= "a database of sites, stacks and blocks, for `malloc diff` and for SQL",
	.wants	= EXPORT_BLOCKS | EXPORT_PLAIN,
#ifdef HAVE_SQLITE
	.write	= write_sqlite,
	.rows	= write_rows,
#else
	.library = "SQLite",
	.package = "libsqlite3-dev",
#endif
};
