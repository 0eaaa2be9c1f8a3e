/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A session without a process. What there is of it to ask (session/session.c) and its events
 * (session/event_queue.c) are the real ones, over a struct session that is filled in here. What it
 * says of blocks, memory and threads is in fake_answers.c.
 */

#include "fake_private.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe/runtimes/runtimes.h"
#include "base/cleanup.h"
#include "session/growth/session_faults.h"
#include "session/growth/session_kernel.h"
#include "session/pool/session_pools.h"
#include "session/pool/session_python.h"
#include "session/replay/session_replay.h"
#include "symbol/symbol.h"
#include "type/types.h"

const struct session_config session_config_default = {
	.engine = SESSION_ENGINE_AUTO,
	.stack_depth = 32,
	.log_limit = 1ull << 30,
	.arm = true,
};

static struct fake *last;

__attribute__((noinline)) int fake_load(int value)
{
	return value + getpid();
}

__attribute__((noinline)) int fake_main(int value)
{
	return fake_load(value) * 2 + 1;
}

struct session *fake_session(void)
{
	return last ? &last->session : NULL;
}

struct fake_asked *fake_asked(struct session *session)
{
	return &fake_of(session)->asked;
}

void fake_fail_detach(struct session *session)
{
	fake_of(session)->fail_detach = true;
}

void fake_check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "fake session: %s\n", err->msg);
	abort();
}

/* The test program itself is the only module. */
static void add_module(struct session *session)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct symbol_module module = { .path = "/usr/bin/fake", .died = UINT32_MAX };
	char exe[512];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	size_t i;

	fake_check(procfs_maps(getpid(), &maps));
	exe[MAX(len, 0)] = '\0';
	module.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	for (i = 0; i < maps.vec.nr; i++) {
		const struct proc_map *map = &maps.vec.at[i];

		if (strcmp(map->path, exe))
			continue;
		if (!module.start)
			module.start = map->start;
		module.end = map->end;
	}
	module.bias = module.start;
	fake_check(symbols_add(session->symbols, &module));
	close(module.fd);
}

void fake_forget(struct session *session)
{
	types_destroy(session->types);
	session->types = NULL;
	symbols_destroy(session->symbols);
	session->symbols = NULL;
	peak_watch_stop(session);
	if (session->region)
		munmap(session->region->log.base, session->region->log.size);
	session->region = NULL;
	session->state = SESSION_NONE;
	session->process[0] = (struct process){ .session = session, .pid = session->process[0].pid };
	vec_free(&fake_of(session)->lacks.vec);
	session->memory_last = (struct memory_last){ .maps = VEC_INIT };
}

void fake_miss(struct session *session, const char *function, const char *why)
{
	struct session_lack lack;

	snprintf(lack.function, sizeof(lack.function), "%s", function);
	snprintf(lack.why, sizeof(lack.why), "%s", why);
	fake_check(vec_push(&fake_of(session)->lacks.vec, lack));
}

struct err *session_lacks(struct session *session, struct session_lacks *ret)
{
	const struct session_lacks *lacks = &fake_of(session)->lacks;

	*ret = (struct session_lacks){ VEC_INIT };
	for (size_t i = 0; i < lacks->vec.nr; i++)
		fake_check(vec_push(&ret->vec, lacks->vec.at[i]));
	return NULL;
}

