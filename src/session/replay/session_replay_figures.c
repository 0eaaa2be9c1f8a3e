/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures of the process and the machine out of a recording. */

#include "session/replay/session_replay_figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/figures.h"
#include "session/private.h"
#include "session/replay/replay_adding.h"
#include "session/replay/replay_view.h"
#include "session/replay/session_replay.h"

static struct err *none(const struct session *session, const char *what)
{
	return err_hint(err_create(ERR_NOTFOUND, "the recording has no %s at %s", what,
				   session_replay_now_text(session)),
			"it is not taken with each sample; a later moment may have one");
}

static const char *text_of(const struct replay_source *source, uint64_t number)
{
	const char *text = number > UINT32_MAX ? NULL :
		record_reader_string(source->reader, (uint32_t)number);

	return text ? text : "";
}

/* The time since boot at which a table of the sample was taken. */
static uint64_t monotonic(const struct record_sample *sample, uint64_t time_ns)
{
	uint64_t before = sample->time_ns - MIN(time_ns, sample->time_ns);

	return sample->monotonic_ns - MIN(before, sample->monotonic_ns);
}

struct adding_memory {
	struct memory_use *use;
	uint64_t taken_ns;		/* 0: there are none */
};

/* Rows of zeros are left out of a recording: a kind without a row has nothing. */
static void add_sum(const struct replay_source *source, const struct record_table *table,
		    const char *name, struct memory_sum *sum)
{
	const uint64_t *row =
		record_table_row(table, record_reader_find_string(source->reader, name));

	for (unsigned i = 0; i < MIN((unsigned)MEMORY_FIGURES, table->columns); i++)
		memory_use_add(&sum->at[i], row ? row[i] : 0);
}

static struct err *add_memory(void *ctx, struct replay_source *source,
			      const struct record_sample *sample)
{
	const struct record_table *table = &sample->table[RECORD_MEMORY];
	struct adding_memory *adding = ctx;
	struct memory_use *use = adding->use;

	if (!table->time_ns)
		return NULL;
	adding->taken_ns = MIN(adding->taken_ns - 1, table->time_ns - 1) + 1;
	add_sum(source, table, "all", &use->look.all);
	for (unsigned kind = 0; kind < MEMORY_KINDS; kind++)
		add_sum(source, table, memory_kind_names[kind], &use->look.kind[kind]);
	use->look.time_ns = monotonic(sample, table->time_ns);
	return NULL;
}

struct err *session_replay_figures_memory(struct session *session, struct memory_use *ret)
{
	const struct history *history = &session->history.history;
	struct adding_memory adding = { .use = ret };
	const struct history_sample *held;
	struct err *err;

	*ret = (struct memory_use)MEMORY_USE_INIT;
	ret->min_faults = ret->maj_faults = MEMORY_UNKNOWN;
	ret->look.all = memory_sum_unknown;
	for (unsigned kind = 0; kind < MEMORY_KINDS; kind++)
		ret->look.kind[kind] = memory_sum_unknown;
	ret->look.shared_there = ret->look.descriptors = MEMORY_UNKNOWN;
	ret->look.by_kind = true;
	err = replay_view_each(session->replay, session_replay_now(session),
			       1u << RECORD_MEMORY, add_memory, &adding);
	if (!err && !adding.taken_ns)
		err = none(session, "figures of `memory`");
	if (err)
		return err;
	session->replay->taken_ns = adding.taken_ns;
	held = history_nearest(history, MAX(adding.taken_ns, history->samples.at->time_ns));
	ret->look.held = held->bytes;
	ret->look.older = held->moment.older.known ? held->moment.older.bytes : MEMORY_UNKNOWN;
	return NULL;
}

uint64_t session_replay_figures_taken(const struct session *session)
{
	return session->replay->taken_ns;
}

static struct session_replay_part *part_of(struct session_replay_account *account,
					   const char *name)
{
	vec_each(part, &account->vec)
		if (!strcmp(part->part, name))
			return part;
	return NULL;
}

