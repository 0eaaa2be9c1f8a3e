/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gadgets: pieces of code that remote calls need (remote.h) and that the target has anyway, in the
 * executable mappings of its files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tracee/target.h"

struct sigframe_spec;

/*
 * Find them. Their addresses are kept in struct target, and checked at each call. The search takes
 * a millisecond or two, so do it before the target is stopped. ERR_UNSUPPORTED: there are none.
 */
struct err *gadget_find(struct target *target, struct gadgets *ret) MUST_CHECK;

/* Bytes before the frame that lead into it. */
static inline size_t gadget_way_len(const struct gadgets *gadgets)
{
	return gadgets->pop ? 2 * sizeof(uint64_t) : 0;
}

struct gadget_frame {
	uint64_t sp;	/* where it goes */
	size_t len;
};

/*
 * Make the frame of spec (arch->sigframe), and before it the words that lead into it: a thread
 * that returns (`ret`) with ret->sp in SP makes rt_sigreturn with this frame. The restorer of spec
 * is not used. room is at least REMOTE_SCRATCH.
 */
struct err *gadget_frame(const struct arch *arch, const struct gadgets *gadgets,
			 const struct sigframe_spec *spec, void *buf, size_t room,
			 struct gadget_frame *ret) MUST_CHECK;

/* Is there a `syscall; ret` at pc, whoever has found it? */
bool gadget_is_call(struct target *target, uint64_t pc);
/* Is this where a signal handler returns to? */
bool gadget_is_restorer(struct target *target, uint64_t pc);
/* Would a `ret` with this SP lead into rt_sigreturn? */
bool gadget_leads_home(struct target *target, uint64_t sp);
