/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Probes on allocators.
 *
 * A probe is a patched function plus a displaced prologue (arch.h): the function's first
 * instructions, up to the end of the patch, relocated into an area of ours near the module, and a
 * jump back. Running the displaced prologue is running the original function. Nothing is
 * single-stepped, no patch is lifted while others run, and no thread is held while another is
 * inside an allocator. Two engines share it:
 *
 *	jump		function:	push r12	stays in place
 *					jmp thunk	five bytes; the thunk undoes the push, calls
 *							the displaced prologue and the agent, which
 *							records (agent/state.h). No stop at all.
 *	breakpoint	function:	push r12	stays in place
 *					int3 ...	the tracer notes the arguments and the stack,
 *							then sends the thread on to
 *	  (free)				  the displaced prologue, behind the copy of the push
 *	  (malloc, ...)				  the stub:	undo the push
 *							call displaced prologue
 *							int3	trap at return: the tracer
 *								reads the result and records
 *								the block
 *							ret
 *
 * The patch begins behind the function's first instruction wherever that instruction can be undone,
 * or done twice (struct entry_insn), so that other tools may have a probe on the entry. A jump is
 * safe if the bytes can be displaced and nothing in the function, as its file has it, branches into
 * them: choose.c decides that for each function, and notes why not. The loader's debugger hook,
 * which reports new modules, is always a breakpoint. So are all probes of a followed child: the
 * agent's state is empty in it, and its parent's jumps become breakpoints on the same slots.
 *
 * An exception can pass neither kind of our frames. So a throwing operator new is called in its
 * nothrow form; if that returns NULL, the stub or thunk drops its frame and jumps to the throwing
 * one.
 *
 * States of a probe:
 *
 *	PLANNED -> (area mapped, code filled) -> ACTIVE (patch in place) -> (text restored) -> PLANNED
 *	REFUSED: never put in, or its module is gone; `why` says why
 *
 * Before a jump is written, threads whose PC is inside its five bytes are moved to the displaced
 * copies, and so are PCs saved in signal frames. An area is unmapped when no thread runs in it or
 * will return into it, and no call that is counted is under way (tracee/call_count.h).
 *
 * A thread that hits an int3 after mdbg was killed gets a real SIGTRAP. As long as breakpoints are
 * in place the target has a handler for it (src/agent), which sends the thread on to the displaced
 * prologue. The kernel resets that handler when an int3 traps in a thread that blocks SIGTRAP: it
 * is put back, and so is the thread's mask (sigtrap.c).
 *
 *	plan.c		which functions		choose.c	at which place, which engine
 *	tail_call.c		who may be in `free` without a trace of it
 *	changed_registers.c	what a thunk need not save
 *	probes.c	putting in		probes_disarm.c	taking out
 *	agent_state.c		the agent's state: log, module map, probes as the agent sees them
 *	evacuate.c		nobody may stand where a jump goes
 *	patch_watch.c		patches that are not in the text any more
 *	free_facts.c		may a free of a block that is not in the log be called a double one
 *	growth_functions.c	brk, mmap and shared memory, which belong to no allocator
 *	probe_slot.c		places of probes whose modules have gone
 *	area.c		where the code lies, and what walks must know of it
 *	breakpoint.c, trap_ledger.c	traps		probes_clone.c	followed children
 *
 * All of this runs on the tracer thread, except that plan_probes, which reads files, may run on any
 * thread while nothing is armed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "log/ledger.h"
#include "os/procfs.h"
#include "probe/allocators.h"
#include "probe/known_stacks.h"
#include "tracee/patch.h"
#include "unwind/walk.h"

struct agent_state;
struct module;
struct remote;
struct robust_word;
struct target;
struct thread;
struct user_functions;

enum probe_state { PROBE_REFUSED, PROBE_PLANNED, PROBE_ACTIVE };
enum probe_engine { PROBE_JUMP, PROBE_BREAKPOINT };
/* The user's choice. AUTO: a jump wherever it is safe, function by function. */
enum probe_policy { PROBE_AUTO, PROBE_ONLY_JUMP, PROBE_ONLY_BREAKPOINT };

