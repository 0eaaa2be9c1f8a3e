/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processor that mdbg is built for, where a call through struct arch would cost too much or is
 * not to be had: in the agent's path, in a stack walk, in loops over many words. Constants and
 * inline functions, freestanding. The folder of a processor has each of these files.
 */
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/call.h"
#include "arch/x86_64/frame.h"
#include "arch/x86_64/intrinsic.h"
#include "arch/x86_64/perf_regs.h"
#else
#error "no facts about this processor yet: see docs/add-arch.md"
#endif
