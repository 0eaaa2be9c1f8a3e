/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fills the tables of a sample. */

#include "answer/recorder_rows.h"

#include "answer/account_rows.h"
#include "base/cleanup.h"
#include "log/log_totals.h"
#include "os/kernel_text.h"
#include "os/procfs.h"
#include "record/figures.h"
#include "session/account.h"
#include "session/cost/session_cost.h"
#include "session/growth/session_growth.h"
#include "session/history.h"
#include "session/session.h"
#include "session/session_memory.h"

_Static_assert(RECORD_MEMORY_COLUMNS == MEMORY_FIGURES, "the columns are those figures");

#define PROCESSES_MOST	64u	/* those that hold most */
#define CACHES_MOST	128u

void recorder_rows_init(struct recorder_rows *rows, struct session *session)
{
	*rows = (struct recorder_rows){ .session = session };
	for (unsigned kind = 0; kind < RECORD_TABLES; kind++)
		record_table_init(&rows->table[kind], kind);
}

void recorder_rows_free(struct recorder_rows *rows)
{
	for (unsigned kind = 0; kind < RECORD_TABLES; kind++)
		record_table_free(&rows->table[kind]);
	recorder_stacks_free(&rows->stacks);
}

void recorder_rows_begin(struct recorder_rows *rows, struct record_names *names)
{
	rows->names = names;
	recorder_stacks_begin(&rows->stacks, rows->session, names);
	for (unsigned kind = 0; kind < RECORD_TABLES; kind++)
		record_table_clear(&rows->table[kind]);
	rows->allocs = rows->frees = UINT64_MAX;
	rows->bytes = rows->count = rows->allocated = rows->calls = 0;
}

/* The new rows of a table take the place of the old ones, unless there was an error. */
static struct err *finish(struct recorder_rows *rows, enum record_table_kind kind,
			  struct record_table *made, uint64_t time_ns, struct err *err)
{
	if (!err)
		err = record_table_sort(made, false);
	if (err) {
		record_table_free(made);
		return err;
	}
	record_table_free(&rows->table[kind]);
	rows->table[kind] = *made;
	rows->table[kind].time_ns = time_ns;
	return NULL;
}

/* Add a row by its name. */
static struct err *add_named(struct recorder_rows *rows, struct record_table *to, const char *name,
			     const uint64_t *values)
{
	uint32_t key;
	struct err *err = record_names_string(rows->names, name, &key);

	return err ? err : record_table_add(to, key, values);
}

/* A table of one column: what is not known is left out. */
static struct err *add_figure(struct recorder_rows *rows, struct record_table *to, const char *name,
			      uint64_t value)
{
	return value == RECORD_UNKNOWN ? NULL : add_named(rows, to, name, &(uint64_t){ value + 1 });
}

/* The resident bytes of the process, without what mdbg has there. */
static uint64_t resident(const struct session *session)
{
	uint64_t rss, own = session_history_own(session).resident;
	struct err *err = procfs_rss(session_pid(session), &rss);

	if (err || !rss)
		return RECORD_UNKNOWN;
	return rss - MIN(rss, own);
}

static bool is_live(const struct session *session)
{
	enum session_state state = session_state(session);

	return state == SESSION_RUNNING || state == SESSION_STOPPED;
}

