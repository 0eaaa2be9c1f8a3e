/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions that the table of x86_64 points to; arch/arch.h has their contracts. */
#pragma once

#include "arch/arch.h"

/* Words of struct regs. */
enum {
	R15, R14, R13, R12, RBP, RBX, R11, R10, R9, R8, RAX, RCX, RDX, RSI, RDI, ORIG_RAX, RIP, CS,
	EFLAGS, RSP, SS, FS_BASE, GS_BASE, DS, ES, FS, GS, NR_WORDS,
};

/* The registers that C may change, in the order in which thunks push them: bits of a set. */
enum {
	SET_RAX, SET_RCX, SET_RDX, SET_RSI, SET_RDI, SET_R8, SET_R9, SET_R10, SET_R11, NR_SET,
};

unsigned x86_64_argument_passes_on(const uint8_t *code, size_t len, unsigned into);
enum result_end x86_64_result_follow(const struct result_flow *flow, uint32_t *ret);
struct err *x86_64_displace(const uint8_t *code, size_t len, uint64_t from, uint64_t to,
			    size_t min_len, struct displaced *ret);
struct err *x86_64_stub(const struct stub_spec *spec, struct stub *ret);
struct err *x86_64_thunk(const struct thunk_spec *spec, struct thunk *ret);
size_t x86_64_thunk_cfa(const struct thunk *thunk, size_t offset);
size_t x86_64_thunk_stub_cfa(const struct stub *stub, size_t offset);
