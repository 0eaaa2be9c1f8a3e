/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Thunks are run: what the function and the agent see, what comes back, and that each return is
 * from the call that came last. The figures of the frame are written out in
 * run_thunk.h, as in agent/state.h: both sides must come to the same.
 */

#include "arch/arch.h"
#include "run_thunk.h"
#include "unit.h"

FIXTURE(thunk_set_up, thunk_tear_down);

#define NOTHROW	0x1122334455667788ull

static void check_regs(const uint64_t *got, const uint64_t *want, const char *who)
{
	for (unsigned i = 0; i < 15; i++)
		if (got[i] != want[i]) {
			printf("%s: register %u is %#llx, not %#llx\n", who, i,
			       (unsigned long long)got[i], (unsigned long long)want[i]);
			CU_FAIL("a register is not as it should be");
		}
}

/* Called as the caller has called: its stack, its return address, its arguments. */
static void check_place(const struct seen *seen, const struct cpu *in)
{
	CU_ASSERT_EQUAL(seen->reg[RDI], in->reg[RDI]);
	CU_ASSERT_EQUAL(seen->reg[RSI], in->reg[RSI]);
	CU_ASSERT_EQUAL(seen->reg[RDX], in->reg[RDX]);
	CU_ASSERT_EQUAL(seen->sp, thunk_entry);
	CU_ASSERT_EQUAL(seen->ret, thunk_direct_ret);
}

/* And with its registers. */
static void check_as_called(const struct seen *seen, const struct cpu *in)
{
	if (!seen_nothrow.clock)	/* which loses what is nobody's after a call of it */
		check_regs(seen->reg, in->reg, "displaced");
	check_place(seen, in);
}

/* Called by the thunk, with the registers of want. */
static void check_called(const struct seen *seen, const struct thunk *thunk, const uint8_t *code,
			 const uint64_t *want)
{
	check_regs(seen->reg, want, "function");
	CU_ASSERT_EQUAL(seen->ret, (uintptr_t)code + thunk->call_ret);
	CU_ASSERT_EQUAL(seen->sp % 16, 8);
	CU_ASSERT(thunk->call_cfa == 48 || thunk->call_cfa == 80);	/* of a wide frame */
}

/* The agent called with a frame that shows what every thunk shows. */
static void check_frame_of_new(const struct agent_seen *seen, const uint64_t *regs)
{
	CU_ASSERT_EQUAL(seen->sp % 16, 8);
	CU_ASSERT_EQUAL(seen->sp + 144, thunk_entry);	/* that is: SP behind the return + 144 = the CFA */
	CU_ASSERT_EQUAL(seen->arg[0], seen->sp + 8);
	CU_ASSERT_EQUAL(seen->arg[1], THUNK_PROBE);
	CU_ASSERT_EQUAL(seen->stack[F_BP], regs[RBP]);
	CU_ASSERT_EQUAL(seen->stack[F_BX], regs[RBX]);
	CU_ASSERT_EQUAL(seen->stack[F_AX], regs[RAX]);
	CU_ASSERT_EQUAL(seen->stack[F_RETURN], thunk_direct_ret);
}

/* One that shows regs, args, and op as well. */
static void check_frame(const struct agent_seen *seen, const uint64_t *regs, const struct cpu *in,
			uint64_t op)
{
	static const uint8_t word[] = { RBP, RBX, R11, R10, R9, R8, RDI, RSI, RDX, RCX, RAX };

	check_frame_of_new(seen, regs);
	for (unsigned i = 0; i < ARRAY_SIZE(word); i++)
		CU_ASSERT_EQUAL(seen->stack[i], regs[word[i]]);
	CU_ASSERT_EQUAL(seen->stack[F_OP], op);
	CU_ASSERT_EQUAL(seen->stack[F_UNUSED], 0);
	CU_ASSERT_EQUAL(seen->stack[F_ARG], in->reg[RDI]);
	CU_ASSERT_EQUAL(seen->stack[F_ARG + 1], in->reg[RSI]);
	CU_ASSERT_EQUAL(seen->stack[F_ARG + 2], in->reg[RDX]);
}

/* What a function that returned value leaves of the registers that it found. */
static void left(const uint64_t *found, uint64_t value, uint64_t *ret)
{
	memmove(ret, found, 15 * sizeof(ret[0]));
	ret[RAX] = value;
	ret[RCX] = 0xc0c0;
	ret[RDX] = 0xd0d0;
}