/* A log that samples has its sums from a scan; any other one knows them at once. */
static struct err *add_log(struct recorder_rows *rows, struct record_table *to)
{
	struct log *log = session_log(rows->session);
	const struct log_accounts accounts = reader_accounts(log);
	const struct log_older older = log_older_of(log, &accounts);
	uint64_t sample = log_config(log).sample;
	const struct { const char *name; uint64_t value; } figures[] = {
		{ RECORD_TOTAL_BYTES, sample ? rows->bytes : reader_held_bytes(log) },
		{ RECORD_TOTAL_COUNT, sample ? rows->count : reader_live(log) },
		{ RECORD_TOTAL_ALLOCATED, sample ? rows->allocated : accounts.alloc_bytes },
		{ RECORD_TOTAL_CALLS, sample ? rows->calls : accounts.allocs },
		{ RECORD_TOTAL_SAMPLE, sample },
		{ RECORD_TOTAL_OLDER, older.known ? older.bytes : RECORD_UNKNOWN },
		{ RECORD_TOTAL_LACKING, accounts.table_full + accounts.unstacked },
		{ RECORD_TOTAL_SINCE, log_clock_realtime(log, log_clock_begin(log)) },
	};
	struct session_cost cost;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < ARRAY_SIZE(figures); i++)
		err = add_figure(rows, to, figures[i].name, figures[i].value);
	if (err || !session_cost(rows->session, &cost))
		return err;
	err = add_figure(rows, to, RECORD_TOTAL_COST_MOST, cost.bound);
	return err || cost.lately < 0 ? err :
		add_figure(rows, to, RECORD_TOTAL_COST, (uint64_t)(100 * cost.lately));
}

struct err *recorder_rows_totals(struct recorder_rows *rows, uint64_t time_ns)
{
	struct record_table made;
	uint32_t threads;
	struct err *err = NULL, *of_threads;

	record_table_init(&made, RECORD_TOTALS);
	if (session_recorded(rows->session))
		err = add_log(rows, &made);
	if (!err && is_live(rows->session)) {
		of_threads = procfs_nr_threads(session_pid(rows->session), &threads);
		err = add_figure(rows, &made, RECORD_TOTAL_RSS, resident(rows->session));
		if (!err && !of_threads)
			err = add_figure(rows, &made, RECORD_TOTAL_THREADS, threads);
	}
	return finish(rows, RECORD_TOTALS, &made, time_ns, err);
}

bool recorder_rows_sites_changed(const struct recorder_rows *rows)
{
	const struct log_accounts accounts = reader_accounts(session_log(rows->session));

	return accounts.allocs != rows->allocs || accounts.frees + accounts.replaced != rows->frees;
}

struct site_sum {
	uint64_t value[RECORD_SITE_COLUMNS];
};

struct site_sums {
	VEC(struct site_sum) vec;	/* by number of the stack */
};

static struct err *sum_of(struct recorder_rows *rows, struct site_sums *sums, uint32_t stack,
			  struct site_sum **ret)
{
	uint32_t number;
	struct err *err = recorder_stacks_number(&rows->stacks, stack, &number);

	if (err)
		return err;
	*ret = vec_slot(&sums->vec, number);
	return *ret ? NULL : err_nomem;
}

/* What is live, and what was of all time. Several stacks of the log may be one by their names. */
static struct err *add_up(struct recorder_rows *rows, const struct moment *moment,
			  const struct log_totals *totals, struct site_sums *sums)
{
	struct site_sum *sum;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < moment->vec.nr; i++) {
		const struct moment_sum *at = &moment->vec.at[i];

		err = sum_of(rows, sums, at->stack, &sum);
		if (err)
			break;
		sum->value[RECORD_SITE_BYTES] += at->bytes;
		sum->value[RECORD_SITE_COUNT] += at->count;
	}
	for (uint32_t stack = 0; !err && stack < totals->nr; stack++) {
		if (!totals->at[stack].blocks)
			continue;
		err = sum_of(rows, sums, stack, &sum);
		if (err)
			break;
		sum->value[RECORD_SITE_TOTAL] += totals->at[stack].blocks;
		sum->value[RECORD_SITE_TOTAL_BYTES] += totals->at[stack].bytes;
	}
	return err;
}

