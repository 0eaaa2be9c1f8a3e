/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes samples of a session when they are due. */

#include "answer/recorder.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "answer/recorder_children.h"
#include "answer/recorder_rows.h"
#include "answer/recorder_target.h"
#include "base/cleanup.h"
#include "base/trace.h"
#include "os/kernel_text.h"
#include "os/memory_groups.h"
#include "os/procfs.h"
#include "session/history.h"
#include "session/session.h"

#define SECOND		1000000000ull
#define QUIET_NS	(60 * SECOND)	/* the longest time without a sample */
#define COST_TIMES	500u
#define PAUSE_TIMES	100000u
#define BYTES_A_SECOND	4096u
#define FORKS_MOST	1000u		/* of a target, that are events */
#define FIRST_PAUSE_NS	(5 * SECOND)	/* after the attach: the first table that stops the target */

/* What is taken together, and when it is due. */
enum part {
	PART_SITES, PART_MEMORY, PART_MACHINE, PART_LISTS, PART_CHILDREN, PART_STANDING, PARTS
};

static const uint64_t least_ns[PARTS] = {
	[PART_SITES] = SECOND, [PART_MEMORY] = 10 * SECOND, [PART_MACHINE] = 5 * SECOND,
	[PART_LISTS] = 30 * SECOND, [PART_CHILDREN] = 10 * SECOND, [PART_STANDING] = 300 * SECOND,
};

static const char *const part_names[PARTS] = {
	[PART_SITES] = "sites are not recorded", [PART_MEMORY] = "memory is not recorded",
	[PART_MACHINE] = "the machine is not recorded",
	[PART_LISTS] = "slab caches and processes are not recorded",
	[PART_CHILDREN] = "children are not recorded",
	[PART_STANDING] = "the account and growth are not recorded",
};

struct recorder {
	struct session *session;
	struct record_writer *writer;
	struct recorder_rows rows;
	struct recorder_children children;
	bool without_children;
	unsigned forks;			/* that have an event */
	uint64_t epoch;
	uint32_t target;		/* 0: there is none */
	bool over;			/* the target has ended, or was detached from */
	uint64_t due_ns[PARTS];		/* by the clock since boot */
	bool taken[PARTS], lacking[PARTS];
	struct record_table written;	/* totals of the last sample */
	uint64_t sample_ns;		/* by the clock since boot; 0: none of this target */
	uint64_t begun_ns, attached_ns;	/* time of day */
	uint64_t kills_ns, marks_ns;	/* the last kill and the last mark that are recorded */
	uint32_t generation;		/* of the module map, whose modules are recorded */
	bool troubled;
	bool has_news;
	char news[600];
};

static uint64_t since_boot(void)
{
	return procfs_clock(CLOCK_BOOTTIME);
}

static uint64_t time_of_day(void)
{
	return procfs_clock(CLOCK_REALTIME);
}

static struct record_names *names_of(const struct recorder *recorder)
{
	return record_writer_names(recorder->writer);
}

/* Write an event of now, or of a time that is known. */
static struct err *put_event(struct recorder *recorder, struct record_event event, const char *text)
{
	struct err *err = record_names_string(names_of(recorder), text, &event.text);

	event.target = recorder->target;
	if (!event.time_ns)
		event.time_ns = time_of_day();
	return err ? err : record_writer_event(recorder->writer, &event);
}

/* A part could not be taken: the recording says why, once. */
static void note_lack(struct recorder *recorder, enum part part, const struct err *why)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err;

	trace_line("record: %s", why->msg);
	if (recorder->lacking[part])
		return;
	recorder->lacking[part] = true;
	err = str_addf(&text, "%s: %s", part_names[part], why->msg);
	if (!err)
		err = put_event(recorder, (struct record_event){ .kind = RECORD_EVENT_NOTE },
				str_text(&text));
	if (err)
		trace_line("record: %s", err->msg);
}

