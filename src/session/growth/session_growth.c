/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growth by brk, mmap and shared memory (growth.h). */

#include "session/growth/session_growth.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/trace.h"
#include "os/sysv_shm.h"
#include "probe/growth_functions.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/share.h"
#include "tracee/target.h"

/* A writer that does not finish for so long (in time stamps, a second or so) has ended. */
#define PATIENCE	(1ull << 32)
#define TRIES		50u		/* to put in what a thread stands in the way of ... */
#define BETWEEN_NS	2000000ull	/* ... so long after one another */

_Static_assert(GROWTH_FUNCTIONS_BRK == 1u << HELD_BRK &&
	       GROWTH_FUNCTIONS_BRK == LOG_GROWTH_BRK &&
	       GROWTH_FUNCTIONS_MMAP == 1u << HELD_MMAP && GROWTH_FUNCTIONS_SHM == 1u << HELD_SHM,
	       "kinds are handed to the probes as they are");

/* The log of the process that was attached to; NULL: there is none, or it is not recorded in. */
static struct log *log_of(const struct session *session)
{
	const struct process *process = session->current;

	return session_recorded(session) && process == &session->process[0] &&
	       process->probes && process->probes->armed ? &session->region->log : NULL;
}

unsigned session_growth_kinds(const struct session *session)
{
	const struct log *log = session_armed(session) ? log_of(session) : NULL;

	if (session->growth.bare)
		return session->growth.bare;
	return log ? (unsigned)growth_ring_run(log).kinds & SESSION_GROWTH_ALL : 0;
}

unsigned session_growth_kept(const struct session *session)
{
	if (!session_recorded(session))
		return 0;
	return (unsigned)growth_ring_run(&session->region->log).kinds & SESSION_GROWTH_ALL;
}

void session_growth_free(struct session_growth *growth)
{
	growth_replay_free(&growth->replay);
	mapped_files_free(&growth->files);
	*growth = (struct session_growth){ .run = 0 };
}

/* The bounds of the heap; 0, 0: there is none. */
static void find_heap(const struct proc_maps *maps, struct growth_world *world)
{
	vec_each(map, &maps->vec) {
		if (strcmp(map->path, "[heap]"))
			continue;
		if (!world->heap_end)
			world->heap_start = map->start;
		world->heap_end = map->end;
	}
}

/* Consecutive mappings of a segment that begin at an address. */
static uint64_t attached_bytes(const struct proc_maps *maps, uint64_t id, uint64_t address)
{
	uint64_t end = address;

	vec_each(map, &maps->vec)
		if (map->start == end && map->inode == id && !strncmp(map->path, "/SYSV", 5))
			end = map->end;
	return end - address;
}

uint64_t session_growth_segment(const struct session *session, uint64_t id, uint64_t address)
{
	pid_t pid = session->current->pid;
	uint64_t size = sysv_shm_size(pid, (uint32_t)id);
	struct proc_maps maps = { VEC_INIT };

	if (size || procfs_maps(pid, &maps))
		return size;
	size = attached_bytes(&maps, id, address);
	procparse_maps_free(&maps);
	return size;
}

static uint64_t segment(void *session, uint64_t id, uint64_t address)
{
	return session_growth_segment(session, id, address);
}

static struct growth_world world_of(struct session *session, const struct proc_maps *maps)
{
	struct growth_world world = { .shm_size = segment, .ctx = session };

	find_heap(maps, &world);
	return world;
}

/* What was held before a gap is not known any more. */
static void lose(struct session_growth *growth, uint64_t events)
{
	growth_replay_forget(&growth->replay);
	mapped_files_lose(&growth->files);
	growth->replay.lost += events;
	growth->next += events;
}

/* Begin to read the present run, if it is another one than before, or has more kinds. */
static void follow_run(struct session_growth *growth, const struct log *log)
{
	struct growth_run run = growth_ring_run(log);
	unsigned kinds = (unsigned)run.kinds & SESSION_GROWTH_ALL;

	if (growth->run != run.start) {
		session_growth_free(growth);
		growth->run = run.start;
		growth->next = run.first;
	}
	if (kinds & ~growth->replay.kinds & LOG_GROWTH_BRK)
		growth->replay.brk_end = run.brk;
	growth->replay.kinds = kinds;
}

/* An event of the future would never give way to others. */
static void bound(struct growth_event *event)
{
	uint64_t now = log_now();

	event->left = MIN(event->left, now);
	event->entered = MIN(event->entered, event->left);
}

