/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A session without a process. What there is of it to ask (session/session_state.c) and its events
 * (session/event_queue.c) are the real ones, over a struct session that is filled in here.
 */

#include "fake_session.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap/block.h"
#include "log/totals.h"
#include "memory_array.h"
#include "probe/probe.h"
#include "probe/runtimes.h"
#include "session/find_address.h"
#include "session/growth_faults.h"
#include "session/growth_kernel.h"
#include "session/heap.h"
#include "session/lacks.h"
#include "session/leaks.h"
#include "session/private.h"
#include "session/unknown_frees.h"
#include "session/trim.h"
#include "symbol/symbol.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define FAKE_ENTRY	0x10000ull	/* of the probed malloc: in no module */

const struct session_config session_config_default = {
	.engine = SESSION_ENGINE_AUTO,
	.stack_depth = 32,
	.log_limit = 1ull << 30,
	.arm = true,
};

struct fake {
	struct session session;		/* first: it is what callers have */
	struct target target;
	struct probes probes;
	struct region region;
	bool fail_detach;
	struct log_record held;		/* address 0: none */
	struct session_lacks lacks;
	uint8_t bytes[64];
	struct memory_array memory;
	struct fake_asked asked;
};

static struct fake *last;

static struct fake *fake_of(const struct session *session)
{
	return (struct fake *)session;
}

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

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "fake session: %s\n", err->msg);
	abort();
}

/* The test program itself is the only module. */
static void add_module(struct session *session)
{
	struct proc_maps maps = { VEC_INIT };
	struct symbol_module module = { .path = "/usr/bin/fake", .died = UINT32_MAX };
	char exe[512];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	size_t i;

	check(procfs_maps(getpid(), &maps));
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
	check(symbols_add(session->symbols, &module));
	close(module.fd);
	proc_maps_free(&maps);
}

void fake_forget(struct session *session)
{
	symbols_destroy(session->symbols);
	session->symbols = NULL;
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
	check(vec_push(&fake_of(session)->lacks.vec, lack));
}

struct err *session_lacks(struct session *session, struct session_lacks *ret)
{
	const struct session_lacks *lacks = &fake_of(session)->lacks;

	*ret = (struct session_lacks){ VEC_INIT };
	for (size_t i = 0; i < lacks->vec.nr; i++)
		check(vec_push(&ret->vec, lacks->vec.at[i]));
	return NULL;
}

