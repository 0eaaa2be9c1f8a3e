/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A signal frame as the kernel's rt_sigreturn reads it. With it a borrowed thread restores itself
 * (tracee/remote.h).
 */
#pragma once

#include "arch/arch.h"

struct sigframe_spec {
	const struct regs *regs;	/* to be restored */
	uint64_t mask;			/* signal mask to be restored */
	const void *xstate;		/* NT_X86_XSTATE, standard format; may be NULL */
	size_t xstate_len;
	uint64_t below;			/* the frame must end at or below this address */
	uint64_t restorer;		/* address of code for the rt_sigreturn system call */
};

/*
 * Write the frame to buf (room bytes). *sp_ret is both the address where the frame must lie and the
 * SP for a `ret` into the restorer; *len_ret is the length of the frame. ERR_RANGE: buf is too
 * small.
 */
struct err *x86_64_sigframe(const struct sigframe_spec *spec, void *buf, size_t room,
			    uint64_t *sp_ret, size_t *len_ret) MUST_CHECK;
/* See open_keys of struct arch. */
bool x86_64_sigframe_open_keys(void *xstate, size_t len);