#define PROBE_TAILS	24u

struct probe_code {
	uint64_t start, len;
};

struct probe {
	const struct alloc_function *fn;	/* NULL: the loader's debugger hook */
	struct module *module;
	enum probe_state state;
	enum probe_engine engine;
	uint64_t address;		/* of the function */
	/* its first instruction, if it stays in place; len 0: not */
	struct entry_insn stays;
	uint64_t patch;			/* where the patch goes: behind `stays` */
	uint64_t nothrow;		/* of the nothrow variant; 0 */
	uint8_t expect[32];		/* code at address, as the file has it */
	uint32_t expect_len;
	uint32_t text_entry;		/* journal */
	uint8_t put[JOURNAL_BYTES];	/* ACTIVE: the put_len bytes that were written there */
	uint32_t put_len;
	/* ACTIVE, but overwritten by others: see patch_watch.h */
	bool overwritten;
	bool told;			/* the user was warned of it */
	bool unread;			/* REFUSED: its code could not be read (patch_watch.h) */
	uint64_t slot;			/* in an area; 0: none */
	bool filled;			/* with code for its place */
	uint64_t prologue;		/* address of the displaced prologue */
	uint64_t resume;		/* in the prologue: the copy of the instruction at patch */
	uint64_t stub, stub_trap;	/* addresses; stub_trap is behind the trap */
	uint64_t stub_entry;		/* instruction at which SP is as at the function's entry */
	uint32_t stub_frame;
	struct stub made;		/* the stub as it is there */
	/* The calls under way are counted: a coroutine may be suspended in one. */
	bool counted;
	/* for trap_ledger.c, which knows the function of a call by the address of this */
	struct ledger_function ledger;
	uint32_t agent_index;		/* in agent_state.probe[], with thunk_at */
	uint64_t thunk_at;		/* the thunk's address; 0: none */
	struct displaced displaced;
	struct thunk thunk;
	/*
	 * of an allocator's function: the function itself, and the code that it goes on to
	 * (tail_call.c)
	 */
	struct probe_code tail[PROBE_TAILS];
	uint32_t nr_tails;
	uint32_t changed;		/* registers: thunk_spec.changed */
	bool gone;			/* REFUSED: the user has deleted it */
	bool paused;			/* REFUSED: it is one of growth, and may be planned again */
	bool elsewhere;			/* REFUSED: its blocks are recorded in another function */
	bool warned;			/* for the owner: the user was warned of it */
	/*
	 * The reason why a probe is REFUSED; or why it is no jump, for a breakpoint under
	 * PROBE_AUTO; or why the patch is on the function's first instruction.
	 */
	char why[512];
	char hint[160];			/* a way out of that; "" */
};

/* An executable mapping of ours near some modules. */
struct area {
	uint64_t address, len, used;
	uint32_t entry;			/* journal */
	uint64_t counts;		/* address of its count of calls; 0: it has none */
	uint32_t counts_entry;		/* journal */
	bool agent;			/* room for the agent's image and table is at its start */
};

/* Patches were found lost at `to`, and were still in place at `from`. */
struct lost_interval {
	uint64_t from, to;
};

/* A function that was probed once. */
struct past_entry {
	uint64_t address;
	const char *name;
};