/* Wait for the writer of the next event? Only for a while, since it may have ended. */
static bool has_patience(struct session_growth *growth)
{
	uint64_t now = log_now();

	if (!growth->waiting)
		growth->waiting = now;
	if (now - growth->waiting < PATIENCE)
		return true;
	growth->waiting = 0;
	return false;
}

static void replay(struct session_growth *growth, struct growth_event *event,
		   const struct growth_world *world)
{
	struct err *err;

	bound(event);
	mapped_files_event(&growth->files, event);
	err = growth_replay_event(&growth->replay, event, world);
	growth->next++;
	growth->waiting = 0;
	if (!err)
		return;
	trace_line("growth: %s", err->msg);
	lose(growth, 0);
	growth->replay.lost++;
}

/* Replay all events that were published by now. False: a writer has not finished. */
static bool replay_all(struct session_growth *growth, const struct log *log,
		       const struct growth_world *world)
{
	uint64_t next = growth_ring_next(log), room = log->nr_growth;
	struct growth_event event;

	/* The target may have written any number there. */
	if (next - growth->next > INT64_MAX)
		return false;
	if (next - growth->next > room)
		lose(growth, next - growth->next - room);
	while (growth->next != next) {
		switch (growth_ring_get(log, growth->next, &event)) {
		case GROWTH_READ:
			replay(growth, &event, world);
			break;
		case GROWTH_GONE:
			lose(growth, 1);
			break;
		case GROWTH_NOT_YET:
			if (has_patience(growth))
				return false;
			lose(growth, 1);
		}
	}
	return true;
}

/* Is anything to be done for the names of files, without new events? */
static bool wants_look(const struct mapped_files *files)
{
	return files->asked.vec.nr || files->found.vec.nr;
}

/* The mappings are read before the events, so that the names of files can be told from them. */
static void drain(struct session *session, const struct log *log)
{
	struct session_growth *growth = &session->growth;
	struct proc_maps maps = { VEC_INIT };
	struct mapped_files *files = &growth->files;
	pid_t tid = session->current->target->mem.tid;
	struct growth_world world;
	uint64_t began, ended;
	bool over;

	follow_run(growth, log);
	over = !files->found.vec.nr || late_calls_are_over(&files->late);
	if (growth->next == growth_ring_next(log) && (!over || !wants_look(files)))
		return;
	began = log_now();
	err_ignore(procfs_maps(tid, &maps));
	ended = log_now();
	world = world_of(session, &maps);
	if (replay_all(growth, log, &world) && over) {
		mapped_files_settle(files);
		mapped_files_look(files, &growth->replay.held, &maps, began, ended);
		if (files->found.vec.nr)
			late_calls_begin(&files->late, tid);
	}
	procparse_maps_free(&maps);
}

static void read_ring(struct session *session)
{
	const struct log *log = log_of(session);

	if (log && session_growth_kept(session))
		drain(session, log);
}

static uint64_t heap_end(struct session *session)
{
	struct proc_maps maps = { VEC_INIT };
	uint64_t end;

	err_ignore(procfs_maps(session->current->target->mem.tid, &maps));
	end = world_of(session, &maps).heap_end;
	procparse_maps_free(&maps);
	return end;
}

static struct err *put_in(struct session *session, bool stood UNUSED, void *arg)
{
	const unsigned *kinds = arg;
	struct log *log = &session->region->log;
	struct err *err = NULL;

	growth_ring_begin(log, *kinds, heap_end(session));
	err = share_reserve(session->current->target);
	return err ? err : breakpoints_settle(session->current->probes);
}

static struct err *take_out(struct session *session, bool stood UNUSED, void *arg UNUSED)
{
	struct err *err = growth_functions_stop(session->current->probes);

	read_ring(session);
	growth_ring_begin(&session->region->log, 0, 0);
	return err;
}

static struct err *add_lack(struct session_growth_lacks *lacks, const char *function,
			    const struct module *module, const char *why)
{
	struct session_growth_lack lack;

	snprintf(lack.function, sizeof(lack.function), "%.31s", function);
	snprintf(lack.module, sizeof(lack.module), "%.63s", path_base(module->path));
	snprintf(lack.why, sizeof(lack.why), "%.191s", why);
	return vec_push(&lacks->vec, lack);
}

static bool has_probe(const struct probes *probes, const struct module *module)
{
	for (size_t i = 0; i < probes->all.nr; i++)
		if (probes->all.at[i]->module == module && probe_is_growth(probes->all.at[i]))
			return true;
	return false;
}

