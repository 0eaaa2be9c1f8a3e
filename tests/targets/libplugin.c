/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library for dlopener: its constructor makes eight blocks, its destructor frees four of them. */
#include "target.h"

#define BLOCKS	8

void *plugin_block[BLOCKS];

size_t plugin_size(int i);

size_t plugin_size(int i)
{
	return 1001u + (size_t)i;
}

__attribute__((constructor)) static void construct(void)
{
	int i;

	for (i = 0; i < BLOCKS; i++) {
		plugin_block[i] = malloc(plugin_size(i));
		canary_fill(plugin_block[i], plugin_size(i));
	}
}

__attribute__((destructor)) static void destruct(void)
{
	int i;

	for (i = 0; i < BLOCKS; i += 2)
		free(plugin_block[i]);
}