struct probes {
	struct target *target;
	struct log *log;
	enum probe_policy policy;	/* set before planning */
	/*
	 * Set before planning: put a breakpoint at the loader's hook, so that new modules are armed
	 * before their first call. Not set if the target will be untraced: then
	 * breakpoints_modules_changed is called.
	 */
	bool watch_loader;
	unsigned growth;		/* kinds of growth_functions.h that are probed */
	uint8_t process;		/* its number in the log */
	/* the user's own, for modules that come; NULL: none */
	const struct user_functions *users;
	const struct alloc_function *plain_free;	/* `free` itself, which calls no other */
	VEC(struct probe *) all;
	VEC(struct area) areas;
	/* Places of earlier probes (probe_slot.h). */
	VEC(uint64_t) free_slots;
	VEC(uint32_t) free_entries;	/* of the agent's table */
	/*
	 * For the owner, which may clear it: probes that were forgotten, and that may be in stacks.
	 */
	VEC(struct past_entry) past_entries;
	/* places that were left, and not free, after the last collection */
	size_t left_before;
	struct map traps;		/* PC behind a trap → its struct probe */
	struct walk_area walk_area;	/* how stacks run through the areas */
	struct proc_maps maps;		/* for probes_prepare: see area_read_maps */
	uint64_t agent;			/* address of the agent's image; 0 */
	bool agent_written;
	struct agent_state *state;	/* as it is in the target; NULL: no jumps */
	/* 0: not there. In a followed child it is there, and empty: state is NULL. */
	uint64_t state_address;
	uint32_t state_entry;		/* journal */
	struct known_stacks stacks;	/* that the agent was told of */
	bool seccomp;			/* a thread has a filter of system calls, or had one */
	uint32_t nr_agent_probes;
	struct patch_sigaction ours, old;
	uint32_t sigaction_entry;
	bool has_sigaction;
	bool armed;
	/* for the owner: calls that have not returned (probes_disarm) */
	uint64_t calls_left;
	uint32_t near_size;		/* for log_set_near_size */
	/* the owner's: the user was told that nothing is recorded */
	bool told_blind;
	/* breakpoints_settle has something to do; a thread may be held in the loader until then */
	bool unsettled;
	uint32_t planned_generation;
	uint32_t table_generation;
	struct robust_word *owner;	/* of sigtrap.c: the journal's `tracer`; NULL: not ours */
	bool text_stays;		/* for good: no handler may change the text */
	/* sigtrap_check: threads that were looked at in this round */
	uint32_t look_at_thread;
	uint64_t sigtrap_checks;
	uint64_t sigtrap_repairs;	/* how often the handler was put back */
	struct ledger ledger;		/* for trap_ledger.c; its facts are free_facts.c's */
	char incomplete[160];		/* why facts.complete is not; "" */
	uint32_t stack_offset;		/* tracee/tcb.h; 0: not known */
	uint64_t main_low, main_high;	/* the main thread's stack, as far as it may grow; 0, 0 */
	/* For patch_watch.c, in time stamps of the log. */
	uint64_t looked;		/* all patches were in place then */
	uint64_t round;			/* looked at in turn since then, ... */
	size_t look_next;		/* ... up to this one of all */
	VEC(struct lost_interval) lost;	/* when some were not */
	bool lost_records;
	bool facts_changed;		/* breakpoints_settle is to learn them anew */
	/*
	 * A module with allocators came or went, or something could not be done: told to the user.
	 */
	void (*warn)(void *ctx, const char *text);
	void *ctx;
};

/* The bytes of the file where the patch goes. */
static inline const uint8_t *probe_original(const struct probe *probe)
{
	return probe->expect + probe->stays.len;
}

/* Is it a function of growth_functions.h? */
static inline bool probe_is_growth(const struct probe *probe)
{
	return probe->fn && probe->fn->role == ALLOC_GROWTH;
}

/* Is it a function of an allocator, which gives out blocks or takes them? */
static inline bool probe_of_allocator(const struct probe *probe)
{
	return probe->fn && probe->fn->role != ALLOC_GROWTH;
}

static inline bool probe_records(const struct probe *probe)
{
	return probe->state == PROBE_ACTIVE && !probe->overwritten;
}

/* Is any probe in this state with this engine? */
bool probes_any(const struct probes *probes, enum probe_state state, enum probe_engine engine);
struct err *probes_create(struct target *target, struct log *log, struct probes **ret) MUST_CHECK;
void probes_destroy(struct probes *probes);

/*
 * Look for the functions of allocators.h in all modules that were not looked at yet, and for the
 * loader's hook; read their code, decide. The target may run. ERR_NOTFOUND if there is no allocator
 * at all.
 */
struct err *plan_probes(struct probes *probes) MUST_CHECK;
/*
 * The work that can be done before probes_arm, so that it keeps the target stopped for moments
 * only: the maps are read (a line for each of its threads' stacks) while the target runs; memory is
 * mapped by remote calls, in a stop; then it is written while the target runs. Optional, in this
 * order; undone by probes_disarm.
 */