struct err *recorder_create(struct session *session, const char *dir,
			    const struct record_limits *limits, const char *version,
			    struct recorder **ret)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	struct err *err;

	if (!recorder)
		return err_nomem;
	recorder->session = session;
	recorder->children = (struct recorder_children)RECORDER_CHILDREN_INIT;
	recorder->begun_ns = recorder->kills_ns = time_of_day();
	err = record_writer_open(dir, limits, version, &recorder->writer);
	if (err) {
		free(recorder);
		return err;
	}
	session_history_spare(session, true);
	recorder_rows_init(&recorder->rows, session);
	record_table_init(&recorder->written, RECORD_TOTALS);
	*ret = recorder;
	return NULL;
}

/* All names have to be made anew. */
static struct err *begin_names(struct recorder *recorder)
{
	recorder->epoch = record_writer_epoch(recorder->writer);
	recorder_rows_begin(&recorder->rows, names_of(recorder));
	record_table_clear(&recorder->written);
	memset(recorder->due_ns, 0, sizeof(recorder->due_ns));
	memset(recorder->taken, 0, sizeof(recorder->taken));
	memset(recorder->lacking, 0, sizeof(recorder->lacking));
	return recorder_target_number(recorder->session, names_of(recorder), &recorder->target);
}

static void begin_children(struct recorder *recorder)
{
	struct err *err = recorder_children_begin(&recorder->children, session_pid(recorder->session));

	if (err)
		note_lack(recorder, PART_CHILDREN, err);
}

struct err *recorder_attached(struct recorder *recorder, pid_t before)
{
	struct err *err = NULL;

	if (recorder->target && !recorder->over)
		err = put_event(recorder, (struct record_event){ .kind = RECORD_EVENT_DETACH }, NULL);
	if (!err)
		err = begin_names(recorder);
	recorder->over = false;
	recorder->forks = 0;
	recorder->attached_ns = time_of_day();
	recorder->sample_ns = 0;
	recorder->generation = 0;
	recorder->marks_ns = 0;
	recorder->due_ns[PART_STANDING] = since_boot() + FIRST_PAUSE_NS;
	if (!err && before)
		err = put_event(recorder, (struct record_event){ .kind = RECORD_EVENT_RESTART,
								 .number = (uint64_t)before }, NULL);
	if (!err)
		err = put_event(recorder, (struct record_event){ .kind = RECORD_EVENT_ATTACH }, NULL);
	if (!err && !recorder->without_children)
		begin_children(recorder);
	return err;
}

/* A kill is known by the kernel's messages, which stay there. */
static struct err *record_kills(struct recorder *recorder, const struct machine_look *look)
{
	struct err *err = NULL;
	uint64_t last = recorder->kills_ns;

	vec_each_while(kill, &look->kills.vec, !err) {
		uint64_t time_ns = machine_look_kill_time(look, kill);

		/* The two clocks are not the same to the last microsecond. */
		if (time_ns <= recorder->kills_ns + SECOND / 100)
			continue;
		last = MAX(last, time_ns);
		err = put_event(recorder, (struct record_event){
			.kind = RECORD_EVENT_OOM, .time_ns = time_ns, .number = (uint64_t)kill->pid,
			.also = kill->anonymous + kill->file + kill->shared }, kill->name.bytes);
	}
	recorder->kills_ns = last;
	return err;
}

/* sample_ns: of the sample that is taken for them, by whose time they are found; 0: of their own. */
static struct err *record_marks(struct recorder *recorder, uint64_t sample_ns)
{
	const struct log_history *history = session_history(recorder->session);
	uint64_t last = recorder->marks_ns;
	struct err *err = NULL;

	if (!history)
		return NULL;
	vec_each_while(mark, &history->marks.vec, !err) {
		if (mark->stale || mark->time_ns <= recorder->marks_ns)
			continue;
		last = MAX(last, mark->time_ns);
		err = put_event(recorder, (struct record_event){
			.kind = RECORD_EVENT_MARK, .time_ns = sample_ns ? sample_ns : mark->time_ns,
			.number = mark->bytes, .also = mark->count }, mark->name);
	}
	recorder->marks_ns = last;
	return err;
}