static void count_sums(struct recorder_rows *rows, struct site_sums *sums)
{
	rows->bytes = rows->count = rows->allocated = rows->calls = 0;
	vec_each(sum, &sums->vec) {
		uint64_t *value = sum->value;

		/* Blocks that came while the log was read (log/log_totals.h). */
		value[RECORD_SITE_TOTAL] = MAX(value[RECORD_SITE_TOTAL], value[RECORD_SITE_COUNT]);
		value[RECORD_SITE_TOTAL_BYTES] = MAX(value[RECORD_SITE_TOTAL_BYTES],
						     value[RECORD_SITE_BYTES]);
		rows->bytes += value[RECORD_SITE_BYTES];
		rows->count += value[RECORD_SITE_COUNT];
		rows->allocated += value[RECORD_SITE_TOTAL_BYTES];
		rows->calls += value[RECORD_SITE_TOTAL];
	}
}

static struct err *scan(struct recorder_rows *rows, struct site_sums *sums)
{
	struct moment moment = MOMENT_INIT;
	struct log_totals totals;
	struct err *err = session_agent_totals(rows->session, &totals);

	if (err)
		return err;
	err = session_history_moment(rows->session, &moment);
	if (!err)
		err = add_up(rows, &moment, &totals, sums);
	if (!err)
		count_sums(rows, sums);
	moment_free(&moment);
	log_totals_free(&totals);
	return err;
}

struct err *recorder_rows_sites(struct recorder_rows *rows, uint64_t time_ns)
{
	const struct log_accounts accounts = reader_accounts(session_log(rows->session));
	struct site_sums sums = { VEC_INIT };
	struct record_table made;
	struct err *err;

	record_table_init(&made, RECORD_SITES);
	err = scan(rows, &sums);
	for (size_t number = 0; !err && number < sums.vec.nr; number++)
		if (sums.vec.at[number].value[RECORD_SITE_TOTAL])
			err = record_table_add(&made, number, sums.vec.at[number].value);
	vec_free(&sums.vec);
	if (!err) {
		rows->allocs = accounts.allocs;
		rows->frees = accounts.frees + accounts.replaced;
	}
	return finish(rows, RECORD_SITES, &made, time_ns, err);
}

struct err *recorder_rows_memory(struct recorder_rows *rows, uint64_t time_ns)
{
	CLEANUP(memory_use_free) struct memory_use use = MEMORY_USE_INIT;
	struct record_table made;
	struct err *err = session_memory_use(rows->session, 0, &use);

	if (err)
		return err;
	record_table_init(&made, RECORD_MEMORY);
	err = add_named(rows, &made, "all", use.look.all.at);
	for (unsigned kind = 0; !err && kind < MEMORY_KINDS; kind++)
		err = add_named(rows, &made, memory_kind_names[kind], use.look.kind[kind].at);
	return finish(rows, RECORD_MEMORY, &made, time_ns, err);
}

static uint64_t where_number(const char *where)
{
	static const char *const words[] = { "in", "sum", "of", "beside" };

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(where, words[i]))
			return i + 1;
	return 0;
}

static struct err *add_account(struct recorder_rows *rows, const struct account_row *row,
			       uint64_t order, struct record_table *to)
{
	uint32_t note;
	struct err *err = record_names_string(rows->names, row->note, &note);

	return err ? err : add_named(rows, to, row->part, (const uint64_t[]){
		[RECORD_ACCOUNT_BYTES] = row->bytes,
		[RECORD_ACCOUNT_WHERE] = where_number(row->where),
		[RECORD_ACCOUNT_NOTE] = note, [RECORD_ACCOUNT_ORDER] = order });
}

struct err *recorder_rows_account(struct recorder_rows *rows, uint64_t time_ns)
{
	struct session_account account;
	struct answer answer = { .of = NULL };
	struct record_table made;
	const void *row = &made;
	struct err *err = session_account(rows->session, &account);