/* Code of functions, and the registers that it changes. */
static const struct change {
	const char *code;
	size_t len;
	uint8_t reg[9];
	unsigned nr;
} changes[] = {
	{ "", 0, { 0 }, 0 },
	{ "\x31\xc9\x45\x31\xd2", 5, { RCX, R10 }, 2 },		/* xor ecx, ecx; xor r10d, r10d */
	{ "\x31\xc0\x31\xc9\x31\xd2\x31\xf6\x31\xff"
	  "\x45\x31\xc0\x45\x31\xc9\x45\x31\xd2\x45\x31\xdb", 22,
	  { RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11 }, 9 },
};

static uint32_t changed_by(const struct change *change)
{
	uint32_t changed = 0, popped = 0;

	CU_ASSERT_TRUE(arch_x86_64.changed_registers((const uint8_t *)change->code, change->len,
						     &changed, &popped));
	return changed;
}

/* The thunk has zeroed what the function changes, but for these. */
static void zeroed(const struct change *change, const uint8_t *but, unsigned nr_but, uint64_t *reg)
{
	for (unsigned i = 0; i < change->nr; i++)
		if (!memchr(but, change->reg[i], nr_but))
			reg[change->reg[i]] = 0;
}

static void check_new(const struct thunk_place *place, const struct change *change, unsigned args)
{
	static const uint8_t arg[] = { RDI, RSI, RDX }, result[] = { RAX };
	struct thunk_spec spec = {
		.kind = THUNK_NEW, .args = (uint8_t)args, .changed = changed_by(change),
	};
	struct thunk_values values = { .callee = 0x1234 };
	uint64_t want[15];
	struct thunk thunk;
	struct cpu in, out;
	const uint8_t *code;

	code = thunk_build(place, spec, &thunk);
	thunk_run(code, values, &in, &out);
	left(in.reg, 0x1234, want);
	check_called(&seen_callee, &thunk, code, in.reg);
	CU_ASSERT_EQUAL(seen_callee.sp + thunk.call_cfa, thunk_entry);
	check_frame_of_new(&seen_leave, want);
	for (unsigned i = 0; i < args; i++)
		CU_ASSERT_EQUAL(seen_leave.stack[F_ARG + i], in.reg[arg[i]]);
	CU_ASSERT_EQUAL(seen_leave.ret, (uintptr_t)code + thunk.leave_ret);
	CU_ASSERT_EQUAL(thunk.agent_cfa, 144);
	/* The block is not where a search for leaks could find it. */
	for (unsigned i = 0; i < ARRAY_SIZE(out.below); i++)
		CU_ASSERT_NOT_EQUAL(out.below[i], values.callee);
	zeroed(change, result, 1, want);
	check_regs(out.reg, want, "new");
	CU_ASSERT(seen_callee.clock == 1 && seen_leave.clock == 2 && !seen_enter.clock);
	CU_ASSERT(!thunk.enter_ret && !thunk.release_ret && !thunk.unknown_free_ret);
	CU_ASSERT_EQUAL(thunk.code[thunk.ret], 0xc3);
}

TEST("new: frame, result, registers")
{
	for (unsigned i = 0; i < ARRAY_SIZE(thunk_places); i++)
		for (unsigned k = 0; k < ARRAY_SIZE(changes); k++)
			for (unsigned args = 0; args <= 3; args++)
				check_new(&thunk_places[i], &changes[k], args);
}

/* enter said no: as if there had been no thunk. */
static void check_bypass(const uint8_t *code, uint64_t enter)
{
	struct thunk_values values = { .callee = 0x4321, .enter = enter };
	uint64_t want[15];
	struct cpu in, out;

	thunk_run(code, values, &in, &out);
	left(in.reg, 0x4321, want);
	check_frame(&seen_enter, in.reg, &in, 0);
	check_as_called(&seen_callee, &in);
	check_regs(out.reg, want, "bypass");
	CU_ASSERT(seen_enter.clock == 1 && seen_callee.clock == 2);
	CU_ASSERT(!seen_leave.clock && !seen_nothrow.clock);
}