/* A module that has come since the generation before. */
static struct err *record_module(void *ctx, const struct symbol_file *file)
{
	struct recorder *recorder = ctx;
	AUTO_STR struct str text = STR_INIT;
	struct err *err = str_addf(&text, "%s %s", file->path, file->build_id);
	bool known = !err && record_names_find(names_of(recorder), str_text(&text));

	if (err || known)
		return err;
	return put_event(recorder, (struct record_event){ .kind = RECORD_EVENT_MODULE },
			 str_text(&text));
}

static struct err *record_modules(struct recorder *recorder)
{
	uint32_t generation = session_generation(recorder->session);

	if (generation == recorder->generation && generation)
		return NULL;
	recorder->generation = generation;
	return symbol_file_each(session_symbols(recorder->session), record_module, recorder);
}

static struct err *take_machine(struct recorder *recorder, bool lists, uint64_t time_ns)
{
	pid_t pid = recorder->over ? 0 : session_pid(recorder->session);
	struct machine_look look;
	struct err *err = machine_look_read(pid, lists, &look);

	if (err)
		return err;
	err = recorder_rows_machine(&recorder->rows, &look, lists, time_ns);
	if (!err && lists)
		err = record_kills(recorder, &look);
	machine_look_free(&look);
	return err;
}

/* They are rows as soon as there are some. */
static struct err *take_children(struct recorder *recorder, uint64_t time_ns)
{
	struct recorder_children *children = &recorder->children;

	if (!children->changed)
		return NULL;
	children->changed = false;
	return recorder_rows_children(&recorder->rows, children, time_ns);
}

static struct err *take_part(struct recorder *recorder, enum part part, uint64_t time_ns)
{
	struct recorder_rows *rows = &recorder->rows;
	struct err *err;

	switch (part) {
	case PART_SITES:
		if (!session_recorded(recorder->session) || !recorder_rows_sites_changed(rows))
			return NULL;
		return recorder_rows_sites(rows, time_ns);
	case PART_MEMORY:
		return recorder->over ? NULL : recorder_rows_memory(rows, time_ns);
	case PART_CHILDREN:
		return take_children(recorder, time_ns);
	case PART_MACHINE:
	case PART_LISTS:
		return take_machine(recorder, part == PART_LISTS, time_ns);
	default:
		if (recorder->over)
			return NULL;
		err = recorder_rows_account(rows, time_ns);
		return err ? err : recorder_rows_growth(rows, time_ns);
	}
}

/* The kernel does not keep the ends of children for long. */
static void hear_children(struct recorder *recorder)
{
	struct recorder_children *children = &recorder->children;
	struct err *err = recorder_children_read(children);

	if (!err && children->lost)
		err = err_create(ERR_RANGE, "there were more at a time than the kernel keeps");
	if (err)
		note_lack(recorder, PART_CHILDREN, err);
}

/* Take what is due. A part that fails is missing until it is due again. */
static void take_due(struct recorder *recorder, uint64_t time_ns, bool all)
{
	for (unsigned part = 0; part < PARTS; part++) {
		uint64_t begun = procfs_clock(CLOCK_THREAD_CPUTIME_ID), wait;
		struct err *err;

		if (recorder->due_ns[part] > since_boot() &&
		    !(all && (part == PART_SITES || part == PART_CHILDREN)))
			continue;
		recorder->rows.pause_ns = 0;
		err = take_part(recorder, part, time_ns);
		if (err)
			note_lack(recorder, part, err);
		/* Most of what the first one costs are names, which are found once. */
		wait = recorder->taken[part] ?
			       COST_TIMES * (procfs_clock(CLOCK_THREAD_CPUTIME_ID) - begun) : 0;
		recorder->taken[part] = true;
		wait = MAX(wait, PAUSE_TIMES * recorder->rows.pause_ns);
		recorder->due_ns[part] = since_boot() + MAX(wait, least_ns[part]);
	}
}