	if (err)
		return err;
	rows->pause_ns = account.pause_ns;
	record_table_init(&made, RECORD_ACCOUNT);
	err = account_rows(&account, true, &answer);
	for (uint64_t order = 1; !err && row; order++) {
		err = answer_next(&answer, &row);
		if (!err && row)
			err = add_account(rows, row, order, &made);
	}
	answer_free(&answer);
	session_account_free(&account);
	return finish(rows, RECORD_ACCOUNT, &made, time_ns, err);
}

struct growth_sum {
	uint64_t value[RECORD_GROWTH_COLUMNS];
};

struct growth_sums {
	VEC(struct growth_sum) vec;	/* by record_growth_key */
};

static struct err *add_pieces(struct recorder_rows *rows, const struct session_growth_view *view,
			      struct growth_sums *sums)
{
	struct growth_sum *sum;
	uint32_t number;
	struct err *err = NULL;

	vec_each_while(piece, &view->pieces.vec, !err) {
		err = recorder_stacks_number(&rows->stacks, piece->stack, &number);
		if (err)
			break;
		sum = vec_slot(&sums->vec,
			       record_growth_key(number, (enum record_growth_kind)piece->kind));
		if (!sum)
			return err_nomem;
		sum->value[RECORD_GROWTH_BYTES] += piece->end - piece->start;
		sum->value[RECORD_GROWTH_COUNT]++;
	}
	return err;
}

struct err *recorder_rows_growth(struct recorder_rows *rows, uint64_t time_ns)
{
	struct session_growth_view view = { .own = 0 };
	struct growth_sums sums = { VEC_INIT };
	struct record_table made;
	struct err *err;

	if (!session_growth_kinds(rows->session))
		return NULL;
	record_table_init(&made, RECORD_GROWTH);
	err = session_growth_view(rows->session, &view);
	if (!err)
		err = add_pieces(rows, &view, &sums);
	for (size_t key = 0; !err && key < sums.vec.nr; key++)
		err = record_table_add(&made, key, sums.vec.at[key].value);
	session_growth_view_free(&view);
	vec_free(&sums.vec);
	return finish(rows, RECORD_GROWTH, &made, time_ns, err);
}

struct err *recorder_rows_children(struct recorder_rows *rows,
				   const struct recorder_children *children, uint64_t time_ns)
{
	struct record_table made;
	struct err *err = NULL;

	record_table_init(&made, RECORD_CHILDREN);
	vec_each_while(child, &children->vec, !err)
		err = add_named(rows, &made, child->name, child->value);
	return finish(rows, RECORD_CHILDREN, &made, time_ns, err);
}

static struct err *add_group(struct recorder_rows *rows, const struct memory_group *group,
			     uint64_t order, struct record_table *to)
{
	return add_named(rows, to, group->path, (const uint64_t[]){
		[RECORD_GROUP_USE] = group->use, [RECORD_GROUP_LIMIT] = group->limit,
		[RECORD_GROUP_HIGH] = group->high, [RECORD_GROUP_SWAP_USE] = group->swap_use,
		[RECORD_GROUP_SWAP_LIMIT] = group->swap_limit,
		[RECORD_GROUP_ANONYMOUS] = group->anonymous, [RECORD_GROUP_FILE] = group->file,
		[RECORD_GROUP_SHARED] = group->shared, [RECORD_GROUP_KERNEL] = group->kernel,
		[RECORD_GROUP_INACTIVE_FILE] = group->inactive_file,
		[RECORD_GROUP_AT_LIMIT] = group->at_limit, [RECORD_GROUP_OOM_KILLS] = group->oom_kills,
		[RECORD_GROUP_ORDER] = order, [RECORD_GROUP_LEAST_LIMIT] = group->least_limit,
		[RECORD_GROUP_LEAST_SWAP_LIMIT] = group->least_swap_limit,
		[RECORD_GROUP_SOCKETS] = group->sockets, [RECORD_GROUP_SLAB] = group->slab,
		[RECORD_GROUP_PAGE_TABLES] = group->page_tables,
		[RECORD_GROUP_KERNEL_STACKS] = group->kernel_stacks,
		[RECORD_GROUP_SOME_10] = group->pressure.some_10,
		[RECORD_GROUP_SOME_60] = group->pressure.some_60,
		[RECORD_GROUP_FULL_10] = group->pressure.full_10,
		[RECORD_GROUP_FULL_60] = group->pressure.full_60 });
}