/* What is noted of the part of one process is not so of all. */
static struct err *add_part(struct replay_source *source, const char *name, const uint64_t *row,
			    struct session_replay_account *account)
{
	struct session_replay_part *part = part_of(account, name);

	if (!part)
		return vec_push(&account->vec, ((struct session_replay_part){
			.part = name, .note = text_of(source, row[RECORD_ACCOUNT_NOTE]),
			.where = row[RECORD_ACCOUNT_WHERE], .order = row[RECORD_ACCOUNT_ORDER],
			.bytes = row[RECORD_ACCOUNT_BYTES] }));
	memory_use_add(&part->bytes, row[RECORD_ACCOUNT_BYTES]);
	if (strcmp(part->note, text_of(source, row[RECORD_ACCOUNT_NOTE])))
		part->note = "";
	return NULL;
}

static struct err *add_account(void *ctx, struct replay_source *source,
			       const struct record_sample *sample)
{
	const struct record_table *table = &sample->table[RECORD_ACCOUNT];
	struct session_replay_account *account = ctx;
	struct err *err = NULL;

	if (!table->time_ns || table->columns < RECORD_ACCOUNT_COLUMNS)
		return NULL;
	account->time_ns = account->time_ns ? MIN(account->time_ns, table->time_ns) :
					      table->time_ns;
	for (size_t i = 0; !err && i < table->nr; i++)
		err = add_part(source, text_of(source, table->keys[i]),
			       &table->values[i * table->columns], account);
	return err;
}

COMPARE_BY(by_order, struct session_replay_part, x, x->order)

struct err *session_replay_figures_account(struct session *session,
					   struct session_replay_account *ret)
{
	struct err *err;

	*ret = (struct session_replay_account){ .vec = VEC_INIT };
	err = replay_view_each(session->replay, session_replay_now(session),
			       1u << RECORD_ACCOUNT, add_account, ret);
	if (!err && !ret->time_ns)
		err = none(session, "account");
	vec_sort(&ret->vec, by_order);
	return err;
}

static struct err *find_kinds(void *ctx, struct replay_source *source UNUSED,
			      const struct record_sample *sample)
{
	const struct record_table *table = &sample->table[RECORD_GROWTH];
	unsigned *kinds = ctx;

	for (size_t i = 0; i < table->nr; i++)
		*kinds |= 1u << (table->keys[i] & 7);
	return NULL;
}

unsigned session_replay_figures_growth_kinds(const struct session *session)
{
	unsigned kinds = 0;

	err_ignore(replay_view_each(session->replay, session_replay_now(session),
				    1u << RECORD_GROWTH, find_kinds, &kinds));
	return kinds & (1u << RECORD_GROWTH_BRK | 1u << RECORD_GROWTH_MMAP | 1u << RECORD_GROWTH_SHM);
}

static struct err *add_growth(void *ctx, struct replay_source *source,
			      const struct record_sample *sample)
{
	const struct record_table *table = &sample->table[RECORD_GROWTH];
	struct replay_adding *adding = ctx;
	struct err *err = NULL;

	adding->any |= table->time_ns;
	for (size_t i = 0; !err && i < table->nr; i++) {
		const uint64_t *row = &table->values[i * table->columns];
		uint32_t stack;

		if ((table->keys[i] & 7) != adding->kind || table->keys[i] >> 3 > UINT32_MAX)
			continue;
		err = replay_stacks_get(&adding->replay->stacks, source->reader, &source->numbers,
					(uint32_t)(table->keys[i] >> 3), &stack);
		if (!err)
			err = replay_adding_sum(adding, stack, row[RECORD_GROWTH_BYTES],
						row[RECORD_GROWTH_COUNT]);
	}
	return err;
}

struct err *session_replay_figures_growth(struct session *session, unsigned kind, uint64_t time_ns,
					  struct moment *ret)
{
	struct replay_adding adding = { .replay = session->replay, .kind = kind, .sums = MAP_INIT };
	struct err *err = replay_view_each(session->replay, time_ns, 1u << RECORD_GROWTH, add_growth,
					   &adding);

	return replay_adding_end(&adding, time_ns, "growth", err, ret);
}