/* Is there anything in the sample that the last one did not have? */
static bool has_changed(const struct recorder *recorder, uint64_t time_ns)
{
	const struct record_table *now = &recorder->rows.table[RECORD_TOTALS];
	const struct record_table *old = &recorder->written;

	for (unsigned kind = 0; kind < RECORD_TABLES; kind++)
		if (kind != RECORD_TOTALS && recorder->rows.table[kind].time_ns == time_ns)
			return true;
	return !recorder->sample_ns || now->nr != old->nr ||
	       memcmp(now->keys, old->keys, now->nr * sizeof(*now->keys)) ||
	       memcmp(now->values, old->values, now->nr * sizeof(*now->values)) ||
	       since_boot() - recorder->sample_ns >= QUIET_NS;
}

static void tell_trouble(struct recorder *recorder)
{
	const char *trouble = record_writer_trouble(recorder->writer);

	if (!trouble == !recorder->troubled)
		return;
	recorder->troubled = trouble;
	recorder->has_news = true;
	if (trouble)
		snprintf(recorder->news, sizeof(recorder->news),
			 "nothing is recorded now: %s", trouble);
	else
		snprintf(recorder->news, sizeof(recorder->news), "it is recorded again");
}

static struct err *write_sample(struct recorder *recorder, uint64_t time_ns)
{
	struct log *log = session_recorded(recorder->session) ? session_log(recorder->session) : NULL;
	const struct record_sample sample = {
		.time_ns = time_ns, .monotonic_ns = since_boot(), .target = recorder->target,
		.log = log ? log_clock_begin(log) : 0, .table = recorder->rows.table,
	};
	uint64_t before = record_writer_state(recorder->writer).written, bytes;
	struct err *err = record_writer_sample(recorder->writer, &sample);

	if (err)
		return err;
	bytes = record_writer_state(recorder->writer).written - before;
	recorder->sample_ns = sample.monotonic_ns;
	if (recorder->rows.table[RECORD_SITES].time_ns == time_ns)
		recorder->due_ns[PART_SITES] = MAX(recorder->due_ns[PART_SITES],
			sample.monotonic_ns + bytes * SECOND / BYTES_A_SECOND);
	tell_trouble(recorder);
	return record_table_copy(&recorder->rows.table[RECORD_TOTALS], &recorder->written);
}

/* all: the sites, whether they are due or not. */
static struct err *take_sample(struct recorder *recorder, bool all)
{
	uint64_t time_ns = time_of_day();
	struct err *err = NULL;

	if (record_writer_epoch(recorder->writer) != recorder->epoch)
		err = begin_names(recorder);
	if (err)
		return err;
	hear_children(recorder);
	take_due(recorder, time_ns, all);
	err = recorder_rows_totals(&recorder->rows, time_ns);
	if (!err && !recorder->over)
		err = record_modules(recorder);
	if (!err)
		err = record_marks(recorder, all ? time_ns : 0);
	if (!err && (all || has_changed(recorder, time_ns)))
		err = write_sample(recorder, time_ns);
	return err;
}

static bool is_killed(const struct recorder *recorder, const struct machine_look *look)
{
	const struct record_target *target =
		record_names_get_target(names_of(recorder), recorder->target);
	const char *name = record_names_get_string(names_of(recorder), target->name, &(size_t){ 0 });

	/* Pids in the messages are those of the first namespace: the name must fit as well. */
	vec_each(kill, &look->kills.vec)
		if (kill->pid == target->pid && name && !strcmp(kill->name.bytes, name) &&
		    machine_look_kill_time(look, kill) + SECOND > recorder->attached_ns)
			return true;
	return false;
}

/* Whom the kernel has killed for lack of memory only its messages say. */
static struct err *find_reason(struct recorder *recorder, struct record_event *end, struct str *why)
{
	struct machine_look look;
	struct err *err;

	if (end->kind != RECORD_EVENT_EXIT ||
	    (end->number != RECORD_UNKNOWN && (int)end->number != SIGKILL))
		return NULL;
	err = machine_look_read(0, true, &look);
	if (err)
		return err;
	err = record_kills(recorder, &look);
	if (!err && is_killed(recorder, &look)) {
		end->number = SIGKILL;
		err = str_add(why, RECORD_END_OOM);
	} else if (!err && *look.kills.why) {
		err = str_addf(why, "whether for lack of memory is not known: %s", look.kills.why);
	}
	machine_look_free(&look);
	return err;
}