void fake_attach(struct session *session)
{
	struct log_config config = { .region_size = LOG_REGION_MIN,
				     .stack_depth = session->config.stack_depth };
	struct fake *fake = fake_of(session);
	void *base;

	fake_forget(session);
	fake_check(symbols_create(0, &session->symbols));
	base = mmap(NULL, config.region_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		abort();
	fake_check(log_format(base, &config, &fake->region.log));
	add_module(session);
	session->region = &fake->region;
	session->process[0] = (struct process){
		.session = session, .pid = FAKE_PID, .state = PROCESS_LIVE,
		.target = &fake->target, .probes = &fake->probes,
	};
	session->pids[0] = FAKE_PID;
	fake->probes.armed = session->config.arm;
	session->state = session->config.stop ? SESSION_STOPPED : SESSION_RUNNING;
}

uint32_t fake_stack(struct session *session, uint8_t end)
{
	const uint64_t pcs[] = { FAKE_ENTRY, (uintptr_t)fake_load + 2, (uintptr_t)fake_main + 2 };

	return stack_table_insert(&session->region->log, pcs, 3, end, 0);
}

void fake_block(struct session *session, uint64_t address, uint64_t size, uint32_t stack)
{
	struct log_record record = {
		.address = address,
		.size = size,
		.time = log_now(),
		.thread = registry_thread(&session->region->log, FAKE_PTHREAD, FAKE_PID),
		.stack = stack,
		.heap = LOG_HEAP_UNKNOWN,
	};

	log_record_insert(&session->region->log, &record, NULL);
	stack_table_count(&session->region->log, stack, 1, size);
}

void fake_hold(struct session *session, const struct log_record *record)
{
	fake_of(session)->held = record ? *record : (struct log_record){ 0 };
}

void fake_free(struct session *session, uint64_t address)
{
	struct log_record record;

	log_record_remove(&session->region->log, address,
			  registry_thread(&session->region->log, FAKE_PTHREAD, FAKE_PID), &record);
}

void fake_event(struct session *session, const struct session_event *event)
{
	session->wanted |= 1u << event->kind;	/* else it would not be kept */
	event_queue_push(session, event);
}

/* --- session.h
 * -------------------------------------------------------------------------------------------------
 */

struct err *session_create(struct session **ret)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	struct session *session;

	if (!fake)
		return err_nomem;
	session = &fake->session;
	session->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (session->event_fd < 0) {
		free(fake);
		return err_sys("eventfd");
	}
	pthread_mutex_init(&session->lock, NULL);
	peak_watch_init(session);
	for (size_t i = 0; i < sizeof(fake->bytes); i++)
		fake->bytes[i] = (uint8_t)i;
	memory_array_init(&fake->memory, fake->bytes, 0x5000, sizeof(fake->bytes));
	fake->target.memory = &fake->memory.memory;
	fake->target.kind = &target_kind_process;
	fake->target.arch = arch_host();
	fake->target.mem.tid = getpid();
	session->config = session_config_default;
	session->history = (struct log_history)LOG_HISTORY_INIT;
	session->current = session->process;
	session->nr_processes = 1;
	fake->asked.cont_signal = -1;
	if (!last)
		last = fake;
	*ret = session;
	return NULL;
}

struct err *session_release(struct session *session)
{
	return session->state == SESSION_RUNNING || session->state == SESSION_STOPPED ?
		       session_detach(session) : NULL;
}

void session_destroy(struct session *session)
{
	if (!session)
		return;
	fake_forget(session);
	peak_watch_free(session);
	session_history_free(session);
	name_globs_free(&session->naming.skip);
	close(session->event_fd);
	vec_free(&session->events);
	pthread_mutex_destroy(&session->lock);
	if (last == fake_of(session))
		last = NULL;
	free(fake_of(session));
}

struct err *session_recording_set_free_history(struct session *session, uint32_t nr)
{
	session->config.free_history = nr;
	return NULL;
}

uint32_t session_recording_free_history(const struct session *session)
{
	return session->config.free_history;
}

/* Nor are there threads that have ended. */
struct err *session_threads_ended(struct session *session, struct ended_threads *ret)
{
	(void)session;
	*ret = (struct ended_threads){ .known = true };
	return NULL;
}

/* Growth is not recorded without a process. */
unsigned session_growth_kinds(const struct session *session)
{
	(void)session;
	return 0;
}

struct err *session_growth_start(struct session *session, unsigned kinds,
				 struct session_growth_lacks *lacks_ret)
{
	(void)session;
	(void)kinds;
	(void)lacks_ret;
	return err_create(ERR_STATE, "no process");
}

