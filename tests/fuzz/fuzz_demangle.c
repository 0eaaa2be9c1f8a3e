/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as a mangled name, as they are and behind the first letters of each scheme: whatever it
 * is, it comes to an end, takes bounded memory, and leaves the process alive.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/string_pool.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void try(const char *name)
{
	char *whole, *bare;

	demangle_whole(name, &whole);
	demangle_bare(name, &bare);
	if ((whole && strlen(whole) > NAME_MAX_LEN) || (bare && strlen(bare) > NAME_MAX_LEN))
		abort();
	free(whole);
	free(bare);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const char *const schemes[] = { "", "_R", "_Z", "_ZN" };
	struct names names = NAMES_INIT;
	char *name = malloc(len + 4);

	if (!name)
		return 0;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		size_t head = strlen(schemes[i]);

		memcpy(name, schemes[i], head);
		memcpy(name + head, bytes, len);
		name[head + len] = '\0';
		try(name);
	}
	string_pool_readable(&names, name, strlen(name), NULL);
	string_pool_free(&names);
	free(name);
	return 0;
}
