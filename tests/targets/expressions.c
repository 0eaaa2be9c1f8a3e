/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DWARF that is made to harm who reads it; built without -g. It is stopped in eight calls of `chain`.
 *
 *	wide	a variable whose place is an expression of eight million operations
 *	n	chain's parameter: what it was when the function was entered, which the caller's debug
 *		information computes from that of the caller's caller, a hundred times each
 *	m	another one, which is simply 1 less in each call: 0 in the innermost one
 */
#include "target.h"

int wide = 5;

UNUSED static void bottom(void)
{
	say("ready %d\n", getpid());
	while (getchar() != EOF)
		;
}

void (*volatile at_bottom)(void) = bottom;

void start(int n, int m);

__asm__(
	".text\n"
	".globl chain, start\n"
	".type chain, @function\n"
	".type start, @function\n"
	"start:\n"
	"	.cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	call chain\n"
	".Lfirst:\n"
	"	add $8, %rsp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".Lstart_end:\n"
	"	.size start, . - start\n"
	"chain:\n"
	"	.cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	dec %esi\n"
	"	js 1f\n"
	"	call chain\n"
	".Lnext:\n"
	"	jmp 2f\n"
	"1:	call *at_bottom(%rip)\n"
	"2:	add $8, %rsp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".Lchain_end:\n"
	"	.size chain, . - chain\n"

	/*
	 * Attributes, each with its form: addr 1, data8 7, string 8, data1 0x0b, ref4 0x13, exprloc 0x18, flag_present
	 * 0x19.
	 */
	".section .debug_abbrev, \"\", @progbits\n"
	".Labbrev:\n"
	"	.byte 1, 0x11, 1, 0x03, 8, 0x11, 1, 0x12, 7, 0, 0\n"			/* compile_unit: name, low_pc, high_pc */
	"	.byte 2, 0x24, 0, 0x03, 8, 0x0b, 0x0b, 0x3e, 0x0b, 0, 0\n"		/* base_type: name, byte_size, encoding */
	"	.byte 3, 0x34, 0, 0x03, 8, 0x49, 0x13, 0x3f, 0x19, 0x02, 0x18, 0, 0\n"	/* variable: name, type, external, location */
	/* subprogram: name, external, low_pc, high_pc, frame_base */
	"	.byte 4, 0x2e, 1, 0x03, 8, 0x3f, 0x19, 0x11, 1, 0x12, 7, 0x40, 0x18, 0, 0\n"
	"	.byte 5, 0x05, 0, 0x03, 8, 0x49, 0x13, 0x02, 0x18, 0, 0\n"		/* formal_parameter: name, type, location */
	"	.byte 6, 0x48, 1, 0x7d, 1, 0x7f, 0x13, 0, 0\n"				/* call_site: return_pc, origin */
	"	.byte 7, 0x49, 0, 0x02, 0x18, 0x7e, 0x18, 0, 0\n"			/* call_site_parameter: location, value */
	"	.byte 0\n"

	".section .debug_info, \"\", @progbits\n"
	".Lunit:\n"
	"	.long .Lunit_end - .Lunit - 4\n"
	"	.value 5\n"
	"	.byte 1, 8\n"
	"	.long .Labbrev\n"
	"	.byte 1\n"
	"	.string \"expressions\"\n"
	"	.quad start, .Lchain_end - start\n"
	".Lint:	.byte 2\n"
	"	.string \"int\"\n"
	"	.byte 4, 5\n"
	"	.byte 3\n"
	"	.string \"wide\"\n"
	"	.long .Lint - .Lunit\n"
	"	.uleb128 9 + 8000000\n"
	"	.byte 3\n"			/* addr */
	"	.quad wide\n"
	"	.fill 8000000, 1, 0x96\n"	/* nop */
	"	.byte 4\n"
	"	.string \"start\"\n"
	"	.quad start, .Lstart_end - start\n"
	"	.byte 1, 0x9c\n"		/* call_frame_cfa */
	"	.byte 6\n"
	"	.quad .Lfirst\n"
	"	.long .Lchain - .Lunit\n"
	"	.byte 7, 1, 0x55, 1, 0x38\n"	/* rdi: lit8 */
	"	.byte 7, 1, 0x54, 1, 0x38\n"	/* rsi: lit8 */
	"	.byte 0, 0\n"
	".Lchain:\n"
	"	.byte 4\n"
	"	.string \"chain\"\n"
	"	.quad chain, .Lchain_end - chain\n"
	"	.byte 1, 0x9c\n"
	"	.byte 5\n"
	"	.string \"n\"\n"
	"	.long .Lint - .Lunit\n"
	"	.byte 4, 0xa3, 1, 0x55, 0x9f\n"	/* entry_value(rdi), stack_value */
	"	.byte 5\n"
	"	.string \"m\"\n"
	"	.long .Lint - .Lunit\n"
	"	.byte 4, 0xa3, 1, 0x54, 0x9f\n"
	"	.byte 6\n"
	"	.quad .Lnext\n"
	"	.long .Lchain - .Lunit\n"
	"	.byte 7, 1, 0x55\n"
	"	.uleb128 403\n"
	"	.rept 100\n"
	"	.byte 0xa3, 1, 0x55, 0x13\n"	/* entry_value(rdi), drop */
	"	.endr\n"
	"	.byte 0xa3, 1, 0x55\n"
	"	.byte 7, 1, 0x54\n"
	"	.byte 5, 0xa3, 1, 0x54, 0x31, 0x1c\n"	/* entry_value(rsi), lit1, minus */
	"	.byte 0, 0, 0\n"
	".Lunit_end:\n"
	".text\n");

int main(void)
{
	start(8, 8);
	return 0;
}