static void check_enter(const struct thunk_place *place)
{
	struct thunk_values values = { .callee = 0x1234 };
	uint64_t want[15];
	struct thunk thunk;
	struct cpu in, out;
	const uint8_t *code;

	code = thunk_build(place, (struct thunk_spec){ .kind = THUNK_ENTER }, &thunk);
	thunk_run(code, values, &in, &out);
	left(in.reg, 0x1234, want);
	check_frame(&seen_enter, in.reg, &in, 0);
	CU_ASSERT_EQUAL(seen_enter.ret, (uintptr_t)code + thunk.enter_ret);
	check_called(&seen_callee, &thunk, code, in.reg);
	CU_ASSERT_EQUAL(seen_callee.sp + thunk.call_cfa, thunk_entry);
	check_frame(&seen_leave, want, &in, 0x5e);
	CU_ASSERT_EQUAL(seen_leave.ret, (uintptr_t)code + thunk.leave_ret);
	CU_ASSERT_EQUAL(thunk.agent_cfa, 144);
	check_regs(out.reg, want, "enter");
	CU_ASSERT(seen_enter.clock == 1 && seen_callee.clock == 2 && seen_leave.clock == 3);
	CU_ASSERT_EQUAL(thunk.release_ret, 0);
	CU_ASSERT_EQUAL(thunk.code[thunk.ret], 0xc3);
	/* NULL is as good as any value here. */
	thunk_run(code, (struct thunk_values){ .callee = 0 }, &in, &out);
	CU_ASSERT_EQUAL(out.reg[RAX], 0);
	CU_ASSERT_EQUAL(seen_callee.clock, 2);
	check_bypass(code, 1);
	check_bypass(code, (uint64_t)1 << 63);
}

TEST("enter: before and after, or not at all")
{
	for (unsigned i = 0; i < ARRAY_SIZE(thunk_places); i++)
		check_enter(&thunk_places[i]);
}

static void check_block(const uint8_t *code, const struct thunk *thunk, unsigned nr_args)
{
	struct thunk_values values = { .callee = 0x4321, .nothrow = 0x1234 };
	uint64_t want[15], passed[15];
	struct cpu in, out;

	thunk_run(code, values, &in, &out);
	memcpy(passed, in.reg, sizeof(passed));
	passed[nr_args == 1 ? RSI : RDX] = NOTHROW;
	check_called(&seen_nothrow, thunk, code, passed);
	left(in.reg, 0x1234, want);
	want[RDI] = 0xf0f0;
	want[RSI] = 0x0f0f;
	check_frame(&seen_leave, want, &in, 0x5e);
	/* The arguments are as at entry again. */
	want[RDI] = in.reg[RDI];
	want[RSI] = in.reg[RSI];
	want[RDX] = in.reg[RDX];
	check_regs(out.reg, want, "nothrow");
	CU_ASSERT(seen_enter.clock == 1 && seen_nothrow.clock == 2 && seen_leave.clock == 3);
	CU_ASSERT_EQUAL(seen_callee.clock, 0);
}

static void check_nothrow(const struct thunk_place *place, unsigned nr_args)
{
	struct thunk_spec spec = {
		.kind = THUNK_ENTER, .nothrow_call = 1, .nothrow = NOTHROW, .nr_args = nr_args,
	};
	struct thunk thunk;
	struct cpu in, out;
	const uint8_t *code = thunk_build(place, spec, &thunk);

	check_block(code, &thunk, nr_args);
	thunk_run(code, (struct thunk_values){ .callee = 0x4321, .nothrow = 0 }, &in, &out);
	CU_ASSERT_EQUAL(seen_leave.stack[F_AX], 0);
	check_as_called(&seen_callee, &in);
	thunk_run(code, (struct thunk_values){ .callee = 0x4321, .nothrow = 0 }, &in, &out);
	CU_ASSERT(seen_nothrow.clock == 2 && seen_leave.clock == 3 && seen_callee.clock == 4);
	CU_ASSERT_EQUAL(out.reg[RAX], 0x4321);
	CU_ASSERT_EQUAL(out.reg[RDX], 0xd0d0);
	check_bypass(code, 1);
	CU_ASSERT_EQUAL(thunk.code[thunk.ret], 0xc3);
}

TEST("nothrow form first, then the throwing one")
{
	for (unsigned i = 0; i < ARRAY_SIZE(thunk_places); i++)
		for (unsigned nr_args = 1; nr_args <= 2; nr_args++)
			check_nothrow(&thunk_places[i], nr_args);
}