/* The target is gone: its log has what it held. */
static struct err *end_target(struct recorder *recorder, enum record_event_kind kind,
			      uint64_t number)
{
	struct record_event end = { .kind = kind, .number = number };
	AUTO_STR struct str why = STR_INIT;
	struct err *err;

	if (!recorder->target || recorder->over)
		return NULL;
	recorder->over = kind != RECORD_EVENT_DETACH;
	err = take_sample(recorder, true);
	recorder->over = true;
	if (!err)
		err = find_reason(recorder, &end, &why);
	return err ? err : put_event(recorder, end, why.len ? str_text(&why) : NULL);
}

struct err *recorder_now(struct recorder *recorder)
{
	return recorder->target && !recorder->over ? take_sample(recorder, true) : NULL;
}

struct err *recorder_poll(struct recorder *recorder, uint64_t *ns_ret)
{
	enum session_state state = session_state(recorder->session);

	*ns_ret = SECOND;
	if (!recorder->target || recorder->over)
		return NULL;
	if (state == SESSION_NONE)
		return end_target(recorder, RECORD_EVENT_DETACH, 0);
	/* What has ended otherwise has an event, which comes. */
	return state == SESSION_ENDED ? NULL : take_sample(recorder, false);
}

/* A million short children are no million events: from some on they are sums (recorder_children.h). */
static struct err *record_fork(struct recorder *recorder, pid_t pid)
{
	if (++recorder->forks > FORKS_MOST + 1)
		return NULL;
	if (recorder->forks > FORKS_MOST)
		return put_event(recorder, (struct record_event){ .kind = RECORD_EVENT_NOTE },
				 "forks are no events from here on: there are too many");
	return put_event(recorder, (struct record_event){
		.kind = RECORD_EVENT_FORK, .number = (uint64_t)pid }, NULL);
}

struct err *recorder_event(struct recorder *recorder, const struct session_event *event)
{
	struct err *err;
	bool known;

	switch (event->kind) {
	case SESSION_EVENT_EXIT:
		session_exit_status(recorder->session, &known);
		return end_target(recorder, RECORD_EVENT_EXIT,
				  known ? (uint64_t)event->status : RECORD_UNKNOWN);
	case SESSION_EVENT_EXEC:
		err = put_event(recorder, (struct record_event){ .kind = RECORD_EVENT_EXEC },
				event->text);
		if (!err && session_state(recorder->session) == SESSION_ENDED)
			err = end_target(recorder, RECORD_EVENT_DETACH, 0);
		else if (!err)
			err = recorder_attached(recorder, 0);
		return err;
	case SESSION_EVENT_FORK:
		return record_fork(recorder, event->pid);
	case SESSION_EVENT_WARNING:
		return put_event(recorder, (struct record_event){ .kind = RECORD_EVENT_NOTE },
				 event->text);
	default:
		return NULL;
	}
}

const char *recorder_news(struct recorder *recorder)
{
	bool has_news = recorder->has_news;

	recorder->has_news = false;
	return has_news ? recorder->news : NULL;
}

struct record_writer_state recorder_state(const struct recorder *recorder)
{
	return record_writer_state(recorder->writer);
}

const char *recorder_trouble(const struct recorder *recorder)
{
	return record_writer_trouble(recorder->writer);
}

void recorder_without_children(struct recorder *recorder)
{
	recorder->without_children = true;
	recorder_children_end(&recorder->children);
}

struct err *recorder_end(struct recorder *recorder, const char *why)
{
	struct err *err = end_target(recorder, RECORD_EVENT_DETACH, 0);

	err = err_first(err, record_writer_close(recorder->writer, time_of_day(), why));
	session_history_spare(recorder->session, false);
	recorder_rows_free(&recorder->rows);
	recorder_children_end(&recorder->children);
	record_table_free(&recorder->written);
	free(recorder);
	return err;
}
