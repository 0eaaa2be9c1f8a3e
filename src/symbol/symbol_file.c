/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files of the modules: which of them have debug information, and which package would provide
 * it.
 */

#include "base/cancel.h"
#include "base/str.h"
#include "symbol/package.h"
#include "symbol/symbol_private.h"

void symbols_set_fetch(struct symbols *symbols,
		       int (*fetch)(void *ctx, const char *build_id, const char *module_path),
		       void *ctx)
{
	struct debug_search *search = symbols_search(symbols);

	search->fetch = fetch;
	search->fetch_ctx = ctx;
	if (fetch)
		symbols_retry(symbols);
}

size_t symbols_lacking_lines(const struct symbols *symbols)
{
	const char *path;
	size_t nr = 0;

	for (size_t i = 0; i < symbols_modules(symbols); i++) {
		const struct image *image = symbols_image(symbols, i, &path);

		nr += image && path[0] == '/' && image_lacked_lines(image);
	}
	return nr;
}

static struct err *describe(const struct debug_search *search, const char *path,
			    struct image *image,
			    struct err *(*fn)(void *ctx, const struct symbol_file *file), void *ctx)
{
	static const enum symbol_debug debug[] = {
		[IMAGE_DEBUG_NONE] = SYMBOL_DEBUG_NONE,
		[IMAGE_DEBUG_OWN] = SYMBOL_DEBUG_OWN,
		[IMAGE_DEBUG_SEPARATE] = SYMBOL_DEBUG_SEPARATE,
	};
	struct str build_id AUTO_STR = STR_INIT;
	struct str package AUTO_STR = STR_INIT;
	struct symbol_file file = { .path = path, .debug = debug[image_debug(image)] };
	struct err *err = image_build_id(image, &build_id);

	if (!err && file.debug == SYMBOL_DEBUG_NONE)
		err = package_of_debug(search->root_fd, path, &package);
	file.build_id = str_text(&build_id);
	file.package = str_text(&package);
	return err ? err : fn(ctx, &file);
}

bool symbols_place(struct symbols *symbols, uint64_t address, uint32_t generation,
		   struct symbol_place *ret)
{
	const struct module *at = symbols_module_at(symbols, address, generation);

	if (at)
		*ret = (struct symbol_place){ at->path, at->start, at->end, at->bias, at->same,
					      at->image };
	return at;
}

struct err *symbols_build_id(const struct symbol_place *place, struct str *ret)
{
	return place->image ? image_build_id(place->image, ret) : NULL;
}

struct err *symbols_each_file(struct symbols *symbols,
			      struct err *(*fn)(void *ctx, const struct symbol_file *file),
			      void *ctx)
{
	struct debug_search *search = symbols_search(symbols);
	struct debug_search kept = *search;
	struct err *err = NULL;

	search->fetch = NULL;
	for (size_t i = 0; i < symbols_modules(symbols) && !err; i++) {
		const char *path;
		struct image *image = symbols_image(symbols, i, &path);

		/* The vDSO has no file. */
		if (image && path[0] == '/')
			err = describe(search, path, image, fn, ctx);
		if (!err)
			err = cancel_check();
	}
	search->fetch = kept.fetch;
	/* Debug files that were not found without it may be found with it. */
	if (kept.fetch)
		symbols_retry(symbols);
	return err;
}
