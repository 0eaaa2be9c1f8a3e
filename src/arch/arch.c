/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of processors. A port adds a line to each table here, and changes nothing else. */

#include "arch/arch.h"

static const struct arch *const arches[] = {
	&arch_x86_64,
};

const struct arch *arch_find(uint16_t elf_machine, uint8_t elf_class)
{
	for (size_t i = 0; i < ARRAY_SIZE(arches); i++)
		if (arches[i]->elf_machine == elf_machine && arches[i]->elf_class == elf_class)
			return arches[i];
	return NULL;
}

const struct arch *arch_host(void)
{
#if defined(__x86_64__)
	return &arch_x86_64;
#else
#error "no table for this processor yet: see docs/add-arch.md"
#endif
}