static struct err *take_groups(struct recorder_rows *rows, const struct memory_groups *groups,
			       uint64_t time_ns)
{
	struct record_table made;
	struct err *err = NULL;

	record_table_init(&made, RECORD_GROUPS);
	for (size_t i = 0; !err && i < groups->vec.nr; i++)
		err = add_group(rows, &groups->vec.at[i], i + 1, &made);
	return finish(rows, RECORD_GROUPS, &made, time_ns, err);
}

static struct err *take_machine(struct recorder_rows *rows, const struct machine *machine,
				uint64_t time_ns)
{
	struct record_table made;
	struct err *err = NULL;

	record_table_init(&made, RECORD_MACHINE);
	for (size_t i = 0; !err && i < record_figures_nr; i++)
		err = add_figure(rows, &made, record_figures[i].name,
				 *(const uint64_t *)((const char *)machine + record_figures[i].offset));
	return finish(rows, RECORD_MACHINE, &made, time_ns, err);
}

static struct err *take_caches(struct recorder_rows *rows, const struct machine_holders *caches,
			       uint64_t time_ns)
{
	struct machine_ranks ranks = { VEC_INIT };
	struct record_table made;
	struct err *err = machine_look_largest(NULL, caches, CACHES_MOST, &ranks);

	record_table_init(&made, RECORD_CACHES);
	vec_each_while(rank, &ranks.vec, !err)
		err = add_named(rows, &made, rank->holder->name.bytes, (const uint64_t[]){
			[RECORD_CACHE_BYTES] = rank->holder->bytes,
			[RECORD_CACHE_OBJECTS] = rank->holder->objects });
	vec_free(&ranks.vec);
	return finish(rows, RECORD_CACHES, &made, time_ns, err);
}

static struct err *add_process(struct recorder_rows *rows, const struct machine_holder *holder,
			       struct record_table *to)
{
	uint32_t name;
	struct err *err = record_names_string(rows->names, holder->name.bytes, &name);

	return err ? err : record_table_add(to, (uint64_t)holder->pid, (const uint64_t[]){
		[RECORD_PROCESS_BYTES] = holder->bytes, [RECORD_PROCESS_PRIVATE] = holder->private,
		[RECORD_PROCESS_PSS] = holder->pss, [RECORD_PROCESS_START] = holder->start_time,
		[RECORD_PROCESS_PARENT] = (uint64_t)holder->parent, [RECORD_PROCESS_NAME] = name });
}

static struct err *take_processes(struct recorder_rows *rows,
				  const struct machine_holders *processes, uint64_t time_ns)
{
	struct machine_ranks ranks = { VEC_INIT };
	struct record_table made;
	struct err *err = machine_look_largest(NULL, processes, PROCESSES_MOST, &ranks);

	record_table_init(&made, RECORD_PROCESSES);
	vec_each_while(rank, &ranks.vec, !err)
		err = add_process(rows, rank->holder, &made);
	vec_free(&ranks.vec);
	return finish(rows, RECORD_PROCESSES, &made, time_ns, err);
}

struct err *recorder_rows_machine(struct recorder_rows *rows, const struct machine_look *look,
				  bool lists, uint64_t time_ns)
{
	struct err *err = take_machine(rows, &look->machine, time_ns);

	if (!err && look->pid)
		err = take_groups(rows, &look->groups, time_ns);
	if (!err && lists && look->caches.known)
		err = take_caches(rows, &look->caches, time_ns);
	if (!err && lists && look->processes.known)
		err = take_processes(rows, &look->processes, time_ns);
	return err;
}