struct err *session_growth_stop(struct session *session)
{
	(void)session;
	return NULL;
}

struct err *session_growth_view(struct session *session, struct session_growth_view *ret)
{
	(void)session;
	(void)ret;
	return err_create(ERR_STATE, "no process");
}

struct err *session_growth_files(struct session *session, struct mapped_file_list *ret)
{
	(void)session;
	*ret = (struct mapped_file_list){ VEC_INIT };
	return NULL;
}

uint64_t session_growth_segment(const struct session *session, uint64_t id, uint64_t address)
{
	(void)session;
	(void)id;
	(void)address;
	return 0;
}

struct err *session_untraced_configured(struct session *session)
{
	(void)session;
	return NULL;
}

struct err *session_attach(struct session *session, pid_t pid)
{
	if (session->state == SESSION_RUNNING || session->state == SESSION_STOPPED)
		return err_create(ERR_STATE, "attach %d: there is a process already", pid);
	if (pid != FAKE_PID)
		return err_hint(err_create(ERR_ATTACH, "attach %d: no such process", pid),
				"try the fake's own");
	fake_attach(session);
	return NULL;
}

struct err *session_replay_open(struct session *session UNUSED, const char *const *folders,
				size_t nr UNUSED, uint64_t time_ns UNUSED)
{
	return err_create(ERR_NOTFOUND, "%s: there is no recording", folders[0]);
}

struct err *session_core_open(struct session *session UNUSED, const char *path, const char *exe UNUSED)
{
	return err_create(ERR_FORMAT, "%s: not a core file", path);
}

bool session_core(const struct session *session UNUSED, struct session_core *ret UNUSED)
{
	return false;
}

struct err *session_attach_program(struct session *session, char *const *argv, bool keep_stdin,
				   bool own_group)
{
	(void)keep_stdin;
	(void)own_group;
	if (strcmp(argv[0], "fake"))
		return err_create(ERR_ATTACH, "run %s: No such file or directory", argv[0]);
	fake_attach(session);
	session->current->started = true;
	return NULL;
}

struct err *session_detach(struct session *session)
{
	fake_of(session)->asked.detached++;
	session->state = SESSION_NONE;
	if (fake_of(session)->fail_detach) {
		fake_of(session)->fail_detach = false;
		return err_create(ERR_BUSY, "detach %d: a thread sits in a stub", FAKE_PID);
	}
	return NULL;
}

struct err *session_keep(struct session *session)
{
	return session_detach(session);
}

struct err *session_kill(struct session *session)
{
	struct session_event event = { .kind = SESSION_EVENT_EXIT,
				       .pid = FAKE_PID,
				       .status = SIGKILL };

	fake_of(session)->asked.killed++;
	fake_event(session, &event);
	return NULL;
}

struct err *session_interrupt(struct session *session)
{
	fake_of(session)->asked.interrupted++;
	session->state = SESSION_STOPPED;
	return NULL;
}

struct err *session_cont(struct session *session, int number)
{
	fake_of(session)->asked.cont_signal = number;
	session->state = SESSION_RUNNING;
	return NULL;
}

struct err *session_recording_arm(struct session *session)
{
	fake_of(session)->asked.armed++;
	fake_of(session)->probes.armed = true;
	session_history_resume(session);
	return NULL;
}

struct err *session_recording_disarm(struct session *session)
{
	fake_of(session)->asked.disarmed++;
	fake_of(session)->probes.armed = false;
	session_history_pause(session, false);
	return NULL;
}

struct err *session_user_probe_add(struct session *session, const struct session_probe_spec *spec)
{
	(void)session;
	return err_create(ERR_NOTFOUND, "%s", spec->function);
}

struct err *session_user_probe_delete(struct session *session, const char *function)
{
	(void)session;
	return err_create(ERR_NOTFOUND, "%s", function);
}

struct err *session_recording_reset(struct session *session)
{
	fake_of(session)->asked.reset++;
	peak_watch_stop(session);
	log_reset(&session->region->log);
	session_history_reset(session);
	return NULL;
}