/* A loader in which none was found: the libraries that it maps are not seen. */
static struct err *find_loaders(const struct probes *probes, struct session_growth_lacks *lacks)
{
	const struct modules *modules = &probes->target->modules;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < modules->live.nr; i++) {
		const struct module *module = modules->live.at[i];

		if (module->elf && alloc_module_is_private(path_base(module->path)) &&
		    !has_probe(probes, module))
			err = add_lack(lacks, "mmap and munmap", module,
				       "their code is not to be told from other functions'");
	}
	return err;
}

/* Those that were found and have no probe. */
static struct err *find_lacks(const struct probes *probes, struct session_growth_lacks *lacks)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < probes->all.nr; i++) {
		const struct probe *probe = probes->all.at[i];

		if (probe_is_growth(probe) && probe->state == PROBE_REFUSED &&
		    probe->module->died == UINT32_MAX && probe->fn->growth & probes->growth)
			err = add_lack(lacks, probe->fn->name, probe->module, probe->why);
	}
	return err ? err : find_loaders(probes, lacks);
}

struct start_job {
	unsigned kinds;
	struct session_growth_lacks *lacks;
};

/*
 * While some threads cannot be stopped, or stand inside a patch, some functions get no jump: the
 * target runs for a moment, and they are tried again.
 */
static struct err *put_all_in(struct session *session, unsigned kinds)
{
	struct process *process = session->current;
	struct err *err = session_pause_change(session, put_in, &kinds);

	for (unsigned i = 0; !err && i < TRIES && growth_functions_wait(process->probes); i++) {
		if (process->target->state != TARGET_STOPPED)
			stop_attend(process->target, BETWEEN_NS);
		err = growth_functions_plan(process->probes, kinds);
		if (!err)
			err = session_pause_change(session, put_in, &kinds);
	}
	return err;
}

/*
 * When the probes of an earlier mdbg were replaced, some of ours may have got no place yet. What
 * went by meanwhile is not known, so nothing that was held before is.
 */
static void mend(struct session *session)
{
	unsigned kinds = session_growth_kept(session);
	struct err *err;

	if (session->current->target->state == TARGET_STOPPED ||
	    session->growth.mended == TRIES ||
	    !growth_functions_wait(session->current->probes))
		return;
	session->growth.mended++;
	err = growth_functions_plan(session->current->probes, kinds);
	if (!err)
		err = session_pause_change(session, put_in, &kinds);
	if (err)
		trace_line("growth: %s", err->msg);
	read_ring(session);
	lose(&session->growth, 0);
	session->growth.replay.lost++;
}

void session_growth_poll(struct session *session)
{
	if (!log_of(session) || !session_growth_kept(session))
		return;
	mend(session);
	read_ring(session);
}

static struct err *start_job(struct session *session, void *arg)
{
	const struct start_job *job = arg;
	unsigned kinds = job->kinds | session_growth_kept(session);
	struct err *err = target_refresh(session->current->target, NULL);

	if (!err)
		err = growth_functions_plan(session->current->probes, kinds);
	if (err)
		return err;
	err = put_all_in(session, kinds);
	if (!err)
		return find_lacks(session->current->probes, job->lacks);
	return keeping(err, err_ignore(session_pause_change(session, take_out, NULL)));
}

/* No function can be watched: the one lack names the program itself. */
static struct err *start_bare(struct session *session, void *arg)
{
	const struct start_job *job = arg;
	const struct modules *modules = &session->current->target->modules;

	session->growth.bare |= job->kinds;
	return !modules->live.nr ? NULL :
	       add_lack(job->lacks, "mmap", modules->live.at[0],
			"no C library is found, and bare system calls are not seen");
}

static bool is_bare(const struct session *session)
{
	const struct probes *probes = session->current->probes;

	return probes && !probes->armed && !growth_functions_exist(probes);
}

struct err *session_growth_start(struct session *session, unsigned kinds,
				 struct session_growth_lacks *lacks_ret)
{
	struct start_job job = { kinds, lacks_ret };
	struct err *err = session_need_target(session);

	if (err)
		return err;
	if (session->current != &session->process[0])
		return err_create(ERR_UNSUPPORTED, "growth of a followed child is not recorded");
	if (is_bare(session))
		return session_call(session, start_bare, &job);
	if (!log_of(session))
		return err_hint(err_create(ERR_STATE, "no probes are in process %d",
					   session->current->pid),
				"`malloc on` puts them in");
	if (session->current->probes->policy == PROBE_ONLY_BREAKPOINT)
		return err_hint(err_create(ERR_UNSUPPORTED, "growth needs jumps"),
				"--engine auto or jump, at the next attach");
	session->known_generation = UINT64_MAX;		/* entry names must be made again */
	return session_call(session, start_job, &job);
}

