/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The x86-64 signal frame, as arch/x86/kernel/signal_64.c reads it in rt_sigreturn: the return
 * address, struct ucontext, and at another place, aligned to 64 bytes, the extended state with the
 * kernel's "software reserved" words.
 */

#include "arch/sigframe.h"

#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "arch/x86_64/x86_64.h"

#define FXSAVE_LEN	512
#define SW_RESERVED	464	/* offset in the FXSAVE area */
#define XSTATE_BV	512	/* the components that are not in their initial state */
#define FEATURE_PKRU	(1ull << 9)
#define TILES		18u	/* of AMX; the component with the most bytes */
#define MAGIC1		0x46505853u
#define MAGIC2		0x46505845u
#define UC_FP_XSTATE	1u
#define UC_SIGCONTEXT_SS	2u
#define UC_STRICT_RESTORE_SS	4u
/* This is no valid mode of sigaltstack, so rt_sigreturn leaves the alternate stack as it is. */
#define SS_KEEP		0x40u

/* The general registers of the frame, in its order. */
static const uint8_t order[] = {
	R8, R9, R10, R11, R12, R13, R14, R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP, EFLAGS,
};

struct frame {
	uint64_t restorer;
	uint64_t uc_flags, uc_link;
	uint64_t ss_sp;
	uint32_t ss_flags, ss_pad;
	uint64_t ss_size;
	uint64_t general[ARRAY_SIZE(order)];
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
	uint64_t sigmask;
};

struct sw_bytes {
	uint32_t magic1, extended_size;
	uint64_t xfeatures;
	uint32_t xstate_size, padding[7];
};

/* Where the tiles begin in the standard format. */
static uint64_t tiles_at(void)
{
#ifdef __x86_64__
	unsigned int size, offset, ecx, edx;

	if (__get_cpuid_count(0xd, TILES, &size, &offset, &ecx, &edx) && size)
		return offset;
#endif
	return UINT64_MAX;
}

static uint64_t features_at(const void *xstate, size_t offset)
{
	uint64_t features;

	memcpy(&features, (const uint8_t *)xstate + offset, sizeof(features));
	return features;
}

/*
 * How much of the extended state goes into the frame. NT_X86_XSTATE always has the tiles, but the
 * frame of a thread without permission to use them (ARCH_REQ_XCOMP_PERM) must not: it is longer than
 * that thread's own state, so the kernel takes it for damaged, and restores FP and SSE alone. So tiles
 * that are not in use are left out; what the frame does not have is set to its initial state.
 */
static size_t frame_xstate_len(const struct sigframe_spec *spec)
{
	const uint64_t tiles = 1ull << TILES;

	if (spec->xstate_len < XSTATE_BV + sizeof(tiles) ||
	    !(features_at(spec->xstate, SW_RESERVED) & tiles) ||
	    features_at(spec->xstate, XSTATE_BV) & tiles)
		return spec->xstate_len;
	return MIN(spec->xstate_len, tiles_at());
}

/* The software reserved words of NT_X86_XSTATE have the mask of user features, from the kernel. */
static void put_xstate(uint8_t *at, const struct sigframe_spec *spec, size_t len)
{
	struct sw_bytes sw = { .magic1 = MAGIC1 };
	uint32_t magic2 = MAGIC2;

	memcpy(at, spec->xstate, len);
	sw.xfeatures = features_at(at, SW_RESERVED);
	if (len < spec->xstate_len)
		sw.xfeatures &= ~(1ull << TILES);
	sw.xstate_size = (uint32_t)len;
	sw.extended_size = (uint32_t)len + sizeof(magic2);
	memcpy(at + SW_RESERVED, &sw, sizeof(sw));
	memcpy(at + len, &magic2, sizeof(magic2));
}

struct err *x86_64_sigframe(const struct sigframe_spec *spec, void *buf, size_t room,
			    uint64_t *sp_ret, size_t *len_ret)
{
	bool has_xstate = spec->xstate && spec->xstate_len > FXSAVE_LEN;
	size_t xstate_len = has_xstate ? frame_xstate_len(spec) : 0;
	size_t xlen = has_xstate ? xstate_len + sizeof(uint32_t) : 0;
	struct frame frame = {
		.restorer = spec->restorer,
		.uc_flags = UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS,
		.ss_flags = SS_KEEP,
		.sigmask = spec->mask,
	};
	uint64_t xat = (spec->below - xlen) & ~63ull;
	/* SP + 8 is a multiple of 16, like at a function's entry. */
	uint64_t at = ((xat - sizeof(frame)) & ~15ull) - 8;
	size_t len = (size_t)(xat + xlen - at);

	if (len > room)
		return err_create(ERR_RANGE, "a signal frame takes %zu bytes", len);
	memset(buf, 0, len);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		frame.general[i] = spec->regs->word[order[i]];
	frame.cs = (uint16_t)spec->regs->word[CS];
	frame.ss = (uint16_t)spec->regs->word[SS];
	if (has_xstate) {
		frame.uc_flags |= UC_FP_XSTATE;
		frame.fpstate = xat;
		put_xstate((uint8_t *)buf + (xat - at), spec, xstate_len);
	}
	memcpy(buf, &frame, sizeof(frame));
	*sp_ret = at;
	*len_ret = len;
	return NULL;
}

/* In its initial state PKRU is 0, which keeps nobody from anything. */
bool x86_64_sigframe_open_keys(void *xstate, size_t len)
{
	uint64_t features;

	if (len < XSTATE_BV + sizeof(features))
		return false;
	features = features_at(xstate, XSTATE_BV);
	if (!(features & FEATURE_PKRU))
		return false;
	features &= ~FEATURE_PKRU;
	memcpy((uint8_t *)xstate + XSTATE_BV, &features, sizeof(features));
	return true;
}
