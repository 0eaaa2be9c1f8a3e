/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can be a call before a return address, by the bytes of compilers' calls. */

#include "arch/host.h"

#include "unit.h"

/* The instruction as the last of the bytes. */
static bool ends(const char *bytes, unsigned len)
{
	uint8_t before[CALL_BYTES];

	memset(before, 0x90, sizeof(before));
	memcpy(before + CALL_BYTES - len, bytes, len);
	return call_ends(before);
}

TEST("calls")
{
	CU_ASSERT(ends("\xe8\x01\x02\x03\x04", 5));			/* a function */
	CU_ASSERT(ends("\xff\x15\x01\x02\x03\x04", 6));			/* *f@GOTPCREL(%rip) */
	CU_ASSERT(ends("\xff\xd0", 2));					/* *%rax */
	CU_ASSERT(ends("\x41\xff\xd7", 3));				/* *%r15 */
	CU_ASSERT(ends("\xff\x10", 2));					/* *(%rax) */
	CU_ASSERT(ends("\xff\x50\x18", 3));				/* *24(%rax) */
	CU_ASSERT(ends("\xff\x90\x00\x01\x00\x00", 6));			/* *256(%rax) */
	CU_ASSERT(ends("\xff\x14\x24", 3));				/* *(%rsp) */
	CU_ASSERT(ends("\xff\x54\x24\x08", 4));				/* *8(%rsp) */
	CU_ASSERT(ends("\xff\x94\xc3\x00\x01\x00\x00", 7));		/* *256(%rbx,%rax,8) */
	CU_ASSERT(ends("\xff\x14\xc5\x00\x10\x40\x00", 7));		/* *table(,%rax,8) */
}

TEST("other code")
{
	CU_ASSERT_FALSE(ends("", 0));
	CU_ASSERT_FALSE(ends("\xe9\x01\x02\x03\x04", 5));		/* jmp */
	CU_ASSERT_FALSE(ends("\xff\xe0", 2));				/* jmp *%rax */
	CU_ASSERT_FALSE(ends("\xff\x25\x01\x02\x03\x04", 6));		/* a stub of the PLT */
	CU_ASSERT_FALSE(ends("\xff\xd0\x90", 3));			/* behind the next one */
	CU_ASSERT_FALSE(ends("\xff\x50", 2));				/* its displacement is missing */
	CU_ASSERT_FALSE(ends("\xff\x15\x01\x02\x03", 5));
}
