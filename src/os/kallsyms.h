/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of the kernel's functions: /proc/kallsyms. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"

struct kallsyms_name {
	uint64_t address;
	uint32_t name, module;		/* offsets in text; module 0: the kernel itself */
};

struct kallsyms {
	VEC(struct kallsyms_name) vec;	/* functions, by address */
	VEC(char) text;
};

/*
 * ERR_PERM, with the setting in the hint: all addresses are hidden (kernel.kptr_restrict). The
 * caller frees *ret, also after an error.
 */
struct err *kallsyms_read(struct kallsyms *ret) MUST_CHECK;
/* Parse a text that the kernel has written. */
struct err *kallsyms_parse(FILE *file, struct kallsyms *ret) MUST_CHECK;
void kallsyms_free(struct kallsyms *syms);
/* The function that holds an address; NULL: none that is known. */
const struct kallsyms_name *kallsyms_find(const struct kallsyms *syms, uint64_t address);
const char *kallsyms_text(const struct kallsyms *syms, uint32_t at);
