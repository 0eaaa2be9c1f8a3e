/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a function goes on that ends by a jump, and which registers it changes: in this program's
 * own code.
 */

#include <fcntl.h>

#include "elf/elf_file.h"
#include "probe/probe.h"
#include "tracee/module.h"
#include "unit.h"

void tail_free(void), tail_named(void);
extern char tail_part[], tail_cold[], tail_called[];

/* It jumps to a part, which has a cold part and comes back, to somebody that others call as well, and calls another. */
__asm__(".pushsection .text\n"
	".globl tail_free, tail_named\n"
	".type tail_free, @function\n"
	".type tail_named, @function\n"
	".type tail_part, @function\n"
	".type tail_cold, @function\n"
	"tail_free: .cfi_startproc\n"
	"	xor %ecx, %ecx; push %rdx; xor %edx, %edx; pop %rdx\n"
	"	call tail_called; jz tail_part; jmp tail_named\n"
	".cfi_endproc\n"
	".size tail_free, . - tail_free\n"
	"tail_part: .cfi_startproc\n"
	"	nop; xor %r8d, %r8d; jc tail_cold + 1; jmp tail_free\n"
	".cfi_endproc\n"
	".size tail_part, . - tail_part\n"
	"tail_cold: .cfi_startproc\n"
	"	nop; nop; xor %r9d, %r9d; jmp tail_part\n"
	".cfi_endproc\n"
	".size tail_cold, . - tail_cold\n"
	"tail_called: .cfi_startproc\n"
	"	xor %r10d, %r10d; xor %edx, %edx; ret\n"
	".cfi_endproc\n"
	"tail_named: .cfi_startproc\n"
	"	xor %r11d, %r11d; ret\n"
	".cfi_endproc\n"
	".size tail_named, . - tail_named\n"
	".popsection\n");

static bool has(const struct probe *probe, const void *address)
{
	for (uint32_t i = 0; i < probe->nr_tails; i++)
		if ((uintptr_t)address - probe->tail[i].start < probe->tail[i].len)
			return true;
	return false;
}

/*
 * The function changes rcx, its parts r8 and r9, and what it calls r10. It gives rdx its old value
 * back, and r11 is changed by a function that is not looked at.
 */
static uint32_t all_but_rdx_and_r11(void)
{
	static const uint8_t code[] = {
		0x31, 0xc9, 0x45, 0x31, 0xc0, 0x45, 0x31, 0xc9, 0x45, 0x31, 0xd2,
	};
	uint32_t changed = 0, popped = 0;

	CU_ASSERT_TRUE(arch_x86_64.changed_registers(code, sizeof(code), &changed, &popped));
	return changed;
}

TEST("finds its parts, and the registers that it changes")
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct module module = { .path = (char *)"self" };
	struct probe probe = { .module = &module, .address = (uintptr_t)tail_free };
	struct map called = MAP_INIT;
	struct elf_symbol symbol;

	CU_ASSERT_PTR_NULL_FATAL(elf_file_open(fd, "self", &module.elf));
	CU_ASSERT_PTR_NULL_FATAL(elf_symbol_named(module.elf, "tail_free", &symbol));
	module.bias = (uintptr_t)tail_free - symbol.value;
	tail_call_find(&arch_x86_64, &probe);
	CU_ASSERT_EQUAL(probe.nr_tails, 3);
	CU_ASSERT_TRUE(has(&probe, tail_free));
	CU_ASSERT_TRUE(has(&probe, tail_part));
	CU_ASSERT_TRUE(has(&probe, tail_cold));
	CU_ASSERT_FALSE(has(&probe, tail_called));
	CU_ASSERT_FALSE(has(&probe, tail_named));
	/* The second time by what the first one found of the functions that it calls. */
	for (int i = 0; i < 2; i++) {
		changed_registers_find(&arch_x86_64, &probe, &called);
		CU_ASSERT_EQUAL(probe.changed, all_but_rdx_and_r11());
	}
	CU_ASSERT_TRUE(map_count(&called) > 0);
	map_free(&called, NULL);
	elf_file_close(module.elf);
}
