/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Entry stubs of x86_64. A thread comes here with the function's own registers and stack, SP at the
 * return address:
 *
 *	plain				retry, 1 argument	retry, 2 arguments
 *
 *	lea rsp, [rsp-8]		push rdi		push rdi
 *	call CALL			mov rsi, NOTHROW	push rsi
 *	int3				call CALL		lea rsp, [rsp-8]
 *	lea rsp, [rsp+8]		int3			mov rdx, NOTHROW
 *	ret				test rax, rax		call CALL
 *					jz 1f			int3
 *					lea rsp, [rsp+8]	test rax, rax
 *					ret			jz 1f
 *				1:	pop rdi			lea rsp, [rsp+24]
 *					jmp RETRY		ret
 *							     1:	lea rsp, [rsp+8]
 *								pop rsi
 *								pop rdi
 *								jmp RETRY
 *
 * The return address of the call, which lies below SP at the trap, is wiped behind it: it must not
 * look as if somebody were still to return to the stub. If the calls are counted (arch.h), that is
 * done first and last, before `ret` and jmp.
 *
 * If the instruction before the patch has taken bytes from SP, all of them begin with lea rsp,
 * [rsp+UNDO]. The code behind it finds registers and stack as at the function's entry.
 *
 * By the ABI, SP is 8 modulo 16 at the first instruction of a function, and so it is at CALL. The
 * plain form keeps every register, and by lea also the flags (unless it counts): callers in the function's own file
 * may rely on registers that it does not touch. The retry form cannot, since it calls another
 * function. It jumps to RETRY with the stack as at entry, so that an exception from there passes no
 * frame of ours.
 */

#include "arch/x86_64/x86_64.h"

#include "arch/x86_64/code.h"

/* Write the start of the retry form. Returns the bytes that it has put on the stack. */
static size_t put_keep(struct code *code, const struct stub_spec *spec)
{
	code_u8(code, 0x57);				/* push rdi */
	if (spec->nr_args == 1) {
		code_op(code, 0x48, 0xbe);		/* mov rsi, imm64 */
		code_u64(code, spec->nothrow);
		return 8;
	}
	code_u8(code, 0x56);				/* push rsi */
	code_add_sp(code, -8);
	code_op(code, 0x48, 0xba);			/* mov rdx, imm64 */
	code_u64(code, spec->nothrow);
	return 24;
}

static void put_count(struct code *code, const struct stub_spec *spec, bool enter)
{
	if (!spec->counts)
		return;
	code_count(code, spec->counts, enter);
	if (!enter)
		code_forget(code);
}

static void put_retry(struct code *code, const struct stub_spec *spec)
{
	if (spec->nr_args == 2) {
		code_add_sp(code, 8);
		code_u8(code, 0x5e);			/* pop rsi */
	}
	code_u8(code, 0x5f);				/* pop rdi */
	put_count(code, spec, false);
	code_jump(code, spec->retry);
}

struct err *x86_64_stub(const struct stub_spec *spec, struct stub *ret)
{
	struct stub stub = { .undo = spec->undo };
	struct code code = { .bytes = stub.code, .room = STUB_MAX, .start = spec->at };
	size_t kept = 8, disp, jump = 0;

	if (spec->retry && (spec->nr_args < 1 || spec->nr_args > 2))
		return err_create(ERR_UNSUPPORTED, "stub with retry for %u arguments: only 1 and 2",
				  spec->nr_args);
	if (spec->counts && !code_reaches(spec->at + STUB_MAX, spec->counts))
		return err_create(ERR_UNSUPPORTED, "a count of calls that the stub cannot have");
	if (spec->undo)
		code_add_sp(&code, spec->undo);
	stub.entry = code.len;
	put_count(&code, spec, true);
	if (spec->retry)
		kept = put_keep(&code, spec);
	else
		code_add_sp(&code, -8);
	disp = code_call(&code, spec->call);
	stub.ret = stub.trap = code.len;
	code_u8(&code, 0xcc);				/* int3 */
	code_forget(&code);
	if (spec->retry) {
		code_op(&code, 0x48, 0x85, 0xc0, 0x74, 0);	/* test rax, rax; jz */
		jump = code.len;
	}
	code_add_sp(&code, (int)kept);
	put_count(&code, spec, false);
	code_u8(&code, 0xc3);				/* ret */
	if (spec->retry) {
		stub.code[jump - 1] = (uint8_t)(code.len - jump);
		put_retry(&code, spec);
	}
	code_call_word(&code, disp, spec->call);
	stub.len = code.len;
	stub.frame = kept + 8;
	*ret = stub;
	return NULL;
}
