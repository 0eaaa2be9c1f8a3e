/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions of Go's runtime that switch stacks. A goroutine's call of C code runs on the stack of
 * the thread (runtime.asmcgocall), and so do parts of the runtime (runtime.systemstack). The CFI of
 * this assembly is made from its frame size, and knows nothing of the switch: by it, a walk from C
 * code goes on in what happens to lie on the thread's stack, which are false frames, and others for
 * each goroutine. But these functions keep BP, which leads to the goroutine's frames (Go keeps frame
 * pointers on amd64 since 1.7). So their rows are replaced by ROW_CFA_FP_SWITCH. The frame of their
 * own caller (runtime.cgocall) is not seen then. Where they were called on the thread's stack and
 * did not switch, the walk ends.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct elf_file;

#define GO_SWITCHES	4u

struct go_switches {
	uint32_t nr;
	struct {
		uint64_t start, size;
	} at[GO_SWITCHES];
};

/* Find them by the file's symbols. There are none in a file that Go has not made. */
struct err *go_switch_find(struct elf_file *file, struct go_switches *ret) MUST_CHECK;
