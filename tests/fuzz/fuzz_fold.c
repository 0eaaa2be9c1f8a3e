/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as a C++ name: as the demangler's text, and (those that begin with _Z) as what it makes
 * of a symbol. Whatever it is, what is left of it has all come from it.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/fold.h"
#include "symbol/string_pool.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Is text the name with something left out, but for blanks? */
static bool is_part(const char *text, const char *name)
{
	for (; *text; text++) {
		if (*text == ' ')
			continue;
		while (*name && *name != *text)
			name++;
		if (!*name++)
			return false;
	}
	return true;
}

static void fold(const char *name)
{
	struct folded folded = fold_name(name);

	if (folded.bare > strlen(name) || (*name && !folded.bare))
		abort();
	if (folded.text && (folded.text_bare > strlen(folded.text) || !strcmp(folded.text, name)))
		abort();
	/* std::basic_string<wchar_t> becomes std::wstring. */
	if (folded.text && !strstr(name, "basic_") && !is_part(folded.text, name))
		abort();
	free(folded.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *name = malloc(len + 1), *readable;

	if (!name)
		return 0;
	memcpy(name, bytes, len);
	name[len] = '\0';
	fold(name);
	demangle_whole(name, &readable);
	if (readable)
		fold(readable);
	free(readable);
	free(name);
	return 0;
}