void session_deferred_fix(struct session *session UNUSED)
{
}

void session_deferred_release(struct session *session UNUSED)
{
}

struct err *session_refs_of(struct session *session UNUSED, uint64_t address UNUSED,
			    struct session_refs_of *ret)
{
	*ret = (struct session_refs_of){ .taken = 0 };
	return NULL;
}

struct err *session_python(struct session *session UNUSED, bool search UNUSED,
			   struct session_python *ret)
{
	*ret = (struct session_python){ .pause_ns = 0 };
	return err_create(ERR_NOTFOUND, "no Python runs in the fake");
}

void session_python_free(struct session_python *python UNUSED)
{
}

struct err *session_pools(struct session *session UNUSED, struct session_pools *ret)
{
	*ret = (struct session_pools){ .here = 0 };
	return NULL;
}

struct err *session_probes(struct session *session, struct session_probes *ret)
{
	struct session_probe in = { .function = "malloc",
				    .symbol = "malloc",
				    .module = "libc.so.6",
				    .address = FAKE_ENTRY,
				    .active = fake_of(session)->probes.armed,
				    .engine = "breakpoint",
				    .why = "asked for" };
	struct session_probe out = { .function = "cfree",
				     .symbol = "cfree",
				     .module = "libc.so.6",
				     .why = "alias of free" };
	struct err *err = vec_push(&ret->vec, in);

	return err ? err : vec_push(&ret->vec, out);
}

const char *session_allocator(struct session *session)
{
	(void)session;
	return "fake 1.0";
}

struct err *session_allocator_runtimes(struct session *session, const struct runtimes **ret)
{
	static const struct runtimes none = { .nr = 0 };

	(void)session;
	*ret = &none;
	return NULL;
}

bool session_passes_on(struct session *session, const uint64_t *pcs, uint32_t frame)
{
	(void)session;
	(void)pcs;
	(void)frame;
	return false;
}

const char *session_symbols_entry(struct session *session, uint64_t pc)
{
	(void)session;
	return pc == FAKE_ENTRY ? "malloc" : NULL;
}

struct symbols *session_symbols(struct session *session)
{
	fake_of(session)->asked.named++;
	return session->symbols;
}

struct err *session_types(struct session *session, struct types **ret)
{
	struct err *err = NULL;

	if (!session->types)
		err = types_create(session->symbols, &session->types);
	if (!err)
		*ret = session->types;
	return err;
}

struct symbols *session_symbols_known(struct session *session)
{
	return session->symbols;
}

bool session_symbols_warned(struct session *session)
{
	(void)session;
	return false;
}

bool session_next_event(struct session *session, struct session_event *ret)
{
	if (!event_queue_pop(session, ret))
		return false;
	if (ret->kind == SESSION_EVENT_EXIT) {
		session->state = SESSION_ENDED;
		session->current->state = PROCESS_ENDED;
		session->current->status = ret->status;
		session->current->status_known = true;
	}
	return true;
}

void session_want_events(struct session *session, uint32_t kinds)
{
	session->wanted = fake_of(session)->asked.wanted = kinds;
}

/* Page faults and the kernel's memory are recorded from a live machine alone. */
bool session_faults_on(const struct session *session UNUSED)
{
	return false;
}

struct err *session_faults_start(struct session *session UNUSED)
{
	return err_create(ERR_PERM, "perf_event_open");
}

struct err *session_faults_stop(struct session *session UNUSED)
{
	return NULL;
}

struct err *session_faults(struct session *session UNUSED, struct session_faults *ret)
{
	*ret = (struct session_faults){ .minor = 0 };
	return NULL;
}

void session_faults_free(struct session_faults *faults UNUSED)
{
}

struct kernel_growth *session_kernel(const struct session *session UNUSED)
{
	return NULL;
}

struct err *session_kernel_start(struct session *session UNUSED)
{
	return err_create(ERR_PERM, "the kernel's allocations");
}

void session_kernel_stop(struct session *session UNUSED)
{
}
