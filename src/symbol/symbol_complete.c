/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completes names of functions. */

#include <string.h>

#include "base/vec.h"
#include "symbol/symbol_private.h"
#include "symbol/symtab.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void symbol_complete(struct symbols *symbols, const char *prefix,
		     bool (*fn)(const char *name, void *ctx), void *ctx)
{
	VEC(const char *) found = VEC_INIT;
	struct err *err = NULL;

	for (size_t i = 0; i < symbols_modules(symbols); i++) {
		const char *path, *name;
		struct image *image = symbols_image(symbols, i, &path);
		struct symtab *symtab = image ? image_symtab(image) : NULL;
		size_t at = 0;

		while (symtab && !err &&
		       (name = symtab_complete(symtab, symbols_names(symbols), prefix, &at)))
			err = vec_push(&found, name);
	}
	vec_sort(&found, by_text);
	for (size_t i = 0; i < found.nr; i++)
		if ((!i || strcmp(found.at[i - 1], found.at[i])) && fn(found.at[i], ctx))
			break;
	vec_free(&found);
}