static void check_free(const struct thunk_place *place, const struct change *change,
		       unsigned ptr_arg)
{
	static const uint8_t arg[] = { RDI, RSI, RDX };
	struct thunk_spec spec = {
		.kind = THUNK_FREE, .ptr_arg = (uint8_t)ptr_arg, .changed = changed_by(change),
	};
	uint64_t want[15];
	struct thunk thunk;
	struct cpu in, out;
	const uint8_t *code = thunk_build(place, spec, &thunk);

	thunk_run(code, (struct thunk_values){ .callee = 0x1234 }, &in, &out);
	CU_ASSERT_EQUAL(seen_release.sp % 16, 8);
	CU_ASSERT_EQUAL(seen_release.ret, (uintptr_t)code + thunk.release_ret);
	CU_ASSERT_EQUAL(seen_release.sp + thunk.agent_cfa, thunk_entry);
	CU_ASSERT_EQUAL(seen_release.arg[0], in.reg[arg[ptr_arg]]);
	CU_ASSERT_EQUAL(seen_release.arg[1], thunk_entry);
	CU_ASSERT_EQUAL(seen_release.arg[2], THUNK_PROBE);
	check_place(&seen_callee, &in);
	memcpy(want, in.reg, sizeof(want));
	zeroed(change, arg, ARRAY_SIZE(arg), want);
	check_regs(seen_callee.reg, want, "displaced");
	left(want, 0x1234, want);
	check_regs(out.reg, want, "free");
	CU_ASSERT(seen_release.clock == 1 && seen_callee.clock == 2 &&
		  !seen_unknown_free.agent.clock);
	CU_ASSERT(!thunk.call_ret && !thunk.enter_ret && !thunk.leave_ret && !thunk.ret);
	CU_ASSERT_EQUAL(thunk.call_cfa, 0);
}

/*
 * The agent wants the stack: it is called again, with what it has said, and the registers that a
 * walk needs.
 */
static void check_unknown_free(const struct thunk_place *place, const struct change *change,
			       unsigned ptr_arg)
{
	static const uint8_t arg[] = { RDI, RSI, RDX };
	struct thunk_spec spec = {
		.kind = THUNK_FREE, .ptr_arg = (uint8_t)ptr_arg, .changed = changed_by(change),
	};
	uint64_t want[15];
	struct thunk thunk;
	struct cpu in, out;
	const uint8_t *code = thunk_build(place, spec, &thunk);

	thunk_run(code, (struct thunk_values){ .callee = 0x1234, .release = 1ull << 63 }, &in, &out);
	CU_ASSERT_EQUAL(seen_unknown_free.agent.sp % 16, 8);
	CU_ASSERT_EQUAL(seen_unknown_free.agent.ret, (uintptr_t)code + thunk.unknown_free_ret);
	CU_ASSERT_EQUAL(seen_unknown_free.agent.sp + thunk.agent_cfa, thunk_entry);
	CU_ASSERT_EQUAL(seen_unknown_free.agent.arg[0], in.reg[arg[ptr_arg]]);
	CU_ASSERT_EQUAL(seen_unknown_free.agent.arg[1], thunk_entry);
	CU_ASSERT_EQUAL(seen_unknown_free.agent.arg[2], THUNK_PROBE);
	CU_ASSERT_EQUAL(seen_unknown_free.bp, in.reg[RBP]);
	CU_ASSERT_EQUAL(seen_unknown_free.bx, in.reg[RBX]);
	CU_ASSERT_EQUAL(seen_unknown_free.said, 1ull << 63);
	check_place(&seen_callee, &in);
	memcpy(want, in.reg, sizeof(want));
	zeroed(change, arg, ARRAY_SIZE(arg), want);
	check_regs(seen_callee.reg, want, "displaced");
	left(want, 0x1234, want);
	check_regs(out.reg, want, "stray");
	CU_ASSERT(seen_release.clock == 1 && seen_unknown_free.agent.clock == 2 &&
		  seen_callee.clock == 3);
}

TEST("free: each argument, no frame")
{
	for (unsigned i = 0; i < ARRAY_SIZE(thunk_places); i++)
		for (unsigned ptr_arg = 0; ptr_arg <= 2; ptr_arg++)
			for (unsigned k = 0; k < ARRAY_SIZE(changes); k++) {
				check_free(&thunk_places[i], &changes[k], ptr_arg);
				check_unknown_free(&thunk_places[i], &changes[k], ptr_arg);
			}
}