static struct session_replay_child *child_of(struct session_replay_children *children, const char *name)
{
	vec_each(child, &children->vec)
		if (!strcmp(child->name, name))
			return child;
	return NULL;
}

static struct err *add_children(void *ctx, struct replay_source *source,
				const struct record_sample *sample)
{
	const struct record_table *table = &sample->table[RECORD_CHILDREN];
	struct session_replay_children *children = ctx;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < table->nr; i++) {
		const uint64_t *row = &table->values[i * table->columns];
		const char *name = text_of(source, table->keys[i]);
		struct session_replay_child *child = child_of(children, name);

		if (!child) {
			err = vec_push(&children->vec, ((struct session_replay_child){ .name = name }));
			child = &vec_end(&children->vec)[-1];
		}
		for (unsigned k = 0; !err && k < MIN((unsigned)RECORD_CHILD_COLUMNS, table->columns); k++)
			child->value[k] = k == RECORD_CHILD_MOST ? MAX(child->value[k], row[k]) :
								   child->value[k] + row[k];
	}
	return err;
}

/* A process that has ended has had its children: they are of the whole recording up to then. */
struct err *session_replay_figures_children(struct session *session, uint64_t time_ns,
					    struct session_replay_children *ret)
{
	struct replay *replay = session->replay;
	struct err *err = NULL;

	vec_each_while(target, &replay->timeline.targets, !err)
		if (replay_timeline_shows(target, replay->only))
			err = replay_view_at(replay, target, MIN(time_ns, target->to_ns),
					     1u << RECORD_CHILDREN, add_children, ret);
	return err;
}

/* A look at the machine: the first sample that has one is taken. */
struct looking {
	struct machine_look *look;
	bool any, lists;
	uint64_t time_ns;		/* of the table, since the epoch */
};

static struct machine_holder holder_of(const struct replay_source *source, uint64_t key,
				       const uint64_t *row, bool process)
{
	struct machine_holder holder = { .bytes = row[0], .private = KERNEL_UNKNOWN,
					 .pss = KERNEL_UNKNOWN };

	if (process) {
		holder.pid = (pid_t)key;
		holder.start_time = row[RECORD_PROCESS_START];
		holder.parent = (pid_t)row[RECORD_PROCESS_PARENT];
		holder.private = row[RECORD_PROCESS_PRIVATE];
		holder.pss = row[RECORD_PROCESS_PSS];
	} else {
		holder.objects = row[RECORD_CACHE_OBJECTS];
	}
	snprintf(holder.name.bytes, sizeof(holder.name.bytes), "%.63s",
		 text_of(source, process ? row[RECORD_PROCESS_NAME] : key));
	return holder;
}

COMPARE_BY(by_pid, struct machine_holder, x, x->pid)

static int by_name(const void *a, const void *b)
{
	const struct machine_holder *x = a, *y = b;

	return strcmp(x->name.bytes, y->name.bytes);
}

static struct err *add_holders(const struct replay_source *source, const struct record_table *table,
			       bool process, struct machine_holders *ret)
{
	struct err *err = NULL;

	ret->known = table->time_ns;
	for (size_t i = 0; !err && i < table->nr; i++)
		err = vec_push(&ret->vec, holder_of(source, table->keys[i],
						    &table->values[i * table->columns], process));
	vec_sort(&ret->vec, process ? by_pid : by_name);
	return err;
}

static struct memory_group group_of(const uint64_t *row)
{
	return (struct memory_group){
		.limit = row[RECORD_GROUP_LIMIT], .high = row[RECORD_GROUP_HIGH],
		.use = row[RECORD_GROUP_USE], .swap_limit = row[RECORD_GROUP_SWAP_LIMIT],
		.swap_use = row[RECORD_GROUP_SWAP_USE],
		.least_limit = row[RECORD_GROUP_LEAST_LIMIT],
		.least_swap_limit = row[RECORD_GROUP_LEAST_SWAP_LIMIT],
		.anonymous = row[RECORD_GROUP_ANONYMOUS], .file = row[RECORD_GROUP_FILE],
		.shared = row[RECORD_GROUP_SHARED], .kernel = row[RECORD_GROUP_KERNEL],
		.sockets = row[RECORD_GROUP_SOCKETS], .slab = row[RECORD_GROUP_SLAB],
		.page_tables = row[RECORD_GROUP_PAGE_TABLES],
		.kernel_stacks = row[RECORD_GROUP_KERNEL_STACKS],
		.inactive_file = row[RECORD_GROUP_INACTIVE_FILE],
		.at_limit = row[RECORD_GROUP_AT_LIMIT], .oom_kills = row[RECORD_GROUP_OOM_KILLS],
		.pressure = { row[RECORD_GROUP_SOME_10], row[RECORD_GROUP_SOME_60],
			      row[RECORD_GROUP_FULL_10], row[RECORD_GROUP_FULL_60] },
	};
}

