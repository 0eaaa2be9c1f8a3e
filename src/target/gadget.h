/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two pieces of code that remote calls need and that the target has anyway. */
#ifndef TARGET_GADGET_H
#define TARGET_GADGET_H

#include <stdint.h>

#include "base/err.h"

struct target;

/*
 * `syscall; ret`, and the code that makes rt_sigreturn, in the files' own executable mappings. Kept
 * in the target once found, and looked at again at each call. The search takes a millisecond or two:
 * have it done before the target is stopped. ERR_UNSUPPORTED where there is none.
 */
struct err *gadget_find(struct target *target, uint64_t *call_ret,
			uint64_t *restorer_ret) MUST_CHECK;

#endif