/* Six arguments: the frame has three more, and a word, between the third and the return address. */
static void check_wide(const struct thunk_place *place)
{
	struct thunk_values values = { .callee = 0x1234 };
	uint64_t want[15];
	struct thunk thunk;
	struct cpu in, out;
	const uint8_t *code;

	code = thunk_build(place, (struct thunk_spec){ .kind = THUNK_ENTER, .wide = true }, &thunk);
	thunk_run(code, values, &in, &out);
	left(in.reg, 0x1234, want);
	check_called(&seen_callee, &thunk, code, in.reg);
	CU_ASSERT_EQUAL(seen_callee.sp + thunk.call_cfa, thunk_entry);
	CU_ASSERT(thunk.call_cfa == 80 && thunk.agent_cfa == 176);
	check_regs(out.reg, want, "wide");
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t *stack = i ? seen_leave.stack : seen_enter.stack;

		CU_ASSERT_EQUAL(stack[F_ARG], in.reg[RDI]);
		CU_ASSERT_EQUAL(stack[F_ARG + 1], in.reg[RSI]);
		CU_ASSERT_EQUAL(stack[F_ARG + 2], in.reg[RDX]);
		CU_ASSERT_EQUAL(stack[F_ARG + 3], in.reg[RCX]);
		CU_ASSERT_EQUAL(stack[F_ARG + 4], in.reg[R8]);
		CU_ASSERT_EQUAL(stack[F_ARG + 5], in.reg[R9]);
		CU_ASSERT_EQUAL(stack[F_ARG + 7], thunk_direct_ret);
	}
	CU_ASSERT(seen_enter.clock == 1 && seen_callee.clock == 2 && seen_leave.clock == 3);
	values.enter = 1;
	thunk_run(code, values, &in, &out);
	check_as_called(&seen_callee, &in);
	CU_ASSERT(!seen_leave.clock && out.reg[RAX] == 0x1234);
}

TEST("wide: six arguments")
{
	for (unsigned i = 0; i < ARRAY_SIZE(thunk_places); i++)
		check_wide(&thunk_places[i]);
}

static void refuse(struct thunk_spec spec)
{
	struct thunk thunk = { .len = 77 };
	struct err *err = arch_x86_64.thunk(&spec, &thunk);

	CU_ASSERT(err && err->code == ERR_UNSUPPORTED);
	CU_ASSERT_EQUAL(thunk.len, 77);
}

TEST("what cannot be made is refused")
{
	refuse((struct thunk_spec){ .kind = THUNK_FREE, .ptr_arg = 3 });
	refuse((struct thunk_spec){ .kind = THUNK_NEW, .nothrow_call = 1, .nr_args = 1 });
	refuse((struct thunk_spec){ .kind = THUNK_FREE, .nothrow_call = 1, .nr_args = 1 });
	refuse((struct thunk_spec){ .kind = THUNK_ENTER, .nothrow_call = 1, .nr_args = 0 });
	refuse((struct thunk_spec){ .kind = THUNK_ENTER, .nothrow_call = 1, .nr_args = 3 });
	refuse((struct thunk_spec){ .kind = THUNK_NEW, .wide = true });
	refuse((struct thunk_spec){ .kind = THUNK_FREE, .counts = 0x1000 });
	refuse((struct thunk_spec){ .kind = THUNK_NEW, .at = 1ull << 40, .counts = 0x1000 });
}

static void check_cfa_at(const struct thunk_place *place, struct thunk_spec spec)
{
	struct thunk thunk;

	thunk_build(place, spec, &thunk);
	CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, 0), 8u + place->undo);
	CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.entry), 8);
	/* The first thing of THUNK_ENTER, and of a count, is a push. */
	if (spec.kind == THUNK_ENTER)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.entry + 1), 16);
	if (thunk.call_ret)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.call_ret), thunk.call_cfa);
	if (thunk.enter_ret)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.enter_ret), thunk.agent_cfa);
	if (thunk.leave_ret)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.leave_ret), thunk.agent_cfa);
	if (thunk.release_ret)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.release_ret), thunk.agent_cfa);
	if (thunk.unknown_free_ret)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.unknown_free_ret),
				thunk.agent_cfa);
	if (thunk.ret)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.ret), 8);
	/* Behind it, the frame is as at the jump that leads there. */
	if (spec.kind == THUNK_ENTER)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.ret + 1), thunk.call_cfa);
	if (spec.kind == THUNK_ENTER)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.ret + 6), 8);
}

static void check_cfa(struct thunk_spec spec)
{
	/* A thunk and its displaced prologue share a slot. */
	for (unsigned i = 0; i < ARRAY_SIZE(thunk_places); i++)
		if (!thunk_places[i].function_away)
			check_cfa_at(&thunk_places[i], spec);
}

TEST("the frame at each instruction")
{
	check_cfa((struct thunk_spec){ .kind = THUNK_NEW });
	check_cfa((struct thunk_spec){ .kind = THUNK_NEW, .changed = UINT32_MAX, .args = 2 });
	check_cfa((struct thunk_spec){ .kind = THUNK_FREE, .changed = UINT32_MAX });
	check_cfa((struct thunk_spec){ .kind = THUNK_ENTER });
	check_cfa((struct thunk_spec){ .kind = THUNK_ENTER, .wide = true });
	check_cfa((struct thunk_spec){ .kind = THUNK_ENTER, .nothrow_call = 1, .nothrow = 2,
				       .nr_args = 1 });
	check_cfa((struct thunk_spec){ .kind = THUNK_FREE });
}