static struct err *add_group(const struct replay_source *source, uint64_t key,
			     const uint64_t *row, struct memory_groups *ret)
{
	struct memory_group group = group_of(row);
	struct err *err = vec_reserve(&ret->vec, 1);

	if (err)
		return err;
	group.path = strdup(text_of(source, key));
	group.folder = strdup("");
	if (!group.path || !group.folder) {
		free(group.path);
		free(group.folder);
		return err_nomem;
	}
	ret->vec.at[ret->vec.nr++] = group;
	return NULL;
}

/* The process's own group comes first; the rows are in order of their names. */
static struct err *add_groups(const struct replay_source *source, const struct record_table *table,
			      struct memory_groups *ret)
{
	struct err *err = NULL;

	ret->version = table->nr ? 2 : 0;
	for (uint64_t order = 1; !err && order <= table->nr; order++)
		for (size_t i = 0; !err && i < table->nr; i++)
			if (table->values[i * table->columns + RECORD_GROUP_ORDER] == order)
				err = add_group(source, table->keys[i],
						&table->values[i * table->columns], ret);
	return err;
}

static struct err *look_at(void *ctx, struct replay_source *source,
			   const struct record_sample *sample)
{
	const struct record_table *table = &sample->table[RECORD_MACHINE];
	struct looking *looking = ctx;
	struct machine_look *look = looking->look;
	struct err *err;

	if (looking->any || !table->time_ns)
		return NULL;
	looking->any = true;
	looking->time_ns = table->time_ns;
	look->real_ns = table->time_ns;
	look->time_ns = monotonic(sample, table->time_ns);
	look->pid = record_reader_target(source->reader, sample->target)->pid;
	for (size_t i = 0; i < record_figures_nr; i++)
		*(uint64_t *)((char *)&look->machine + record_figures[i].offset) =
			record_table_figure(source->reader, table, record_figures[i].name);
	snprintf(look->kills.why, sizeof(look->kills.why), "%s", "`replay events` has those of a recording");
	err = add_groups(source, &sample->table[RECORD_GROUPS], &look->groups);
	if (!err && looking->lists)
		err = add_holders(source, &sample->table[RECORD_PROCESSES], true,
				  &look->processes);
	if (!err && looking->lists)
		err = add_holders(source, &sample->table[RECORD_CACHES], false, &look->caches);
	return err;
}

static struct err *look_of(struct session *session, uint64_t time_ns, bool lists,
			   struct machine_look *ret, uint64_t *time_ret)
{
	struct looking looking = { .look = ret, .lists = lists };
	struct err *err;

	*ret = (struct machine_look){ .pid = 0 };
	err = replay_view_each(session->replay, time_ns, RECORD_ALL_TABLES & ~(1u << RECORD_SITES),
			       look_at, &looking);
	if (!err && !looking.any)
		err = none(session, "figures of the machine");
	if (err)
		machine_look_free(ret);
	*time_ret = looking.time_ns;
	return err;
}

struct err *session_replay_figures_machine(struct session *session, bool before, bool lists,
					   struct machine_look *ret)
{
	uint64_t time_ns;
	struct err *err = look_of(session, session_replay_now(session), lists, ret, &time_ns);

	if (err || !before)
		return err;
	machine_look_free(ret);
	return look_of(session, time_ns - 1, lists, ret, &time_ns);
}
