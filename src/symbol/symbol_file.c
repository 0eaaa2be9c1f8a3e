/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files of the modules: which of them have debug information, and which package would provide
 * it.
 */

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "symbol/package.h"
#include "symbol/symbol_private.h"

void symbol_file_set_fetch(struct symbols *symbols,
			   int (*fetch)(void *ctx, const char *build_id, const char *module_path),
			   void *ctx)
{
	struct debug_search *search = symbols_search(symbols);

	search->fetch = fetch;
	search->fetch_ctx = ctx;
	if (fetch)
		symbols_retry(symbols);
}

size_t symbol_file_lacking_lines(const struct symbols *symbols)
{
	const char *path;
	size_t nr = 0;

	for (size_t i = 0; i < symbols_modules(symbols); i++) {
		const struct image *image = symbols_image(symbols, i, &path);

		nr += image && path[0] == '/' && image_lacked_lines(image);
	}
	return nr;
}

/* A file that is mapped. */
struct mapped_file {
	struct image *image;
	struct package_file is;
};

struct mapped_files {
	VEC(struct mapped_file) vec;
};

static void mapped_files_free(struct mapped_files *files)
{
	vec_each(file, &files->vec)
		str_free(&file->is.package);
	vec_free(&files->vec);
}

static struct err *list_files(const struct symbols *symbols, struct mapped_files *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; i < symbols_modules(symbols) && !err; i++) {
		struct mapped_file file = { .is = { .package = STR_INIT } };

		file.image = symbols_image(symbols, i, &file.is.path);
		/* The vDSO has no file. */
		if (file.image && file.is.path[0] == '/')
			err = vec_push(&ret->vec, file);
	}
	return err;
}

static struct err *find_packages(int root_fd, struct mapped_files *files)
{
	struct package_files wanted = { VEC_INIT };
	struct err *err = NULL;

	vec_each_while(file, &files->vec, !err) {
		if (image_debug(file->image) == SYMBOL_DEBUG_NONE)
			err = vec_push(&wanted.vec, &file->is);
		if (!err)
			err = cancel_check();
	}
	if (!err)
		err = packages_of_debug(root_fd, &wanted);
	vec_free(&wanted.vec);
	return err;
}

static struct err *describe(const struct mapped_file *file,
			    struct err *(*fn)(void *ctx, const struct symbol_file *file), void *ctx)
{
	struct str build_id AUTO_STR = STR_INIT;
	struct err *err = image_build_id(file->image, &build_id);
	struct symbol_file is = {
		.path = file->is.path,
		.build_id = str_text(&build_id),
		.debug = image_debug(file->image),
		.package = str_text(&file->is.package),
	};

	return err ? err : fn(ctx, &is);
}

bool symbol_file_place(struct symbols *symbols, uint64_t address, uint32_t generation,
		       struct symbol_place *ret)
{
	const struct module *at = symbols_module_at(symbols, address, generation);

	if (at)
		*ret = (struct symbol_place){ at->path, at->start, at->end, at->bias, at->same,
					      at->image, at->build_id };
	return at;
}

bool symbol_file_dwarf(struct symbols *symbols, size_t *at, struct symbol_dwarf *ret)
{
	while (*at < symbols_modules(symbols) && !cancel_requested())
		if (symbols_image_dwarf(symbols, (*at)++, ret))
			return true;
	return false;
}

struct err *symbol_file_build_id(const struct symbol_place *place, struct str *ret)
{
	if (place->image)
		return image_build_id(place->image, ret);
	return place->build_id ? str_add(ret, place->build_id) : NULL;
}

struct err *symbol_file_each(struct symbols *symbols,
			     struct err *(*fn)(void *ctx, const struct symbol_file *file),
			     void *ctx)
{
	CLEANUP(mapped_files_free) struct mapped_files files = { VEC_INIT };
	struct debug_search *search = symbols_search(symbols);
	int (*fetch)(void *ctx, const char *build_id, const char *module_path) = search->fetch;
	struct err *err = list_files(symbols, &files);

	search->fetch = NULL;
	if (!err)
		err = find_packages(search->root_fd, &files);
	vec_each_while(file, &files.vec, !err) {
		err = describe(file, fn, ctx);
		if (!err)
			err = cancel_check();
	}
	search->fetch = fetch;
	/* Debug files that were not found without it may be found with it. */
	if (fetch)
		symbols_retry(symbols);
	return err;
}