struct err *area_read_maps(struct probes *probes) MUST_CHECK;
struct err *probes_prepare(struct probes *probes, struct remote *remote) MUST_CHECK;
struct err *probes_fill(struct probes *probes) MUST_CHECK;
/*
 * Put in the planned probes. The target is stopped; remote is on one of its threads, or NULL: one
 * is borrowed if there are calls to be made. A probe that cannot be put in is REFUSED with its
 * reason, or becomes a breakpoint if the policy allows; only a failure that leaves nothing in place
 * is an error.
 */
struct err *probes_arm(struct probes *probes, struct remote *remote) MUST_CHECK;
/*
 * Find out again how frees of unknown blocks must be judged, and tell the agent. Earlier records do
 * not count for that (log_note_gap). The target is stopped.
 */
void probes_learn_facts(struct probes *probes);
/*
 * Give this probe no jump: it becomes a breakpoint if the policy allows that, else it is REFUSED.
 * `why` is noted in both cases.
 */
void choose_no_jump(const struct probes *probes, struct probe *probe, const char *why);
/* hint: a way out of that, or "". */
void choose_refuse(struct probe *probe, const char *why, const char *hint);
#define PROBE_OTHER_TOOL	"have the other tool leave, then attach again"
/*
 * Take everything out. The target is stopped, and runs for moments until no thread is inside our
 * code. After a time limit the code that such a thread needs stays (made harmless), and *left_ret
 * says so. The target is stopped again at the end. with_region: if nothing stays, region_withdraw is
 * called as well, with the thread that is borrowed anyway.
 */
struct err *probes_disarm(struct probes *probes, bool with_region, bool *left_ret) MUST_CHECK;
/*
 * Take the copies of our patches out of a forked child (traced, stopped, own memory), as far as it
 * can be done.
 */
struct err *probes_disarm_child(struct probes *probes, struct target *child) MUST_CHECK;

/* Find its tail calls in the file. */
void tail_call_find(const struct arch *arch, struct probe *probe);
/*
 * After that: find the registers that it changes (changed_registers.c). Not for a function that the
 * user has named. The map is for all functions of one module: by the address of a function that they
 * call what it changes, as found so far. The caller frees it, without its values.
 */
void changed_registers_find(const struct arch *arch, struct probe *probe, struct map *called);

/* Make the traps of a filled probe known by their addresses. */
struct err *probes_add_traps(struct probes *probes, struct probe *probe) MUST_CHECK;
/*
 * The probes of a forked child, as it has them from its parent: the same places, written into the
 * child's own journal (its region is there), jumps made breakpoints. The child is stopped. Blocks
 * go to the same log under the number `process`.
 */
struct err *probes_clone(const struct probes *parent, struct target *child, uint8_t process,
			 struct probes **ret) MUST_CHECK;

/* Is a breakpoint in, so that mdbg must trace the target? */
bool breakpoints_need_tracer(const struct probes *probes);
/* Does an agent write the log? */
bool breakpoints_use_agent(const struct probes *probes);
/*
 * The module map may have changed: look, and plan for new modules. breakpoints_settle does the
 * rest, with all threads stopped.
 */
void breakpoints_modules_changed(struct probes *probes);

bool breakpoints_is_trap(const struct probes *probes, uint64_t pc);
bool breakpoints_trap(struct probes *probes, struct thread *thread);
void breakpoints_thread_gone(struct probes *probes, struct thread *thread);
/*
 * A SIGTRAP that is not ours goes to the target's own handler, through the agent's: the thread may
 * be inside it for long.
 */
void breakpoints_foreign_trap(struct thread *thread);
/*
 * True if new modules have brought new functions, until breakpoints_settle has armed them. Call
 * breakpoints_settle with all threads stopped, before any runs on.
 */
bool breakpoints_unsettled(const struct probes *probes);
struct err *breakpoints_settle(struct probes *probes) MUST_CHECK;
