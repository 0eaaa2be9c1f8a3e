/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's image loaded into the test itself. */

#include "image.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/state.h"
#include "agent_offsets.h"
#include "arch/arch.h"

__asm__(
	".pushsection .text.victim, \"ax\", @progbits\n"
	".balign 4096\n"
	".globl victim\n"
	".type victim, @function\n"
	"victim: push %rbx; mov %rdi, %rbx; lea 1(%rbx), %rax; pop %rbx; ret\n"
	".size victim, . - victim\n"
	".balign 4096\n"
	".popsection\n");

#define CODE	AGENT_IMAGE_ROOM	/* the copy of victim's prologue and the stub lie in a page of their own */
#define STUB	(CODE + 256)
#define LEN	(CODE + 4096)

static uint8_t *image;
static uint8_t original;

uint64_t image_address(uint64_t offset)
{
	return (uintptr_t)image + offset;
}

uint64_t image_displaced(void)
{
	return image_address(CODE);
}

static struct agent_table *table(void)
{
	return (struct agent_table *)(image + AGENT_TABLE);
}

void *image_map_near(const void *address, size_t len)
{
	uintptr_t at = ((uintptr_t)address & ~0xffffful) + 0x2000000;

	for (unsigned i = 0; i < 1000; i++, at += 0x100000) {
		void *p = mmap((void *)at, len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (p != MAP_FAILED)
			return p;
	}
	return NULL;
}

static int patch(uint8_t byte)
{
	void *page = (void *)((uintptr_t)victim & ~4095ul);

	if (mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -1;
	*(volatile uint8_t *)(uintptr_t)victim = byte;
	return mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static void fill_table(uint32_t index, uint32_t nr)
{
	struct agent_range *area = agent_table_areas(table(), nr);

	table()->generation++;
	table()->nr_traps = nr;
	table()->nr_areas = 2;
	/* Neighbours that a wrong search would find. */
	for (uint32_t i = 0; i < nr; i++)
		table()->trap[i] = (struct agent_trap){ .pc = (uintptr_t)victim + 1 + i - index,
							.displaced = 0x10 };
	table()->trap[index].displaced = image_displaced();
	area[0] = (struct agent_range){ image_address(0), image_address(AGENT_TABLE) };
	area[1] = (struct agent_range){ image_address(CODE), image_address(LEN) };
}

void image_refill(uint32_t index, uint32_t nr)
{
	mprotect(image, CODE, PROT_READ | PROT_WRITE);
	fill_table(index, nr);
	mprotect(image, CODE, PROT_READ | PROT_EXEC);
}

void image_replace(const struct agent_trap *trap, uint32_t nr, struct agent_range area)
{
	struct agent_range *areas = agent_table_areas(table(), nr);

	mprotect(image, CODE, PROT_READ | PROT_WRITE);
	table()->generation++;
	table()->nr_traps = nr;
	table()->nr_areas = 2;
	memcpy(table()->trap, trap, nr * sizeof(*trap));
	areas[0] = (struct agent_range){ image_address(0), image_address(LEN) };
	areas[1] = area;
	mprotect(image, CODE, PROT_READ | PROT_EXEC);
}

void image_own(struct agent_range text, uint32_t *owner)
{
	mprotect(image, CODE, PROT_READ | PROT_WRITE);
	table()->nr_texts = 1;
	table()->owner = (uintptr_t)owner;
	for (uint32_t i = 0; i < table()->nr_traps; i++)
		table()->trap[i].text = 0;
	*agent_table_texts(table(), table()->nr_traps, table()->nr_areas) = text;
	mprotect(image, CODE, PROT_READ | PROT_EXEC);
}

int image_load(void)
{
	static const uint8_t stub[] = { 0xb8, 77, 0, 0, 0, 0xcc, 0xc3 };
	struct displaced displaced;

	image = image_map_near((const void *)(uintptr_t)victim, LEN);
	if (!image ||
	    arch_host()->displace((const uint8_t *)(uintptr_t)victim, 10, (uintptr_t)victim,
				  image_displaced(), 1, &displaced))
		return -1;
	memcpy(image, agent_image, agent_image_len);
	memcpy(image + CODE, displaced.code, displaced.len);
	memcpy(image + STUB, stub, sizeof(stub));
	fill_table(1, 3);
	original = *(const uint8_t *)(uintptr_t)victim;
	return mprotect(image, LEN, PROT_READ | PROT_EXEC) || patch(0xcc);
}

int image_unload(void)
{
	int ret = munmap(image, LEN) | patch(original);

	image = NULL;
	return ret;
}

void image_install(void)
{
	struct agent_sigaction old, new;

	syscall(SYS_rt_sigaction, SIGTRAP, NULL, &old, 8);
	mprotect(image, CODE, PROT_READ | PROT_WRITE);
	table()->old = old;
	mprotect(image, CODE, PROT_READ | PROT_EXEC);
	new = agent_sigaction(image_address(AGENT_SIGTRAP), image_address(AGENT_RESTORER), &old);
	syscall(SYS_rt_sigaction, SIGTRAP, &new, NULL, 8);
}

long image_stub(void)
{
	return ((long (*)(void))image_address(STUB))();
}

long image_syscall(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("sub $128, %%rsp; call *%5; add $128, %%rsp"
			 : "=a" (ret)
			 : "a" (nr), "D" (a), "S" (b), "d" (c), "r" (image_address(AGENT_SYSCALL))
			 : "rcx", "r11", "memory", "cc");
	return ret;
}