void fake_attach(struct session *session)
{
	struct log_config config = { .region_size = LOG_REGION_MIN,
				     .stack_depth = session->config.stack_depth };
	struct fake *fake = fake_of(session);
	void *base;

	fake_forget(session);
	check(symbols_create(0, &session->symbols));
	base = mmap(NULL, config.region_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		abort();
	check(log_format(base, &config, &fake->region.log));
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

	return log_stack(&session->region->log, pcs, 3, end, 0);
}

void fake_block(struct session *session, uint64_t address, uint64_t size, uint32_t stack)
{
	struct log_record record = {
		.address = address,
		.size = size,
		.time = log_now(),
		.thread = log_thread(&session->region->log, FAKE_PTHREAD, FAKE_PID),
		.stack = stack,
		.heap = LOG_HEAP_UNKNOWN,
	};

	log_insert(&session->region->log, &record, NULL);
	log_stack_count(&session->region->log, stack, 1, size);
}

void fake_hold(struct session *session, const struct log_record *record)
{
	fake_of(session)->held = record ? *record : (struct log_record){ 0 };
}

void fake_free(struct session *session, uint64_t address)
{
	struct log_record record;

	log_remove(&session->region->log, address, log_thread(&session->region->log, FAKE_PTHREAD, FAKE_PID),
		   &record);
}

void fake_event(struct session *session, const struct session_event *event)
{
	session->wanted |= 1u << event->kind;	/* else it would not be kept */
	session_push_event(session, event);
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
	for (size_t i = 0; i < sizeof(fake->bytes); i++)
		fake->bytes[i] = (uint8_t)i;
	memory_array_init(&fake->memory, fake->bytes, 0x5000, sizeof(fake->bytes));
	fake->target.memory = &fake->memory.memory;
	fake->target.arch = arch_host();
	fake->target.mem.tid = getpid();
	session->config = session_config_default;
	session->history = (struct log_history)LOG_HISTORY_INIT;
	session->current = session->process;
	session->nr_processes = 1;
	fake->asked.cont_signal = -1;
	last = fake;
	*ret = session;
	return NULL;
}

void session_destroy(struct session *session, struct err **err_ret)
{
	struct err *err = NULL;

	if (!session)
		return;
	if (session->state == SESSION_RUNNING || session->state == SESSION_STOPPED)
		err = session_detach(session);
	if (err_ret)
		*err_ret = err;
	fake_forget(session);
	session_history_free(session);
	name_globs_free(&session->naming.skip);
	close(session->event_fd);
	vec_free(&session->events);
	pthread_mutex_destroy(&session->lock);
	free(fake_of(session));
	last = NULL;
}

struct err *session_set_free_history(struct session *session, uint32_t nr)
{
	session->config.free_history = nr;
	return NULL;
}

uint32_t session_free_history(const struct session *session)
{
	return session->config.free_history;
}

/* Nor are there threads that have ended. */
struct err *session_ended_threads(struct session *session, struct ended_threads *ret)
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

struct err *session_configured(struct session *session)
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

struct err *session_open_core(struct session *session UNUSED, const char *path, const char *exe UNUSED)
{
	return err_create(ERR_FORMAT, "%s: not a core file", path);
}

bool session_core(const struct session *session UNUSED, struct session_core *ret UNUSED)
{
	return false;
}

struct err *session_run(struct session *session, char *const *argv, bool keep_stdin, bool own_group)
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

struct err *session_arm(struct session *session)
{
	fake_of(session)->asked.armed++;
	fake_of(session)->probes.armed = true;
	session_history_resume(session);
	return NULL;
}

struct err *session_disarm(struct session *session)
{
	fake_of(session)->asked.disarmed++;
	fake_of(session)->probes.armed = false;
	session_history_pause(session, false);
	return NULL;
}

struct err *session_probe_add(struct session *session, const struct session_probe_spec *spec)
{
	(void)session;
	return err_create(ERR_NOTFOUND, "%s", spec->function);
}

struct err *session_probe_delete(struct session *session, const char *function)
{
	(void)session;
	return err_create(ERR_NOTFOUND, "%s", function);
}

struct err *session_reset(struct session *session)
{
	fake_of(session)->asked.reset++;
	log_reset(&session->region->log);
	session_history_reset(session);
	return NULL;
}

void session_fix_stacks(struct session *session UNUSED)
{
}

void session_release_stacks(struct session *session UNUSED)
{
}

struct err *session_totals(const struct session *session, struct log_totals *ret)
{
	const struct log_record *held = &fake_of(session)->held;
	struct err *err = log_totals_init(&session->region->log, ret);

	if (err)
		return err;
	log_totals_begin(&session->region->log, ret);
	if (held->address)
		log_totals_add(ret, held->stack, 1, held->size);
	log_totals_end(ret);
	return NULL;
}

struct err *session_in_hand(const struct session *session, struct in_hand *ret)
{
	*ret = (struct in_hand){ VEC_INIT };
	return fake_of(session)->held.address ? vec_push(&ret->vec, fake_of(session)->held) : NULL;
}

struct err *session_heap(struct session *session, enum session_heap_how how,
			 const struct session_heap_look *look, struct session_heap *ret)
{
	struct in_hand in_hand = { VEC_INIT };
	struct err *err = session_in_hand(session, &in_hand);

	*ret = (struct session_heap)SESSION_HEAP_INIT;
	if (how != SESSION_HEAP_LOG)
		snprintf(ret->why, sizeof(ret->why), "the fake session has no heap");
	if (!err && look)
		err = look->at(look->ctx, ret, &session->region->log, &in_hand);
	vec_free(&in_hand.vec);
	return err;
}

void session_heap_free(struct session_heap *heap UNUSED)
{
}

/* Nothing points to anything: all is definitely lost. */
struct err *session_leaks(struct session *session, enum session_leaks_how how UNUSED, bool timed,
			  struct session_leaks *ret)
{
	struct session_leaks leaks = { .held = PACKED_INIT, .why = "the fake session has no heap" };
	struct reach_source source =
 { .unasked = UINT64_MAX, .memory = &fake_of(session)->memory.memory, .list = &leaks.held };
	struct packed_source blocks =
 { .log = &session->region->log, .until = UINT64_MAX, .timed = timed };
	struct err *err = packed_from_log(&blocks, &leaks.held);

	if (!err)
		err = reach_run(&source, &leaks.mark);
	if (err)
		packed_free(&leaks.held);
	else
		*ret = leaks;
	return err;
}

void session_leaks_free(struct session_leaks *leaks)
{
	packed_free(&leaks->held);
	reach_free(&leaks->mark);
}

/* One word of memory points to each: to the start of the first block, and to byte 8 of the others. */
struct err *session_find(struct session *session, uint64_t address, size_t limit,
			 struct session_find *ret)
{
	struct session_find find = { .in = { .held = PACKED_INIT,
					     .why = "the fake session has no heap" },
				     .heap = SESSION_HEAP_INIT,
				     .block = REFERRERS_NO_BLOCK, .outer = REFERRERS_NO_BLOCK };
	struct session_referrer referrer = { .kind = SESSION_REFERRER_MEMORY, .place = 0x5008 };
	struct packed_source blocks =
 { .log = &session->region->log, .until = UINT64_MAX, .timed = true };
	struct err *err = packed_from_log(&blocks, &find.in.held);

	for (uint32_t i = 0; i < find.in.held.nr && !err; i++) {
		struct block is = packed_block(&find.in.held, i), *block = &is;

		if (address - block->address >= block->size)
			continue;
		find.block = i;
		referrer.firm = !i;
		referrer.word = block->address + 8 * (i > 0);
		find.nr_firm = referrer.firm;
		find.nr_inner = !referrer.firm;
		if (limit)
			err = vec_push(&find.vec, referrer);
	}
	if (err)
		session_find_free(&find);
	else
		*ret = find;
	return err;
}

void session_find_free(struct session_find *find)
{
	session_leaks_free(&find->in);
	vec_free(&find->vec);
}

struct err *session_trim(struct session *session UNUSED, struct session_trim *ret)
{
	*ret = (struct session_trim){ .before_kb = 300, .after_kb = 200, .pause_ns = 1500000000 };
	return NULL;
}

/* At the first look the heap has 16 KB in memory, later 12 KB. */
struct err *session_memory_use(struct session *session, bool all, struct memory_use *ret)
{
	const char *text = session->memory_last.has_look ?
		"1000-5000 rw-p 00000000 00:00 0 [heap]\nRss: 12 kB\n" :
		"1000-5000 rw-p 00000000 00:00 0 [heap]\nRss: 16 kB\n";
	struct memory_owners owners = { .vec = VEC_INIT };
	struct smaps smaps;
	struct err *err = session_need_view(session);

	if (err)
		return err;
	check(smaps_parse(text, &smaps));
	check(memory_use_make(&smaps, &owners, NULL, ret));
	smaps_free(&smaps);
	ret->min_faults = 17;
	ret->quick = !all;
	return NULL;
}

const struct memory_look *session_memory_last(struct session *session)
{
	return session->memory_last.has_look ? &session->memory_last.look : NULL;
}

void session_memory_keep(struct session *session, const struct memory_look *look)
{
	session->memory_last.look = *look;
	session->memory_last.has_look = true;
}

void session_memory_verdict(struct session *session UNUSED, const struct memory_look *before,
			    const struct memory_look *now, struct memory_verdict *ret)
{
	memory_verdict(before, now, NULL, ret);
}

struct err *session_memory_changes(struct session *session, const struct memory_use *use,
				   struct memory_changes *ret)
{
	*ret = (struct memory_changes){ .known = session->memory_last.has_maps, .vec = VEC_INIT };
	session->memory_last.has_maps = true;
	for (size_t i = 0; i < use->vec.nr; i++)
		check(vec_push(&ret->vec, -5));
	return NULL;
}

const char *session_referrer_word(enum session_referrer_kind kind UNUSED)
{
	return "memory";
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

struct err *session_runtimes(struct session *session, const struct runtimes **ret)
{
	static const struct runtimes none = { .nr = 0 };

	(void)session;
	*ret = &none;
	return NULL;
}

const char *session_entry_name(struct session *session, uint64_t pc)
{
	(void)session;
	return pc == FAKE_ENTRY ? "malloc" : NULL;
}

struct symbols *session_symbols(struct session *session)
{
	fake_of(session)->asked.named++;
	return session->symbols;
}

struct symbols *session_known_symbols(struct session *session)
{
	return session->symbols;
}

struct err *session_threads(struct session *session, struct session_threads *ret)
{
	struct session_thread main = {
		.lwp = FAKE_PID, .pthread = FAKE_PTHREAD, .name = { "fake" }, .state = 'S', .main = true
	};
	struct session_thread worker = {
		.lwp = FAKE_PID + 1, .name = { "worker" }, .state = 'R', .blocks_sigtrap = true
	};
	struct err *err = vec_push(&ret->vec, main);

	(void)session;
	return err ? err : vec_push(&ret->vec, worker);
}

struct err *session_where(struct session *session, pid_t lwp, uint32_t max,
			  struct session_stacks *ret)
{
	pid_t each;
	struct err *err = NULL;

	(void)session;
	for (each = FAKE_PID; !err && each <= FAKE_PID + 1; each++) {
		struct session_stack stack = { .lwp = each,
					       .pcs = VEC_INIT,
					       .end = max < 2 ? WALK_DEPTH : WALK_COMPLETE };

		if (lwp && lwp != each)
			continue;
		err = vec_push(&stack.pcs, (uint64_t)(uintptr_t)fake_load);
		if (!err && max > 1)
			err = vec_push(&stack.pcs, (uint64_t)(uintptr_t)fake_main + 2);
		if (!err)
			err = vec_push(&ret->vec, stack);
	}
	return err;
}

void session_stacks_free(struct session_stacks *stacks)
{
	size_t i;

	for (i = 0; i < stacks->vec.nr; i++)
		vec_free(&stacks->vec.at[i].pcs);
	vec_free(&stacks->vec);
}

struct err *session_registers(struct session *session, pid_t lwp, struct regs *ret)
{
	(void)session;
	memset(ret, 0, sizeof(*ret));
	regs_set(ret, arch_host()->pc, (uintptr_t)fake_load);
	regs_set(ret, arch_host()->sp, (uint64_t)lwp);
	return NULL;
}

struct err *session_maps(struct session *session, struct proc_maps *ret)
{
	struct proc_map uprobes = { .start = FAKE_UPROBES, .end = FAKE_UPROBES + 4096,
				    .exec = true };

	(void)session;
	check(procfs_maps(getpid(), ret));
	uprobes.path = strdup("[uprobes]");
	check(vec_push(&ret->vec, uprobes));
	return NULL;
}

bool session_names_warned(struct session *session)
{
	(void)session;
	return false;
}

bool session_next_event(struct session *session, struct session_event *ret)
{
	if (!session_pop_event(session, ret))
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

static bool add_double(const struct log_unknown_free *free, void *ctx)
{
	struct session_unknown_free unknown = {
		.kind = SESSION_UNKNOWN_FREE_DOUBLE, .free = *free, .address = free->address,
	};
	struct session_unknown_frees *unknown_frees = ctx;

	return vec_push(&unknown_frees->vec, unknown);
}

/* Double frees only: all others are judged by what a process has. */
struct err *session_unknown_frees(struct session *session, struct session_unknown_frees *ret)
{
	*ret = (struct session_unknown_frees){
		.vec = VEC_INIT, .doubles = log_accounts_get(&session->region->log).double_frees,
	};
	log_each_unknown_free(&session->region->log, LOG_UNKNOWN_FREE_DOUBLE, add_double, ret);
	return NULL;
}

void session_unknown_frees_free(struct session_unknown_frees *unknown_frees)
{
	vec_free(&unknown_frees->vec);
}

const char *session_unknown_free_word(enum session_unknown_free_kind kind)
{
	(void)kind;
	return "double";
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