static struct err *stop_job(struct session *session, void *arg UNUSED)
{
	if (session->growth.bare) {
		session->growth.bare = 0;
		return NULL;
	}
	return session_pause_change(session, take_out, NULL);
}

struct err *session_growth_stop(struct session *session)
{
	return session_call(session, stop_job, NULL);
}

void session_growth_end(struct session *session)
{
	struct err *err;

	if (!log_of(session) || !session_growth_kept(session))
		return;
	err = take_out(session, true, NULL);
	if (err)
		session_warn(session, err->msg);
}

static bool is_ours(const struct journal_entry *entry, const struct proc_map *map)
{
	return entry->state == JOURNAL_DONE &&
	       (entry->kind == JOURNAL_MAPPING || entry->kind == JOURNAL_REGION ||
		entry->kind == JOURNAL_DATA || entry->kind == JOURNAL_LOG) &&
	       entry->address < map->end && map->start < entry->address + entry->len;
}

/* Bytes of a mapping that mdbg has made. */
static uint64_t own_bytes(const struct journal *journal, const struct proc_map *map)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < journal_entries(journal); i++) {
		const struct journal_entry *entry = &journal->entry[i];

		if (is_ours(entry, map))
			bytes += MIN(entry->address + entry->len, map->end) -
				 MAX(entry->address, map->start);
	}
	return MIN(bytes, map->end - map->start);
}

static struct err *compare(struct session *session, const struct proc_maps *maps,
			   struct session_growth_view *view)
{
	VEC(struct growth_mapping) mappings = VEC_INIT;
	struct err *err = vec_reserve(&mappings, maps->vec.nr);

	if (err)
		return err;
	vec_each(map, &maps->vec) {
		if (!strcmp(map->path, "[vsyscall]"))
			continue;
		mappings.at[mappings.nr++] = (struct growth_mapping){ map->start, map->end };
		view->mapped += map->end - map->start;
		view->own += own_bytes(session->region->journal, map);
	}
	err = growth_replay_compare(&session->growth.replay, mappings.at, mappings.nr, log_now());
	vec_free(&mappings);
	return err;
}

static struct err *copy_view(const struct growth_replay *from, struct session_growth_view *ret)
{
	struct err *err = vec_reserve(&ret->pieces.vec, from->held.nr);

	if (err)
		return err;
	held_each(piece, &from->held)
		ret->pieces.vec.at[ret->pieces.vec.nr++] = *piece;
	memcpy(ret->held, from->held.bytes, sizeof(ret->held));
	ret->gone = growth_replay_gone(from);
	ret->events = from->events;
	ret->lost = from->lost;
	ret->unsized = from->unsized;
	return NULL;
}

static struct err *view_held(struct session *session, bool stood UNUSED, void *arg)
{
	struct session_growth_view *view = arg;
	struct proc_maps maps = { VEC_INIT };
	struct err *err;

	read_ring(session);
	err = procfs_maps(session->current->target->mem.tid, &maps);
	if (!err)
		err = compare(session, &maps, view);
	procparse_maps_free(&maps);
	if (!err)
		err = ended_find(session->current->target, &view->ended);
	return err ? err : copy_view(&session->growth.replay, view);
}

/* What has waited in the ring is read before the stop, which is then short. */
static struct err *poll_job(struct session *session, void *arg UNUSED)
{
	session_growth_poll(session);
	return NULL;
}

struct err *session_growth_view(struct session *session, struct session_growth_view *ret)
{
	struct err *err;

	memset(ret, 0, sizeof(*ret));
	err = session_need_target(session);
	if (!err && !session_growth_kinds(session))
		err = err_create(ERR_STATE, "growth is not recorded");
	if (!err)
		err = session_call(session, poll_job, NULL);
	return err ? err : session_pause_call(session, view_held, ret, NULL);
}

/* What the first poll has found, the second one knows. */
static struct err *files_job(struct session *session, void *arg)
{
	session_growth_poll(session);
	session_growth_poll(session);
	if (session->growth.run != growth_ring_run(&session->region->log).start)
		return NULL;
	return mapped_files_copy(&session->growth.files, arg);
}

struct err *session_growth_files(struct session *session, struct mapped_file_list *ret)
{
	*ret = (struct mapped_file_list){ VEC_INIT };
	return session_recorded(session) ? session_call(session, files_job, ret) : NULL;
}
